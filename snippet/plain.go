package snippet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain returns s without characters that could affect the text around it: it collapses white
// space, and removes control characters, characters that change the direction of text, and
// noncharacters.
func Plain(s string) string {
	s, _ = plain(s)
	return s
}

func plain(s string) (out string, chars int) {
	s = trimmed(s)
	if chars, ok := countPlain(s); ok {
		return s, chars
	}
	out = collapse(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case acts(r):
			return -1
		}
		return r
	}, s))
	return out, utf8.RuneCountInString(out)
}

// acts reports whether Plain removes r.
func acts(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0xfdd0 &&
		r <= 0xfdef || r&0xfffe == 0xfffe
}

// countPlain reports whether Plain would return s unchanged, and then also returns the length of s
// in characters.
func countPlain(s string) (chars int, ok bool) {
	before := ' '
	for i, r := range s {
		switch {
		case r == ' ':
			ok = before != ' '
		case r < utf8.RuneSelf:
			ok = r > ' ' && r != 0x7f
		case classOf(r) != unusual || stops(r):
			ok = true
		case r == utf8.RuneError:
			ok = strings.HasPrefix(s[i:], string(utf8.RuneError)) // U+FFFD in the text, not invalid UTF-8
		default:
			ok = !unicode.IsSpace(r) && !acts(r)
		}
		if !ok {
			return 0, false
		}
		before = r
		chars++
	}
	return chars, s == "" || before != ' '
}

// trimmed returns s without blanks and line ends at both ends.
func trimmed(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\n') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == '\n') {
		s = s[:len(s)-1]
	}
	return s
}

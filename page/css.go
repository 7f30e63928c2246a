package page

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// styleRefs calls ref with the references in a style sheet or a style attribute, in order.
// References are in url() and @import (CSS Syntax 3, CSS Cascade 5). The names in @namespace and
// @document are not references. It ignores syntax errors as CSS requires.
func styleRefs(css string, ref func(string)) {
	s := sheet{ref: ref}
	for i := 0; i < len(css); {
		switch c := css[i]; {
		case c == '/' && strings.HasPrefix(css[i:], "/*"):
			end := strings.Index(css[i+2:], "*/")
			if end < 0 {
				return
			}
			i += 2 + end + 2
		case c == '"' || c == '\'':
			value, next := cssString(css, i)
			if s.rule == "import" {
				s.found(value)
			}
			i = next
		case c == ';' || c == '{' || c == '}':
			s.rule = ""
			i++
		case c == '@':
			end := identifier(css, i+1)
			s.rule = strings.ToLower(css[i+1 : end])
			i = max(end, i+1)
		case c == '\\':
			i += 2
		case identifies(c):
			i = s.name(css, i)
		default:
			i++
		}
	}
}

// sheet is the state of styleRefs while it reads one style sheet.
type sheet struct {
	ref  func(string)
	rule string // name of the at-rule whose prelude is being read; "imported" after the reference of @import
}

// name reads the identifier at the offset i. If the identifier is url, name also reads the argument
// in parentheses. It returns the offset after what it read.
func (s *sheet) name(css string, i int) int {
	end := identifier(css, i)
	if end == len(css) || css[end] != '(' || !strings.EqualFold(css[i:end], "url") {
		return end
	}
	value, next := cssURL(css, end+1)
	s.found(value)
	return next
}

func (s *sheet) found(reference string) {
	switch s.rule {
	case "namespace", "document", "-moz-document":
		return
	case "import":
		s.rule = "imported"
	}
	s.ref(reference)
}

// cssURL reads the argument of url() that begins at i. It returns the argument and the offset after
// the closing parenthesis.
func cssURL(css string, i int) (value string, next int) {
	i = skipBlanks(css, i)
	if i < len(css) && (css[i] == '"' || css[i] == '\'') {
		value, i = cssString(css, i)
		if end := strings.IndexByte(css[i:], ')'); end >= 0 {
			return value, i + end + 1
		}
		return value, len(css)
	}
	start := i
	for i < len(css) && css[i] != ')' {
		if css[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(css))
	return cssUnescape(strings.TrimRight(css[start:i], blanks)), min(i+1, len(css))
}

// cssString reads the string that begins with the quote at i. A line break ends an unclosed string.
func cssString(css string, i int) (value string, next int) {
	quote, start := css[i], i+1
	for i = start; i < len(css); i++ {
		switch css[i] {
		case quote:
			return cssUnescape(css[start:i]), i + 1
		case '\n':
			return "", i
		case '\\':
			i++
		}
	}
	return cssUnescape(css[start:]), len(css)
}

// cssUnescape replaces the escapes of CSS with their characters (CSS Syntax 3, 4.3.7).
func cssUnescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		end := i + 1
		for end < len(s) && end <= i+6 && hex(s[end]) {
			end++
		}
		switch {
		case end > i+1:
			n, _ := strconv.ParseUint(s[i+1:end], 16, 32)
			if n == 0 || n > utf8.MaxRune {
				n = utf8.RuneError
			}
			b.WriteRune(rune(n))
			if end < len(s) && strings.IndexByte(blanks, s[end]) >= 0 {
				end++
			}
			i = end - 1
		case s[end] == '\n': // an escaped line break continues the string
			i++
		default:
			b.WriteByte(s[end])
			i++
		}
	}
	return b.String()
}

// identifier returns the offset of the end of the name that begins at i.
func identifier(css string, i int) int {
	for i < len(css) && identifies(css[i]) {
		i++
	}
	return i
}

func identifies(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c >= 0x80
}

func skipBlanks(s string, i int) int {
	for i < len(s) && strings.IndexByte(blanks, s[i]) >= 0 {
		i++
	}
	return i
}

package snippet

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Chars counts what max-length counts as characters: code points, white space collapsed (J01).
func Chars(s string) int { return utf8.RuneCountInString(collapse(s)) }

// Words counts what max-length counts as words: tokens between white space, but each ideograph or kana is one of its own,
// and so is what stands beside it in its token (J02).
func Words(s string) int {
	var c counter
	for _, r := range s {
		c.add(r)
	}
	return c.words
}

// collapse makes s valid UTF-8 with single blanks and none at the ends.
func collapse(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	s = strings.TrimSpace(s)
	if strings.Contains(s, "  ") || strings.ContainsFunc(s, otherSpace) {
		return strings.Join(strings.Fields(s), " ")
	}
	return s
}

func otherSpace(r rune) bool { return r != ' ' && (r < ' ' || r > '~') && unicode.IsSpace(r) }

// counter counts words rune by rune.
type counter struct {
	words int
	last  place
}

type place byte

const (
	blank     place = iota // after white space, and at the beginning
	run                    // in a word
	ideograph              // after an ideograph or kana
)

func (c *counter) add(r rune) {
	switch {
	case r < utf8.RuneSelf && lower[r] != 0 && c.last == run:
	case unicode.IsSpace(r):
		c.last = blank
	case isIdeograph(r):
		c.words++
		c.last = ideograph
	case c.last == blank, c.last == ideograph && !attached(r):
		c.words++
		c.last = run
	}
}

func isIdeograph(r rune) bool {
	return r >= 0x2E80 && (r == 'ー' || r == 'ｰ' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana))
}

// attached tells of runes that belong to the one before.
func attached(r rune) bool {
	return r >= 0x0300 && (unicode.IsMark(r) || unicode.Is(unicode.Cf, r))
}

// unspaced tells of scripts whose words no blank parts and which are no ideographs.
func unspaced(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// cluster is the length in bytes of the grapheme cluster that begins s; a blank behind a character is never part of it, as it would be
// behind U+0600. s must not be empty and begin at a boundary.
func cluster(s string) int {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1 // collapsed text holds no CR LF
	}
	first, _, _, _ := uniseg.FirstGraphemeClusterInString(s, -1)
	if i := strings.IndexByte(first, ' '); i > 0 {
		return i
	}
	return len(first)
}

// fit tells how many bytes of s, which begins at a word, are within both limits: all of s, else up to the end of a word,
// else, where not even one word fits, up to the end of a grapheme cluster (J01).
func fit(s string, chars, words int) int {
	var c counter
	end, n := 0, 0
	var before rune
	for pos := 0; pos < len(s); {
		size := cluster(s[pos:])
		r, _ := utf8.DecodeRuneInString(s[pos:])
		if pos > 0 && parts(before, r) {
			end = pos
		}
		for _, r := range s[pos : pos+size] {
			c.add(r)
			n++
		}
		if n > chars || c.words > words {
			if end == 0 {
				return pos
			}
			return end
		}
		before, _ = utf8.DecodeLastRuneInString(s[:pos+size])
		pos += size
	}
	return len(s)
}

// parts tells whether a text may be cut between two runes that stand side by side.
func parts(before, after rune) bool {
	switch {
	case after == ' ':
		return before != ' '
	case after < 0x0E00 && before < 0x0E00:
		return false
	case isIdeograph(before):
		return isIdeograph(after) || unicode.IsLetter(after) || unicode.IsNumber(after)
	case isIdeograph(after):
		return before != ' ' && !unicode.In(before, unicode.Ps, unicode.Pi)
	}
	return unspaced(before) && unspaced(after)
}

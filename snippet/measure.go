package snippet

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Chars returns the length of s as max-length counts characters: in code points, with white space
// collapsed (J01).
func Chars(s string) int { return utf8.RuneCountInString(collapse(s)) }

// Words returns the length of s as max-length counts words: tokens between white space. But each
// ideograph or kana counts as one word, and so does other text next to it in the same token (J02).
func Words(s string) int {
	var c counter
	for _, r := range s {
		c.add(r)
	}
	return c.words
}

// collapse returns s as valid UTF-8, with single blanks between words and no blanks at the ends.
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
	blank     place = iota // after white space, or at the beginning
	run                    // inside a word
	ideograph              // after an ideograph or kana
)

func (c *counter) add(r rune) {
	switch classOf(r) {
	case ideographic:
		c.words++
		c.last = ideograph
	case alphabetic, syllabic:
		if c.last != run {
			c.words++
			c.last = run
		}
	default:
		c.addUnusual(r)
	}
}

func (c *counter) addUnusual(r rune) {
	switch {
	case r == ' ', !stops(r) && unicode.IsSpace(r):
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
	switch classOf(r) {
	case ideographic:
		return true
	case alphabetic, syllabic:
		return false
	}
	return r >= 0x2E80 && !stops(r) && (r == 'ー' || r == 'ｰ' ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana))
}

// attached reports whether r belongs to the same character as the rune before it.
func attached(r rune) bool {
	return r >= 0x0300 && classOf(r) == unusual && !stops(r) && (unicode.IsMark(r) || unicode.Is(unicode.Cf, r))
}

// unspaced reports whether r belongs to a script without blanks between words that is not
// ideographic.
func unspaced(r rune) bool {
	return r >= 0x0E00 && classOf(r) == unusual &&
		unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// cluster returns the length in bytes of the first grapheme cluster of s. A blank is never part of
// a cluster with the character before it, not even after U+0600, where Unicode joins them. s must
// not be empty, and must begin at a boundary.
func cluster(s string) int {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1 // collapsed text contains no CR LF
	}
	if first, n := utf8.DecodeRuneInString(s); single(first) {
		if next, _ := utf8.DecodeRuneInString(s[n:]); n == len(s) || single(next) {
			return n
		}
	}
	first, _, _, _ := uniseg.FirstGraphemeClusterInString(s, -1)
	if i := strings.IndexByte(first, ' '); i > 0 {
		return i
	}
	return len(first)
}

// single reports whether r is a separate grapheme cluster when it is next to another such rune.
func single(r rune) bool {
	return r < utf8.RuneSelf || classOf(r) != unusual || r >= 0x2010 && r <= 0x2027 || r >= 0x3001 && r <= 0x301F ||
		r >= 0xFF01 && r <= 0xFF60
}

// fit returns how many bytes of s, which begins at a word, are within both limits: all of s,
// otherwise up to the end of a word, or if no word fits, up to the end of a grapheme cluster (J01).
func fit(s string, chars, words int) int {
	var c counter
	end, n := 0, 0
	var before rune
	for pos := 0; pos < len(s); {
		r, _ := utf8.DecodeRuneInString(s[pos:])
		if pos > 0 && parts(before, r) {
			end = pos
		}
		whole := s[pos : pos+cluster(s[pos:])]
		for _, r := range whole {
			c.add(r)
			n++
			before = r
		}
		switch {
		case n <= chars && c.words <= words:
			pos += len(whole)
		case end == 0:
			return pos
		default:
			return end
		}
	}
	return len(s)
}

// parts reports whether a text may be divided between two neighbouring runes.
func parts(before, after rune) bool {
	if after == ' ' {
		return before != ' '
	}
	return (after >= 0x0E00 || before >= 0x0E00) && partsDense(before, after)
}

func partsDense(before, after rune) bool {
	switch {
	case isIdeograph(before):
		return !stops(after) && (isIdeograph(after) || unicode.IsLetter(after) || unicode.IsNumber(after))
	case isIdeograph(after):
		return before != ' ' && !unicode.In(before, unicode.Ps, unicode.Pi)
	}
	return unspaced(before) && unspaced(after)
}

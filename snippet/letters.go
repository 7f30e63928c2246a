package snippet

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// lower maps ASCII letters and digits to lower case, all else to 0.
var lower = func() (t [utf8.RuneSelf]byte) {
	for _, c := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		t[c], t[unicode.ToUpper(c)] = byte(c), byte(c)
	}
	return t
}()

// same reports whether a word of a text is a form of a word of the query. The rule is rough, but
// good enough for highlighting.
func same(word, term []rune) bool {
	if len(word) == 0 || len(term) == 0 {
		return false
	}
	if unicode.Is(unicode.Arabic, word[0]) {
		return related(bare(word), bare(term))
	}
	return word[0] == term[0] && related(word, term)
}

// nearest returns the index of the term that a word of the query is most similar to, -1 if none is
// similar.
func nearest(word []rune, terms []term) int {
	if len(word) == 0 {
		return -1
	}
	best, most := -1, 0
	for t := range terms {
		a, b := word, terms[t].runes
		if unicode.Is(unicode.Arabic, a[0]) {
			a, b = bare(a), bare(b)
		}
		if p := common(a, b); !terms[t].dense && (p > most || p == most && p == len(a) && p == len(b)) {
			best, most = t, p
		}
	}
	return best
}

// common returns the number of runes in the common prefix of a and b.
func common(a, b []rune) int {
	p := 0
	for p < len(a) && p < len(b) && a[p] == b[p] {
		p++
	}
	return p
}

func related(word, term []rune) bool {
	p := common(word, term)
	w, t := len(word), len(term)
	switch {
	case p == w && p == t:
		return true
	case p == 0 || !unicode.IsLetter(term[0]):
		return false
	case p == t:
		return w-t <= min(t-2, 4) // for example house: houses
	case p == w:
		return w >= 4 && t-w <= 2 // for example houses: house
	}
	return term[0] > unicode.MaxLatin1 && p >= 4 && w-p <= 2 && t-p <= 2 // for example книга: книги
}

// bare removes the Arabic article from a word, and one letter of conjunction or preposition before
// it.
func bare(word []rune) []rune {
	for skip := range 2 {
		if len(word) > skip+4 && word[skip] == 'ا' && word[skip+1] == 'ل' &&
			(skip == 0 || strings.ContainsRune("وفبك", word[0])) {
			return word[skip+2:]
		}
	}
	return word
}

// class is a class of frequent runes.
type class uint8

const (
	unusual     class = iota // any other rune, which needs the tables of Unicode
	alphabetic               // a letter of an alphabet, or an ASCII digit
	ideographic              // an ideograph or kana
	syllabic                 // a syllable of Hangul
)

// classOf returns the class of a rune without the tables of Unicode. All classes except unusual
// contain only letters and digits; none of their runes is transparent, attached, or part of the
// grapheme cluster of another rune.
func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		if r >= 0 && lower[r] != 0 {
			return alphabetic
		}
	case r < 0x3041:
		if isAlphabetic(r) {
			return alphabetic
		}
	case r >= 0x4E00 && r <= 0x9FFF, r <= 0x3096, r >= 0x30A1 && r <= 0x30FA, r >= 0x3400 && r <= 0x4DBF:
		return ideographic
	case r >= 0xAC00 && r <= 0xD7A3:
		return syllabic
	}
	return unusual
}

// isAlphabetic reports whether r is a usual letter of the Latin, Greek, Cyrillic, Hebrew or Arabic
// alphabet beyond ASCII.
func isAlphabetic(r rune) bool {
	switch {
	case r <= 0x02AF:
		return r >= 0x00C0 && r != '×' && r != '÷'
	case r <= 0x03CE:
		return r >= 0x0391 && r != 0x03A2
	case r <= 0x0481:
		return r >= 0x0400
	case r <= 0x05EA:
		return r >= 0x05D0
	}
	return r >= 0x0620 && r <= 0x064A && r != 0x0640
}

// stops reports whether r is common punctuation beyond ASCII.
func stops(r rune) bool {
	return r >= 0x2010 && r <= 0x2027 || r >= 0x3001 && r <= 0x3003 || r >= 0x3008 && r <= 0x3011 || r >= 0xFF01 &&
		r <= 0xFF0F || r >= 0xFF1A && r <= 0xFF1F
}

// letter reports whether r is part of words.
func letter(r rune) bool {
	return classOf(r) != unusual || r >= utf8.RuneSelf && r != utf8.RuneError &&
		(unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// isDense reports whether r belongs to a script in which a word can begin at any character.
func isDense(r rune) bool {
	switch classOf(r) {
	case alphabetic:
		return false
	case ideographic, syllabic:
		return true
	}
	return isIdeograph(r) || unspaced(r) || r >= 0x1100 && unicode.Is(unicode.Hangul, r)
}

// transparent reports whether r is a mark that readers omit: an accent, vowel point, tatweel or
// format character.
func transparent(r rune) bool {
	switch {
	case r < 0x00AD, classOf(r) != unusual:
		return false
	case r == 0x00AD, r >= 0x0300 && r <= 0x036F, r == 0x0640, r >= 0x064B && r <= 0x065F, r == 0x0670, r >= 0x0591 &&
		r <= 0x05C7:
		return true
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}

func appendFolded(runes []rune, r rune) []rune {
	a, b := fold(r)
	if b != 0 {
		return append(runes, a, b)
	}
	return append(runes, a)
}

// latin contains the results of fold for U+0080 to U+024F.
var latin = func() (t [0x0250 - utf8.RuneSelf][2]rune) {
	for i := range t {
		t[i][0], t[i][1] = foldUnusual(utf8.RuneSelf + rune(i))
	}
	return t
}()

// fold removes case and accents from r. b is 0 unless the letter is replaced by two.
func fold(r rune) (a, b rune) {
	switch {
	case r < utf8.RuneSelf:
		return unicode.ToLower(r), 0
	case r < 0x0250:
		l := &latin[r-utf8.RuneSelf]
		return l[0], l[1]
	case r >= 0x2E80 && r < 0xA640:
		return r, 0
	case r >= 0xFF01 && r <= 0xFF5E: // full-width ASCII
		return unicode.ToLower(r - 0xFEE0), 0
	}
	return foldUnusual(r)
}

// spelled contains letters that Unicode does not decompose, and one or two letters to replace them.
var spelled = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'þ': "th", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'ı': "i",
	'ς': "σ", 'ё': "е", 'أ': "ا", 'إ': "ا", 'آ': "ا", 'ى': "ي",
}

// foldUnusual returns the same as fold, without using the table latin.
func foldUnusual(r rune) (a, b rune) {
	switch {
	case r >= 'а' && r <= 'я':
		return r, 0
	case r < 0x0590 || r > 0x06FF: // this range contains no capitals
		r = unicode.ToLower(r)
	}
	if l, ok := spelled[r]; ok {
		a, size := utf8.DecodeRuneInString(l)
		if size == len(l) {
			return a, 0
		}
		b, _ = utf8.DecodeRuneInString(l[size:])
		return a, b
	}
	if r < 0x0400 || r >= 0x1E00 && r < 0x2000 {
		var b [utf8.UTFMax]byte
		if d := norm.NFD.Properties(b[:utf8.EncodeRune(b[:], r)]).Decomposition(); d != nil {
			r, _ = utf8.DecodeRune(d)
		}
	}
	return r, 0
}

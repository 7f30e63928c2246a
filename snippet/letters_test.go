package snippet

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// TestClasses checks that the functions for frequent runes agree with the tables of Unicode.
func TestClasses(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if single(r) && r > ' ' && r != 0x7f {
			for _, text := range []string{string(r) + "a", "a" + string(r), string(r) + "漢", "한" + string(r),
				string(r) + string(r)} {
				first, _ := utf8.DecodeRuneInString(text)
				if got, _, _, _ := uniseg.FirstGraphemeClusterInString(text, -1); got != string(first) {
					t.Errorf("%U: the first cluster of %q is %q", r, text, got)
				}
			}
			if unicode.IsSpace(r) || acts(r) {
				t.Errorf("%U does something", r)
			}
		}
		if stops(r) && (unicode.IsSpace(r) || letter(r) || isDense(r) || isIdeograph(r) || attached(r) ||
			transparent(r) || unicode.In(r, unicode.Han, unicode.M, unicode.Cf)) {
			t.Errorf("%U is no punctuation", r)
		}
		is := classOf(r)
		if is == unusual {
			continue
		}
		dense := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || dense != (is == ideographic || is == syllabic) ||
			unicode.Is(unicode.Hangul, r) != (is == syllabic) ||
			unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			t.Errorf("%U is %d", r, is)
		}
	}
}

// FuzzCounts checks that counting with classes gives the same result as counting with the tables of
// Unicode.
func FuzzCounts(f *testing.F) {
	for _, s := range []string{"", " a", "a  b", "one two\tthree  \x1f\x7f four", "zehn Bücher, 12 Häuser–x",
		"天气 is nice今天。", "a\u2028b\u202ec\xffd", "seven b\x10@[`{"} {
		f.Add(s, "b")
	}
	f.Fuzz(func(t *testing.T, s, query string) {
		chars, got := countPlain(s)
		if want := s == collapse(strings.Map(func(r rune) rune {
			if acts(r) {
				return -1
			}
			return r
		}, s)); got != want || got && chars != utf8.RuneCountInString(s) {
			t.Errorf("%q is plain: %v, %v; %d characters", s, got, want, chars)
		}
		s = strings.ToValidUTF8(s, "?")
		var c counter
		for _, r := range s {
			c.addUnusual(r)
		}
		if got := Words(s); got != c.words {
			t.Errorf("%q has %d words, %d", s, got, c.words)
		}
		heard := map[string]bool{} // the matcher must be called for all words that begin like a word of the query
		q := Wanted{Query: query, Match: func(word string) bool { heard[word] = true; return false }}.read()
		q.find(s)
		for i := 0; i < len(s); {
			r, n := utf8.DecodeRuneInString(s[i:])
			if !letter(r) || attached(r) || isDense(r) {
				i += n
				continue
			}
			end := wordEnd(s, i)
			if word := s[i:end]; nearest(folded(word, nil), q.terms) >= 0 && !heard[word] {
				t.Errorf("%q of %q was not looked at for %q", word, s, query)
			}
			i = end
		}
	})
}

// TestPlainEverywhere checks that Plain removes a character in every position next to other
// characters.
func TestPlainEverywhere(t *testing.T) {
	for r := rune('!'); r <= 0xFFFF; r++ {
		if r >= 0xD800 && r <= 0xDFFF {
			continue
		}
		for _, around := range []string{"中", "中文", "a", ""} {
			s := around + string(r) + "文字、字，文字"
			if want := !unicode.IsSpace(r) && !acts(r); (Plain(s) == s) != want {
				t.Errorf("%q is plain: %v", s, !want)
			}
		}
	}
}

// TestDenseEverywhere checks that ideographic words are found at every position, in order.
func TestDenseEverywhere(t *testing.T) {
	q := Wanted{Query: "修理 理灯 𠀀"}.read()
	for n := range 20 {
		for _, fill := range []string{"x", "é", "木", "。 ", "𠀁"} {
			text := strings.Repeat(fill, n) + "修理灯" + strings.Repeat("x", n%9) + "𠀀"
			at := n * len(fill)
			places, _ := q.find(text)
			if want := []found{{at, at + 6, 0}, {at + 3, at + 9, 1},
				{len(text) - 4, len(text), 2}}; !slices.Equal(places, want) {
				t.Errorf("%q: %v, want %v", text, places, want)
			}
		}
	}
}

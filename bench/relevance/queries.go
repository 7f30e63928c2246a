package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// query is a query that should find one page.
type query struct {
	kind  string
	page  int // index of the page
	words []string
}

func (q query) text() string { return strings.Join(q.words, " ") }

// The kinds of query.
const (
	passage = "passage" // two to four words of one passage
	rare    = "rare"    // a word that few pages contain, with words that more pages contain
	title   = "title"   // two or three words of the title
)

// pieceLeast and pieceMost are the lengths of a query word that is cut from text without blanks, in
// characters. The trigram tokenizer needs three characters.
const (
	pieceLeast = 3
	pieceMost  = 5
)

// makeQueries returns queries for randomly chosen pages.
func makeQueries(docs []document, o options) (out []query) {
	r := rand.New(rand.NewPCG(o.seed, 16))
	kinds := []string{passage, rare, title}
	if o.kind != "" {
		kinds = []string{o.kind}
	}
	frequency := frequencies(docs)
	for try := 0; len(docs) > 0 && len(out) < o.queries && try < 50*o.queries; try++ {
		q := query{kind: kinds[try%len(kinds)], page: r.IntN(len(docs))}
		d := docs[q.page]
		switch q.kind {
		case passage:
			if len(d.passages) > 0 {
				q.words = pick(r, words(r, d.passages[r.IntN(len(d.passages))]), 2+r.IntN(3))
			}
		case rare:
			q.words = pickRare(r, words(r, d.text), frequency, len(docs))
		case title:
			q.words = pick(r, words(r, d.title), 2+r.IntN(2))
		}
		if len(q.words) >= 2 {
			out = append(out, q)
		}
	}
	return out
}

// pick returns n different words of the list, in the order of the text. It returns nil if the list
// has fewer words.
func pick(r *rand.Rand, from []string, n int) []string {
	var different []string
	for _, w := range from {
		if !slices.ContainsFunc(different, func(o string) bool { return fold(o) == fold(w) }) {
			different = append(different, w)
		}
	}
	if len(different) < n {
		return nil
	}
	chosen := r.Perm(len(different))[:n]
	slices.Sort(chosen)
	var out []string
	for _, i := range chosen {
		out = append(out, different[i])
	}
	return out
}

// pickRare returns a word of at most three pages, and one or two words of at most a third of the
// pages; nil if there are none.
func pickRare(r *rand.Rand, from []string, frequency map[string]int, pages int) []string {
	var few, some []string
	for _, w := range from {
		switch n := frequency[fold(w)]; {
		case n <= 3:
			few = append(few, w)
		case n <= pages/3:
			some = append(some, w)
		}
	}
	one, others := pick(r, few, 1), pick(r, some, 1+r.IntN(2))
	if one == nil || others == nil {
		return nil
	}
	return append(one, others...)
}

// frequencies returns the number of pages that contain each word. Words that are cut from text
// without blanks are missing, so they count as rare.
func frequencies(docs []document) map[string]int {
	out := map[string]int{}
	for _, d := range docs {
		seen := map[string]bool{}
		for _, w := range strings.FieldsFunc(d.plain, func(r rune) bool { return !inWord(r) }) {
			if !seen[w] {
				seen[w] = true
				out[w]++
			}
		}
	}
	return out
}

// words returns the words of text with three letters or more, and pieces of text that is written
// without blanks.
func words(r *rand.Rand, text string) (out []string) {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !inWord(r) }) {
		runes := []rune(strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }))
		switch {
		case len(runes) == 0 || strings.ContainsFunc(w, unicode.IsDigit):
		case strings.ContainsFunc(w, unspaced):
			out = append(out, pieces(r, runes)...)
		case len(runes) >= 3 || runes[0] >= 0x0E00 && len(runes) == 2:
			out = append(out, string(runes))
		}
	}
	return out
}

// pieces cuts text without blanks into query words.
func pieces(r *rand.Rand, runes []rune) (out []string) {
	for len(runes) >= pieceLeast {
		n := min(pieceLeast+r.IntN(pieceMost-pieceLeast+1), len(runes))
		if piece := runes[:n]; !slices.ContainsFunc(piece, func(c rune) bool { return !unspaced(c) }) {
			out = append(out, string(piece))
		}
		runes = runes[n:]
	}
	return out
}

// inWord reports whether r can be part of a word. An apostrophe and a zero-width non-joiner can.
func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || r == '\u200c' || r == '\'' || r == '’'
}

// unspaced reports whether r belongs to a script that is written without blanks.
func unspaced(r rune) bool {
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
}

// fold returns s in lower case for comparisons.
func fold(s string) string {
	if utf8.ValidString(s) {
		return strings.ToLower(s)
	}
	return strings.ToLower(strings.ToValidUTF8(s, " "))
}

package index

import (
	"cmp"
	"slices"

	"github.com/blevesearch/bleve/v2/analysis"
	"golang.org/x/text/unicode/norm"
)

// Matcher returns a function that reports whether the query finds a word of a page. The page is in
// the given language. A word of the query matches every form with the same term; words of a phrase
// match only as they are written. For an invalid query the function always returns false.
func (ix *Index) Matcher(query, language string) func(word string) bool {
	m := matcher{read: ix.analysers[analyserFor(language)], plain: ix.analysers[plain], terms: map[string]bool{},
		written: map[string]bool{}}
	clauses, err := parse(query)
	if err != nil {
		return func(string) bool { return false }
	}
	for _, c := range clauses {
		switch {
		case c.not:
		case c.kind == word:
			m.find(c.text)
		case c.kind == phrase:
			for _, text := range spellings(c.text) {
				m.write(text)
			}
		}
	}
	return m.asksFor
}

type matcher struct {
	read, plain    *analyser
	terms, written map[string]bool // terms of the query's words, and words of its phrases
}

// find adds the terms of a word. For a word with zero-width non-joiners, find adds the terms of the
// word without non-joiners, and the terms of the longest part of the word: shorter parts are often
// endings, which many words have.
func (m *matcher) find(text string) {
	all := spellings(text)
	whole := m.read.query(all[len(all)-1])
	if len(all) > 1 {
		parts := m.read.query(all[0])
		whole = append(whole, slices.MaxFunc(parts,
			func(a, b token) int { return cmp.Compare(len(a.terms[0]), len(b.terms[0])) }))
	}
	for _, t := range whole {
		if t.isBreak() {
			continue
		}
		for _, term := range t.terms {
			m.terms[term] = true
		}
	}
}

// write adds the words of a phrase, each word with and without its article.
func (m *matcher) write(text string) {
	for _, t := range m.plain.query(text) {
		if t.isBreak() {
			continue
		}
		for _, term := range t.terms {
			m.written[term] = true
			m.written[string(m.withoutArticle([]byte(term)))] = true
		}
	}
}

func (m *matcher) withoutArticle(word []byte) []byte {
	if m.read.elision == nil {
		return word
	}
	return m.read.elision.Filter(analysis.TokenStream{newToken(word, analysis.AlphaNumeric, 1)})[0].Term
}

func (m *matcher) asksFor(word string) bool {
	if len(m.terms) > 0 && m.read.any(word, func(term string) bool { return m.terms[term] }) {
		return true
	}
	return len(m.written) > 0 && m.plain.any(word, func(term string) bool {
		return m.written[term] || m.read.elision != nil && m.written[string(m.withoutArticle([]byte(term)))]
	})
}

// any reports whether is returns true for a term of text. It analyses text in the same way as the
// method read does.
func (a *analyser) any(text string, is func(term string) bool) (found bool) {
	defer func() {
		if a.plain != nil && recover() != nil {
			found = a.plain.any(text, is)
		}
	}()
	g := a.borrow()
	terms := g.vocabulary.list()
	tokenise(norm.NFKC.Bytes([]byte(text)), func(word []byte, kind analysis.TokenType, _ int) {
		numbers, _ := g.read(a, word, kind, g.hash(word))
		for _, n := range numbers {
			if int(n) >= len(terms) {
				terms = g.vocabulary.list()
			}
			found = found || is(terms[n])
		}
	})
	a.giveBack(g)
	return found
}

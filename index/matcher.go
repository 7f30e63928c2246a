package index

import "github.com/blevesearch/bleve/v2/analysis"

// remembered is how many words of texts a matcher knows the answer for at most.
const remembered = 20_000

// Matcher gives a function that tells whether a word of a page in a language is one that the query asks for, as it is found: in any form
// that the analyser takes for the same, but in a phrase as it is written. It serves one goroutine. Of a query that cannot be understood it
// knows no word.
func (ix *Index) Matcher(query, language string) func(word string) bool {
	m := matcher{read: ix.analysers[analyserFor(language)], plain: ix.analysers[plain], terms: map[string]bool{}, written: map[string]bool{}, known: map[string]bool{}}
	clauses, err := parse(query)
	if err != nil {
		return func(string) bool { return false }
	}
	for _, c := range clauses {
		switch {
		case c.not:
		case c.kind == word:
			for _, t := range m.read.query(c.text) {
				for _, term := range t.terms {
					m.terms[term] = true
				}
			}
		case c.kind == phrase:
			m.write(c.text)
		}
	}
	return m.match
}

type matcher struct {
	read, plain    *analyser
	terms, written map[string]bool // that are asked for: as read by the analyser, and as they are written
	known          map[string]bool // the answer for a word
}

// write takes the words of a phrase up, each also without its article.
func (m *matcher) write(text string) {
	for _, t := range m.plain.query(text) {
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

func (m *matcher) match(word string) bool {
	if answer, known := m.known[word]; known {
		return answer
	}
	answer := m.asksFor(word)
	if len(m.known) >= remembered {
		clear(m.known)
	}
	m.known[word] = answer
	return answer
}

func (m *matcher) asksFor(word string) bool {
	if len(m.terms) > 0 {
		for _, t := range m.read.query(word) {
			for _, term := range t.terms {
				if m.terms[term] {
					return true
				}
			}
		}
	}
	if len(m.written) > 0 {
		for _, t := range m.plain.query(word) {
			for _, term := range t.terms {
				if m.written[term] || m.written[string(m.withoutArticle([]byte(term)))] {
					return true
				}
			}
		}
	}
	return false
}

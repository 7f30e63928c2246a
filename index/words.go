package index

import (
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"
	bleveindex "github.com/blevesearch/bleve_index_api"
	"golang.org/x/text/unicode/norm"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

// words is a field of running text (document.Field). Its analysis keeps a number and a position for
// each term, where bleve's own text field keeps a few objects for each word.
type words struct {
	name     string
	options  bleveindex.FieldIndexingOptions
	analysis *analyser
	text     string // dropped by Analyze
	size     int

	tokens segment.Text
	breaks int // tokens that are no words, or are words joined
}

func newWords(name, text string, o bleveindex.FieldIndexingOptions, a *analyser) *words {
	return &words{name: name, options: o, analysis: a, text: text, size: len(text)}
}

// Analyze cuts the text into terms, once.
func (w *words) Analyze() {
	if w.text != "" {
		w.analysis.read(w, norm.NFKC.Bytes([]byte(w.text)))
		w.text = ""
	}
}

func (w *words) Name() string                             { return w.name }
func (w *words) Options() bleveindex.FieldIndexingOptions { return w.options }
func (w *words) ArrayPositions() []uint64                 { return nil }
func (w *words) Value() []byte                            { return nil } // nothing is stored
func (w *words) EncodedFieldType() byte                   { return 't' }
func (w *words) NumPlainTextBytes() uint64                { return uint64(w.size) }
func (w *words) Size() int                                { return w.size }
func (w *words) AnalyzedLength() int                      { return len(w.tokens.Numbers) - w.breaks }

// Tokens implements segment.Tokenized.
func (w *words) Tokens() *segment.Text { return &w.tokens }

// AnalyzedTokenFrequencies would be for bleve's own builder of segments, which makes none of words.
func (w *words) AnalyzedTokenFrequencies() bleveindex.TokenFrequencies { return nil }

// analyser reads texts with the filters of an analysis.DefaultAnalyzer, and remembers what they
// make of a token: they look at one token at a time, and most tokens have been met before. It is
// safe for concurrent use.
type analyser struct {
	chain   *analysis.DefaultAnalyzer
	elision analysis.TokenFilter // takes an article off, as one of the chain does; nil: none does
	both    bool                 // the chain gives a word as it is written, last, in addition to its stem
	// alternatives returns the terms by which a word of a query is found, from those of the same
	// word in a text; nil: the same.
	alternatives func(terms []string) []string
	plain        *analyser // reads a text over which the chain panics; nil for the plain one itself

	mu   sync.Mutex
	idle []*glossary
}

// token is a word of a query, a character of dense script, or a break.
type token struct {
	terms    []string // a few at most
	position int
	kind     analysis.TokenType
	form     segment.Form
	others   bool // all terms but the last are of other words, written alike
}

func (t token) isBreak() bool { return t.terms[0] == breakTerm }

// query reads a query as read reads a text.
func (a *analyser) query(text string) (out []token) {
	defer func() {
		if a.plain != nil && recover() != nil {
			out = a.plain.query(text)
		}
	}()
	tokenise(norm.NFKC.Bytes([]byte(text)), func(word []byte, kind analysis.TokenType, position int) {
		terms, f := a.terms(word, kind)
		if len(terms) == 0 || kind == joined {
			return
		}
		others := a.alternatives != nil && kind == analysis.AlphaNumeric
		if others {
			terms = a.alternatives(terms)
		}
		out = append(out, token{terms, position, kind, f, others})
	})
	return out
}

// spellings returns text, and if it has zero-width non-joiners, also text without them: many write
// the words without.
func spellings(text string) []string {
	if !strings.ContainsRune(text, nonJoiner) {
		return []string{text}
	}
	return []string{text, strings.ReplaceAll(text, string(nonJoiner), "")}
}

// terms asks the filters for the terms of a word.
func (a *analyser) terms(word []byte, kind analysis.TokenType) (terms []string, f segment.Form) {
	stream := analysis.TokenStream{newToken(append([]byte{}, word...), kind, 1)}
	for _, filter := range a.chain.TokenFilters {
		stream = filter.Filter(stream)
	}
	for _, t := range stream {
		terms = append(terms, string(t.Term))
	}
	if kind != analysis.Single && a.plain != nil && len(terms) > 0 {
		f = a.form(word, terms[0])
	}
	return terms, f
}

func (a *analyser) borrow() *glossary {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.idle); n > 0 {
		g := a.idle[n-1]
		a.idle = a.idle[:n-1]
		return g
	}
	return newGlossary()
}

func (a *analyser) giveBack(g *glossary) {
	if g.full() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.idle = append(a.idle, g)
}

// read analyses text into w. It runs on workers of the library, where a panic over a hostile text
// would end the process: such a text is read by the plain analyser.
func (a *analyser) read(w *words, text []byte) {
	defer func() {
		if a.plain != nil && recover() != nil {
			w.tokens, w.breaks = segment.Text{}, 0
			a.plain.read(w, text)
		}
	}()
	g := a.borrow()
	out := segment.Text{Numbers: make([]uint32, 0, len(text)/6+1), Positions: make([]uint32, 0, len(text)/6+1)}
	placed := w.options.IncludeTermVectors()
	if placed {
		out.Forms = make([]segment.Form, 0, len(text)/6+1)
	}
	tokenise(text, func(token []byte, kind analysis.TokenType, position int) {
		isBreak := string(token) == breakTerm
		if isBreak && !placed {
			return // without positions it has no meaning
		}
		numbers, f := g.read(a, token, kind)
		if isBreak || kind == joined {
			w.breaks += len(numbers)
		}
		for _, n := range numbers {
			out.Numbers = append(out.Numbers, n)
			out.Positions = append(out.Positions, uint32(position))
			if placed {
				out.Forms = append(out.Forms, f)
			}
		}
	})
	out.Source, out.Terms = g, g.terms
	w.tokens = out
	a.giveBack(g)
}

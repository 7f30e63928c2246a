package index

import (
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"
	bleveindex "github.com/blevesearch/bleve_index_api"
	"golang.org/x/text/unicode/norm"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

// words is a field of running text (document.Field). Its analysis stores a number and a position
// for each term; bleve's own text field stores several objects for each word.
type words struct {
	name     string
	options  bleveindex.FieldIndexingOptions
	analysis *analyser
	text     string // set to "" by Analyze
	size     int

	tokens segment.Text
	breaks int // number of tokens that are not words, or are joined words
}

func newWords(name, text string, o bleveindex.FieldIndexingOptions, a *analyser) *words {
	return &words{name: name, options: o, analysis: a, text: text, size: len(text)}
}

// Analyze divides the text into terms, once.
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

// AnalyzedTokenFrequencies is required by the interface; only bleve's own segment builder would use
// it.
func (w *words) AnalyzedTokenFrequencies() bleveindex.TokenFrequencies { return nil }

// analyser analyses texts with the filters of an analysis.DefaultAnalyzer, and caches the terms of
// each token. This is possible because the filters process one token at a time, and most tokens are
// repeated. It is safe for concurrent use.
type analyser struct {
	chain *analysis.DefaultAnalyzer
	// removes an article in the same way as a filter of the analyser; nil: no filter removes
	// articles
	elision analysis.TokenFilter
	both    bool // the last term of each word is the word as it is written, in addition to its stem
	// alternatives returns the terms for a word of a query, given the terms of the same word in a
	// text. nil: the word has the same terms in a query as in a text.
	alternatives func(terms []string) []string
	plain        *analyser // used instead for a text on which this analyser panics; nil for the plain analyser itself

	mu         sync.Mutex
	vocabulary *vocabulary // nil before the first text
	idle       []*glossary // all of vocabulary
}

// token is a word of a query, a character of dense script, or a break.
type token struct {
	terms    []string // usually a few terms
	position int
	kind     analysis.TokenType
	form     segment.Form
	others   bool // all terms except the last belong to other words with a similar spelling
}

func (t token) isBreak() bool { return t.terms[0] == breakTerm }

// query analyses a query in the same way as the method read analyses a text.
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

// spellings returns text, and if it contains zero-width non-joiners, also text without them,
// because many people omit them.
func spellings(text string) []string {
	if !strings.ContainsRune(text, nonJoiner) {
		return []string{text}
	}
	return []string{text, strings.ReplaceAll(text, string(nonJoiner), "")}
}

// terms returns the terms of a word, computed by the filters, and its form.
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
	if a.vocabulary == nil || len(a.vocabulary.list()) >= vocabularyTerms {
		a.vocabulary, a.idle = &vocabulary{number: map[string]uint32{}}, nil
	}
	if n := len(a.idle); n > 0 {
		g := a.idle[n-1]
		a.idle = a.idle[:n-1]
		return g
	}
	return newGlossary(a.vocabulary)
}

func (a *analyser) giveBack(g *glossary) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if g.vocabulary == a.vocabulary && g.used < glossaryTokens {
		a.idle = append(a.idle, g)
	}
}

// read analyses text and adds its terms to w. It runs in goroutines of bleve, where a panic would
// end the process. If a hostile text makes a filter panic, the plain analyser reads the text
// instead.
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
			return // without positions the token is not needed
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
	out.Source, out.Terms = g.vocabulary, g.vocabulary.list()
	w.tokens = out
	a.giveBack(g)
}

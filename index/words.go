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
		w.analysis.read(w)
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

// read analyses the text of w and adds its terms to w. It runs in goroutines of bleve, where a
// panic would end the process. If a hostile text makes a filter panic, the plain analyser reads the
// text instead.
func (a *analyser) read(w *words) {
	defer func() {
		if a.plain != nil && recover() != nil {
			w.tokens, w.breaks = segment.Text{}, 0
			a.plain.read(w)
		}
	}()
	r := reading{analyser: a, glossary: a.borrow(), placed: w.options.IncludeTermVectors()}
	text := r.glossary.normalise(w.text)
	r.text = segment.Text{Numbers: make([]uint32, 0, len(text)/6+1), Positions: make([]uint32, 0, len(text)/6+1)}
	if r.placed {
		r.text.Forms = make([]segment.Form, 0, len(text)/6+1)
	}
	tokenise(text, r.add)
	r.flush()
	r.text.Source, r.text.Terms = r.glossary.vocabulary, r.glossary.vocabulary.list()
	w.tokens, w.breaks = r.text, r.breaks
	a.giveBack(r.glossary)
}

// reading is the analysis of one text.
type reading struct {
	analyser *analyser
	glossary *glossary
	placed   bool // positions are stored
	text     segment.Text
	breaks   int // number of tokens that are not words, or are joined words

	// The next tokens. They are looked up together, so that the processor reads several places in
	// memory at the same time.
	next [16]found
	n    int
}

// found is a token of a text.
type found struct {
	token    []byte
	hash     uint64
	position uint32
	kind     analysis.TokenType
}

// add adds a token to the next ones.
func (r *reading) add(token []byte, kind analysis.TokenType, position int) {
	if string(token) == breakTerm && !r.placed {
		return // without positions the token is not needed
	}
	if r.n == len(r.next) {
		r.flush()
	}
	r.next[r.n] = found{token, r.glossary.hash(token), uint32(position), kind}
	r.n++
}

// flush adds the terms of the next tokens to the text.
func (r *reading) flush() {
	for i := range r.n {
		t := &r.next[i]
		numbers, f := r.glossary.read(r.analyser, t.token, t.kind, t.hash)
		if t.kind == joined || string(t.token) == breakTerm {
			r.breaks += len(numbers)
		}
		for _, n := range numbers {
			r.text.Numbers = append(r.text.Numbers, n)
			r.text.Positions = append(r.text.Positions, t.position)
			if r.placed {
				r.text.Forms = append(r.text.Forms, f)
			}
		}
	}
	r.n = 0
}

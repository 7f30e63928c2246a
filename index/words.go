package index

import (
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"
	bleveindex "github.com/blevesearch/bleve_index_api"
	"golang.org/x/text/unicode/norm"
)

// words is a field of running text (document.Field). Its analysis keeps a number and a position for each term, where bleve's own
// text field keeps a few objects for each word.
type words struct {
	name     string
	options  bleveindex.FieldIndexingOptions
	analysis *analyser
	text     string // dropped by Analyze
	size     int

	terms     []string // by number, of the glossary that was used
	of        *glossary
	numbers   []uint32 // of the terms, in the order of the text
	positions []uint32 // beside them
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
func (w *words) AnalyzedLength() int                      { return len(w.numbers) }

// AnalyzedTokenFrequencies is the analysis as bleve's own builder of segments takes it.
func (w *words) AnalyzedTokenFrequencies() bleveindex.TokenFrequencies {
	out := bleveindex.TokenFrequencies{}
	for i, n := range w.numbers {
		term := w.terms[n]
		tf := out[term]
		if tf == nil {
			tf = &bleveindex.TokenFreq{Term: []byte(term)}
			out[term] = tf
		}
		tf.SetFrequency(tf.Frequency() + 1)
		if w.options.IncludeTermVectors() {
			tf.Locations = append(tf.Locations, &bleveindex.TokenLocation{Position: int(w.positions[i])})
		}
	}
	return out
}

// analyser reads texts with the filters of an analysis.DefaultAnalyzer, and remembers what they make of a token: they look at one
// token at a time, and most tokens have been met before. It is safe for concurrent use.
type analyser struct {
	chain *analysis.DefaultAnalyzer
	plain *analyser // reads a text over which the chain panics; nil for the plain one itself

	mu   sync.Mutex
	idle []*glossary
}

// Analyze reads a query, whose tokens are wanted with their types.
func (a *analyser) Analyze(text []byte) (tokens analysis.TokenStream) {
	defer func() {
		if a.plain != nil && recover() != nil {
			tokens = a.plain.Analyze(text)
		}
	}()
	return a.chain.Analyze(text)
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

// read analyses text into w. It runs on workers of the library, where a panic over a hostile text would end the process: such a text
// is read by the plain analyser.
func (a *analyser) read(w *words, text []byte) {
	defer func() {
		if a.plain != nil && recover() != nil {
			w.numbers, w.positions = nil, nil
			a.plain.read(w, text)
		}
	}()
	filtered := text
	for _, f := range a.chain.CharFilters {
		filtered = f.Filter(filtered)
	}
	g := a.borrow()
	w.numbers = make([]uint32, 0, len(text)/6+1)
	w.positions = make([]uint32, 0, len(text)/6+1)
	tokenise(filtered, func(token []byte, kind analysis.TokenType, position int) {
		for _, n := range g.read(a.chain, token, kind) {
			w.numbers = append(w.numbers, n)
			w.positions = append(w.positions, uint32(position))
		}
	})
	w.of, w.terms = g, g.terms
	a.giveBack(g)
}

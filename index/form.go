package index

import (
	"bytes"
	"hash/fnv"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

// form returns the form of a word of a text. term is the first term of the word.
func (a *analyser) form(word []byte, term string) segment.Form {
	copied := newToken(append([]byte{}, word...), analysis.AlphaNumeric, 1)
	lower := lowercase.NewLowerCaseFilter().Filter(analysis.TokenStream{copied})
	article := 0
	if a.elision != nil {
		whole := append([]byte{}, lower[0].Term...)
		lower = a.elision.Filter(lower)
		article = len(whole) - len(lower[0].Term)
		if article > 0 {
			article = 1 + number(foldTerm(whole[:article]), 1<<segment.ArticleBits-1)
		}
	}
	written := foldTerm(lower[0].Term)
	f := segment.Form(article) << segment.WordBits
	if a.both || string(written) != term {
		f |= segment.Form(1 + number(written, 1<<segment.WordBits-1))
	}
	return f
}

// number returns a hash of a word. The hash is less than n.
func number(word []byte, n uint32) int {
	h := fnv.New32a()
	h.Write(bytes.TrimRight(word, "'"))
	return int(h.Sum32() % n)
}

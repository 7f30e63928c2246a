package index

import (
	"bytes"
	"hash/fnv"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
)

// form tells the words apart that an analyser takes for the same, so that a phrase is found as it is written. It is 0 for a word that
// is written as its term; else it holds a number for what is written, and one for an article that the analyser takes off, both out of
// hashes.
type form uint32

const (
	wordBits    = 14
	articleBits = 7
	formBits    = articleBits + wordBits
)

// form of a word of a text, given its first term.
func (a *analyser) form(word []byte, term string) form {
	lower := lowercase.NewLowerCaseFilter().Filter(analysis.TokenStream{newToken(append([]byte{}, word...), analysis.AlphaNumeric, 1)})
	article := 0
	if a.elision != nil {
		whole := append([]byte{}, lower[0].Term...)
		lower = a.elision.Filter(lower)
		article = len(whole) - len(lower[0].Term)
		if article > 0 {
			article = 1 + number(foldTerm(whole[:article]), 1<<articleBits-1)
		}
	}
	written := foldTerm(lower[0].Term)
	f := form(article) << wordBits
	if a.both || string(written) != term {
		f |= form(1 + number(written, 1<<wordBits-1))
	}
	return f
}

// number gives a word one of n numbers.
func number(word []byte, n uint32) int {
	h := fnv.New32a()
	h.Write(bytes.TrimRight(word, "'"))
	return int(h.Sum32() % n)
}

// isWritten tells whether a word of form f is what a query asks for as want. The article of the first word need not be asked for.
func (f form) isWritten(want form, first bool) bool {
	const article = ^form(1<<wordBits - 1)
	return f&^article == want&^article && (f&article == want&article || first && want&article == 0)
}

package index

import (
	"hash/maphash"
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"
	"golang.org/x/text/unicode/norm"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

// Limits on what is cached. A full vocabulary or glossary is replaced by an empty one.
const (
	vocabularyTerms = 50_000
	glossaryTokens  = 100_000
	maxCopied       = 1 << 20 // bytes
)

// vocabulary numbers the terms of an analyser. It is safe for concurrent use.
type vocabulary struct {
	mu     sync.Mutex
	number map[string]uint32 // maps a term to its number
	terms  []string          // terms by number; only appended to, so that slices of it remain valid
}

// list returns the terms by their numbers.
func (v *vocabulary) list() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.terms
}

// appendNumbers appends the numbers of terms to out.
func (v *vocabulary) appendNumbers(out []uint32, terms []string) []uint32 {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, term := range terms {
		n, known := v.number[term]
		if !known {
			n = uint32(len(v.terms))
			v.terms = append(v.terms, term)
			v.number[term] = n
		}
		out = append(out, n)
	}
	return out
}

// glossary caches the numbers of the terms of each token. Only one goroutine may use it at a time.
type glossary struct {
	vocabulary *vocabulary

	// Every word of every text is looked up here, so a lookup reads one place in memory: tokens are
	// compared by a hash of 64 bits with a random seed. Two of them have the same hash with a
	// probability of less than one in a billion.
	seed    maphash.Seed
	slots   []meaning // the length is a power of two; at most half of the slots are used
	used    int
	numbers []uint32 // numbers of the terms of the tokens that have several terms
	single  [1]uint32
	copied  []byte // memory that normalise uses again
}

// meaning is the analysis of a token, in 16 bytes.
type meaning struct {
	hash uint64 // hash of the token; 0: the slot is free
	// the number of the term, or, unless there is exactly one, the index of the numbers of the
	// terms in glossary.numbers
	at    uint32
	terms uint32 // number of terms, above the form of the token
}

const (
	formBits    = segment.WordBits + segment.ArticleBits
	maxMeanings = 1<<(32-formBits) - 1 // maximum number of terms of a token
)

func (m *meaning) count() uint32      { return m.terms >> formBits }
func (m *meaning) form() segment.Form { return segment.Form(m.terms & (1<<formBits - 1)) }

func newGlossary(v *vocabulary) *glossary {
	return &glossary{vocabulary: v, seed: maphash.MakeSeed(), slots: make([]meaning, 1<<10)}
}

// normalise returns text in the form NFKC. The result is valid until the next call.
func (g *glossary) normalise(text string) []byte {
	if cap(g.copied) > maxCopied {
		g.copied = nil
	}
	g.copied = append(g.copied[:0], text...)
	return norm.NFKC.Bytes(g.copied)
}

// hash returns the hash of a token.
func (g *glossary) hash(token []byte) uint64 { return max(maphash.Bytes(g.seed, token), 1) }

// read returns the numbers of the terms of a token, and its form. h is the hash of the token. The
// numbers are valid until the next call.
func (g *glossary) read(a *analyser, token []byte, kind analysis.TokenType, h uint64) ([]uint32, segment.Form) {
	mask := uint64(len(g.slots) - 1)
	i := h & mask
	for g.slots[i].hash != h {
		if g.slots[i].hash == 0 {
			g.learn(a, token, kind, i, h)
			return g.read(a, token, kind, h)
		}
		i = (i + 1) & mask
	}
	m := &g.slots[i]
	if m.count() == 1 {
		g.single[0] = m.at
		return g.single[:], m.form()
	}
	return g.numbers[m.at:][:m.count()], m.form()
}

// learn analyses a token and stores its meaning in the free slot i.
func (g *glossary) learn(a *analyser, token []byte, kind analysis.TokenType, i, h uint64) {
	terms, f := a.terms(token, kind)
	terms = terms[:min(len(terms), maxMeanings)]
	first := len(g.numbers)
	g.numbers = g.vocabulary.appendNumbers(g.numbers, terms)
	m := meaning{hash: h, at: uint32(first), terms: uint32(len(terms))<<formBits | uint32(f)}
	if len(terms) == 1 {
		m.at = g.numbers[first]
		g.numbers = g.numbers[:first]
	}
	g.slots[i] = m
	if g.used++; 2*g.used > len(g.slots) {
		g.grow()
	}
}

// grow doubles the number of slots.
func (g *glossary) grow() {
	old := g.slots
	g.slots = make([]meaning, 2*len(old))
	mask := uint64(len(g.slots) - 1)
	for _, m := range old {
		if m.hash == 0 {
			continue
		}
		i := m.hash & mask
		for g.slots[i].hash != 0 {
			i = (i + 1) & mask
		}
		g.slots[i] = m
	}
}

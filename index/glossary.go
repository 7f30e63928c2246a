package index

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/blevesearch/bleve/v2/analysis"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

// Limits on what a glossary caches. A full glossary is replaced by an empty one.
const (
	glossaryTerms  = 50_000
	glossaryTokens = 100_000
	glossaryToken  = 40  // maximum bytes of a token; longer tokens are rarely repeated
	glossaryMeans  = 255 // number of terms of a token
)

// glossary numbers the terms, and caches the numbers of the terms of each token. Only one goroutine
// may use it at a time. terms is only appended to, so that slices of it remain valid.
type glossary struct {
	terms  []string
	number map[string]uint32 // maps a term to its number

	// Every word of every text is looked up here. A slot points to the cached data of a token,
	// which is contiguous in memory.
	seed  maphash.Seed
	slots []slot // the length is a power of two; at most half of the slots are used
	used  int
	// for each token: its length, its bytes, its form (4 bytes), the index of its first term in
	// numbers (4 bytes), and the number of its terms
	tokens  []byte
	numbers []uint32 // numbers of the terms of all tokens, token after token
}

// slot is an entry of the hash table for a token.
type slot struct {
	hash uint32
	at   uint32 // offset of the token in tokens, plus 1; 0: the slot is free
}

func newGlossary() *glossary {
	return &glossary{number: map[string]uint32{}, seed: maphash.MakeSeed(), slots: make([]slot, 1<<10)}
}

func (g *glossary) full() bool { return len(g.terms) >= glossaryTerms || g.used >= glossaryTokens }

// read returns the numbers of the terms of a token, and its form. The numbers are valid until the
// next call.
func (g *glossary) read(a *analyser, token []byte, kind analysis.TokenType) ([]uint32, segment.Form) {
	h := uint32(maphash.Bytes(g.seed, token))
	mask := uint32(len(g.slots) - 1)
	i := h & mask
	for ; g.slots[i].at != 0; i = (i + 1) & mask {
		if g.slots[i].hash != h {
			continue
		}
		known := g.tokens[g.slots[i].at-1:]
		end := 1 + int(known[0])
		if string(known[1:end]) == string(token) {
			f, first := binary.LittleEndian.Uint32(known[end:]), binary.LittleEndian.Uint32(known[end+4:])
			return g.numbers[first : first+uint32(known[end+8])], segment.Form(f)
		}
	}
	numbers, f := g.learn(a, token, kind)
	if len(token) <= glossaryToken && len(numbers) <= glossaryMeans {
		g.slots[i] = slot{h, uint32(len(g.tokens)) + 1}
		g.tokens = append(append(g.tokens, byte(len(token))), token...)
		g.tokens = binary.LittleEndian.AppendUint32(g.tokens, uint32(f))
		g.tokens = binary.LittleEndian.AppendUint32(g.tokens, uint32(len(g.numbers)-len(numbers)))
		g.tokens = append(g.tokens, byte(len(numbers)))
		if g.used++; 2*g.used > len(g.slots) {
			g.grow()
		}
	}
	return numbers, f
}

func (g *glossary) learn(a *analyser, token []byte, kind analysis.TokenType) ([]uint32, segment.Form) {
	terms, f := a.terms(token, kind)
	first := len(g.numbers)
	for _, term := range terms {
		n, known := g.number[term]
		if !known {
			n = uint32(len(g.terms))
			g.terms = append(g.terms, term)
			g.number[term] = n
		}
		g.numbers = append(g.numbers, n)
	}
	return g.numbers[first:], f
}

// grow doubles the number of slots.
func (g *glossary) grow() {
	old := g.slots
	g.slots = make([]slot, 2*len(old))
	mask := uint32(len(g.slots) - 1)
	for _, s := range old {
		if s.at == 0 {
			continue
		}
		i := s.hash & mask
		for g.slots[i].at != 0 {
			i = (i + 1) & mask
		}
		g.slots[i] = s
	}
}

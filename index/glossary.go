package index

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/blevesearch/bleve/v2/analysis"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

// What a glossary remembers at most. A full one is replaced.
const (
	glossaryTerms  = 50_000
	glossaryTokens = 100_000
	glossaryToken  = 40  // bytes of a token; longer ones are rarely met again
	glossaryMeans  = 255 // terms of a token
)

// glossary knows terms by number, and tokens by the numbers of their terms. It belongs to one
// reader at a time; terms is only appended to, so that what was read before stays good.
type glossary struct {
	terms  []string
	number map[string]uint32 // of a term

	// Tokens are looked up for every word of every text: a slot leads to all that is known of one,
	// which lies together.
	seed  maphash.Seed
	slots []slot // a power of two of them, at most half in use
	used  int
	// of each its length, itself, its form (4 bytes), and where its terms are in numbers: the first
	// (4 bytes) and how many
	tokens  []byte
	numbers []uint32 // of terms, one token after the other
}

// slot is an entry for a token; at is 0 if it is free.
type slot struct {
	hash uint32
	at   uint32 // where it begins in tokens, plus 1; 0: empty
}

func newGlossary() *glossary {
	return &glossary{number: map[string]uint32{}, seed: maphash.MakeSeed(), slots: make([]slot, 1<<10)}
}

func (g *glossary) full() bool { return len(g.terms) >= glossaryTerms || g.used >= glossaryTokens }

// read returns the form of a token, and the numbers of its terms, which are valid until the next
// call.
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

// grow doubles the slots.
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

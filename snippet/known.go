package snippet

import (
	"math/bits"
	"math/rand/v2"
	"strings"
)

// What is remembered of words at most: so many short ones, and as many others.
const (
	remembered = 1 << 14
	shortWord  = 16 // bytes
)

// known holds which terms words are found as, and nothing of the texts they stand in.
type known struct {
	seed  [2]uint64
	short []packed // none or a power of two of them, at most half in use
	used  int
	long  map[string]uint32
}

// packed is a short word: its bytes, followed by zeros, and how many they are; 0: no word.
type packed struct {
	head, tail uint64
	size       uint32
	terms      uint32 // as which it is found, where it is remembered
}

// pack packs the word at start of text, as far as end, if it is short; of another, size is 0.
func pack(text string, start int) (p packed, end int) {
	if start+16 <= len(text) {
		head, n, whole := beginning(eight(text, start))
		var tail uint64
		if n == 8 {
			tail, n, whole = beginning(eight(text, start+8))
			n += 8
		}
		if whole {
			return packed{head: head, tail: tail, size: uint32(n)}, start + n
		}
	}
	end = wordEnd(text, start)
	if n := end - start; n <= shortWord {
		p.size = uint32(n)
		for i, b := range []byte(text[start:end]) {
			if i < 8 {
				p.head |= uint64(b) << (8 * i)
			} else {
				p.tail |= uint64(b) << (8*i - 64)
			}
		}
	}
	return p, end
}

// beginning is the n bytes of a word that x begins with, and whether the word is known to end there.
func beginning(x uint64) (first uint64, n int, whole bool) {
	made, known := uint64(0), 8
	if x&high == 0 {
		made = alphanumeric(x)
	} else {
		made, _, known = alphabetics(x)
	}
	n = bits.TrailingZeros64(^made&high) / 8
	return x & (1<<(8*n) - 1), n, n < known
}

// recall tells what is remembered of a word.
func (k *known) recall(word string, p packed) (terms uint32, told bool) {
	if p.size == 0 {
		terms, told = k.long[word]
		return terms, told
	}
	if len(k.short) == 0 {
		return 0, false
	}
	s := k.slot(p)
	return s.terms, s.size != 0
}

// remember is for a word that is not.
func (k *known) remember(word string, p packed, terms uint32) {
	if p.size == 0 {
		if len(k.long) >= remembered || k.long == nil {
			k.long = map[string]uint32{}
		}
		k.long[strings.Clone(word)] = terms
		return
	}
	if 2*k.used >= len(k.short) {
		k.grow()
	}
	p.terms = terms
	*k.slot(p) = p
	k.used++
}

// forget makes room for other words.
func (k *known) forget() {
	clear(k.short)
	clear(k.long)
	k.used = 0
}

// slot is where p is, or an empty one for it.
func (k *known) slot(p packed) *packed {
	high, low := bits.Mul64(p.head^k.seed[0], p.tail^k.seed[1])
	for i := high ^ low; ; i++ {
		s := &k.short[i&uint64(len(k.short)-1)]
		if s.head == p.head && s.tail == p.tail && s.size == p.size || s.size == 0 {
			return s
		}
	}
}

// grow doubles the slots, or empties them if they are as many as may be.
func (k *known) grow() {
	old := k.short
	if len(old) >= 2*remembered {
		k.forget()
		return
	}
	if len(old) == 0 {
		k.seed = [2]uint64{rand.Uint64(), rand.Uint64()}
	}
	k.short = make([]packed, max(2*len(old), 1<<8))
	for _, p := range old {
		if p.size != 0 {
			*k.slot(p) = p
		}
	}
}

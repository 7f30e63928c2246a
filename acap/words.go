package acap

import (
	"strings"
	"unicode/utf8"
)

// slab allocates values in large pieces, to save allocations. The values live as long as their
// file.
type slab[T any] struct {
	free []T
	size int // number of values in the last piece
}

const maxSlab = 64

func (s *slab[T]) one() *T { return &s.many(1)[0] }

// many returns a slice of n values without spare capacity.
func (s *slab[T]) many(n int) []T {
	if n > len(s.free) {
		s.size = min(max(4, 2*s.size), maxSlab)
		if n > s.size {
			return make([]T, n)
		}
		s.free = make([]T, s.size)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

// lineName holds the name of a line in lower case, and the conventional field that it means.
type lineName struct{ lower, conventional string }

// lineNames maps known names of lines to their lower-case forms, so that known names need no
// allocation.
var lineNames = func() map[string]lineName {
	names := map[string]lineName{}
	for name, meant := range conventionalNames {
		names[name] = lineName{name, meant}
	}
	for _, name := range fieldNames() {
		names[name] = lineName{lower: name}
	}
	return names
}()

// longestName is greater than the length of every known name, in bytes.
const longestName = 48

// lowerName returns name in lower case, and the conventional field that it means, if any.
func lowerName(name string) (lower, conventional string) {
	var b [longestName]byte
	if len(name) > len(b) {
		return strings.ToLower(name), ""
	}
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		b[i] = c
	}
	if known, ok := lineNames[string(b[:len(name)])]; ok {
		return known.lower, known.conventional
	}
	return strings.ToLower(name), ""
}

// maxWords is how many words of one line can be split without an allocation.
const maxWords = 16

// split splits s at blanks, like strings.Fields. It allocates the result in tokens.
func split(s string, tokens *slab[string]) []string {
	var from, to [maxWords]int32
	n, inside := 0, false
	for i := range len(s) {
		c := s[i]
		switch space := c == ' ' || c >= '\t' && c <= '\r'; {
		case c >= utf8.RuneSelf || n == len(from):
			return strings.Fields(s)
		case space && inside:
			to[n], inside = int32(i), false
			n++
		case !space && !inside:
			from[n], inside = int32(i), true
		}
	}
	if inside {
		to[n] = int32(len(s))
		n++
	}
	out := tokens.many(n)
	for i := range out {
		out[i] = s[from[i]:to[i]]
	}
	return out
}

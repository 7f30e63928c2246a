package index

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// Where a term stands in a document takes six bytes or more in a segment of bleve, each time. Here it is packed into what bleve's merging
// copies as it is, or writes as it read it:
//
//   - The frequency is how often the term is there.
//   - The norm is the length of the field, as a code, and above it the places of a term that is there a few times, if there is room: so they
//     take no location, and a term that is there once in a single document nothing but its entry in the dictionary.
//   - Else there is one location. Its position, start, end and array positions are one list of numbers, with zeros up to the third.

// spot is where a word stands in a document.
type spot struct {
	position uint32
	form     form
}

const (
	codeBits    = 6
	roomBits    = 24         // for places, above the code and a bit that tells of a form
	maxNorm     = 0x7F800000 // bleve reads it as a float: below all that are not numbers, and within the 31 bits of an entry
	maxPosition = 1<<positionBits - 1
)

// lengthCode is the length of a field in tokens, to an eighth of it; never 0.
func lengthCode(n uint32) uint64 {
	n = min(max(n, 1), 1<<17-1)
	if n < 8 {
		return uint64(n)
	}
	shift := bits.Len32(n) - 3
	return uint64(4 + 4*shift + int(n>>shift&3))
}

// codeOf is the code of a length that a norm holds.
func codeOf(norm uint64) uint64 { return norm & (1<<codeBits - 1) }

// lengthOf reads what lengthCode has written.
func lengthOf(code uint64) float64 {
	if code < 8 {
		return float64(code)
	}
	shift := code/4 - 1
	return float64((4+code%4)<<shift) + float64(uint64(1)<<shift-1)/2
}

// packed is a norm that holds places beside the code of a length: of one word with its form, or of words without; false if they have no
// room.
func packed(places []place, code uint64) (norm uint64, ok bool) {
	if f := places[0].form(); f != 0 {
		norm = places[0].position()<<wordBits | uint64(f)
		if len(places) > 1 || f >= 1<<wordBits || norm >= 1<<roomBits {
			return 0, false
		}
		norm = norm<<1 | 1
	} else {
		width := roomBits / uint64(len(places))
		last := uint64(0)
		for i, p := range places {
			n := p.position() - last
			last = p.position()
			if n == 0 || n >= 1<<width || p.form() != 0 {
				return 0, false
			}
			norm |= n << (uint64(i) * width)
		}
		norm <<= 1
	}
	norm = norm<<codeBits | code
	return norm, norm < maxNorm
}

// unpacked adds the places that packed has written.
func unpacked(out []spot, norm, often uint64) ([]spot, error) {
	n := norm >> codeBits
	switch {
	case n == 0 || often == 0 || often > roomBits || n&1 != 0 && often > 1:
		return out, errPlaces
	case n&1 != 0:
		return append(out, spot{uint32(n >> 1 >> wordBits), form(n >> 1 & (1<<wordBits - 1))}), nil
	}
	width := roomBits / often
	position := uint32(0)
	for n >>= 1; often > 0; often-- {
		position += uint32(n & (1<<width - 1))
		n >>= width
		out = append(out, spot{position: position})
	}
	return out, nil
}

// locate adds places to a list of numbers: of each how far it is behind the last. The lowest bit of the first number tells whether words
// have forms. If so, the form of the first follows, and the lowest bit of every other number tells whether its form is another.
func locate(out []uint64, places []place) []uint64 {
	formed := slices.ContainsFunc(places, func(p place) bool { return p.form() != 0 })
	last, now := uint64(0), form(0)
	for i, p := range places {
		n, f := p.position()-last, p.form()
		switch {
		case i == 0 && formed:
			out = append(out, n<<1|1, uint64(f))
		case i == 0 || formed && f == now:
			out = append(out, n<<1)
		case formed:
			out = append(out, n<<1|1, uint64(f))
		default:
			out = append(out, n)
		}
		last, now = p.position(), f
	}
	for len(out) < 3 {
		out = append(out, 0)
	}
	return out
}

// located adds so many places from a location as it is written: the number of a field, three of the list, how many there are more, and they.
func located(out []spot, location []byte, often uint64) ([]spot, error) {
	i, ok := -1, true
	next := func() (n uint64) {
		for {
			read, size := binary.Uvarint(location)
			if size <= 0 {
				ok = false
				return 0
			}
			location = location[size:]
			if i++; i != 0 && i != 4 {
				return read
			}
		}
	}
	position, now, shift := uint64(0), form(0), uint64(1)
	for first := true; often > 0; often-- {
		n := next()
		if n>>shift > maxPosition {
			return out, errPlaces
		}
		if position += n >> shift; position == 0 || position > maxPosition {
			return out, errPlaces
		}
		switch {
		case shift == 1 && n&1 != 0:
			f := next()
			if f >= 1<<formBits {
				return out, errPlaces
			}
			now = form(f)
		case first:
			shift = 0
		}
		if !ok {
			return out, errPlaces
		}
		first = false
		out = append(out, spot{uint32(position), now})
	}
	return out, nil
}

var errPlaces = fmt.Errorf("%w: it does not say where a word stands", ErrCorrupt)

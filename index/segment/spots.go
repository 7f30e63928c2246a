package segment

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// In a bleve segment each position of a term takes six bytes or more. This package packs positions
// into values that zapx, when it merges segments, copies or writes again unchanged:
//
//   - The frequency is the number of occurrences of the term in the document.
//   - The norm contains a code for the length of the field. If they fit, its higher bits contain
//     the positions of a term that occurs a few times. Such a term needs no location, and a term
//     that occurs once in one document needs only its entry in the dictionary.
//   - Otherwise there is one location. Its fields position, start, end and array positions contain
//     one list of numbers; missing numbers up to the third are 0.

// Spot is the position of a word in a document, counted from 1, and the form of the word.
type Spot struct {
	Position uint32
	Form     Form
}

const (
	// CodeBits is the number of bits of the code of a length.
	CodeBits = 6

	roomBits    = 24 // bits for positions, above the code and a bit that is 1 if a form follows
	maxPosition = 1<<positionBits - 1
	// maxNorm is the upper limit for norms: bleve reads norms as floats, so they must be less than
	// infinity and NaN, and a dictionary entry has 31 bits for them.
	maxNorm = 0x7F800000
)

// LengthCode returns a code for the length of a field in tokens, with an error of at most an
// eighth. It is never 0.
func LengthCode(n uint32) uint64 {
	n = min(max(n, 1), 1<<17-1)
	if n < 8 {
		return uint64(n)
	}
	shift := bits.Len32(n) - 3
	return uint64(4 + 4*shift + int(n>>shift&3))
}

// CodeOf returns the length code in a norm.
func CodeOf(norm uint64) uint64 { return norm & (1<<CodeBits - 1) }

// LengthOf returns the length in tokens that a code represents.
func LengthOf(code uint64) float64 {
	if code < 8 {
		return float64(code)
	}
	shift := code/4 - 1
	return float64((4+code%4)<<shift) + float64(uint64(1)<<shift-1)/2
}

// packed returns a norm that contains the length code and places: one with its form, or several
// without forms. It returns false if they do not fit.
func packed(places []place, code uint64) (norm uint64, ok bool) {
	if f := places[0].form(); f != 0 {
		norm = places[0].position()<<WordBits | uint64(f)
		if len(places) > 1 || f >= 1<<WordBits || norm >= 1<<roomBits {
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
	norm = norm<<CodeBits | code
	return norm, norm < maxNorm
}

// unpacked appends the places that the function packed stored in a norm. often is the number of
// places.
func unpacked(out []Spot, norm, often uint64) ([]Spot, error) {
	n := norm >> CodeBits
	switch {
	case n == 0 || often == 0 || often > roomBits || n&1 != 0 && often > 1:
		return out, errPlaces
	case n&1 != 0:
		return append(out, Spot{uint32(n >> 1 >> WordBits), Form(n >> 1 & (1<<WordBits - 1))}), nil
	}
	width := roomBits / often
	position := uint32(0)
	for n >>= 1; often > 0; often-- {
		position += uint32(n & (1<<width - 1))
		n >>= width
		out = append(out, Spot{Position: position})
	}
	return out, nil
}

// locate appends the encoding of places to a list of numbers: for each place its distance from the
// previous one. If any word has a form, each number is shifted left by one bit, which is 1 if the
// form of the word follows: always for the first word, then where the form changes. If no word has
// a form, only the first number is shifted.
func locate(out []uint64, places []place) []uint64 {
	formed := slices.ContainsFunc(places, func(p place) bool { return p.form() != 0 })
	last, now := uint64(0), Form(0)
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

// located appends the places in a location. often is the number of places. A location of zapx
// consists of the number of the field, three numbers of the list of places, the number of further
// numbers, and these further numbers.
func located(out []Spot, location []byte, often uint64) ([]Spot, error) {
	position, now, shift, n := uint64(0), Form(0), uint64(1), uint64(0)
	_, at := number(location, 0)
	for read := 0; often > 0; often-- {
		if read == 3 {
			_, at = number(location, at)
		}
		if at < len(location) && location[at] < 0x80 { // nearly always
			n = uint64(location[at])
			at++
		} else {
			n, at = number(location, at)
		}
		read++
		position += n >> shift
		if n>>shift > maxPosition || position == 0 || position > maxPosition {
			return out, errPlaces
		}
		if shift == 1 && n&1 != 0 {
			if read == 3 {
				_, at = number(location, at)
			}
			n, at = number(location, at)
			read++
			if n >= 1<<formBits {
				return out, errPlaces
			}
			now = Form(n)
		} else if read == 1 {
			shift = 0
		}
		if at > len(location) {
			return out, errPlaces
		}
		out = append(out, Spot{uint32(position), now})
	}
	return out, nil
}

// number returns the varint at offset at of data, and the offset after it. If there is none, the
// offset is greater than the length of data.
func number(data []byte, at int) (uint64, int) {
	if at > len(data) {
		return 0, at
	}
	n, size := binary.Uvarint(data[at:])
	if size <= 0 {
		return 0, len(data) + 1
	}
	return n, at + size
}

var errPlaces = fmt.Errorf("%w: it does not say where a word stands", ErrCorrupt)

package segment

import (
	"encoding/binary"
	"math/bits"
)

// numbers reads varints (encoding/binary) one after the other.
type numbers struct {
	data []byte
	at   int // offset of the next number
}

func (n *numbers) next() uint64 {
	if b := n.data[n.at]; b < 0x80 {
		n.at++
		return uint64(b)
	}
	v, size := binary.Uvarint(n.data[n.at:])
	n.at += size
	if size <= 0 {
		panic(errPlaces)
	}
	return v
}

// bytes returns the next size bytes.
func (n *numbers) bytes(size uint64) []byte {
	out := n.data[n.at:][:size]
	n.at += int(size)
	return out
}

// lasts has the highest bit of each of its eight bytes set. A byte without that bit is the last
// byte of a number.
const lasts = 0x8080808080808080

// skip skips the next numbers. count says how many numbers to skip.
func (n *numbers) skip(count int) {
	for ; n.at+8 <= len(n.data); n.at += 8 {
		last := ^binary.LittleEndian.Uint64(n.data[n.at:]) & lasts
		here := bits.OnesCount64(last)
		if here < count {
			count -= here
			continue
		}
		for ; count > 1; count-- {
			last &= last - 1
		}
		if count > 0 {
			n.at += bits.TrailingZeros64(last)/8 + 1
		}
		return
	}
	for ; count > 0; n.at++ {
		if n.data[n.at] < 0x80 {
			count--
		}
	}
}

// pair reads two numbers from the eight bytes at offset at, if the first is greater than 1 and one
// byte long, as in nearly all entries. It returns the eight bytes, and the index of the last bit of
// the second number. In all other cases last is 0.
func pair(data []byte, at int) (b uint64, last int) {
	if at+8 > len(data) {
		return 0, 0
	}
	b = binary.LittleEndian.Uint64(data[at:])
	if end := ^b & (lasts &^ 0xFF); b&0x80 == 0 && b&0x7E != 0 && end != 0 {
		return b, bits.TrailingZeros64(end)
	}
	return 0, 0
}

// entry reads the entry of a term in a document: often is the frequency, shifted left by one bit
// that says whether there is a location. norm is the norm of the field. In a field without
// frequencies, often is 0, and norm too, because there is no norm.
func (n *numbers) entry() (often, norm uint64) {
	if b, last := pair(n.data, n.at); last > 0 && last < 48 {
		n.at += last/8 + 1
		v := b << (63 - last) >> (71 - last) // the bytes of the norm
		return b & 0x7F, v&0x7F | v>>1&(0x7F<<7) | v>>2&(0x7F<<14) | v>>3&(0x7F<<21) | v>>4&(0x7F<<28)
	}
	if often = n.next(); often > 1 {
		norm = n.next()
	}
	return often, norm
}

// Rating is the part of an entry that scores need.
type Rating struct {
	often uint32 // frequency, shifted left by one bit that says whether there is a location
	Code  uint32 // code of the length of the field (see LengthOf)
}

// Often returns how often the document has the term.
func (r Rating) Often() uint64 { return uint64(r.often >> 1) }

// ratings reads one rating for each element of out.
func (n *numbers) ratings(out []Rating) {
	for i := range out {
		if b, last := pair(n.data, n.at); last > 0 {
			n.at += last/8 + 1
			// the first byte contains the lowest bits of the norm
			out[i] = Rating{uint32(b & 0x7F), uint32(CodeOf(b >> 8))}
			continue
		}
		often, norm := n.entry()
		out[i] = Rating{uint32(often), uint32(CodeOf(norm))}
	}
}

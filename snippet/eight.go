package snippet

import (
	"math/bits"
	"unicode/utf8"
)

// Texts are read eight bytes at a time where they are of ASCII: the marks of a byte are in its highest bit.
const (
	every = 0x0101010101010101
	high  = 0x80 * every
)

// eight are the bytes of s from i on, the first lowest.
func eight(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// ascii are the next bytes of s from i on, as far as they are of ASCII and at most eight, with their number and their marks.
func ascii(s string, i int) (x, marks uint64, n int) {
	if i+8 <= len(s) {
		x = eight(s, i)
		n = bits.TrailingZeros64(x&high) / 8
	} else {
		for i+n < len(s) && s[i+n] < utf8.RuneSelf {
			x |= uint64(s[i+n]) << (8 * n)
			n++
		}
	}
	marks = 1<<(8*n) - 1
	return x & marks, high & marks, n
}

// The bytes of x are of ASCII, and those of eight are one eight times.

func equal(x, eight uint64) uint64 { return (high - (x ^ eight)) & high }

// atLeast tells of the bytes that are not below c.
func atLeast(x, c uint64) uint64 { return (x + (0x80-c)*every) & high }

// alphanumeric tells of the letters and digits.
func alphanumeric(x uint64) uint64 {
	lower := x | 0x20*every
	return atLeast(lower, 'a')&^atLeast(lower, 'z'+1) | atLeast(x, '0')&^atLeast(x, '9'+1)
}

// first holds letters that words begin with, each eight times; 0 is for none.
type first struct {
	four [4]uint64
	more []uint64
}

func (f *first) add(letter rune) {
	for i := range f.four {
		if f.four[i] == 0 {
			f.four[i] = uint64(letter) * every
			return
		}
	}
	f.more = append(f.more, uint64(letter)*every)
}

// in tells of the letters that are held, and of some bytes that are no letters.
func (f *first) in(x uint64) (marks uint64) {
	x |= 0x20 * every
	marks = (high - (x ^ f.four[0])) | (high - (x ^ f.four[1])) | (high - (x ^ f.four[2])) | (high - (x ^ f.four[3]))
	for _, letter := range f.more {
		marks |= high - (x ^ letter)
	}
	return marks & high
}

// Not all bytes of x need be of ASCII, but a character begins with the lowest.

// narrow is for characters of one byte and of two: leads are the first of two, n the bytes of whole characters; 0: there are others.
func narrow(x uint64) (leads uint64, n int) {
	leads = x & (x << 1) &^ (x << 2) & high
	n = 8 - int(leads>>63)
	leads &= high >> 8
	if seconds := leads << 8; x&(high>>(64-8*n)) != leads|seconds || x<<1&seconds != 0 {
		return 0, 0
	}
	return leads, n
}

// alphabetics is for ASCII and the usual letters of two bytes: made are the bytes of letters and digits; leads and n are as of narrow.
func alphabetics(x uint64) (made, leads uint64, n int) {
	leads, n = narrow(x)
	low := x &^ high
	latin := atLeast(low, 0x43) &^ atLeast(low, 0x4A)                          // U+00C0 to U+027F
	cyrillic := equal(low&^every, 0x50*every)                                  // U+0400 to U+047F
	signs := equal(low|0x20*every, 0x37*every) & (equal(low, 0x43*every) << 8) // U+00D7 and U+00F7
	if leads&^(latin|cyrillic)|signs&(leads<<8) != 0 {
		return 0, 0, 0
	}
	wide := leads | leads<<8
	return (alphanumeric(low)&^wide | wide) & (high >> (64 - 8*n)), leads, n
}

// mark tells of the lowest byte.
func mark(told bool) uint64 {
	if told {
		return 0x80
	}
	return 0
}

// last is the mark of the last of n bytes, as mark gives it.
func last(marks uint64, n int) uint64 { return marks >> (8*n - 8) }

// runes counts those of a valid text: the bytes with which one begins.
func runes(s string) int {
	n := len(s)
	for len(s) >= 32 {
		var others uint64 // of each of eight bytes, in a byte
		for k := 0; k < 63 && len(s) >= 32; k++ {
			a, b, c, d := eight(s, 0), eight(s, 8), eight(s, 16), eight(s, 24)
			others += (a&^(a<<1)&high)>>7 + (b&^(b<<1)&high)>>7 + (c&^(c<<1)&high)>>7 + (d&^(d<<1)&high)>>7
			s = s[32:]
		}
		const pairs = 0x00FF00FF00FF00FF
		n -= int((others&pairs + others>>8&pairs) * 0x0001000100010001 >> 48)
	}
	for i := range len(s) {
		if s[i]&0xC0 == 0x80 {
			n--
		}
	}
	return n
}

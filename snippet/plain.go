package snippet

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain makes s a text that does nothing to what shows it: white space is collapsed, and control characters, those that turn the
// direction of what follows, and what is no character are left out.
func Plain(s string) string {
	s, _ = plain(s)
	return s
}

func plain(s string) (out string, chars int) {
	s = trimmed(s)
	if chars, ok := countPlain(s); ok {
		return s, chars
	}
	out = collapse(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case acts(r):
			return -1
		}
		return r
	}, s))
	return out, runes(out)
}

// acts tells of what Plain leaves out.
func acts(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe
}

// countPlain tells whether Plain leaves s as it is, and then the characters of s.
func countPlain(s string) (chars int, ok bool) {
	chars = len(s)
	blank := mark(true) // whether s[:i] ends with one, or is empty
	for i := 0; i < len(s); {
		for ; i+16 <= len(s); i += 16 {
			x, y := eight(s, i), eight(s, i+8)
			if (x|y)&high != 0 {
				break
			}
			blanksX, blanksY := equal(x, ' '*every), equal(y, ' '*every)
			if odd(x)|odd(y)|blanksX&(blanksX<<8|blank)|blanksY&(blanksY<<8|blanksX>>56) != 0 {
				return 0, false
			}
			blank = blanksY >> 56
		}
		if i+8 <= len(s) {
			x := eight(s, i)
			if leads, n := narrow(x); n > 0 && leads&^atLeast(x&(0x1F*every), 0x03) == 0 { // from U+00C0 on
				wide := x & high >> 7 * 0xFF
				x = x&^wide | 'x'*every&wide
				blanks := equal(x, ' '*every)
				if odd(x)|blanks&(blanks<<8|blank) != 0 {
					return 0, false
				}
				blank = last(blanks, n)
				chars -= bits.OnesCount64(leads)
				i += n
				continue
			}
		}
		start := i
		for i+8 <= len(s) && hans(eight(s, i)) {
			i += 6
		}
		if i > start {
			chars -= (i - start) / 3 * 2
			blank = 0
			continue
		}
		if i == len(s) {
			break
		}
		if s[i] < utf8.RuneSelf {
			x, marks, n := ascii(s, i)
			blanks := equal(x, ' '*every) & marks
			if odd(x)&marks|blanks&(blanks<<8|blank) != 0 {
				return 0, false
			}
			blank = last(blanks, n)
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if n == 1 || r <= 0xa0 || r >= 0x1680 && !single(r) && (unicode.IsSpace(r) || acts(r)) {
			return 0, false
		}
		chars -= n - 1
		i += n
		blank = 0
	}
	return chars, s == "" || blank == 0
}

// odd tells of control characters.
func odd(x uint64) uint64 { return (^(x + 0x60*every) | (x + every)) & high }

// hans reports whether the bytes of x begin with two of U+3001 to U+CFFF or U+FF00 to U+FF7F, but for one in 4096 of them.
func hans(x uint64) bool {
	const two = 1 | 1<<24
	if x&(0xC0C0F0*two) != 0x8080E0*two {
		return false
	}
	lead := x & (0x0F * two)
	usual := ((lead + 13*two) &^ (lead + 3*two)) << 12  // 3 to 12
	wide := ^((x^0xBC0F*two)&(0xFE0F*two) + 0xFFFF*two) // 15, and 0xBC or 0xBD
	others := ((x|x>>8)&(0x3F00*two) + 0x3F00*two) << 2 // not U+3000, or U+4000 ...
	return (usual|wide)&others&(1<<16*two) == 1<<16*two
}

// trimmed is s without blanks and line ends around it, as Plain leaves none there.
func trimmed(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\n') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == '\n') {
		s = s[:len(s)-1]
	}
	return s
}

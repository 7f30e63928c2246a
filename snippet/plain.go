package snippet

import (
	"strings"
	"unicode"
)

// Plain makes s a text that does nothing to what shows it: white space is collapsed, and control characters, those that turn the
// direction of what follows, and what is no character are left out.
func Plain(s string) string {
	return collapse(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
			return -1
		}
		return r
	}, s))
}

package second

import (
	"net/url"
	"strings"
)

// normalPath returns s with percent escapes in normal form: unreserved characters decoded,
// hexadecimal digits in upper case, bytes outside ASCII escaped (F11, A18).
func normalPath(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			v := unhex(s[i+1])<<4 | unhex(s[i+2])
			if isUnreserved(v) {
				b.WriteByte(v)
			} else {
				b.WriteString(strings.ToUpper(s[i : i+3]))
			}
			i += 2
		case c >= 0x80:
			b.WriteString(escape(c))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

func unhex(c byte) byte {
	return byte(strings.IndexByte("0123456789ABCDEF", strings.ToUpper(string(rune(c)))[0]))
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func escape(c byte) string {
	const digits = "0123456789ABCDEF"
	return string([]byte{'%', digits[c>>4], digits[c&15]})
}

// matchString returns what patterns are matched with: path and query of the URL that is requested,
// never the fragment (A11, F12). Raw wildcards in a URL are folded into their escapes (X33).
func matchString(u *url.URL) string {
	s := u.EscapedPath()
	if s == "" {
		s = "/"
	}
	if u.RawQuery != "" || u.ForceQuery {
		s += "?" + u.RawQuery
	}
	s = normalPath(s)
	return strings.NewReplacer("$", "%24", "*", "%2A").Replace(s)
}

// matches reports whether a pattern with * and a final $ matches s: a prefix, unless $ ends it
// (F14).
func matches(pattern, s string) bool {
	if pattern == "" {
		return true
	}
	if pattern == "$" {
		return s == ""
	}
	if pattern[0] == '*' {
		for i := 0; i <= len(s); i++ {
			if matches(pattern[1:], s[i:]) {
				return true
			}
		}
		return false
	}
	return s != "" && s[0] == pattern[0] && matches(pattern[1:], s[1:])
}

// narrower reports whether pattern a has the narrower scope than b by the character by character
// method of P1 2.4.6.
func narrower(a, b string, strict bool) bool {
	for i := 0; ; i++ {
		switch {
		case i == len(b):
			return i < len(a) // b ran out of characters first, so a is the narrower
		case i == len(a):
			return false
		case a[i] == b[i]:
			continue
		case strict && (a[i] == '$' && b[i] == '*' || a[i] == '*' && b[i] == '$'):
			return false // F01: strict leaves P* against P$ undetermined
		case a[i] == '$':
			return false
		case b[i] == '$':
			return true
		case b[i] == '*':
			return true
		default:
			return false // a has the asterisk, or two ordinary characters differ (F02: undetermined)
		}
	}
}

// A pattern is one path pattern of a statement.
type pattern struct {
	text string // normal form, lower case, with a leading slash unless it starts with an asterisk
	own  string // normal form in its own letter case, for the comparison with conventional rules (O04)
	all  bool   // a prohibition that covers everything (X35)
}

// rooted returns the pattern's text for the comparison of scopes: with a leading slash in the
// second of two runs (X34).
func (p pattern) rooted(root bool) string {
	if root && strings.HasPrefix(p.text, "*") {
		return "/" + p.text
	}
	return p.text
}

func (p pattern) matches(s string) bool {
	return p.all || matches(p.text, strings.ToLower(s))
}

// readPattern reads one pattern of a permission or prohibition. It returns false if a permission
// with it grants nothing.
func readPattern(s string, permission bool) (pattern, bool) {
	if s == "" { // A10: an empty disallow covers everything, an empty allow grants nothing
		return pattern{all: true}, !permission
	}
	if s == "$" && permission { // F13: the root path only
		s = "/$"
	}
	if i := strings.IndexByte(s, '$'); i >= 0 && i < len(s)-1 { // F13: a dollar sign that is not last
		if permission {
			return pattern{}, false
		}
		s = s[:i]
	} else if s == "$" {
		s = ""
	}
	if s == "" {
		return pattern{all: true}, true
	}
	s = normalPath(s)
	for strings.Contains(s, "**") { // F06
		s = strings.ReplaceAll(s, "**", "*")
	}
	if s[0] != '/' && s[0] != '*' { // F04: relative to the root
		s = "/" + s
	}
	return pattern{text: strings.ToLower(s), own: s}, true
}

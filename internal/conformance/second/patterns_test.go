package second

import (
	"net/url"
	"strings"
)

// normalPath returns s with percent escapes in normal form: unreserved characters decoded,
// hexadecimal digits in upper case, bytes outside ASCII escaped. RFC 3986 (F11), P1 3 (A18).
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

// matchString returns the text with which patterns are compared: path and query of the requested
// URL without the fragment. P1 3 (A11, F12). Wildcard characters in a URL are escaped (X33).
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

// matches reports whether a pattern with * and a final $ matches s. Without $ the pattern is a
// prefix. P1 2.9 (F14).
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

// narrower reports whether pattern a has a narrower scope than b, by comparing both character by
// character as P1 2.4.6 says.
func narrower(a, b string, strict bool) bool {
	for i := 0; ; i++ {
		switch {
		case i == len(b):
			return i < len(a) // b is a prefix of a, so a is narrower
		case i == len(a):
			return false
		case a[i] == b[i]:
			continue
		case strict && (a[i] == '$' && b[i] == '*' || a[i] == '*' && b[i] == '$'):
			return false // P1 2.4.6 (F01): strict reading compares neither P* with P$
		case a[i] == '$':
			return false
		case b[i] == '$':
			return true
		case b[i] == '*':
			return true
		default:
			return false // P1 2.4.6 (F02): a has the asterisk, or two ordinary characters differ
		}
	}
}

// pattern is one path pattern of a statement.
type pattern struct {
	text string // the pattern in normal form and lower case, with a leading slash unless it starts with an asterisk
	// the pattern in normal form with its letter case, for comparing with conventional rules (P1
	// 2.10.2, O04)
	own string
	all bool // this is the pattern of a prohibition that covers everything (X35)
}

// rooted returns the pattern in which scopes are compared. If root is true, a leading slash is
// added. P1
// 2.4.4 (X34).
func (p pattern) rooted(root bool) string {
	if root && strings.HasPrefix(p.text, "*") {
		return "/" + p.text
	}
	return p.text
}

func (p pattern) matches(s string) bool {
	return p.all || matches(p.text, strings.ToLower(s))
}

// readPattern reads one pattern of a permission or prohibition. ok is false if a permission with
// this pattern permits nothing.
func readPattern(s string, permission bool) (pattern, bool) {
	if s == "" { // P1 3 (A10): an empty disallow covers everything, an empty allow permits nothing
		return pattern{all: true}, !permission
	}
	if s == "$" && permission { // P1 2.9 (F13): only the root path
		s = "/$"
	}
	if i := strings.IndexByte(s, '$'); i >= 0 && i < len(s)-1 { // P1 2.9 (F13): a dollar sign that is not at the end
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
	for strings.Contains(s, "**") { // P1 2.4.6 (F06): several asterisks in a row are equal to one
		s = strings.ReplaceAll(s, "**", "*")
	}
	if s[0] != '/' && s[0] != '*' { // P1 2.4.4 (F04): the pattern is relative to the root
		s = "/" + s
	}
	return pattern{text: strings.ToLower(s), own: s}, true
}

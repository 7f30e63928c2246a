package acap

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Resource is a URL in the form in which it is compared with patterns: percent-normalised, without
// dot segments and fragment (RFC 3986, F11, F12). A URL is normalised once and compared many times.
type Resource struct {
	URL  string // normal form of the URL, which is compared with location (P2 2.2.9.1, M01)
	path string // path and query in lower case, because ACAP matching ignores letter case (P1 2.9, F10)
	rep  string // path and query in their own letter case, for RFC 9309 2.2.2
	// ascii is rep with only ASCII letters converted to lower case. It is empty if it equals path.
	ascii string
}

// NewResource returns the normalised form of u. A nil or opaque URL becomes a resource at the root
// path.
func NewResource(u *url.URL) Resource {
	if u == nil {
		return Resource{path: "/", rep: "/"}
	}
	path := removeDots(percentNormal(u.EscapedPath(), true))
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if u.RawQuery != "" || u.ForceQuery {
		path += "?" + percentNormal(u.RawQuery, true)
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := u.Port(); scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	r := Resource{URL: scheme + "://" + strings.TrimSuffix(host, ":") + path, path: fold(path), rep: path}
	if ascii := strings.ToLower(path); ascii != r.path {
		r.ascii = ascii
	}
	return r
}

// percentNormal returns the normal form of a path, so that two spellings of one path are equal (RFC
// 3986 6.2.2, RFC 9309 2.2.2, F11). It decodes escapes that are not needed, writes the hexadecimal
// digits of the other escapes in upper case, and encodes characters that a URI cannot contain. The
// result is ASCII. Paths are compared byte by byte in this form, so a letter of a pattern may match
// a digit of an escape (RFC 9309 2.2.2). If literal is true, "*" and "$" become %2A and %24: in a
// URL these characters are never wildcards (P1 2.9, X33).
func percentNormal(s string, literal bool) string {
	i := 0
	for i < len(s) && plain(s[i], literal) {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	b.WriteString(s[:i])
	for ; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			d := unhex(s[i+1])<<4 | unhex(s[i+2])
			if unreserved(d) {
				b.WriteByte(d)
			} else {
				writeEscape(&b, d)
			}
			i += 2
		case plain(c, literal):
			b.WriteByte(c)
		default:
			writeEscape(&b, c)
		}
	}
	return b.String()
}

// plain reports whether c is written without an escape in a normalised path.
func plain(c byte, literal bool) bool {
	switch c {
	case '%', '"', '<', '>', '\\', '^', '`', '{', '|', '}':
		return false
	case '*', '$':
		return !literal
	}
	return c > ' ' && c < 0x7f
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	}
	return c - 'A' + 10
}

func writeEscape(b *strings.Builder, c byte) {
	const digits = "0123456789ABCDEF"
	b.WriteByte('%')
	b.WriteByte(digits[c>>4])
	b.WriteByte(digits[c&15])
}

// removeDots removes dot segments, such as "/./" and "/../", from a path (RFC 3986 5.2.4, F12).
func removeDots(path string) string {
	if !strings.Contains(path, "/.") {
		return path
	}
	segments := strings.Split(path, "/")
	kept := segments[:0]
	for i, s := range segments {
		last := i == len(segments)-1
		switch s {
		case ".":
			if last {
				kept = append(kept, "")
			}
		case "..":
			if len(kept) > 1 {
				kept = kept[:len(kept)-1]
			}
			if last {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "/")
}

// fold converts a percent-normalised path to lower case: ASCII letters, the digits of escapes, and
// encoded letters beyond ASCII (P1 2.9, F10).
func fold(s string) string {
	s = strings.ToLower(s)
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		raw := beyondASCII(s[i:])
		if len(raw) == 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		i += 3 * len(raw)
		for len(raw) > 0 {
			r, n := utf8.DecodeRune(raw)
			lower := raw[:n]
			if r != utf8.RuneError {
				lower = utf8.AppendRune(nil, unicode.ToLower(r))
			}
			b.WriteString(strings.ToLower(percentNormal(string(lower), false)))
			raw = raw[n:]
		}
	}
	return b.String()
}

// beyondASCII decodes the escapes at the beginning of s. It stops at the first ASCII character.
func beyondASCII(s string) (raw []byte) {
	for len(s) > 2 && s[0] == '%' && isHex(s[1]) && unhex(s[1]) >= 8 && isHex(s[2]) {
		raw = append(raw, unhex(s[1])<<4|unhex(s[2]))
		s = s[3:]
	}
	return raw
}

// pattern is a resource path pattern (P1 2.4.4, 2.9): texts separated by "*". It matches from the
// start of a path. If it ends in "$", it must match up to the end of the path.
type pattern struct {
	raw    string // the form in which scopes are compared: lower case, each run of "*" joined to one (P1 2.4.6, F06)
	rooted string // raw with a slash in front if raw starts with "*", otherwise raw (P1 2.4.6, F03)
	exact  string // raw in its own letter case, for the comparison with conventional rules (P1 2.10.2, O04)
	shape
	ascii *shape // raw with only ASCII letters in lower case; nil if that equals raw
}

// newPattern returns the pattern for s. A "$" may only be the last character of s.
func newPattern(s string) *pattern {
	s = percentNormal(s, false)
	for strings.Contains(s, "**") {
		s = strings.ReplaceAll(s, "**", "*")
	}
	if s == "" || s[0] != '/' && s[0] != '*' {
		s = "/" + s // P1 2.4.4 (F04): a pattern without a leading slash is matched from the root
	}
	p := &pattern{exact: s, raw: fold(s)}
	p.rooted = p.raw
	if p.raw[0] == '*' {
		p.rooted = "/" + p.raw
	}
	p.shape = newShape(p.raw)
	if ascii := strings.ToLower(s); ascii != p.raw {
		alike := newShape(ascii)
		p.ascii = &alike
	}
	return p
}

// covers reports whether the pattern matches a resource in any letter case (P1 2.9, F10). An
// asterisk may split the bytes of a letter beyond ASCII. Then the bytes may match although the
// lower-case forms do not, so both forms are compared.
func (p *pattern) covers(r *Resource) bool {
	return p.matches(r.path) || r.ascii != "" && (p.matches(r.ascii) || p.ascii != nil && p.ascii.matches(r.ascii))
}

// Glob is a pattern in which "*" stands for any characters and a final "$" for the end (P1 2.9). It
// is compared with a text from the start, without normalisation.
type Glob struct{ shape }

// NewGlob returns the glob for the pattern s.
func NewGlob(s string) Glob { return Glob{newShape(s)} }

// Matches reports whether the glob matches text. It takes time linear in text.
func (g Glob) Matches(text string) bool { return g.matches(text) }

// shape is a pattern split at each "*".
type shape struct {
	pieces   []string
	anchored bool // the pattern ends in "$"
}

func newShape(s string) shape {
	s, anchored := strings.CutSuffix(s, "$")
	if strings.IndexByte(s, '*') < 0 {
		return shape{[]string{s}, anchored}
	}
	return shape{strings.Split(s, "*"), anchored}
}

// text returns the pattern from which the shape was made.
func (s shape) text() string {
	text := strings.Join(s.pieces, "*")
	if s.anchored {
		text += "$"
	}
	return text
}

// matches reports whether the pattern matches path. It searches for each piece only once, so it
// takes linear time.
func (s *shape) matches(path string) bool {
	rest, ok := strings.CutPrefix(path, s.pieces[0])
	return ok && s.endsIn(rest)
}

// endsIn reports whether path contains the pieces after the first one, in order.
func (s *shape) endsIn(path string) bool {
	pieces, anchored := s.pieces, s.anchored
	if len(pieces) == 1 {
		return !anchored || path == ""
	}
	last := len(pieces) - 1
	for _, piece := range pieces[1:last] {
		i := strings.Index(path, piece)
		if i < 0 {
			return false
		}
		path = path[i+len(piece):]
	}
	if anchored {
		return strings.HasSuffix(path, pieces[last])
	}
	return strings.Contains(path, pieces[last])
}

// compareBreadth compares two patterns for sorting: each pattern comes after all broader patterns.
// At the first difference, the end of a pattern comes before "$", "$" before "*", and "*" before
// any other character.
func compareBreadth(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return weight(a, i) - weight(b, i)
}

func weight(s string, i int) int {
	switch {
	case i == len(s):
		return 0
	case s[i] == '$':
		return 1
	case s[i] == '*':
		return 2
	}
	return 3 + int(s[i])
}

// scope is the outcome of comparing two patterns (P1 2.4.6).
type scope int8

const (
	undetermined scope = iota // at their first difference, both patterns have ordinary characters (P1 2.4.6, F02)
	identical
	narrower
	broader
)

// compareScope compares two patterns character by character (P1 2.4.6). The first difference
// decides (F08), so an early wildcard makes a pattern broad. It returns how the scope of the
// pattern a relates to the scope of the pattern b.
func compareScope(a, b string, strict bool) scope {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	switch {
	case i == len(a) && i == len(b):
		return identical
	case i == len(a):
		return broader
	case i == len(b):
		return narrower
	case strict && (a[i] == '$' && b[i] == '*' || a[i] == '*' && b[i] == '$'):
		return undetermined // P1 2.4.6 (F01): in the strict variant neither pattern is narrower
	case a[i] == '$':
		return broader // P1 2.4.6 (F01): a final "$" is broader than any other character, even than "*"
	case b[i] == '$':
		return narrower
	case a[i] == '*':
		return broader
	case b[i] == '*':
		return narrower
	}
	return undetermined
}

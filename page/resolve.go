package page

import (
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// base resolves the references of one page.
type base struct {
	url    *url.URL
	origin string // prefix for a path that begins with a slash; "" if unknown
	folder string // prefix for any other path
}

// newBase returns the base address of the page: its own address, or that of its first BASE element.
func newBase(page *url.URL, t *tree) *base {
	if t.base != nil {
		if ref, err := parseReference(attr(t.base.Attr, "href")); err == nil {
			if u := page.ResolveReference(ref); web(u) {
				page = u
			}
		}
	}
	return baseOf(page)
}

func baseOf(u *url.URL) *base {
	b := &base{url: u}
	if root, ok := b.slow("/"); ok {
		b.origin = strings.TrimSuffix(root, "/")
		b.folder, _ = b.slow("./")
	}
	return b
}

// resolve makes ref absolute and normalizes it: scheme and host in lower case, the host in ASCII,
// no default port, no fragment, a non-empty path.
func (b *base) resolve(ref string) (string, bool) {
	if link, ok := b.quick(ref); ok {
		return link, true
	}
	return b.slow(ref)
}

// quick resolves simple references without a URL parser: paths of common characters without dot
// segments, with or without a plain host. It returns false for other references. If it returns
// true, slow returns the same address.
func (b *base) quick(ref string) (string, bool) {
	before, at := b.folder, 0
	switch {
	case ref == "":
		return "", false
	case ref[0] == '/':
		before = b.origin
	case strings.HasPrefix(ref, "http://"):
		before, at = "", plainHost(ref, len("http://"))
	case strings.HasPrefix(ref, "https://"):
		before, at = "", plainHost(ref, len("https://"))
	case !plainPath(ref[0]) || ref[0] == '.':
		return "", false
	}
	if at < 0 || at == 0 && before == "" {
		return "", false
	}
	end, ok := plainEnd(ref, at)
	if !ok {
		return "", false
	}
	return before + ref[:end], true
}

// plainHost returns the offset of the path in ref, after the host that begins at start. It returns
// -1 if the host is not plain, that is lower-case letters, digits, hyphens and dots, or if no path
// follows.
func plainHost(ref string, start int) int {
	for i := start; i < len(ref); i++ {
		switch c := ref[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '.':
		case c == '/' && i > start:
			return i
		default:
			return -1
		}
	}
	return -1
}

// plainEnd returns the offset of the fragment, or of the end, of a reference whose path begins at
// start. It returns false if the path needs the URL parser.
func plainEnd(ref string, start int) (int, bool) {
	i := start
	for ; i < len(ref) && ref[i] != '?' && ref[i] != '#'; i++ {
		c := ref[i]
		if !plainPath(c) || i > start && ref[i-1] == '/' && (c == '/' || c == '.') {
			return 0, false
		}
	}
	for ; i < len(ref) && ref[i] != '#'; i++ {
		if c := ref[i]; c <= ' ' || c >= 0x7F || c == '"' || c == '<' || c == '>' {
			return 0, false
		}
	}
	for _, c := range []byte(ref[i:]) {
		if c <= ' ' || c >= 0x7F || c == '%' {
			return 0, false
		}
	}
	return i, true
}

// plainPath reports whether c needs no escaping in a path.
func plainPath(c byte) bool {
	switch {
	// '-' to '/' are the characters - . /
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', '-' <= c && c <= '/',
		c == '_', c == '~', c == ',', c == '=', c == '+', c == '@':
		return true
	}
	return false
}

// slow resolves any reference with the URL parser.
func (b *base) slow(ref string) (string, bool) {
	u, ok := b.absolute(ref)
	if !ok {
		return "", false
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String(), true
}

// absolute makes ref absolute and normalizes it, but keeps the fragment.
func (b *base) absolute(ref string) (*url.URL, bool) {
	if foreign(ref) {
		return nil, false
	}
	r, err := parseReference(ref)
	if err != nil {
		return nil, false
	}
	u := b.url.ResolveReference(r)
	if !web(u) || !normaliseHost(u) {
		return nil, false
	}
	if u.Path == "" {
		u.Path = "/"
	}
	u.RawQuery = escape(u.RawQuery)
	return u, true
}

// foreign reports whether ref has a scheme other than http and https, such as data, javascript or
// mailto.
func foreign(ref string) bool {
	ref = strings.TrimLeft(ref, " \t\r\n")
	for i := range len(ref) {
		switch c := ref[i]; {
		case c == ':':
			return !strings.EqualFold(ref[:i], "http") && !strings.EqualFold(ref[:i], "https")
		case 'a' <= c|0x20 && c|0x20 <= 'z', i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return false
}

func web(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Opaque == "" && u.Host != ""
}

func normaliseHost(u *url.URL) bool {
	if !ascii(u.Host) {
		name, err := idna.Lookup.ToASCII(u.Hostname())
		if err != nil {
			return false
		}
		if port := u.Port(); port != "" {
			name += ":" + port
		}
		u.Host = name
	}
	u.Host = strings.ToLower(u.Host)
	switch {
	case u.Scheme == "http":
		u.Host = strings.TrimSuffix(u.Host, ":80")
	case u.Scheme == "https":
		u.Host = strings.TrimSuffix(u.Host, ":443")
	}
	u.Host = strings.TrimSuffix(u.Host, ":")
	return u.Host != ""
}

// parseReference parses a URL in an attribute. It ignores blanks around the URL and line breaks in
// it, and accepts a percent sign that escapes nothing.
func parseReference(ref string) (*url.URL, error) {
	ref = strings.TrimFunc(ref, func(r rune) bool { return r <= ' ' })
	if strings.ContainsAny(ref, "\t\r\n") {
		ref = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(ref)
	}
	u, err := url.Parse(ref)
	if err != nil && strings.Contains(ref, "%") {
		u, err = url.Parse(escapePercent(ref))
	}
	return u, err
}

func escapePercent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		if s[i] == '%' && (i+2 >= len(s) || !hex(s[i+1]) || !hex(s[i+2])) {
			b.WriteString("25")
		}
	}
	return b.String()
}

// escape percent-encodes characters that are not allowed in a query.
func escape(query string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(query) {
		switch c := query[i]; {
		case c <= ' ', c >= 0x7F, c == '"', c == '<', c == '>':
			if b.Len() == 0 {
				b.WriteString(query[:i])
			}
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		default:
			if b.Len() > 0 {
				b.WriteByte(c)
			}
		}
	}
	if b.Len() == 0 {
		return query
	}
	return b.String()
}

func hex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

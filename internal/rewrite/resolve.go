package rewrite

import (
	"cmp"
	"net/url"
	"strings"
)

// fate says what a browser does with a reference.
type fate int

const (
	stays   fate = iota // no other document: an empty reference or a fragment
	web                 // an http or https address
	special             // a scheme with a host, which is not http: ws, wss, ftp, file
	opaque              // another scheme, such as data, javascript or mailto
	broken              // a browser cannot read it
)

// base is the address that references are relative to.
type base struct{ url *url.URL }

// resolve returns the absolute address of a reference and its fragment with #. It reads references
// as browsers do (URL Standard 4.4): it ignores blanks and control characters around a reference,
// and tabs and line ends in it; a backslash is a slash; http:path is relative if the base is http
// as well; more than two slashes are two.
func (b base) resolve(ref string) (address, fragment string, f fate) {
	ref = trimmed(ref)
	if ref == "" || ref[0] == '#' {
		return "", "", stays
	}
	scheme, rest := cutScheme(ref)
	switch scheme {
	case "", "http", "https":
	case "ws", "wss", "ftp", "file":
		return "", "", special
	default:
		return "", "", opaque
	}
	if i := strings.IndexByte(rest, '#'); i >= 0 {
		rest, fragment = rest[:i], rest[i:]
	}
	r, ok := parse(b.absolute(scheme, rest))
	if !ok {
		return "", "", broken
	}
	u := b.url.ResolveReference(r)
	if u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Host == "" {
		return "", "", broken
	}
	u.User, u.RawQuery = nil, escapeQuery(u.RawQuery)
	u.Path = cmp.Or(u.Path, "/")
	return u.String(), fragment, web
}

// trimmed returns a reference without blanks and control characters around it, and without tabs and
// line ends in it.
func trimmed(ref string) string {
	ref = strings.TrimFunc(ref, func(c rune) bool { return c <= ' ' })
	if strings.ContainsAny(ref, "\t\r\n") {
		ref = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(ref)
	}
	return ref
}

// absolute returns a reference without fragment in the notation of RFC 3986. rest is the reference
// after the scheme.
func (b base) absolute(scheme, rest string) string {
	end := strings.IndexByte(rest, '?')
	if end < 0 {
		end = len(rest)
	}
	rest = strings.ReplaceAll(rest[:end], `\`, "/") + rest[end:]
	after := strings.TrimLeft(rest, "/")
	switch slashes := len(rest) - len(after); {
	case slashes >= 2, scheme != "" && scheme != b.url.Scheme:
		return cmp.Or(scheme, b.url.Scheme) + "://" + after
	case slashes == 0 && rest != "" && rest[0] != '?':
		return "./" + rest // the first segment may contain a colon
	}
	return rest
}

// cutScheme splits off the scheme of a reference, in lower case. It is "" if there is none.
func cutScheme(ref string) (scheme, rest string) {
	for i := range len(ref) {
		switch c := ref[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return strings.ToLower(ref[:i]), ref[i+1:]
		default:
			return "", ref
		}
	}
	return "", ref
}

// namesHost reports whether a reference names a host itself, and does not take it from the base.
func namesHost(ref string) bool {
	ref = strings.ReplaceAll(trimmed(ref), `\`, "/")
	scheme, _ := cutScheme(ref)
	return scheme == "http" || scheme == "https" || strings.HasPrefix(ref, "//")
}

// parse parses a reference. It accepts control characters, and percent signs that encode nothing.
func parse(ref string) (*url.URL, bool) {
	const hex = "0123456789ABCDEF"
	u, err := url.Parse(ref)
	if err != nil {
		var b strings.Builder
		for i, c := range []byte(ref) {
			switch {
			case c < ' ' || c == 0x7f:
				b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			case c == '%' && (i+2 >= len(ref) || !isHex(ref[i+1]) || !isHex(ref[i+2])):
				b.WriteString("%25")
			default:
				b.WriteByte(c)
			}
		}
		u, err = url.Parse(b.String())
	}
	return u, err == nil
}

// escapeQuery percent-encodes the characters that a query must not contain.
func escapeQuery(query string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(query) {
		if c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

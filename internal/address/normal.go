package address

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// MaxLength is the greatest length of an address, in octets. RFC 9110 4.1 asks every recipient to
// support this length. Longer addresses have no normal form.
const MaxLength = 8000

// Normal returns the normal form of an absolute http or https address (RFC 3986 6.2.2, 6.2.3):
// scheme and host in lower case, host in punycode, no default port and no fragment, no dot
// segments, percent-encoding in upper case with unreserved characters decoded. Reserved characters
// are never decoded and the query keeps its order. Credentials are dropped: a link must not make
// the crawler send them. An IP address in another spelling (decimal, hexadecimal, IPv4-mapped)
// remains a different host.
func Normal(raw string) (string, error) {
	u, err := Parse(raw)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// Parse is like Normal, for a caller that needs the parts of the address. The String method of the
// result returns the normal form.
func Parse(raw string) (*url.URL, error) {
	if u := already(raw); u != nil {
		return u, nil
	}
	return rewritten(raw)
}

// rewritten returns the normal form of an address.
func rewritten(raw string) (*url.URL, error) {
	raw = strings.Trim(raw, "\t\n\f\r ")
	if len(raw) > MaxLength {
		return nil, fmt.Errorf("the address that begins %.40q is longer than %d octets; shorten it", raw, MaxLength)
	}
	if i := strings.IndexByte(raw, '#'); i >= 0 {
		raw = raw[:i]
	}
	u, err := url.Parse(Escape(raw))
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, fmt.Errorf("%.200q is not an address: %w", raw, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%.200q is not an http or https address; give one such as https://example.com/", raw)
	}
	if u.Opaque != "" || u.Hostname() == "" {
		return nil, fmt.Errorf("%.200q names no host; give one such as https://example.com/", raw)
	}
	if u.Host, err = normalHost(u); err != nil {
		return nil, fmt.Errorf("%.200q is not an address: %w", raw, err)
	}
	escaped := removeDots(u.EscapedPath())
	if u.Path, err = url.PathUnescape(escaped); err != nil {
		return nil, fmt.Errorf("%.200q is not an address: %w", raw, err)
	}
	u.RawPath, u.User = escaped, nil
	return u, nil
}

// already parses an address that is in normal form and contains only common characters, like most
// links. It returns nil for any other address.
func already(raw string) *url.URL {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found || scheme != "http" && scheme != "https" || len(raw) > MaxLength {
		return nil
	}
	slash := strings.IndexByte(rest, '/')
	if slash <= 0 {
		return nil
	}
	host, target := rest[:slash], rest[slash:]
	name, port, hasPort := strings.Cut(host, ":")
	if name == "" || !all(name, plainHost) || hasPort && !plainPort(scheme, port) {
		return nil
	}
	path, query, hasQuery := strings.Cut(target, "?")
	if !all(path, plainPath) || strings.Contains(path, "/.") || hasQuery && query == "" || !all(query, plainQuery) {
		return nil
	}
	return &url.URL{Scheme: scheme, Host: host, Path: path, RawPath: path, RawQuery: query}
}

// all reports whether the function is returns true for every byte of s.
func all(s string, is func(byte) bool) bool {
	for i := range len(s) {
		if !is(s[i]) {
			return false
		}
	}
	return true
}

func plainHost(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.'
}

func plainPath(c byte) bool { return c == '/' || unreserved(c) }

func plainQuery(c byte) bool { return c == '=' || c == '&' || plainPath(c) }

// plainPort reports whether a port is written as it is in normal form.
func plainPort(scheme, port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == port && !(n == 80 && scheme == "http" || n == 443 &&
		scheme == "https")
}

func normalHost(u *url.URL) (string, error) {
	host, port, err := hostPort(u)
	if err != nil || port == defaultPort(u.Scheme) {
		return bracketed(host), err
	}
	return bracketed(host) + ":" + strconv.Itoa(port), nil
}

// removeDots removes dot segments (RFC 3986 5.2.4); empty segments stay.
func removeDots(p string) string {
	if p == "" {
		return "/"
	}
	if !strings.Contains(p, "/.") {
		return p
	}
	var out []string
	segments := strings.Split(p, "/")[1:]
	for i, s := range segments {
		last := i == len(segments)-1
		switch {
		case s == "." && !last:
		case s == "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		case s == ".":
			out = append(out, "")
		default:
			out = append(out, s)
		}
	}
	return "/" + strings.Join(out, "/")
}

// Escape returns an address with its unreserved characters decoded, other percent-encodings in
// upper case, and everything encoded that an address must not contain, such as a lone percent sign.
// It leaves scheme and host as they are.
func Escape(s string) string {
	start := HostEnd(s)
	clean := true
	for i := start; i < len(s) && clean; i++ {
		clean = s[i] != '%' && legal(s[i])
	}
	if clean {
		return s
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:start])
	for i := start; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			if v := unhex(s[i+1])<<4 | unhex(s[i+2]); unreserved(v) {
				b.WriteByte(v)
			} else {
				b.Write([]byte{'%', hex[v>>4], hex[v&15]})
			}
			i += 2
		case c != '%' && legal(c):
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// HostEnd returns the index at which the path of an absolute address begins. If the address has no
// path, it returns the index of the query.
func HostEnd(s string) int {
	i := strings.Index(s, "://")
	if i < 0 {
		return 0
	}
	if j := strings.IndexAny(s[i+3:], "/?"); j >= 0 {
		return i + 3 + j
	}
	return len(s)
}

// legal reports whether the byte c is written without percent-encoding in a path or query. Brackets
// are left as written, as in every browser.
func legal(c byte) bool {
	return unreserved(c) || strings.IndexByte("%:/?#[]@!$&'()*+,;=", c) >= 0
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' ||
		c == '~'
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

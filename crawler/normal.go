package crawler

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// maxURL is the length in octets that RFC 9110 4.1 asks every recipient to support; longer addresses are not queued.
const maxURL = 8000

// hostProfile maps names in other scripts to what is looked up, without refusing names that merely look odd.
var hostProfile = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.Transitional(false))

// Normal returns the normal form of an absolute http or https address (RFC 3986 6.2.2, 6.2.3): scheme and host in
// lower case, host in punycode, default port and fragment dropped, dot segments removed, percent-encoding in upper
// case with unreserved characters decoded. Reserved characters are never decoded and the query keeps its order.
// Credentials are dropped: a link must not make the crawler send them. Other spellings of an address (decimal,
// hexadecimal, IPv4-mapped) stay other hosts.
func Normal(raw string) (string, error) {
	u, err := normal(raw)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

func normal(raw string) (*url.URL, error) {
	if u := already(raw); u != nil {
		return u, nil
	}
	return rewritten(raw)
}

// rewritten brings an address into normal form.
func rewritten(raw string) (*url.URL, error) {
	raw = strings.Trim(raw, "\t\n\f\r ")
	if len(raw) > maxURL {
		return nil, fmt.Errorf("the address that begins %.40q is longer than %d octets; shorten it", raw, maxURL)
	}
	if i := strings.IndexByte(raw, '#'); i >= 0 {
		raw = raw[:i]
	}
	u, err := url.Parse(escape(raw))
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

// already takes an address apart that is in normal form and has none but common characters, as most links are by now; nil for
// others.
func already(raw string) *url.URL {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found || scheme != "http" && scheme != "https" || len(raw) > maxURL {
		return nil
	}
	slash := strings.IndexByte(rest, '/')
	if slash <= 0 {
		return nil
	}
	host, target := rest[:slash], rest[slash:]
	name, port, hasPort := strings.Cut(host, ":")
	for i := 0; i < len(name); i++ {
		if c := name[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.') {
			return nil
		}
	}
	if name == "" || hasPort && !plainPort(scheme, port) {
		return nil
	}
	path, query, hasQuery := strings.Cut(target, "?")
	for i := 0; i < len(path); i++ {
		if c := path[i]; c != '/' && !unreserved(c) {
			return nil
		}
	}
	for i := 0; i < len(query); i++ {
		if c := query[i]; c != '=' && c != '&' && c != '/' && !unreserved(c) {
			return nil
		}
	}
	if hasQuery && query == "" || strings.Contains(path, "/.") {
		return nil
	}
	return &url.URL{Scheme: scheme, Host: host, Path: path, RawPath: path, RawQuery: query}
}

// plainPort reports whether a port is written as it is in normal form.
func plainPort(scheme, port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == port && !(n == 80 && scheme == "http" || n == 443 && scheme == "https")
}

func normalHost(u *url.URL) (string, error) {
	host := strings.ToLower(u.Hostname())
	if !ascii(host) {
		name, err := hostProfile.ToASCII(host)
		if err != nil {
			return "", fmt.Errorf("the host cannot be written as a domain name: %w", err)
		}
		host = name
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.Port() == "" {
		return host, nil
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return "", fmt.Errorf("%s is not a port", u.Port())
	}
	if port == 80 && u.Scheme == "http" || port == 443 && u.Scheme == "https" {
		return host, nil
	}
	return host + ":" + strconv.FormatUint(port, 10), nil
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

// escape decodes percent-encoded unreserved characters, writes other encodings in upper case, and encodes what may
// not stand in an address, a lone percent sign included. The host is left to normalHost.
func escape(s string) string {
	start := hostEnd(s)
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

// hostEnd is where the path, or the query after a missing path, of an absolute address begins.
func hostEnd(s string) int {
	i := strings.Index(s, "://")
	if i < 0 {
		return 0
	}
	if j := strings.IndexAny(s[i+3:], "/?"); j >= 0 {
		return i + 3 + j
	}
	return len(s)
}

// legal characters stand in a path or query as they are; brackets are left as written, as every browser does.
func legal(c byte) bool {
	return unreserved(c) || strings.IndexByte("%:/?#[]@!$&'()*+,;=", c) >= 0
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
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

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// folder is the path of u up to and with its last slash.
func folder(u *url.URL) string {
	dir, _ := path.Split(u.EscapedPath())
	return dir
}

package warc

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// SURT returns the key that replay tools use to look an address up. It is the key that pywb
// computes with the Python package surt. The host is reversed and loses www; scheme, user, default
// port and fragment are dropped; percent-encoding is undone and applied again; path and query lose
// session ids and letter case; the path loses repeated and trailing slashes; the parameters of the
// query are sorted. An address for which pywb has no key, because of its port, is returned as it
// is.
func SURT(address string) string {
	u, ok := splitAddress(address)
	if !ok {
		return address
	}
	u.path = unescape(u.path)
	if u.host = surtHost(u.host); u.host != "" {
		u.path = surtPath(u.path)
	}
	u.path = stripSession(strings.ToLower(escape(u.path)), pathSessions())
	if len(u.path) > 1 {
		u.path = strings.TrimSuffix(u.path, "/")
	}
	key := u.scheme + ":"
	if u.host != "" {
		labels := strings.Split(u.host, ".")
		slices.Reverse(labels)
		key = strings.Join(labels, ",") + u.port() + ")"
	}
	query := sortedQuery(strings.ToLower(stripSession(escape(unescape(u.query)), querySessions())))
	if query == "" {
		return key + u.path
	}
	return key + cmp.Or(u.path, "/") + "?" + query
}

// surtURL holds the parts of an address. query is "" if the address has none.
type surtURL struct {
	scheme, host, path, query string
	number                    uint64 // port number; 0 for none
}

// port returns a colon and the port, or "" for the default port of the scheme.
func (u surtURL) port() string {
	switch scheme := strings.ToLower(u.scheme); {
	case u.number == 0, scheme == "http" && u.number == 80, scheme == "https" && u.number == 443:
		return ""
	}
	return ":" + strconv.FormatUint(u.number, 10)
}

// splitAddress splits an address as the Python package surt does: an address without a scheme is
// read as http, and of several schemes in a row the last one counts. It returns false if the port
// is not a number.
func splitAddress(address string) (u surtURL, ok bool) {
	rest := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return -1
		}
		return r
	}, strings.Trim(address, " \t\n\r\v\f"))
	if schemeOf(rest) == "" {
		rest = "http://" + rest
	}
	for {
		_, after, found := cutWebScheme(rest)
		if _, _, again := cutWebScheme(after); !found || !again {
			break
		}
		rest = after
	}
	u.scheme = schemeOf(rest)
	rest, _, _ = strings.Cut(rest[len(u.scheme)+1:], "#")
	rest, u.query, _ = strings.Cut(rest, "?")
	if authority, found := strings.CutPrefix(rest, "//"); found {
		end := strings.IndexByte(authority, '/')
		if end < 0 {
			end = len(authority)
		}
		if u.host, u.number, ok = splitAuthority(authority[:end]); !ok {
			return u, false
		}
		rest = authority[end:]
	}
	if u.path = rest; u.host == "" && rest != "" && strings.HasPrefix(u.scheme, "http") {
		u.host, u.path, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
		u.path = "/" + u.path
	}
	return u, true
}

// schemeOf returns the part before the first colon if it has the form of a scheme, and otherwise
// "".
func schemeOf(address string) string {
	scheme, _, found := strings.Cut(address, ":")
	if !found || strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-") != "" {
		return ""
	}
	if first := strings.ToLower(scheme); first == "" || first[0] < 'a' || first[0] > 'z' {
		return ""
	}
	return scheme
}

// cutWebScheme splits off http:// or https://.
func cutWebScheme(address string) (scheme, rest string, found bool) {
	scheme, rest, found = strings.Cut(address, "://")
	return scheme, rest, found && (scheme == "http" || scheme == "https")
}

// splitAuthority returns host and port, without the user. Brackets around a host are dropped.
func splitAuthority(authority string) (host string, number uint64, ok bool) {
	if strings.HasSuffix(authority, ":") {
		authority = strings.TrimRight(authority, ":")
	}
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	host, port, _ := strings.Cut(authority, ":")
	if _, inner, bracketed := strings.Cut(authority, "["); bracketed {
		host, port, _ = strings.Cut(inner, "]")
		_, port, _ = strings.Cut(port, ":")
	}
	if port == "" {
		return host, 0, true
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return host, number, err == nil && strings.Trim(port, "0123456789") == ""
}

// surtHost returns a host in lower case and in ASCII, without www and outer dots, and an IPv4
// address in its usual form.
func surtHost(host string) string {
	host = unescape(host)
	if strings.IndexFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		// converted as in IDNA 2003
		profile := idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.Transitional(true))
		name := strings.ToValidUTF8(host, "")
		if ascii, err := profile.ToASCII(name); err == nil && !strings.HasPrefix(name, ".") &&
			!strings.Contains(name, "..") {
			host = ascii
		}
	}
	host = strings.Trim(strings.ReplaceAll(host, "..", "."), ".")
	if ip, ok := surtIPv4(host); ok {
		host = ip
	} else {
		host = strings.ToLower(escape(host))
	}
	if digits, www := strings.CutPrefix(host, "www"); www {
		if rest, dot := strings.CutPrefix(strings.TrimLeft(digits, "0123456789"), "."); dot {
			return rest
		}
	}
	return host
}

// surtIPv4 returns the dotted form of an IPv4 address. The address may be one number, or up to four
// numbers in the notation of the C library: a number that begins with 0 is octal, and the last one
// fills the remaining octets.
func surtIPv4(host string) (string, bool) {
	if host == "" || strings.Trim(host, "0123456789.") != "" || !strings.Contains("0123456789", host[:1]) {
		return "", false
	}
	parts := strings.Split(host, ".")
	if host[0] == '0' && len(parts) > 1 && strings.ContainsAny(host, "89") {
		return "", false
	}
	value := uint32(0)
	if len(parts) == 1 {
		for _, digit := range []byte(host) { // the number is computed modulo 2^32, as the C library does
			value = value*10 + uint32(digit-'0')
		}
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, value))).String(), true
	}
	for i, part := range parts {
		base, bits := 10, 8
		if len(part) > 1 && part[0] == '0' {
			base = 8
		}
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		n, err := strconv.ParseUint(part, base, max(bits, 1))
		if err != nil || len(parts) > 4 {
			return "", false
		}
		value |= uint32(n) << (24 - 8*i - (bits - 8))
	}
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, value))).String(), true
}

// surtPath returns an unescaped path without dot segments and without empty segments. An empty last
// segment is kept.
func surtPath(path string) string {
	_, path, _ = strings.Cut(path, "/")
	var kept []string
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case part == ".":
		case part == ".." && len(kept) > 0:
			kept = kept[:len(kept)-1]
		default:
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return "/"
	}
	last := kept[len(kept)-1]
	kept = slices.DeleteFunc(kept[:len(kept)-1], func(part string) bool { return part == "" })
	return "/" + strings.Join(append(kept, last), "/")
}

// The session ids that SURT removes. Groups 1 and 2 match the text before and after a session id;
// that text is kept. They are compiled when the first URL is converted.
var (
	pathSessions = sync.OnceValue(func() []*regexp.Regexp {
		return []*regexp.Regexp{
			regexp.MustCompile(`(?is)^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$`),
			regexp.MustCompile(`(?is)^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$`),
		}
	})
	querySessions = sync.OnceValue(func() []*regexp.Regexp {
		return []*regexp.Regexp{
			regexp.MustCompile(`(?is)^(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?$`),
			regexp.MustCompile(`(?is)^(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?$`),
			regexp.MustCompile(`(?is)^(.*)sid=[0-9a-z]{32}(?:&(.*))?$`),
			regexp.MustCompile(`(?is)^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$`),
			regexp.MustCompile(`(?is)^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$`),
		}
	})
)

func stripSession(text string, sessions []*regexp.Regexp) string {
	for _, session := range sessions {
		if m := session.FindStringSubmatch(text); m != nil {
			text = m[1] + m[2]
		}
	}
	return text
}

// sortedQuery returns a query with its parameters sorted by name, then by value; a parameter
// without a value comes before one with an empty value.
func sortedQuery(query string) string {
	parameters := strings.Split(query, "&")
	slices.SortFunc(parameters, func(a, b string) int {
		nameA, valueA, hasA := strings.Cut(a, "=")
		nameB, valueB, hasB := strings.Cut(b, "=")
		if c := cmp.Compare(nameA, nameB); c != 0 || hasA == hasB {
			return cmp.Or(c, cmp.Compare(valueA, valueB))
		}
		if hasA {
			return 1
		}
		return -1
	})
	return strings.Join(parameters, "&")
}

// unescape decodes percent-encoding repeatedly, because a decoded octet may be part of another
// encoding.
func unescape(text string) string {
	out := make([]byte, 0, len(text))
	for _, c := range []byte(text) {
		out = append(out, c)
		for n := len(out) - 3; n >= 0 && out[n] == '%'; n = len(out) - 3 {
			octet, err := strconv.ParseUint(string(out[n+1:]), 16, 8)
			if err != nil {
				break
			}
			out = append(out[:n], byte(octet))
		}
	}
	return string(out)
}

// escape percent-encodes all octets that are not printable ASCII, and #, % and the space.
func escape(text string) string {
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(text))
	for _, c := range []byte(text) {
		if c > ' ' && c < 0x7f && c != '#' && c != '%' {
			out = append(out, c)
		} else {
			out = append(out, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(out)
}

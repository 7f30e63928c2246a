package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/actions"
)

// hostName returns host in the form in which host names are compared: in lower case, without port,
// without brackets and without a final dot.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
}

// anyAddress stands in the names of a server for all IP addresses, if the server listens on all. It is no valid host.
const anyAddress = " "

// addAddress adds to names the address at, on which the server listens. For a loopback address it
// also adds the other names of loopback.
func addAddress(names map[string]bool, at net.Addr) {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return
	}
	names[net.JoinHostPort(hostName(host), port)] = true
	ip, err := netip.ParseAddr(host)
	if err == nil && ip.IsUnspecified() {
		names[net.JoinHostPort(anyAddress, port)] = true
	}
	if err == nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
			names[net.JoinHostPort(name, port)] = true
		}
	}
}

// namesServer reports whether the Host header of r is in names, the names of this server. Other
// requests come from misconfigured proxies, or from web pages that use DNS rebinding, and must be
// rejected.
func namesServer(names map[string]bool, r *http.Request) bool {
	if names[hostName(r.Host)] {
		return true
	}
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil { // without a port, the default port of the scheme is meant
		port = "80"
		if r.TLS != nil {
			port = "443"
		}
	}
	// DNS rebinding needs a name, so every IP address is safe
	_, err = netip.ParseAddr(hostName(r.Host))
	return names[net.JoinHostPort(hostName(r.Host), port)] || err == nil && names[net.JoinHostPort(anyAddress, port)]
}

// client returns the name under which requests of a client are counted: the IPv4 address, or the
// first 64 bits of the IPv6 address.
func (s *Server) client(r *http.Request) string { return clientAt(s.address(r)) }

// address returns the address of the client: that of the connection, or behind trusted proxies the
// rightmost address in X-Forwarded-For that is not the address of a trusted proxy.
func (s *Server) address(r *http.Request) string {
	at := r.RemoteAddr
	list := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(list) - 1; i >= 0 && s.trusts(at); i-- {
		if from := strings.TrimSpace(list[i]); from != "" {
			at = from
		}
	}
	return at
}

// trusts reports whether an address, with or without port, is that of a trusted proxy.
func (s *Server) trusts(at string) bool {
	ip, ok := addressOf(at)
	return ok && slices.ContainsFunc(s.o.Trusted, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// addressOf returns the IP address in an address with or without port.
func addressOf(at string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(at); err == nil {
		at = host
	}
	ip, err := netip.ParseAddr(strings.Trim(at, "[]"))
	return ip.Unmap().WithZone(""), err == nil
}

// clientAt returns the name, as client does, for a network address with or without a port.
func clientAt(at string) string {
	if host, _, err := net.SplitHostPort(at); err == nil {
		at = host
	}
	ip, err := netip.ParseAddr(strings.Trim(at, "[]"))
	if err != nil {
		return "" // all clients without a valid address are counted as one client
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if net, err := ip.Prefix(64); err == nil {
			return net.String()
		}
	}
	return ip.String()
}

// maxToken is the maximum length of an access token in bytes.
const maxToken = 256

// token returns the bearer token of a request (RFC 6750 2.1), or "" if the request has no bearer
// token or a malformed one.
func token(r *http.Request) string {
	all := r.Header.Values("Authorization")
	if len(all) != 1 {
		return ""
	}
	scheme, t, _ := strings.Cut(all[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || t == "" || len(t) > maxToken || !printable(t) {
		return ""
	}
	return t
}

// hashToken returns a hash of an access token, so that the token itself is not stored.
func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return string(sum[:])
}

// maxKey is the maximum length of an idempotency key in bytes.
const maxKey = 200

func wellFormedKey(key string) bool {
	return key != "" && len(key) <= maxKey && printable(key)
}

// printable reports whether the string consists only of printable ASCII characters other than
// blanks.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' })
}

func malformed(what string) *problem {
	return &problem{status: http.StatusBadRequest, code: actions.Malformed, detail: what}
}

// submission reads the body of an HTTP request that submits an action request. The body must be a
// JSON object whose values are strings, with known names that occur at most once.
func submission(w http.ResponseWriter, r *http.Request) (map[string]string, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || kind != "application/json" ||
		charset != "" && !strings.EqualFold(charset, "utf-8") || r.Header.Get("Content-Encoding") != "" {
		return nil, &problem{status: http.StatusUnsupportedMediaType, code: "media-type",
			detail: "the body must be application/json, without a content coding"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, &problem{status: http.StatusRequestEntityTooLarge, code: "too-large",
			detail: "the body may have at most 16 KiB"}
	}
	if err != nil {
		return nil, malformed("the body is incomplete")
	}
	if !utf8.Valid(body) {
		return nil, malformed("the body is not UTF-8")
	}
	said, err := texts(body)
	for _, text := range said {
		// encoding/json decodes half of a surrogate pair to RuneError, which would change the URL.
		if strings.ContainsRune(text, utf8.RuneError) {
			return nil, malformed("the body contains half of a surrogate pair, which is no character")
		}
	}
	return said, err
}

// texts reads a JSON object whose values are strings. It rejects duplicate names, because
// encoding/json uses the last value and other parsers use the first.
func texts(body []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, malformed("the body must be an object such as " +
			`{"action": "take-down", "url": "https://example.com/x"}`)
	}
	out := map[string]string{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, malformed("the body is not JSON")
		}
		key, _ := name.(string)
		if key != "action" && key != "url" && key != "key" {
			return nil, malformed("the body may contain action, url and key only")
		}
		if _, twice := out[key]; twice {
			return nil, malformed("the body has " + key + " twice")
		}
		value, err := d.Token()
		text, is := value.(string)
		if err != nil || !is {
			return nil, malformed(key + " must be a string")
		}
		out[key] = text
	}
	if _, err := d.Token(); err != nil {
		return nil, malformed("the body is not JSON")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, malformed("something follows the object in the body")
	}
	return out, nil
}

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
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/actions"
)

// hostName returns host in the form in which names are compared: lower case, without port, brackets
// and final dot.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
}

// addAddress adds the address of the listener to names, and for a loopback address the other names
// of loopback.
func addAddress(names map[string]bool, at net.Addr) {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return
	}
	names[net.JoinHostPort(hostName(host), port)] = true
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
			names[net.JoinHostPort(name, port)] = true
		}
	}
}

// namesServer reports whether the Host header of r names this server. This rejects web pages that
// use DNS rebinding, and misconfigured proxies.
func namesServer(names map[string]bool, r *http.Request) bool {
	if names[hostName(r.Host)] {
		return true
	}
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil { // the default port of the scheme
		port = "80"
		if r.TLS != nil {
			port = "443"
		}
	}
	return names[net.JoinHostPort(hostName(r.Host), port)]
}

// client returns the name under which the rates of a client are counted: its IPv4 address, or its
// IPv6 network of 64 bits.
func (s *Server) client(r *http.Request) string {
	at := r.RemoteAddr
	if s.o.BehindProxy {
		all := r.Header.Values("X-Forwarded-For")
		if len(all) > 0 {
			last := all[len(all)-1]
			at = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
		}
	}
	return clientAt(at)
}

// clientAt returns the name of the client at an address with or without port.
func clientAt(at string) string {
	if host, _, err := net.SplitHostPort(at); err == nil {
		at = host
	}
	ip, err := netip.ParseAddr(strings.Trim(at, "[]"))
	if err != nil {
		return "" // all clients without a valid address count as one
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if net, err := ip.Prefix(64); err == nil {
			return net.String()
		}
	}
	return ip.String()
}

// maxToken is the maximal length of a token in bytes.
const maxToken = 256

// token returns the bearer token of a request (RFC 6750 2.1), or "" if there is none or it is
// malformed.
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

// hashToken returns a hash of token, so that the token itself is not stored.
func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return string(sum[:])
}

// maxKey is the maximal length of an idempotency key in bytes.
const maxKey = 200

func wellFormedKey(key string) bool {
	return key != "" && len(key) <= maxKey && printable(key)
}

// printable reports whether s consists of printable ASCII characters without blanks.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' })
}

func malformed(what string) *problem {
	return &problem{status: http.StatusBadRequest, code: actions.Malformed, detail: what}
}

// submission reads the body of a submission. It must be an object with strings under known names,
// each at most once.
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
			detail: "the body may have 16 KiB"}
	}
	if err != nil {
		return nil, malformed("the body broke off")
	}
	if !utf8.Valid(body) {
		return nil, malformed("the body is not UTF-8")
	}
	said, err := texts(body)
	for _, text := range said {
		// JSON decodes half of a surrogate pair to RuneError, which would change the URL.
		if strings.ContainsRune(text, utf8.RuneError) {
			return nil, malformed("the body has a character that is none")
		}
	}
	return said, err
}

// texts reads an object of strings. It rejects duplicate names: encoding/json uses the last of
// them, other parsers use the first.
func texts(body []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, malformed(`the body is not an object as {"action": "take-down", "url": "https://example.com/x"}`)
	}
	out := map[string]string{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, malformed("the body is not JSON")
		}
		key, _ := name.(string)
		if key != "action" && key != "url" && key != "key" {
			return nil, malformed("the body may have action, url and key, and nothing else")
		}
		if _, twice := out[key]; twice {
			return nil, malformed("the body has " + key + " twice")
		}
		value, err := d.Token()
		text, is := value.(string)
		if err != nil || !is {
			return nil, malformed(key + " is not a text")
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

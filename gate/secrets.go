package gate

import (
	"bytes"
	"net/http"
	"net/url"
)

// addSecrets adds the fields of Options.Secrets for u to h, and returns the names of those that it has added.
func (g *Gate) addSecrets(h http.Header, u *url.URL) (names []string) {
	if g.o.Secrets == nil {
		return nil
	}
	for name, values := range g.o.Secrets(u) {
		name = http.CanonicalHeaderKey(name)
		h[name] = values
		names = append(names, name)
	}
	return names
}

// redacted returns the head of a request with other values in the fields with these names. The head of a request
// through a proxy also loses what identifies the operator to the proxy.
func redacted(head []byte, names []string) []byte {
	names = append(names, "Proxy-Authorization")
	var out []byte
	for line := range bytes.SplitAfterSeq(head, []byte("\n")) {
		name, _, field := bytes.Cut(line, []byte(":"))
		secret := false
		for _, n := range names {
			secret = secret || field && http.CanonicalHeaderKey(string(name)) == n
		}
		if !secret {
			out = append(out, line...)
			continue
		}
		out = append(append(out, name...), ": redacted\r\n"...)
	}
	return out
}

package gate

import (
	"bytes"
	"net/http"
	"net/url"
)

// addCredentials adds the fields of Options.Credentials for u to h, and returns the names of those that it has added.
func (g *Gate) addCredentials(h http.Header, u *url.URL) (names []string) {
	if g.o.Credentials == nil {
		return nil
	}
	for name, values := range g.o.Credentials(u) {
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
		credential := false
		for _, n := range names {
			credential = credential || field && http.CanonicalHeaderKey(string(name)) == n
		}
		if !credential {
			out = append(out, line...)
			continue
		}
		out = append(append(out, name...), ": redacted\r\n"...)
	}
	return out
}

package gate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Header fields that identify the operator are sent to the host that they are for, and to no other one, also after a
// redirect. They are not in the recorded head, unless that is wanted.
func TestCredentials(t *testing.T) {
	for _, keep := range []bool{false, true} {
		var ours, theirs []http.Header
		other := newSite(t, func(w http.ResponseWriter, r *http.Request) { theirs = append(theirs, r.Header) })
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			ours = append(ours, r.Header)
			if r.URL.Path == "/away" {
				http.Redirect(w, r, other.URL+"/there", http.StatusFound)
			}
		})
		g := newGate(t, Options{KeepCredentials: keep, Credentials: func(u *url.URL) http.Header {
			if u.Host != s.url(t).Host {
				return nil
			}
			return http.Header{"authorization": {"Basic c2VjcmV0"}, "Cookie": {"tide=lowtide"}}
		}}, rule(open), s, other)
		trace, err := g.Get(t.Context(), PageRequest, s.URL+"/away")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Fetch(t.Context(), s.URL+"/robots.txt"); err != nil {
			t.Fatal(err)
		}
		for _, h := range ours {
			if h.Get("Authorization") != "Basic c2VjcmV0" || h.Get("Cookie") != "tide=lowtide" {
				t.Errorf("the host got %v", h)
			}
		}
		for _, h := range theirs {
			if h.Get("Authorization") != "" || h.Get("Cookie") != "" {
				t.Errorf("the other host got %v", h)
			}
		}
		if len(ours) != 2 || len(theirs) != 1 {
			t.Errorf("%d and %d requests", len(ours), len(theirs))
		}
		sent := string(trace.Hops[0].Sent)
		if has := strings.Contains(sent, "c2VjcmV0") || strings.Contains(sent, "lowtide"); has != keep {
			t.Errorf("keep: %t, the head is\n%s", keep, sent)
		}
		if !keep && (!strings.Contains(sent, "\r\nAuthorization: redacted\r\n") ||
			!strings.Contains(sent, "\r\nCookie: redacted\r\n") || !strings.HasSuffix(sent, "\r\n\r\n") ||
			!strings.HasPrefix(sent, "GET /away HTTP/1.1\r\n")) {
			t.Errorf("the head is\n%s", sent)
		}
	}
}

// The heads of HTTP/2, which are written in the form of HTTP/1.1, contain no credentials either.
func TestCredentialsHTTP2(t *testing.T) {
	s, trust := secure(t, true, func(http.ResponseWriter, *http.Request) {})
	g := newGate(t, Options{AllowPrivate: true, Credentials: func(*url.URL) http.Header {
		return http.Header{"X-Key": {"opensesame"}}
	}}, rule(open))
	g.transport.TLSClientConfig = trust
	trace, err := g.Get(t.Context(), PageRequest, s.URL+"/a")
	if err != nil {
		t.Fatal(err)
	}
	if hop := trace.Hops[0]; hop.Proto != "HTTP/2.0" || strings.Contains(string(hop.Sent), "opensesame") ||
		!strings.Contains(string(hop.Sent), "X-Key: redacted") {
		t.Errorf("%s: %s", hop.Proto, hop.Sent)
	}
}

package gate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/squeeze"
)

// Conditional header fields are not sent again after a redirect, unless the client sets new ones.
func TestConditionsGoOnce(t *testing.T) {
	var mu sync.Mutex
	conditions := map[string]string{}
	note := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		conditions[r.URL.Path] = r.Header.Get("If-None-Match") + r.Header.Get("If-Modified-Since")
	}
	other := newSite(t, note)
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		note(w, r)
		switch r.URL.Path {
		case "/a":
			http.Redirect(w, r, "/b", http.StatusMovedPermanently)
		case "/b":
			http.Redirect(w, r, other.URL+"/c", http.StatusFound)
		}
	})
	g := newGate(t, Options{}, rule(open), s, other)
	req, err := http.NewRequestWithContext(With(t.Context(), PageRequest, nil), "GET", s.URL+"/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	const date = "Sat, 21 Nov 2026 12:00:00 GMT"
	req.Header.Set("If-None-Match", `"v1"`)
	req.Header.Set("If-Modified-Since", date)
	for want, client := range map[string]*http.Client{
		"": {Transport: g},
		`"v2"`: {Transport: g, CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) == 2 {
				req.Header.Set("If-None-Match", `"v2"`)
			}
			return nil
		}},
	} {
		clear(conditions)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if conditions["/a"] != `"v1"`+date || conditions["/b"] != "" || conditions["/c"] != want ||
			len(conditions) != 3 {
			t.Errorf("conditions: %q", conditions)
		}
	}
}

func TestNotModified(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		// describes the coding of the page, but the answer 304 does not contain the page
		w.Header().Set("Content-Encoding", "compress")
		w.Header().Set("Content-Length", "5000")
		w.WriteHeader(http.StatusNotModified)
	})
	g := newGate(t, Options{}, rule(open), s)
	var trace Trace
	resp, err := do(t, g, With(t.Context(), PageRequest, &trace), "GET", s.URL)
	if err != nil {
		t.Fatal(err)
	}
	h := trace.Hops[0]
	if h.Status != 304 || len(h.Wire) != 0 || len(h.Body) != 0 || h.Truncated || h.Header.Get("ETag") != `"v1"` ||
		h.Header.Get("Content-Encoding") != "compress" {
		t.Errorf("%+v", h)
	}
	if resp.StatusCode != 304 || resp.Body != http.NoBody {
		t.Errorf("%+v", resp)
	}
}

// secure starts a TLS server, with HTTP/2 if h2 is set, and returns a configuration that trusts it.
func secure(t *testing.T, h2 bool, h http.HandlerFunc) (*httptest.Server, *tls.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = h2
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s, &tls.Config{RootCAs: roots}
}

func TestHTTP2(t *testing.T) {
	for _, h2 := range []bool{true, false} {
		s, trust := secure(t, h2, func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength != 0 || len(r.TransferEncoding) != 0 {
				t.Errorf("a body of %d bytes was announced", r.ContentLength)
			}
			w.Header().Set("Content-Encoding", "zstd")
			_, _ = w.Write(squeeze.Bytes(t, "zstd", []byte(sentence)))
		})
		g := newGate(t, Options{PerHost: 4, AllowPrivate: true}, rule(open))
		g.transport.TLSClientConfig = trust
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				trace, err := g.Get(t.Context(), PageRequest, s.URL)
				if err != nil || string(trace.Hops[0].Body) != sentence || (trace.Hops[0].Proto == "HTTP/2.0") != h2 {
					t.Errorf("%v, %+v", err, trace)
				}
			})
		}
		wg.Wait()
	}
}

func TestTLSErrors(t *testing.T) {
	s, _ := secure(t, true, hello)
	s.Config.ErrorLog = quiet
	plain := newSite(t, hello)
	g := newGate(t, Options{AllowPrivate: true}, rule(open))
	_, err := g.Get(t.Context(), PageRequest, s.URL)
	var certificate *tls.CertificateVerificationError
	if !errors.As(err, &certificate) {
		t.Errorf("a certificate that nobody signed: %v", err)
	}
	if _, err := g.Get(t.Context(), PageRequest, "https"+plain.URL[len("http"):]); err == nil {
		t.Error("a server without TLS was taken for one")
	}
	if trace, err := g.Get(t.Context(), PageRequest, "http"+s.URL[len("https"):]); err != nil ||
		trace.Hops[0].Status != http.StatusBadRequest {
		t.Errorf("plain HTTP to a TLS port: %v, %+v", err, trace)
	}
}

func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6: ", err)
	}
	host := ""
	s := &httptest.Server{Listener: l,
		Config: &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { host = r.Host })}}
	s.Start()
	defer s.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, byAddress := range []bool{false, true} {
		g := newGate(t, Options{ByAddress: byAddress}, rule(open))
		address := "http://[0:0:0:0:0:0:0:1]:" + port + "/"
		if _, err := g.Get(t.Context(), PageRequest, address); refusal(t, err).Rule != RuleAddress {
			t.Errorf("not named: %v", err)
		}
		g.Name(parse(t, address))
		if trace, err := g.Get(t.Context(), PageRequest, address); err != nil || trace.Hops[0].URL != address ||
			host != "[0:0:0:0:0:0:0:1]:"+port {
			t.Errorf("named: %v, sent to %s", err, host)
		}
	}
}

// If a host closes every connection without an answer, a request is sent at most as often as the
// constant attempts says. Each time counts against the budget.
func TestStaleConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var mu sync.Mutex
	var log []string
	go func() { // answers only the first request; its connection stays open until the next request
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 4096)
			for m := 0; ; m++ {
				if _, err := c.Read(buf); err != nil {
					break
				}
				mu.Lock()
				log = append(log, fmt.Sprintf("connection %d, request %d", n, m))
				mu.Unlock()
				if n > 0 || m > 0 {
					break
				}
				_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
			}
			c.Close()
		}
	}()
	g := newGate(t, Options{AllowPrivate: true, MaxPages: 10}, rule(open))
	address := "http://" + l.Addr().String() + "/"
	if _, err := g.Get(t.Context(), PageRequest, address); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Get(t.Context(), PageRequest, address); err == nil {
		t.Error("no error")
	}
	mu.Lock()
	defer mu.Unlock()
	// Connection 1 was closed before a request was written to it.
	want := []string{"connection 0, request 0", "connection 0, request 1", "connection 2, request 0"}
	if !slices.Equal(log, want) || g.pages != 3 {
		t.Errorf("%d pages, requests %q", g.pages, log)
	}
}

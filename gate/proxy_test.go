package gate

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxy is a proxy that sends every request to one server, whatever host it names.
type proxy struct {
	*httptest.Server
	to string // host:port of the server

	mu   sync.Mutex
	seen []string // method and target of each request
}

func newProxy(t *testing.T, to string) *proxy {
	p := &proxy{to: to}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen = append(p.seen, r.Method+" "+r.RequestURI)
	p.mu.Unlock()
	there, err := net.Dial("tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer there.Close()
	if r.Method != http.MethodConnect {
		r.Header.Set("Connection", "close")
		_ = r.Write(there)
		resp, err := http.ReadResponse(bufio.NewReader(there), r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
		return
	}
	here, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(there, here) }()
	_, _ = io.Copy(here, there)
}

func (p *proxy) choose(*http.Request) (*url.URL, error) { return url.Parse(p.URL) }

func (p *proxy) requests() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.seen, "\n")
}

// Requests go through the proxy, although its address is a loopback address, and not to names and addresses that the
// address rule forbids. The policy is applied as always.
func TestProxy(t *testing.T) {
	s := newSite(t, hello)
	p := newProxy(t, s.url(t).Host)
	g := newGate(t, Options{Proxy: p.choose, ByAddress: true},
		rule(func(u *url.URL) bool { return u.Path != "/private" }))
	trace, err := g.Get(t.Context(), PageRequest, "http://paper.example/news")
	if err != nil {
		t.Fatal(err)
	}
	hop := trace.Hops[0]
	if string(hop.Body) != "hello" || hop.Address.IsValid() ||
		!strings.HasPrefix(string(hop.Sent), "GET http://paper.example/news") {
		t.Errorf("the body is %q, the address %v, and this was sent:\n%s", hop.Body, hop.Address, hop.Sent)
	}
	for _, address := range []string{"http://localhost/", "http://127.0.0.1/", "http://10.0.0.1/", p.URL} {
		_, err := g.Get(t.Context(), PageRequest, address)
		if r := refusal(t, err); r.Rule != RuleAddress {
			t.Errorf("%s: refused by the rule %q", address, r.Rule)
		}
	}
	_, err = g.Get(t.Context(), PageRequest, "http://paper.example/private")
	if r := refusal(t, err); r.Rule != "" {
		t.Errorf("a prohibited page: refused by the rule %q", r.Rule)
	}
	if got := p.requests(); got != "GET http://paper.example/news" {
		t.Errorf("the proxy saw these requests:\n%s", got)
	}
}

// A TLS connection goes through the proxy too. Both heads are known.
func TestProxyTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(hello))
	t.Cleanup(s.Close)
	p := newProxy(t, s.Listener.Addr().String())
	g := newGate(t, Options{Proxy: p.choose}, rule(open))
	g.transport.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	g.transport.TLSClientConfig.MinVersion = tls.VersionTLS12
	for range 2 { // the second request uses the same connection
		trace, err := g.Get(t.Context(), PageRequest, "https://example.com/news")
		if err != nil {
			t.Fatal(err)
		}
		hop := trace.Hops[0]
		if string(hop.Body) != "hello" || !strings.HasPrefix(string(hop.Sent), "GET /news") ||
			!strings.HasPrefix(string(hop.Head), "HTTP/1.1 200") {
			t.Errorf("the body is %q, and these are the heads:\n%s\n%s", hop.Body, hop.Sent, hop.Head)
		}
	}
	if got := p.requests(); got != "CONNECT example.com:443" {
		t.Errorf("the proxy saw these requests:\n%s", got)
	}
}

// A proxy that does not answer, and one that cannot be chosen, are errors of the request.
func TestProxyFails(t *testing.T) {
	p := newProxy(t, "127.0.0.1:1")
	p.Close()
	for name, choose := range map[string]func(*http.Request) (*url.URL, error){
		"closed":     p.choose,
		"not chosen": func(*http.Request) (*url.URL, error) { return nil, io.ErrUnexpectedEOF },
	} {
		g := newGate(t, Options{Proxy: choose, Timeout: time.Minute}, rule(open))
		if _, err := g.Get(t.Context(), PageRequest, "http://paper.example/"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// While several machines share a crawl, nothing is sent through a proxy: it would not stop when the lease ends.
func TestProxyAndLease(t *testing.T) {
	s := newSite(t, hello)
	p := newProxy(t, s.url(t).Host)
	g := newGate(t, Options{Proxy: p.choose, Tenure: func(string) error { return nil }}, rule(open))
	if _, err := g.Get(t.Context(), PageRequest, "http://paper.example/"); err == nil || p.requests() != "" {
		t.Errorf("the error is %v, and the proxy saw %q", err, p.requests())
	}
}

package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/defect"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) // bleve starts background goroutines when it is loaded
}

const good, other = "acap_good", "acap_other"

// backend accepts two credentials and records all calls.
type backend struct {
	mu     sync.Mutex
	calls  []actions.Call
	keys   map[string]actions.Call
	answer func(actions.Call) (actions.Answer, error) // replaces the default answers if it is not nil
}

func (b *backend) Answer(_ context.Context, c actions.Call) (actions.Answer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, c)
	if b.answer != nil {
		return b.answer(c)
	}
	if c.Do == "status" {
		return actions.Answer{Head: &actions.Head{Seq: 7, Hash: "aa"}, Status: &actions.Status{Open: 3}}, nil
	}
	if c.Token != good && c.Token != other {
		return actions.Answer{Code: "credential", Why: "the credential is not valid"}, nil
	}
	switch c.Do {
	case "submit":
		if before, known := b.keys[c.Key]; known {
			if before.URL != c.URL || before.Action != c.Action {
				return actions.Answer{Code: "key-reused", Why: "the key was used for another request"}, nil
			}
			return actions.Answer{Request: &actions.Request{ID: 1, Action: c.Action, URL: c.URL}, Replayed: true}, nil
		}
		b.keys[c.Key] = c
		return actions.Answer{Request: &actions.Request{ID: 1, Action: c.Action, URL: c.URL},
			Head: &actions.Head{Seq: 8, Hash: "bb"}}, nil
	case "list":
		return actions.Answer{Requests: []actions.Request{{ID: 1}}, Next: 1}, nil
	case "get", "withdraw":
		if c.ID == 1 && c.Token == good {
			return actions.Answer{Request: &actions.Request{ID: 1}}, nil
		}
	case "receipt":
		if c.ID == 1 && c.Token == good {
			return actions.Answer{Receipt: json.RawMessage(`{"id":1}`)}, nil
		}
	}
	return actions.Answer{Code: "not-found", Why: "there is no such request of your origins"}, nil
}

// reached returns the calls that the backend got since the previous call of reached.
func (b *backend) reached() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, c := range b.calls {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Do, c.Action, c.URL)))
	}
	b.calls = nil
	return out
}

// site is a running Server with a test backend and an HTTP client.
type site struct {
	*backend
	at     string // URL of the listener for publishers
	admin  string
	client *http.Client
}

func serve(t *testing.T, o Options) *site {
	t.Helper()
	return serveWithin(t, o, readTimeout)
}

// serveWithin starts a Server that waits for a request only as long as the limit.
func serveWithin(t *testing.T, o Options, limit time.Duration) *site {
	t.Helper()
	b := &backend{keys: map[string]actions.Call{}}
	o.Backend = b
	s := New(o)
	s.public.ReadTimeout = limit
	s.public.ReadHeaderTimeout = min(limit, s.public.ReadHeaderTimeout)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	admin, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- s.Serve(l) }()
	go func() { ended <- s.ServeAdmin(admin) }()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}
	})
	return &site{backend: b, at: l.Addr().String(), admin: admin.Addr().String(), client: client}
}

// asked is an HTTP request of a test. Header lines have the form "Name: value"; "-Name" removes a
// default header.
type asked struct {
	method, path, body string
	header             []string
}

// proxies are the trusted proxies of the tests: the client itself, and another one.
func proxies() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("203.0.113.0/24")}
}

// post returns a request that posts body with further or other lines of header.
func post(body string, header ...string) asked {
	return asked{"POST", "/api/v1/requests", body, header}
}

func (s *site) ask(t *testing.T, a asked) (status int, code string, h http.Header, body string) {
	t.Helper()
	at := s.at
	if a.path == "/healthz" || a.path == "/metrics" {
		at = s.admin
	}
	req, err := http.NewRequest(a.method, "http://"+at+a.path, strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+good)
	if a.method == "POST" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "k1")
	}
	for _, line := range a.header {
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(name, "-"):
			req.Header.Del(name[1:])
		case strings.HasPrefix(name, "+"):
			req.Header.Add(name[1:], value)
		case name == "Host":
			req.Host = value
		default:
			req.Header.Set(name, value)
		}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Code string }
	if resp.Header.Get("Content-Type") == "application/problem+json" {
		if err := json.Unmarshal(text, &p); err != nil || p.Code == "" {
			t.Errorf("a problem without a code: %s", text)
		}
	}
	if resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s %s: %v", a.method, a.path, resp.Header)
	}
	return resp.StatusCode, p.Code, resp.Header, string(text)
}

const down = `{"action": "take-down", "url": "https://quay.example/x"}`

// A well-formed request reaches the backend once, and a malformed one never.
func TestRequests(t *testing.T) {
	long := strings.Repeat("a", 16<<10)
	for _, c := range []struct {
		name    string
		asked   asked
		status  int
		code    string
		reached string
	}{
		{"a submission", post(down), 201, "", "submit take-down https://quay.example/x"},
		{"with a charset", post(down, "Content-Type: application/json; charset=UTF-8"), 201, "",
			"submit take-down https://quay.example/x"},
		{"its key in the body",
			post(`{"action":"re-crawl","url":"https://quay.example/x","key":"k2"}`, "-Idempotency-Key"),
			201, "", "submit re-crawl https://quay.example/x"},
		{"the same key twice",
			post(`{"action":"re-crawl","url":"https://quay.example/x","key":"k1"}`),
			201, "", "submit re-crawl https://quay.example/x"},
		{"two keys", post(`{"action":"re-crawl","url":"https://quay.example/x","key":"k2"}`), 400, "malformed", ""},
		{"two headers", post(down, "+Idempotency-Key: k9"), 400, "malformed", ""},
		{"no key", post(down, "-Idempotency-Key"), 400, "malformed", ""},
		{"a long key", post(down, "Idempotency-Key: "+long[:201]), 400, "malformed", ""},
		{"a key beyond ASCII",
			post(`{"action":"re-crawl","url":"https://quay.example/x","key":"k\u0000"}`, "-Idempotency-Key"),
			400, "malformed", ""},
		{"no action", post(`{"url":"https://quay.example/x"}`), 400, "malformed", ""},
		{"no url", post(`{"action":"take-down"}`), 400, "malformed", ""},
		{"no object", post(`["take-down"]`), 400, "malformed", ""},
		{"nothing", post(``), 400, "malformed", ""},
		{"half of it", post(down[:30]), 400, "malformed", ""},
		{"an unknown member", post(`{"action":"take-down","url":"https://quay.example/x","all":"yes"}`),
			400, "malformed", ""},
		{"a member in capitals", post(`{"Action":"take-down","url":"https://quay.example/x"}`), 400, "malformed", ""},
		{"a member twice", post(`{"action":"take-down","url":"https://quay.example/x","url":"https://quay.example/y"}`),
			400, "malformed", ""},
		{"a member twice, once escaped",
			post(`{"action":"take-down","url":"https://quay.example/x","\u0075rl":"https://quay.example/y"}`),
			400, "malformed", ""},
		{"a list for a text", post(`{"action":"take-down","url":["https://quay.example/x"]}`), 400, "malformed", ""},
		{"two objects", post(down + down), 400, "malformed", ""},
		{"half of a character", post(`{"action":"take-down","url":"https://quay.example/\ud800"}`),
			400, "malformed", ""},
		{"no UTF-8", post("{\"action\":\"take-down\",\"url\":\"https://quay.example/\xff\"}"), 400, "malformed", ""},
		{"a form", post("action=take-down", "Content-Type: application/x-www-form-urlencoded"), 415, "media-type", ""},
		{"plain text, as a page of another site can send", post(down, "Content-Type: text/plain"),
			415, "media-type", ""},
		{"packed", post(down, "Content-Encoding: gzip"), 415, "media-type", ""},
		{"too large", post(`{"action":"take-down","url":"https://quay.example/` + long + `"}`), 413, "too-large", ""},
		{"no credential", post(down, "-Authorization"), 401, "credential", ""},
		{"another scheme", post(down, "Authorization: Basic "+good), 401, "credential", ""},
		{"two credentials", post(down, "+Authorization: Bearer "+other), 401, "credential", ""},
		{"a credential with a blank", post(down, "Authorization: Bearer a b"), 401, "credential", ""},
		{"a long credential", post(down, "Authorization: Bearer "+long[:300]), 401, "credential", ""},
		{"an unknown credential", post(down, "Authorization: Bearer acap_bad"),
			401, "credential", "submit take-down https://quay.example/x"},
		{"a credential in the query", asked{"POST", "/api/v1/requests?access_token=" + good, down,
			[]string{"-Authorization"}}, 401, "credential", ""},

		{"one", asked{"GET", "/api/v1/requests/1", "", nil}, 200, "", "get"},
		{"its head", asked{"HEAD", "/api/v1/requests/1", "", nil}, 200, "", "get"},
		{"another's", asked{"GET", "/api/v1/requests/1", "", []string{"Authorization: Bearer " + other}}, 404,
			"not-found", "get"},
		{"none", asked{"GET", "/api/v1/requests/2", "", nil}, 404, "not-found", "get"},
		{"no number", asked{"GET", "/api/v1/requests/one", "", nil}, 404, "not-found", ""},
		{"a number with a sign", asked{"GET", "/api/v1/requests/+1", "", nil}, 404, "not-found", ""},
		{"a number with zeros", asked{"GET", "/api/v1/requests/01", "", nil}, 404, "not-found", ""},
		{"a number too large", asked{"GET", "/api/v1/requests/18446744073709551616", "", nil}, 404, "not-found", ""},
		{"an encoded slash", asked{"GET", "/api/v1/requests/1%2Freceipt", "", nil}, 404, "not-found", ""},
		{"withdrawn", asked{"DELETE", "/api/v1/requests/1", "", nil}, 200, "", "withdraw"},
		{"another's, withdrawn", asked{"DELETE", "/api/v1/requests/1", "", []string{"Authorization: Bearer " + other}},
			404, "not-found", "withdraw"},
		{"a receipt", asked{"GET", "/api/v1/requests/1/receipt", "", nil}, 200, "", "receipt"},
		{"the list", asked{"GET", "/api/v1/requests", "", nil}, 200, "", "list"},
		{"narrowed", asked{"GET",
			"/api/v1/requests?action=take-down&state=done&after=3&limit=2&url=https%3A%2F%2Fquay.example%2Fx", "", nil},
			200, "", "list"},
		{"narrowed by what is not known", asked{"GET", "/api/v1/requests?host=reef.example", "", nil},
			400, "malformed", ""},
		{"no address of a site", asked{"GET", "/api/v1/requests?origin=reef", "", nil}, 400, "malformed", ""},
		{"no time", asked{"GET", "/api/v1/requests?since=today", "", nil}, 400, "malformed", ""},
		{"narrowed twice", asked{"GET", "/api/v1/requests?limit=1&limit=2", "", nil}, 400, "malformed", ""},
		{"too many", asked{"GET", "/api/v1/requests?limit=1001", "", nil}, 400, "malformed", ""},
		{"a broken query", asked{"GET", "/api/v1/requests?a=%zz", "", nil}, 400, "malformed", ""},

		{"another method", asked{"PUT", "/api/v1/requests", down, nil}, 405, "method", ""},
		{"a preflight", asked{"OPTIONS", "/api/v1/requests", "",
			[]string{"Origin: https://reef.example", "Access-Control-Request-Method: POST"}}, 405, "method", ""},
		{"nowhere", asked{"GET", "/", "", nil}, 404, "not-found", ""},
		{"no metrics", asked{"GET", "/metrics", "", nil}, 404, "not-found", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, Options{})
			status, code, h, body := s.ask(t, c.asked)
			if got := strings.Join(s.reached(), ", "); status != c.status || c.asked.method != "HEAD" &&
				code != c.code || got != c.reached {
				t.Errorf("%d %q, the ledger got %q; want %d %q, %q: %s", status, code, got, c.status, c.code, c.reached,
					body)
			}
			if strings.Contains(body, "acap_") {
				t.Errorf("a credential is told: %s", body)
			}
			if h.Get("Access-Control-Allow-Origin") != "" {
				t.Error("other sites' pages are let in")
			}
			if (status == 401) != (h.Get("WWW-Authenticate") != "") || (status == 405) != (h.Get("Allow") != "") {
				t.Errorf("%d with %v", status, h)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	s := serve(t, Options{})
	status, _, h, body := s.ask(t, post(down))
	if status != 201 || h.Get("Location") != "/api/v1/requests/1" ||
		!strings.Contains(body, `"url":"https://quay.example/x"`) || !strings.Contains(body, `"ledger":{"seq":8`) {
		t.Errorf("%d %v %s", status, h, body)
	}
	if status, _, h, _ = s.ask(t, post(down)); status != 200 || h.Get("Idempotency-Replayed") != "true" {
		t.Errorf("again: %d %v", status, h)
	}
	status, code, _, _ := s.ask(t, post(strings.Replace(down, "/x", "/y", 1)))
	if status != 409 || code != "key-reused" {
		t.Errorf("another with the same key: %d %s", status, code)
	}
	if _, _, h, body := s.ask(t, asked{"GET", "/api/v1/requests?state=done", "", nil}); !strings.HasPrefix(body,
		`[{"id":1,`) || h.Get("Link") != `</api/v1/requests?after=1&state=done>; rel="next"` {
		t.Error(h, body)
	}
	s.reached()
	s.ask(t,
		asked{"GET", "/api/v1/requests?action=take-down&state=done&after=3&limit=2&origin=HTTPS://Reef.example:443" +
			"&since=2026-01-01T00:00:00Z&standing=true", "", nil})
	if f := s.calls[0].Filter; f.Action != "take-down" || f.State != actions.Done || f.After != 3 || f.Limit != 2 ||
		!slices.Equal(f.Origins, []string{"https://reef.example"}) || f.Since.Year() != 2026 || !f.Standing {
		t.Errorf("%+v", f)
	}
	s.backend.answer = func(actions.Call) (actions.Answer, error) { return actions.Answer{}, nil }
	_, _, _, body = s.ask(t, asked{"GET", "/api/v1/requests", "", nil})
	if strings.TrimSpace(body) != "[]" {
		t.Error(body)
	}
	s.backend.answer = func(actions.Call) (actions.Answer, error) {
		return actions.Answer{}, errors.New("the disk of /secret is full")
	}
	status, code, h, body = s.ask(t, asked{"GET", "/api/v1/requests/1", "", nil})
	if status != 503 || code != "unavailable" || h.Get("Retry-After") == "" || strings.Contains(body, "secret") {
		t.Errorf("%d %s %v %s", status, code, h, body)
	}
}

// A request whose Host header names another host is rejected, so that DNS rebinding has no effect.
func TestHost(t *testing.T) {
	s := serve(t, Options{Hosts: []string{"requests.example", "::2"}})
	_, port, _ := net.SplitHostPort(s.at)
	for host, want := range map[string]int{
		s.at: 200, "localhost:" + port: 200, "LOCALHOST:" + port: 200, "[::1]:" + port: 200, "requests.example": 200,
		"Requests.Example.:443": 200, "[::2]:9": 200,
		"localhost": 421, "127.0.0.1:1": 421, "evil.example": 421, "evil.example:" + port: 421,
		"requests.example.evil.example": 421, "127.0.0.1.evil.example:" + port: 421,
	} {
		status, _, _, _ := s.ask(t, asked{"GET", "/api/v1/requests", "", []string{"Host: " + host}})
		if status != want {
			t.Errorf("%s: %d, want %d", host, status, want)
		}
	}
}

// everywhere is a listener that says it listens on all addresses.
type everywhere struct{ net.Listener }

func (l everywhere) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4zero, Port: l.Listener.Addr().(*net.TCPAddr).Port}
}

// A server that listens on all addresses accepts each IP address as its name, since DNS rebinding needs another name.
func TestHostEverywhere(t *testing.T) {
	s := New(Options{Backend: &backend{}, Hosts: []string{"requests.example"}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- s.ServeAdmin(everywhere{l}) }()
	at := l.Addr().String()
	_, port, _ := net.SplitHostPort(at)
	for host, want := range map[string]int{at: 200, "localhost:" + port: 200, "[::1]:" + port: 200,
		"192.0.2.7:" + port: 200, "requests.example": 200, "192.0.2.7": 421, "192.0.2.7:1": 421,
		"evil.example:" + port: 421, "*:" + port: 421} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+at+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, resp.StatusCode, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	<-ended
}

// Without TLS, a server that other machines reach answers only its proxies and programs on the same machine.
func TestProxiesOnly(t *testing.T) {
	s := New(Options{Backend: &backend{}, Trusted: proxies(), Hosts: []string{"localhost"}})
	s.public.names["localhost"] = true
	for _, proxied := range []bool{true, false} {
		s.proxied = proxied
		for at, want := range map[string]int{"203.0.113.9:1": 401, "127.0.0.1:1": 401, "192.0.2.1:1": 403,
			"[2001:db8::1]:1": 403} {
			r := httptest.NewRequest("POST", "http://localhost/api/v1/requests", strings.NewReader("{}"))
			r.RequestURI, r.RemoteAddr = "/api/v1/requests", at
			w := httptest.NewRecorder()
			if s.public.Handler.ServeHTTP(w, r); w.Code != want && (proxied || w.Code != 401) {
				t.Errorf("proxies only %t, %s: %d", proxied, at, w.Code)
			}
		}
	}
}

// A client that guesses access tokens is blocked, and other clients are not. A client with a valid
// token is not blocked even if another client at the same address guesses tokens.
func TestGuessing(t *testing.T) {
	now := time.Now()
	var mu sync.Mutex
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	s := serve(t, Options{Trusted: proxies(), Now: clock})
	from := func(ip, token string) (int, http.Header) {
		status, _, h, _ := s.ask(t, asked{"GET", "/api/v1/requests", "", []string{
			"X-Forwarded-For: 198.51.100.1, " + ip + ", 203.0.113.9", "Authorization: Bearer " + token}})
		return status, h
	}
	if status, _ := from("192.0.2.1", good); status != 200 {
		t.Fatal(status)
	}
	for i := range mostFails {
		if status, _ := from("192.0.2.1", fmt.Sprint("guess", i)); status != 401 {
			t.Errorf("%d: %d", i, status)
		}
	}
	s.reached()
	status, h := from("192.0.2.1", "guess")
	if status != 429 || h.Get("Retry-After") == "" || len(s.reached()) != 0 {
		t.Errorf("%d %v", status, h)
	}
	for ip, want := range map[string]int{"192.0.2.2": 401, "2001:db8::1": 401} {
		if status, _ := from(ip, "guess"); status != want {
			t.Errorf("%s: %d", ip, status)
		}
	}
	if status, _ := from("192.0.2.1", good); status != 200 {
		t.Errorf("who is known: %d", status)
	}
	for i := range mostFails { // all IPv6 addresses with the same first 64 bits are counted as one client
		from(fmt.Sprintf("2001:db8:0:7::%x", i+1), "guess")
	}
	if status, _ := from("2001:db8:0:7::ffff", "guess"); status != 429 {
		t.Errorf("another address of the same line: %d", status)
	}
	pass := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	pass(failPeriod - time.Second)
	if status, _ := from("192.0.2.1", "guess"); status != 429 {
		t.Errorf("within the minute: %d", status)
	}
	pass(time.Second)
	if status, _ := from("192.0.2.1", "guess"); status != 401 {
		t.Errorf("later: %d", status)
	}
}

func TestRate(t *testing.T) {
	now := time.Now()
	s := serve(t, Options{Now: func() time.Time { return now }})
	var got []int
	for range tokenBurst + 2 {
		status, _, _, _ := s.ask(t, asked{"GET", "/api/v1/requests", "", nil})
		got = append(got, status)
	}
	if slices.Contains(got[:tokenBurst], 429) || got[tokenBurst] != 429 || got[tokenBurst+1] != 429 {
		t.Error(got)
	}
	if status, _, _, _ := s.ask(t,
		asked{"GET", "/api/v1/requests", "", []string{"Authorization: Bearer " + other}}); status != 200 {
		t.Errorf("another credential: %d", status)
	}
}

// A client that sends too many requests does not use up the rate of other clients.
func TestFlood(t *testing.T) {
	now := time.Now()
	s := serve(t, Options{Trusted: proxies(), Now: func() time.Time { return now }})
	from := func(ip, path string) int {
		status, _, _, _ := s.ask(t, asked{"GET", path, "", []string{"X-Forwarded-For: " + ip}})
		return status
	}
	var last int
	for range 201 {
		last = from("192.0.2.1", "/nowhere")
	}
	if last != 429 {
		t.Errorf("who floods gets %d", last)
	}
	if status := from("192.0.2.2", "/api/v1/requests"); status != 200 {
		t.Errorf("another: %d", status)
	}
}

// The number of connections of one client is limited, so that others can connect.
func TestShare(t *testing.T) {
	const most = 32
	s := serve(t, Options{Limits: Limits{PerClient: most}})
	dial := func(from string) net.Conn {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", s.at)
		if err != nil && from != "127.0.0.1" {
			t.Skipf("this system has one address of loopback: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	answered := func(conn net.Conn) bool {
		fmt.Fprintf(conn, "GET /api/v1/key HTTP/1.1\r\nHost: %s\r\n\r\n", s.at)
		conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	}
	first := dial("127.0.0.1")
	if !answered(first) {
		t.Fatal("the first gets no answer")
	}
	for range most - 1 {
		dial("127.0.0.1")
	}
	if answered(dial("127.0.0.1")) {
		t.Error("one client has more than its share")
	}
	if !answered(dial("127.0.0.2")) {
		t.Error("another gets no answer")
	}
	first.Close()
	for !answered(dial("127.0.0.1")) { // try until the server has noticed that the first connection was closed
	}
}

// Idle connections from many addresses do not block new ones: a new connection replaces an idle
// one.
func TestIdleConnections(t *testing.T) {
	const all, most = 256, 32
	s := serve(t, Options{Limits: Limits{PerClient: most, Connections: all}})
	for i := range all + 64 {
		from := net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i/most))}
		conn, err := (&net.Dialer{LocalAddr: &from}).Dial("tcp", s.at)
		if err != nil {
			t.Skipf("this system has one address of loopback: %v", err)
		}
		t.Cleanup(func() { conn.Close() })
	}
	for range 3 {
		if status, _, _, body := s.ask(t, asked{"GET", "/api/v1/requests", "", nil}); status != 200 {
			t.Errorf("%d %s", status, body)
		}
	}
}

// If all connections are busy, a new one is closed. A busy connection is never closed.
func TestPool(t *testing.T) {
	p := newPool(2)
	closed := make(chan string, 10)
	dial := func(name string) net.Conn {
		c := &namedConn{name: name, closed: closed}
		p.state(c, http.StateNew)
		return c
	}
	a, b := dial("192.0.2.1:1"), dial("192.0.2.2:1")
	p.state(a, http.StateActive)
	p.state(b, http.StateActive)
	c := dial("192.0.2.3:1")
	if got := <-closed; got != "192.0.2.3:1" {
		t.Errorf("%s is closed although it is busy", got)
	}
	p.state(c, http.StateClosed)
	p.state(b, http.StateIdle)
	dial("192.0.2.4:1")
	if got := <-closed; got != "192.0.2.2:1" {
		t.Errorf("%s is closed instead of the idle one", got)
	}
}

type namedConn struct {
	net.Conn
	name   string
	closed chan string
}

func (c *namedConn) Close() error { c.closed <- c.name; return nil }

func (c *namedConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.name))
}

// Requests that net/http or its mux would answer without a handler are checked and reported like
// all other requests.
func TestEveryAnswerIsChecked(t *testing.T) {
	var mu sync.Mutex
	var told []string
	s := serve(t, Options{Answered: func(r *http.Request, status int, code string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprintf("%s %s %d %s", r.Method, r.RequestURI, status, code))
	}})
	for _, c := range []struct{ line, host, want string }{
		{"GET //healthz", s.at, "404 not-found"}, {"GET /api/v1/../v1/requests", s.at, "404 not-found"},
		{"OPTIONS *", s.at, "404 not-found"},
		{"CONNECT " + s.at, s.at, "404 not-found"}, {"OPTIONS *", "evil.example", "421 host"},
		{"GET //healthz", "evil.example", "421 host"},
		{"CONNECT evil.example:443", "evil.example:443", "421 host"}, {"GET /metrics", s.at, "404 not-found"},
		{"GET /healthz", s.at, "404 not-found"},
	} {
		conn, err := net.Dial("tcp", s.at)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", c.line, c.host)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		conn.Close()
		mu.Lock()
		if len(told) != 1 || told[0] != c.line+" "+c.want || resp.Header.Get("Location") != "" {
			t.Errorf("%s to %s: %s %s, reported as %q, want %s", c.line, c.host, resp.Status, body, told, c.want)
		}
		told = nil
		mu.Unlock()
	}
}

// The server does not read the body of a request if the client must wait because of its rate.
func TestRateBeforeBody(t *testing.T) {
	now := time.Now()
	s := serve(t, Options{Now: func() time.Time { return now }})
	for range tokenBurst {
		s.ask(t, asked{"GET", "/api/v1/requests", "", nil})
	}
	if status, code, _, _ := s.ask(t, post("no JSON")); status != 429 || code != "rate" {
		t.Errorf("%d %s", status, code)
	}
}

// Memory does not grow without limit with the number of clients that fail to authenticate. While no
// further client can be stored, a new client must wait even if it never failed before.
func TestManyClients(t *testing.T) {
	now := time.Now()
	l := newLimits(Limits{Rate: 50, Burst: 200}, func() time.Time { return now })
	l.countValid("known")
	for i := range remembered + 100 {
		l.countFailed(fmt.Sprint(i))
	}
	if len(l.fails.of) != remembered {
		t.Errorf("%d are remembered", len(l.fails.of))
	}
	if l.waitTime("new", "unknown") == 0 || l.waitTime("new", "known") != 0 {
		t.Error("a new client is let in, or one that is known is not")
	}
	now = now.Add(time.Hour)
	if l.waitTime("new", "unknown") != 0 {
		t.Error("an hour later there is no room yet")
	}
}

func TestHealth(t *testing.T) {
	now := time.Now()
	var mu sync.Mutex
	s := serve(t, Options{Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	later := func() {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(healthFor)
	}
	for range 3 {
		if status, _, _, body := s.ask(t, asked{"GET", "/healthz", "", []string{"-Authorization"}}); status != 200 ||
			strings.TrimSpace(body) != `{"status":"ok","ledger":{"seq":7,"hash":"aa"},`+
				`"open":3,"due":0,"waiting":0,"failed":0}` {
			t.Errorf("%d %s", status, body)
		}
	}
	if got := s.reached(); len(got) != 1 {
		t.Errorf("the ledger was asked %d times", len(got))
	}
	for _, bad := range []func(actions.Call) (actions.Answer, error){
		func(actions.Call) (actions.Answer, error) { return actions.Answer{}, errors.New("no") },
		func(actions.Call) (actions.Answer, error) {
			return actions.Answer{Status: &actions.Status{TakeDown: now.Add(-11 * time.Minute)}}, nil
		},
		func(actions.Call) (actions.Answer, error) {
			return actions.Answer{Status: &actions.Status{Erased: now.Add(-11 * time.Minute)}}, nil
		},
	} {
		later()
		s.backend.mu.Lock()
		s.backend.answer = bad
		s.backend.mu.Unlock()
		if status, _, _, body := s.ask(t, asked{"GET", "/healthz", "", nil}); status != 503 ||
			!strings.Contains(body, `"status":"failing"`) {
			t.Errorf("%d %s", status, body)
		}
	}
}

// If a client sends data that is not HTTP, too slow or too large, its connection is closed, and
// other clients are not affected.
func TestRawConnections(t *testing.T) {
	s := serveWithin(t, Options{}, time.Second) // every connection of this test is to be closed
	for name, text := range map[string]string{
		"no HTTP": "\x16\x03\x01\x02\x00\x01",
		"a large head": "GET / HTTP/1.1\r\nHost: " + s.at + "\r\nX: " + strings.Repeat("a", 64<<10) +
			"\r\n\r\n",
		"two lengths": "POST /api/v1/requests HTTP/1.1\r\nHost: " + s.at +
			"\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
		"length and chunks": "POST /api/v1/requests HTTP/1.1\r\nHost: " + s.at + "\r\nAuthorization: Bearer " + good +
			"\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: 3\r\nTransfer-Encoding: " +
			"chunked\r\n\r\nzz\r\n",
		"two hosts": "GET /api/v1/requests HTTP/1.1\r\nHost: " + s.at + "\r\nHost: evil.example\r\n\r\n",
		"no host":   "GET /api/v1/requests HTTP/1.1\r\nAuthorization: Bearer " + good + "\r\n\r\n",
		"an absolute address": "GET http://evil.example/api/v1/requests HTTP/1.1\r\nHost: " + s.at +
			"\r\nAuthorization: Bearer " + good + "\r\n\r\n",
		"a tunnel": "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
		"a body without an end": "POST /api/v1/requests HTTP/1.1\r\nHost: " + s.at + "\r\nAuthorization: Bearer " +
			good + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n" +
			strings.Repeat("a", 32<<10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", s.at)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go io.WriteString(conn, text)
			conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil {
				if resp.StatusCode < 400 {
					t.Errorf("answered with %s", resp.Status)
				}
				resp.Body.Close()
			}
			if got := s.reached(); len(got) != 0 {
				t.Errorf("the ledger got %v", got)
			}
		})
	}
}

// If the program panics during a request, the request gets an answer, and the server continues.
func TestDefect(t *testing.T) {
	var mu sync.Mutex
	var told []*defect.Error
	s := serve(t, Options{Defect: func(e *defect.Error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, e)
	}})
	s.answer = func(actions.Call) (actions.Answer, error) { panic("sixteen bits") }
	for range 2 {
		if status, code, _, _ := s.ask(t, asked{path: "/api/v1/requests"}); status != http.StatusServiceUnavailable ||
			code != actions.Unavailable {
			t.Errorf("answered %d %s", status, code)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 2 || told[0].At != "GET /api/v1/requests" {
		t.Errorf("%v", told)
	}
}

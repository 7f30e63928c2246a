package gate

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/coding"
	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
)

// quiet discards the log of a test server, because the tests send invalid requests to it.
var quiet = log.New(io.Discard, "", 0)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // net/http logs errors of the protocol
	goleak.VerifyTestMain(m)
}

// site is a web site on a loopback address.
type site struct{ *testweb.Pages }

// newSite starts a site whose requests are all answered by h.
func newSite(t *testing.T, h http.HandlerFunc) *site {
	t.Helper()
	s := &site{testweb.NewPages(t)}
	s.Handle(testweb.AnyPath, h)
	return s
}

// requests returns method and address of each request, as sent.
func (s *site) requests() (list []string) {
	for _, r := range s.Requests() {
		list = append(list, r.Method+" "+r.URI)
	}
	return list
}

func (s *site) url(t *testing.T) *url.URL { return parse(t, s.URL) }

func parse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }

// rule is a source of policies for tests. If the function returns true for a URL, its policy
// permits everything. Otherwise there is no policy, and everything is prohibited.
type rule func(u *url.URL) bool

func (r rule) Policy(_ context.Context, u *url.URL) (*acap.Policy, error) {
	if !r(u) {
		return nil, nil
	}
	return acap.Parse("http://example.com/robots.txt", nil).Policy(acap.Crawler{Names: []string{"testbot"}}), nil
}

func (r rule) Current(u *url.URL) (*acap.Policy, error) { return r.Policy(context.Background(), u) }

func open(*url.URL) bool { return true }

// robots is a source of policies for tests: the text is the robots.txt of every host.
type robots string

func (r robots) Policy(_ context.Context, u *url.URL) (*acap.Policy, error) {
	name := u.Scheme + "://" + u.Host + "/robots.txt"
	return acap.Parse(name, []byte(r)).Policy(acap.Crawler{Names: []string{"testbot"}}), nil
}

func (r robots) Current(u *url.URL) (*acap.Policy, error) { return r.Policy(context.Background(), u) }

func newGate(t *testing.T, o Options, p Policies, sites ...*site) *Gate {
	t.Helper()
	g := New(o)
	t.Cleanup(g.Close)
	g.Use(p)
	for _, s := range sites {
		g.Name(s.url(t))
	}
	return g
}

func refusal(t *testing.T, err error) *Refusal {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) {
		t.Fatalf("got %v, want a refusal", err)
	}
	return r
}

func do(t *testing.T, g *Gate, ctx context.Context, method, rawurl string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, rawurl, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g.RoundTrip(req)
}

func TestMethodAndScheme(t *testing.T) {
	g := newGate(t, Options{AllowPrivate: true}, rule(open))
	for _, c := range []struct{ method, url, rule string }{
		{"POST", "http://example.com/", RuleMethod},
		{"GET", "ftp://example.com/", RuleScheme},
		{"GET", "file:///etc/passwd", RuleScheme},
		{"GET", "javascript:alert(1)", RuleScheme},
		{"GET", "http:/path", RuleScheme},
		{"GET", "http:example", RuleScheme},
	} {
		_, err := do(t, g, t.Context(), c.method, c.url)
		if r := refusal(t, err); r.Rule != c.rule || r.URL != c.url {
			t.Errorf("%s %s: %+v", c.method, c.url, r)
		}
	}
}

func TestRefusalThroughClient(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/closed/new", http.StatusFound)
		}
	})
	closed := rule(func(u *url.URL) bool { return !strings.HasPrefix(u.Path, "/closed") })
	g := newGate(t, Options{}, closed, s)
	var trace Trace
	ctx := With(t.Context(), PageRequest, &trace)
	for _, method := range []string{"GET", "HEAD"} {
		req, _ := http.NewRequestWithContext(ctx, method, s.URL+"/old", nil)
		resp, err := (&http.Client{Transport: g}).Do(req)
		if err == nil {
			resp.Body.Close()
		}
		if r := refusal(t, err); r.URL != s.URL+"/closed/new" || r.Rule != "" || r.Decision.Usage != acap.Crawl {
			t.Errorf("%s: %+v", method, r)
		}
		var refused *acap.Refused
		if !errors.As(err, &refused) {
			t.Errorf("%s: no *acap.Refused in %v", method, err)
		}
	}
	if got := s.requests(); !slices.Equal(got, []string{"GET /old", "HEAD /old"}) {
		t.Errorf("requests: %q", got)
	}
	if len(trace.Hops) != 2 || trace.Hops[0].Status != 302 || trace.Refused == nil {
		t.Errorf("trace: %+v", trace)
	}
}

func TestPolicyByKind(t *testing.T) {
	s := newSite(t, hello)
	g := newGate(t, Options{}, rule(func(*url.URL) bool { return false }), s)
	for _, kind := range []Kind{PageRequest, Part, Sitemap} {
		if _, err := g.Get(t.Context(), kind, s.URL+"/x"); refusal(t, err).Rule != "" {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
	if _, err := do(t, g, t.Context(), "GET", s.URL+"/x"); err == nil {
		t.Error("a request without a kind passed")
	}
	// REP 1 (F23): robots.txt may always be fetched.
	if _, err := g.Fetch(t.Context(), s.URL+"/robots.txt"); err != nil {
		t.Error(err)
	}
	if got := s.requests(); !slices.Equal(got, []string{"GET /robots.txt"}) {
		t.Errorf("requests: %q", got)
	}
}

func TestNoPoliciesRefuses(t *testing.T) {
	s := newSite(t, hello)
	g := New(Options{})
	defer g.Close()
	g.Name(s.url(t))
	_, err := g.Get(t.Context(), PageRequest, s.URL)
	if refusal(t, err); len(s.requests()) != 0 {
		t.Error("a request passed a gate without policies")
	}
}

type failing struct{}

func (failing) Policy(context.Context, *url.URL) (*acap.Policy, error) {
	return nil, errors.New("disk full")
}

func (failing) Current(*url.URL) (*acap.Policy, error) { return nil, errors.New("disk full") }

func TestPolicyFailureSendsNothing(t *testing.T) {
	s := newSite(t, hello)
	g := newGate(t, Options{}, failing{}, s)
	if _, err := g.Get(t.Context(), PageRequest, s.URL); err == nil || len(s.requests()) != 0 {
		t.Errorf("err %v, requests %q", err, s.requests())
	}
}

func TestQueryAndPathAsDecided(t *testing.T) {
	s := newSite(t, hello)
	var asked []string
	g := newGate(t, Options{}, rule(func(u *url.URL) bool { asked = append(asked, u.RequestURI()); return true }), s)
	const path = "/a%2Fb;x/%7Ec?z=1&a=2&a=1;q&%41"
	if _, err := g.Get(t.Context(), PageRequest, s.URL+path+"#frag"); err != nil {
		t.Fatal(err)
	}
	if got := s.requests(); !slices.Equal(got, []string{"GET " + path}) ||
		!slices.Equal(slices.Compact(asked), []string{path}) {
		t.Errorf("sent %q, asked %q", got, asked)
	}
}

func TestRobotsTextDecides(t *testing.T) {
	s := newSite(t, hello)
	g := newGate(t, Options{},
		robots("User-agent: *\nDisallow: /*?b=1&a=2\nACAP-crawler: *\nACAP-disallow-crawl: /closed/\n"), s)
	for _, c := range []struct {
		path string
		ok   bool
	}{{"/open", true}, {"/closed/x", false}, {"/p?b=1&a=2", false}, {"/p?a=2&b=1", true}} {
		if _, err := g.Get(t.Context(), PageRequest, s.URL+c.path); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.path, err)
		}
	}
	if got := s.requests(); !slices.Equal(got, []string{"GET /open", "GET /p?a=2&b=1"}) {
		t.Errorf("requests: %q", got)
	}
}

// While a take-down is in force, no kind of request is sent to its URL, in any spelling. There are
// two exceptions: requests for policy files, and a request that confirms that the page is gone.
func TestTakenDown(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		hello(w, r)
	})
	g := newGate(t, Options{MaxPages: 2},
		robots("ACAP-crawler: *\nACAP-request-take-down: /gone\nACAP-request-take-down: "+
			"/a%2Ab\nACAP-request-take-down: /robots.txt\n"), s)
	for _, kind := range []Kind{PageRequest, Part, Sitemap} {
		for path, sent := range map[string]int{"/gone": 0, "/GONE": 1, "/gone?q": 1, "/%67one": 0, "/x/../gone": 0,
			"/a*b": 0, "/a%2ab": 0, "/?to=/gone": 1} {
			if kind == PageRequest && sent > 0 {
				continue
			}
			before := len(s.requests())
			trace, err := g.Get(context.Background(), kind, s.URL+path)
			if n := len(s.requests()) - before; n != sent {
				t.Errorf("%d %s: %d requests", kind, path, n)
			}
			if err == nil {
				if path != "/GONE" && path != "/gone?q" {
					t.Errorf("%d %s was fetched", kind, path)
				}
				continue
			}
			r := refusal(t, err)
			if r.Rule != RuleTakeDown || r.TakeDown == nil || r.TakeDown.URL != s.URL+"/robots.txt" ||
				!strings.Contains(r.Error(), r.TakeDown.String()) || trace.Refused != r {
				t.Errorf("%d %s: %+v", kind, path, r)
			}
		}
	}
	// Fetch requests the URL as a policy file.
	if _, err := g.Fetch(context.Background(), s.URL+"/gone"); err != nil {
		t.Error(err)
	}

	trace := &Trace{Confirms: s.URL + "/gone"}
	ctx := With(context.Background(), PageRequest, trace)
	for _, test := range []struct {
		path string
		rule string
		down bool
	}{{"/a%2Ab", RuleTakeDown, false}, {"/gone", "", true}, {"/other", "", false}, {"/gone", RuleBudget, false}} {
		trace.TakeDown = nil
		_, err := g.get(ctx, s.URL+test.path, nil)
		if r, _ := errors.AsType[*Refusal](err); (r == nil) != (test.rule == "") || r != nil && r.Rule != test.rule ||
			(trace.TakeDown != nil) != test.down {
			t.Errorf("%s to confirm that it is gone: %v, %v", test.path, err, trace.TakeDown)
		}
	}
	closed := newGate(t, Options{},
		robots("User-agent: *\nDisallow: /gone\n\nACAP-crawler: *\nACAP-disallow-crawl: "+
			"/gone\nACAP-request-take-down: /gone\n"), s)
	// P1 2.6 (P08): a request of the publisher does not permit a crawl that the policy prohibits.
	if _, err := closed.get(ctx, s.URL+"/gone", nil); refusal(t, err).Rule != "" {
		t.Error(err)
	}
}

func TestRequestIsOurs(t *testing.T) {
	var header http.Header
	var host string
	s := newSite(t, func(_ http.ResponseWriter, r *http.Request) { header, host = r.Header, r.Host })
	g := newGate(t, Options{UserAgent: "testbot/1.0"}, rule(open), s)
	req, _ := http.NewRequest("GET", strings.Replace(s.URL, "//", "//user:secret@", 1), strings.NewReader("body"))
	req.Host = "elsewhere.example"
	req.Header.Set("User-Agent", "other")
	req.Header.Set("If-None-Match", `"v1"`)
	if _, err := g.RoundTrip(req); err != nil {
		t.Fatal(err)
	}
	if header.Get("User-Agent") != "testbot/1.0" || header.Get("Accept-Encoding") != coding.Accepted ||
		header.Get("If-None-Match") != `"v1"` || header.Get("Authorization") != "" ||
		header.Get("Transfer-Encoding") != "" {
		t.Errorf("header: %v", header)
	}
	if host != s.url(t).Host {
		t.Errorf("sent to host %q", host)
	}
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	u, err := g.transport.Proxy(httptest.NewRequest(http.MethodGet, "http://paper.example/", nil))
	if u != nil || err != nil {
		t.Errorf("the proxy %v may be used, %v", u, err)
	}
}

func TestConditionIsSentOnlyToTheURLItself(t *testing.T) {
	asked := map[string]string{}
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path] = r.Header.Get("If-None-Match")
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusFound)
		}
	})
	g := newGate(t, Options{}, rule(open), s)
	if _, err := g.GetIf(t.Context(), Part, s.URL+"/old", http.Header{"If-None-Match": {`"1"`}}); err != nil {
		t.Fatal(err)
	}
	if asked["/old"] != `"1"` || asked["/new"] != "" {
		t.Errorf("asked %q", asked)
	}
}

func TestGetFollowsFive(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.Redirect(w, r, r.URL.Path[:len(r.URL.Path)-1], http.StatusMovedPermanently)
		}
	})
	g := newGate(t, Options{}, rule(open), s)
	trace, err := g.Get(t.Context(), PageRequest, s.URL+"/xxxxx")
	if err != nil || len(trace.Hops) != 6 || trace.Hops[5].URL != s.URL+"/" {
		t.Errorf("five redirects: %v, %d hops", err, len(trace.Hops))
	}
	trace, err = g.Get(t.Context(), PageRequest, s.URL+"/xxxxxx")
	if err == nil || len(trace.Hops) != 6 {
		t.Errorf("six redirects: %v, %d hops", err, len(trace.Hops))
	}
}

func TestBudgetUnderConcurrency(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusFound)
		}
	})
	g := newGate(t, Options{MaxPages: 7, PerHost: 8}, rule(open), s)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := g.Get(t.Context(), PageRequest, s.URL+"/old")
			var r *Refusal
			if err != nil && (!errors.As(err, &r) || r.Rule != RuleBudget) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(s.requests()); n != 7 {
		t.Errorf("%d page requests, want 7", n)
	}
	for _, kind := range []Kind{Part, Sitemap, PolicyFile} {
		if _, err := g.Get(t.Context(), kind, s.URL+"/free"); err != nil {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}

func TestBudgetIsGivenBack(t *testing.T) {
	s := newSite(t, hello)
	g := newGate(t, Options{MaxPages: 2, Delay: time.Hour}, rule(open), s)
	if _, err := g.Get(t.Context(), PageRequest, s.URL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := g.Get(ctx, PageRequest, s.URL); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("waiting ended with %v", err)
	}
	if g.pagesSpent() {
		t.Error("a request that was never sent was counted")
	}
}

// If a server closes a kept connection, the transport must not repeat the request by itself: every
// request passes through the gate.
func TestNoHiddenRepeats(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/drop" {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				c.Close()
			}
		}
	})
	g := newGate(t, Options{MaxPages: 2}, rule(open), s)
	if _, err := g.Get(t.Context(), PageRequest, s.URL+"/"); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Get(t.Context(), PageRequest, s.URL+"/drop"); err == nil {
		t.Error("no error")
	}
	if n := len(s.requests()); n != 2 {
		t.Errorf("%d requests under a budget of 2", n)
	}
}

func TestClosedIdleConnectionIsReplaced(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // each connection answers one request, and is closed when a second request arrives
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 4096)
				_, _ = c.Read(buf)
				_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
				_, _ = c.Read(buf)
			}()
		}
	}()
	g := newGate(t, Options{}, rule(open))
	g.Name(parse(t, "http://"+l.Addr().String()))
	for range 3 {
		trace, err := g.Get(t.Context(), PageRequest, "http://"+l.Addr().String()+"/")
		if err != nil || string(trace.Hops[0].Body) != "ok" {
			t.Fatal(err)
		}
	}
}

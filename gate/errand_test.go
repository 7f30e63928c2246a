package gate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/coding"
	"github.com/acapcrawl/acapcrawl/internal/memory"
	"github.com/acapcrawl/acapcrawl/internal/test/squeeze"
)

// viaJSON returns v after it was encoded and decoded.
func viaJSON[T any](t *testing.T, v T) (got T) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err != nil {
		t.Error(err)
	}
	return got
}

func foreign(string) error { return ErrForeign }

// asker returns a gate that owns no host. It passes its errands as JSON to owner.
func asker(t *testing.T, o Options, p Policies, owner *Gate) *Gate {
	t.Helper()
	o.Tenure, o.AllowPrivate = foreign, true
	o.Errand = func(ctx context.Context, _ string, e Errand) (ErrandAnswer, error) {
		return viaJSON(t, owner.Execute(ctx, viaJSON(t, e))), nil
	}
	return newGate(t, o, p)
}

// answer writes many kinds of answers, by the path of the request. coded is a body in gzip.
func answer(coded []byte, w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("ETag", `"v1"`)
	switch r.URL.Path {
	case "/conditional":
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
		}
	case "/redirect":
		http.Redirect(w, r, "/target?x=\xe9", http.StatusFound)
	case "/latin":
		h["X-Latin"] = []string{"caf\xe9", "two"}
		_, _ = w.Write([]byte("text\xff"))
	case "/coded", "/broken":
		h.Set("Content-Encoding", "gzip")
		b := coded
		if r.URL.Path == "/broken" {
			b = b[:len(b)/2]
		}
		_, _ = w.Write(b)
	case "/unknown":
		h.Set("Content-Encoding", "compress")
		_, _ = w.Write([]byte("x"))
	case "/cut":
		h.Set("Content-Length", "99")
		_, _ = w.Write([]byte("short"))
	case "/large":
		_, _ = w.Write(make([]byte, policyCap+5))
	case "/none":
		w.WriteHeader(http.StatusNoContent)
	case "/gone":
		w.WriteHeader(http.StatusGone)
		_, _ = w.Write([]byte(r.Method + r.UserAgent() + r.Header.Get("Accept-Language")))
	case "/drop":
		panic(http.ErrAbortHandler)
	}
}

// An errand has the same result as a request of the owner itself: the same exchange, response, body
// and errors.
func TestErrandIsLikeOwnRequest(t *testing.T) {
	coded := squeeze.Bytes(t, "gzip", []byte(strings.Repeat(sentence, 99)))
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) { answer(coded, w, r) })
	paths := []string{"/conditional", "/redirect", "/latin", "/coded", "/broken", "/unknown", "/cut", "/large", "/none",
		"/gone", "/drop", "/a%2Fb;x/%7Ec?z=1&a=2&a=1;q&%41"}
	for _, kind := range []Kind{Part, Sitemap, PolicyFile} {
		for _, method := range []string{"GET", "HEAD"} {
			for _, path := range paths {
				owner := newGate(t, Options{UserAgent: "owner/1"}, rule(open), s)
				other := asker(t, Options{UserAgent: "asker/1"}, rule(open), owner)
				condition := http.Header{"If-None-Match": {`"v1"`}, "Accept-Language": {"de\xe9"}}
				want := exchangeOf(t, owner, kind, method, s.URL+path, condition)
				got := exchangeOf(t, other, kind, method, s.URL+path, condition)
				if path == "/coded" && method == "GET" && (!got.decoded || got.body != strings.Repeat(sentence, 99)) {
					t.Errorf("%+v", got)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s %s, kind %d:\n%+v\nwant\n%+v", method, path, kind, got, want)
				}
			}
		}
	}
}

// result is what a caller of a gate gets for one request.
type result struct {
	hops    []Hop
	header  http.Header
	status  string
	length  int64
	body    string
	decoded bool // Undone proves that Body was decoded from Wire
	err     string
	network bool
}

func exchangeOf(t *testing.T, g *Gate, kind Kind, method, rawurl string, h http.Header) (got result) {
	t.Helper()
	var trace Trace
	req, err := http.NewRequestWithContext(With(t.Context(), kind, &trace), method, rawurl, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = h.Clone()
	resp, err := g.RoundTrip(req)
	if err != nil {
		return result{hops: trace.Hops, err: err.Error(), network: IsNetworkError(err)}
	}
	body, _ := io.ReadAll(resp.Body)
	got = result{hops: trace.Hops, header: resp.Header, status: resp.Status, length: resp.ContentLength,
		body: string(body)}
	hop := &got.hops[0]
	got.decoded = hop.Undone.Leads(hop.Wire, hop.Body, coding.Of(hop.Header))
	if hop.Start.IsZero() || hop.Took <= 0 || !hop.Address.IsValid() {
		t.Errorf("%s: %+v", rawurl, hop)
	}
	hop.Start, hop.Took, hop.Undone = hop.Start.UTC().Truncate(1<<62), 0, coding.Undone{}
	hop.Header = hop.Header.Clone()
	hop.Header.Del("Date")
	got.header.Del("Date")
	head, _, _ := strings.Cut(string(hop.Head), "Date:")
	hop.Head = []byte(head)
	for _, b := range []*[]byte{&hop.Wire, &hop.Body} {
		if len(*b) == 0 {
			*b = nil
		}
	}
	return got
}

// The refusals of the owner arrive as a *Refusal with the same rule and the same sentence.
func TestErrandRefused(t *testing.T) {
	s := newSite(t, hello)
	closed := robots("ACAP-crawler: *\nACAP-disallow-crawl: /closed\nACAP-request-take-down: /gone\n")
	named := newGate(t, Options{}, closed, s)
	for _, c := range []struct {
		owner      *Gate
		path, rule string
	}{
		{named, "/closed", ""}, {named, "/gone", RuleTakeDown}, {newGate(t, Options{}, closed), "/", RuleAddress},
		{newGate(t, Options{AllowPrivate: true}, rule(func(*url.URL) bool { return false })), "/", ""},
	} {
		_, err := c.owner.Get(t.Context(), Part, s.URL+c.path)
		want := refusal(t, err)
		trace, err := asker(t, Options{}, rule(open), c.owner).Get(t.Context(), Part, s.URL+c.path)
		got := refusal(t, err)
		var refused *acap.Refused
		if got.Error() != want.Error() || got.Rule != c.rule || got.URL != want.URL || trace.Refused != got ||
			!reflect.DeepEqual(got.TakeDown, want.TakeDown) || errors.As(err, &refused) != (c.rule == "") ||
			got.Decision.Reason != want.Decision.Reason ||
			!reflect.DeepEqual(got.Decision.Because, want.Decision.Because) {
			t.Errorf("%s:\n%+v\nwant\n%+v", c.path, got, want)
		}
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// The asking machine applies its own policies before it passes a request on. It never passes a page
// request on, and the owner executes none.
func TestErrandNotPassedOn(t *testing.T) {
	s := newSite(t, hello)
	owner := newGate(t, Options{AllowPrivate: true}, rule(open))
	closed := robots("ACAP-crawler: *\nACAP-disallow-crawl: /\n")
	if _, err := asker(t, Options{}, closed, owner).Get(t.Context(), Sitemap, s.URL); refusal(t, err).Rule != "" {
		t.Error(err)
	}
	g := asker(t, Options{}, rule(open), owner)
	_, err := g.Get(t.Context(), PageRequest, s.URL)
	checkUnsent(t, g, s.URL, err, ErrForeign)
	if a := owner.Execute(t.Context(), Errand{Method: "GET", URL: s.URL}); a.Failure == nil {
		t.Errorf("%+v", a)
	}
	g.o.Errand = nil
	_, err = g.Fetch(t.Context(), s.URL)
	checkUnsent(t, g, s.URL, err, ErrForeign)
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A redirect from a host of this machine to a host of another one is followed through the owner.
func TestErrandAfterRedirect(t *testing.T) {
	there := newSite(t, hello)
	here := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, there.URL+"/robots.txt", http.StatusFound)
	})
	var condition string
	there.Handle("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
		condition = r.Header.Get("If-None-Match")
		hello(w, r)
	})
	g := asker(t, Options{}, rule(open), newGate(t, Options{}, rule(open), there))
	g.o.Tenure = func(host string) error {
		if host == here.url(t).Host {
			return nil
		}
		return ErrForeign
	}
	trace, err := g.GetIf(t.Context(), PolicyFile, here.URL, http.Header{"If-None-Match": {`"1"`}})
	if err != nil || len(trace.Hops) != 2 || string(trace.Hops[1].Body) != "hello" || condition != "" {
		t.Errorf("%v, %+v, condition %q", err, trace.Hops, condition)
	}
}

// An errand ends at a machine that does not own the host, and the asking machine asks at most twice.
func TestErrandsEnd(t *testing.T) {
	s := newSite(t, hello)
	var a, b *Gate
	asked := 0
	pass := func(to **Gate) func(context.Context, string, Errand) (ErrandAnswer, error) {
		return func(ctx context.Context, _ string, e Errand) (ErrandAnswer, error) {
			asked++
			return viaJSON(t, (*to).Execute(ctx, viaJSON(t, e))), nil
		}
	}
	a = newGate(t, Options{AllowPrivate: true, Tenure: foreign, Errand: pass(&b)}, rule(open))
	b = newGate(t, Options{AllowPrivate: true, Tenure: foreign, Errand: pass(&a)}, rule(open))
	_, err := a.Fetch(t.Context(), s.URL)
	checkUnsent(t, a, s.URL, err, ErrForeign)
	if asked != 2 || len(s.requests()) != 0 {
		t.Errorf("asked %d times, %d requests", asked, len(s.requests()))
	}
	for name, change := range map[string]func(){ // what happens when the first errand has arrived
		"the owner takes the host": func() { b.o.Tenure = nil },
		"the asker takes the host": func() { a.o.Tenure = nil },
	} {
		a.o.Tenure, b.o.Tenure, asked = foreign, foreign, 0
		a.o.Errand = func(ctx context.Context, host string, e Errand) (ErrandAnswer, error) {
			defer change()
			return pass(&b)(ctx, host, e)
		}
		if h, err := a.Fetch(t.Context(), s.URL); err != nil || string(h.Body) != "hello" || asked > 2 {
			t.Errorf("%s: %v, asked %d times", name, err, asked)
		}
	}
	a.o.Tenure, b.o.Tenure = foreign, func(string) error { return ErrPaused }
	_, err = a.Fetch(t.Context(), s.URL)
	checkUnsent(t, a, s.URL, err, ErrPaused)
}

// If the lease of the asking machine ends while the request waits, the owner makes the request.
func TestErrandAfterLeaseEnded(t *testing.T) {
	s := newSite(t, hello)
	for permitted := range 4 {
		l := newLease(ErrForeign)
		g := asker(t, Options{}, rule(open), newGate(t, Options{}, rule(open), s))
		g.o.Tenure = l.tenure
		l.permit(permitted)
		before := len(s.requests())
		h, err := g.Fetch(t.Context(), s.URL)
		if err != nil || string(h.Body) != "hello" || len(s.requests()) != before+1 {
			t.Errorf("%d checks permitted: %v, %d requests", permitted, err, len(s.requests())-before)
		}
	}
}

// The body of an errand counts against the memory of the asking visit, like any other body.
func TestErrandUsesMemory(t *testing.T) {
	coded := squeeze.Bytes(t, "gzip", make([]byte, 9<<20))
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(coded)
	})
	g := asker(t, Options{}, rule(open), newGate(t, Options{}, rule(open), s))
	b := memory.NewBudget(0)
	ctx, held := b.Lease(t.Context())
	trace, err := g.Get(ctx, Part, s.URL)
	if err != nil || len(trace.Hops[0].Body) != 9<<20 || b.Most() == 0 {
		t.Errorf("%v, %d bytes of the budget", err, b.Most())
	}
	held.Release()
}

// An answer that is damaged or does not belong to the errand is an error and never a panic.
func TestErrandDamaged(t *testing.T) {
	s := newSite(t, hello)
	owner := newGate(t, Options{}, rule(open), s)
	for name, damage := range map[string]func(*ErrandAnswer){
		"empty":        func(a *ErrandAnswer) { *a = ErrandAnswer{} },
		"other URL":    func(a *ErrandAnswer) { a.URL += "x" },
		"other method": func(a *ErrandAnswer) { a.Method = "HEAD" },
		"interim":      func(a *ErrandAnswer) { a.Status = 101 },
		"status":       func(a *ErrandAnswer) { a.Status = 0 },
		"protocol":     func(a *ErrandAnswer) { a.Proto = "" },
		"name":         func(a *ErrandAnswer) { a.Header[0].Name = "a b" },
		"value":        func(a *ErrandAnswer) { a.Header[0].Value = []byte("a\r\nb: c") },
		"header":       func(a *ErrandAnswer) { a.Header[0].Value = make([]byte, maxHead) },
		"head":         func(a *ErrandAnswer) { a.Head = make([]byte, 2*maxHead) },
		"body":         func(a *ErrandAnswer) { a.Wire = make([]byte, policyCap+1) },
		"time":         func(a *ErrandAnswer) { a.Took = -1 },
		"rule":         func(a *ErrandAnswer) { a.Failure = &ErrandFailure{Refusal: &ErrandRefusal{Rule: "x"}} },
		"permission": func(a *ErrandAnswer) {
			a.Failure = &ErrandFailure{Refusal: &ErrandRefusal{Decision: acap.Decision{Allowed: true}}}
		},
		"nothing": func(a *ErrandAnswer) { a.Failure = &ErrandFailure{} },
	} {
		g := asker(t, Options{}, rule(open), owner)
		g.o.Errand = func(ctx context.Context, _ string, e Errand) (ErrandAnswer, error) {
			a := owner.Execute(ctx, e)
			damage(&a)
			return a, nil
		}
		h, err := g.Fetch(t.Context(), s.URL)
		if err == nil || err.Error() == "" {
			t.Errorf("%s: %v, %+v", name, err, h)
		}
		var r *Refusal
		if errors.As(err, &r) && (r.Rule != "" || errors.Unwrap(r) == nil) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	g := asker(t, Options{}, rule(open), owner)
	g.o.Errand = func(context.Context, string, Errand) (ErrandAnswer, error) { return ErrandAnswer{}, io.ErrClosedPipe }
	if _, err := g.Fetch(t.Context(), s.URL); refusal(t, err).Rule != RuleLease || !errors.Is(err, ErrPaused) ||
		errors.Is(err, ErrForeign) {
		t.Errorf("an owner that cannot be reached: %v", err)
	}
	before := len(s.requests())
	if _, err := g.Fetch(t.Context(), s.URL+"/?\xff"); err == nil || len(s.requests()) != before {
		t.Errorf("a URL that JSON would change: %v", err)
	}
}

// The owner executes no errand whose fields are damaged.
func TestErrandInvalid(t *testing.T) {
	s := newSite(t, hello)
	owner := newGate(t, Options{}, rule(open), s)
	for _, e := range []Errand{
		{}, {Method: "GET", Kind: Part}, {Method: "POST", URL: s.URL, Kind: Part},
		{Method: "GET", URL: "file:///etc/passwd", Kind: PolicyFile},
		{Method: "GET", URL: s.URL, Kind: Part, MaxRaw: -1}, {Method: "GET", URL: s.URL, Kind: Part, MaxBody: -1},
		{Method: "GET", URL: s.URL, Kind: Part, Header: []HeaderField{{"A", []byte("b\nc")}}},
		{Method: "G T", URL: s.URL, Kind: Part},
	} {
		if a := owner.Execute(t.Context(), e); a.Failure == nil || a.Failure.Message == "" || len(s.requests()) != 0 {
			t.Errorf("%+v: %+v", e, a)
		}
	}
	var kind Kind
	if err := json.Unmarshal([]byte(`"robots"`), &kind); err == nil {
		t.Error("an unknown kind was accepted")
	}
	if _, err := json.Marshal(Kind(9)); err == nil {
		t.Error("an unknown kind was encoded")
	}
}

// An owner that ends says nothing about the host.
func TestErrandOwnerEnds(t *testing.T) {
	s := newSite(t, hello)
	owner := newGate(t, Options{}, rule(open), s)
	ended, end := context.WithCancel(t.Context())
	end()
	g := asker(t, Options{}, rule(open), owner)
	g.o.Errand = func(_ context.Context, _ string, e Errand) (ErrandAnswer, error) {
		a := viaJSON(t, owner.Execute(ended, e))
		if !a.Failure.OfOwner() {
			t.Errorf("%+v", a.Failure)
		}
		return a, nil
	}
	if _, err := g.Fetch(t.Context(), s.URL); refusal(t, err).Rule != RuleLease || !errors.Is(err, ErrPaused) {
		t.Error(err)
	}
}

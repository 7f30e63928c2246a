package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

func drop(w http.ResponseWriter, _ *http.Request) {
	if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
		c.Close()
	}
}

func short(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, "User-agent: *\nAllow: /\n")
}

// RFC 9309 2.3.1 (O11): 4xx restricts nothing; 429, 5xx and no answer prohibit everything.
// RFC 9309 2.3.1.2 (X51): so do too many redirects, redirects without target, and 304 without a
// stored file.
func TestStatusTable(t *testing.T) {
	cases := []struct {
		name  string
		serve func(s *site)
		want  Status
		http  int
	}{
		{"200", func(s *site) { s.Text("/robots.txt", "User-agent: *", "Disallow:") }, Read, 200},
		{"204", func(s *site) { s.Status("/robots.txt", 204) }, Read, 204},
		{"304 with nothing held", func(s *site) { s.Status("/robots.txt", 304) }, Unreachable, 304},
		{"302 without Location", func(s *site) { s.Status("/robots.txt", 302) }, Unreachable, 302},
		{"400", func(s *site) { s.Status("/robots.txt", 400) }, None, 400},
		{"401", func(s *site) { s.Status("/robots.txt", 401) }, None, 401},
		{"403", func(s *site) { s.Status("/robots.txt", 403) }, None, 403},
		{"404", func(s *site) {}, None, 404},
		{"410", func(s *site) { s.Status("/robots.txt", 410) }, None, 410},
		{"429", func(s *site) { s.Status("/robots.txt", 429) }, Unreachable, 429},
		{"500", func(s *site) { s.Status("/robots.txt", 500) }, Unreachable, 500},
		{"503", func(s *site) { s.Status("/robots.txt", 503) }, Unreachable, 503},
		{"no status of HTTP", func(s *site) { s.Status("/robots.txt", 999) }, Unreachable, 999},
		{"no answer", func(s *site) { s.Handle("/robots.txt", drop) }, Unreachable, 0},
		{"short", func(s *site) { s.Handle("/robots.txt", short) }, Unreachable, 200},
		{"redirect", func(s *site) {
			s.Redirect("/robots.txt", "/r2#x")
			s.Text("/r2", "User-agent: *", "Disallow:")
		}, Read, 200},
		{"redirect to nothing", func(s *site) { s.Redirect("/robots.txt", "/none") }, None, 404},
		{"redirect to failure", func(s *site) {
			s.Redirect("/robots.txt", "/r2")
			s.Status("/r2", 502)
		}, Unreachable, 502},
		{"redirect to no answer", func(s *site) {
			s.Redirect("/robots.txt", "/r2")
			s.Handle("/r2", drop)
		}, Unreachable, 0},
		{"redirect to itself", func(s *site) { s.Redirect("/robots.txt", "/robots.txt") }, Unreachable, 302},
		{"redirect to another scheme", func(s *site) { s.Redirect("/robots.txt", "ftp://example.com/robots.txt") },
			Unreachable, 302},
		{"redirect to no URL", func(s *site) { s.Redirect("/robots.txt", "http://%zz/") }, Unreachable, 302},
		{"five redirects", func(s *site) { chain(s, 5) }, Read, 200},
		{"six redirects", func(s *site) { chain(s, 6) }, Unreachable, 302},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			c.serve(s)
			a := authority(t, NewMemory(), Options{})
			o := origin(t, a, s.at("/page"))
			if o.Status != c.want || o.HTTP != c.http || (o.Why != "") != (c.want == Unreachable) {
				t.Errorf("%s, HTTP %d, %q", o.Status, o.HTTP, o.Why)
			}
			for _, usage := range []acap.Usage{acap.Crawl, acap.Follow, acap.Index, acap.Preserve, acap.PresentLink} {
				expect(t, o, usage, s.at("/page"), c.want != Unreachable)
			}
			if d := o.Policy.Decide(acap.Crawl, acap.NewResource(s.at("/page"))); !d.Allowed &&
				d.Reason != acap.Unavailable {
				t.Errorf("reason %s", d.Reason)
			}
			if o.Key != s.URL || o.Policy == nil {
				t.Errorf("%+v", o)
			}
		})
	}
}

// chain makes n redirects lead from /robots.txt to a text.
func chain(s *site, n int) {
	at := "/robots.txt"
	for range n {
		s.Redirect(at, at+"x")
		at += "x"
	}
	s.Text(at, "User-agent: *", "Disallow:")
}

// The rules of a redirected robots.txt apply only to the origin from which robots.txt was
// requested.
func TestRedirectToAnotherHost(t *testing.T) {
	one, two := newSite(t), newSite(t)
	one.Redirect("/robots.txt", two.URL+"/shared.txt")
	two.Text("/shared.txt", "ACAP-crawler: *", "ACAP-disallow-crawl: /closed/", "ACAP-permissions-reference: /more.txt")
	one.Text("/more.txt", "ACAP-crawler: *", "ACAP-disallow-index: /")
	two.Text("/robots.txt", "ACAP-crawler: *", "ACAP-disallow-crawl: /elsewhere/")
	a := authority(t, NewMemory(), Options{})
	o := origin(t, a, one.at("/"))
	expect(t, o, acap.Crawl, one.at("/closed/x"), false)
	expect(t, o, acap.Index, one.at("/x"), false)
	d := o.Policy.Decide(acap.Crawl, acap.NewResource(one.at("/closed/x")))
	if d.Because == nil || d.Because.URL != one.URL+"/robots.txt" || d.Because.Line != 2 {
		t.Errorf("because %v", d.Because)
	}
	vs, err := a.History(one.at("/"))
	if err != nil || len(vs) != 1 || vs[0].Robots.Final != two.URL+"/shared.txt" {
		t.Errorf("%+v, %v", vs, err)
	}
	o = origin(t, a, two.at("/"))
	expect(t, o, acap.Crawl, two.at("/closed/x"), true)
	expect(t, o, acap.Crawl, two.at("/elsewhere/x"), false)
}

func TestServesFor(t *testing.T) {
	for control, want := range map[string]time.Duration{
		"":                        MaxAge,
		"public":                  MaxAge,
		"max-age=3600":            time.Hour,
		`Max-Age="3600", private`: time.Hour,
		"max-age=0":               MinAge,
		"max-age=60":              MinAge,
		"no-store":                MinAge,
		"no-cache, max-age=3600":  MinAge,
		"max-age=864000":          MaxAge,
		"max-age=-5":              MaxAge,
		"max-age=999999999999999": MaxAge,
	} {
		for _, status := range []int{200, 404} {
			s := newSite(t)
			s.Handle("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", control)
				w.WriteHeader(status)
			})
			c := newClock()
			a := authority(t, NewMemory(), Options{Now: c.now})
			o := origin(t, a, s.at("/"))
			if got := o.Expires.Sub(c.now()); got != want {
				t.Errorf("%q, %d: %s, want %s", control, status, got, want)
			}
			c.pass(want - time.Second)
			origin(t, a, s.at("/"))
			s.asked("/robots.txt", 1)
			c.pass(time.Second)
			origin(t, a, s.at("/"))
			s.asked("/robots.txt", 2)
		}
	}
}

func TestTriedAgain(t *testing.T) {
	c := newClock()
	for after, want := range map[string]time.Duration{
		"":     MinAge,
		"10":   MinAge,
		"7200": 2 * time.Hour,
		c.now().Add(time.Hour).Format(http.TimeFormat): time.Hour,
		"99999999": MaxAge,
		"soon":     MinAge,
	} {
		s := newSite(t)
		s.Handle("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(503)
		})
		a := authority(t, NewMemory(), Options{Now: c.now})
		if got := origin(t, a, s.at("/")).Expires.Sub(c.now()); got != want {
			t.Errorf("Retry-After %q: %s, want %s", after, got, want)
		}
		origin(t, a, s.at("/"))
		s.asked("/robots.txt", 1)
	}
}

// RFC 9309 2.3.1 (X51): a 304 makes the stored robots.txt fresh again.
func TestNotModifiedRenews(t *testing.T) {
	s := newSite(t)
	s.Text("/robots.txt", "User-agent: *", "Disallow: /closed")
	c := newClock()
	a := authority(t, NewMemory(), Options{Now: c.now})
	origin(t, a, s.at("/"))
	s.Status("/robots.txt", 304)
	c.pass(MaxAge)
	o := origin(t, a, s.at("/"))
	if o.Status != Read || !o.Fetched.Equal(c.now()) {
		t.Errorf("%+v", o)
	}
	expect(t, o, acap.Crawl, s.at("/closed"), false)
	expect(t, o, acap.Crawl, s.at("/open"), true)
}

// one is a Fetcher that gives the same answer to every request.
type one struct {
	resp Response
	err  error
}

func (o one) Fetch(context.Context, string, http.Header) (Response, error) { return o.resp, o.err }

// P1 4 (A19): only the beginning of a long file is read, and then its permissions have no effect.
func TestLongFile(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "example.com", Path: "/x"}
	text := "ACAP-crawler: *\nACAP-disallow-crawl: /\nACAP-crawler: testbot\nACAP-allow-crawl: /\n"
	long := []byte(text + strings.Repeat("# filler\n", acap.MaxSize/9))
	for _, c := range []struct {
		resp    Response
		status  Status
		allowed bool
	}{
		{Response{Status: 200, Body: []byte(text)}, Read, true},
		{Response{Status: 200, Body: long}, Read, false},
		{Response{Status: 200, Body: long, Truncated: true}, Read, false},
		{Response{Status: 200, Body: []byte(text), Truncated: true}, Unreachable, false},
	} {
		a := New(one{resp: c.resp}, tester, NewMemory(), Options{})
		o := origin(t, a, u)
		if o.Status != c.status || allows(o, acap.Crawl, u) != c.allowed {
			t.Errorf("%d bytes, truncated %v: %s, %v", len(c.resp.Body), c.resp.Truncated, o.Status, !c.allowed)
		}
		if vs, _ := a.History(u); len(vs) > 0 && len(vs[0].Robots.Text) > acap.MaxSize+1 {
			t.Errorf("%d bytes kept", len(vs[0].Robots.Text))
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNoAnswerSaysWhy(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "example.com", Path: "/x"}
	a := New(one{err: errors.New("connection refused")}, tester, NewMemory(), Options{})
	defer a.Close()
	o := origin(t, a, u)
	if o.Why != "connection refused" || !strings.Contains(o.Policy.Decide(acap.Crawl, acap.NewResource(u)).Why(),
		"connection refused") {
		t.Errorf("%q", o.Why)
	}
}

func FuzzInterpret(f *testing.F) {
	f.Add(200, "", []byte("User-agent: *"), true)
	f.Add(301, "//elsewhere.example/r", []byte(nil), false)
	f.Add(307, "\x00", []byte(nil), false)
	f.Add(206, "", []byte("User-agent: *"), false)
	f.Fuzz(func(t *testing.T, status int, to string, body []byte, truncated bool) {
		next, text, why := interpret(Response{Status: status, Header: http.Header{"Location": {to}}, Body: body,
			Truncated: truncated}, "http://example.com/robots.txt")
		switch {
		case why != "" && (next != "" || text != nil):
			t.Errorf("failed (%s) and yet %q, %q", why, next, text)
		case next != "":
			u, err := url.Parse(next)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Fragment != "" {
				t.Errorf("leads to %q", next)
			}
		case why == "" && (status/100 != 2 || status == http.StatusPartialContent):
			t.Errorf("status %d was read", status)
		}
	})
}

// held is a Fetcher whose requests cannot be made at the moment if the field is true.
type held struct {
	Fetcher
	now bool
}

func (h *held) Fetch(ctx context.Context, rawurl string, condition http.Header) (Response, error) {
	if h.now {
		return Response{}, fmt.Errorf("%w: the lease has run out", ErrNotRequested)
	}
	return h.Fetcher.Fetch(ctx, rawurl, condition)
}

// A robots.txt that could not be requested for a reason of this machine does not count as
// unreachable: nothing is stored, and the next caller requests it.
func TestNotRequested(t *testing.T) {
	s := newSite(t)
	s.Text("/robots.txt", "User-agent: *", "Disallow: /closed")
	store, f := NewMemory(), &held{fetcher(t), true}
	a := New(f, tester, store, Options{})
	t.Cleanup(func() { _ = a.Close() })
	if _, err := a.Policy(t.Context(), s.at("/")); !errors.Is(err, ErrNotRequested) {
		t.Errorf("policy: %v", err)
	}
	if keys, err := a.Origins(); err != nil || len(keys) != 0 {
		t.Errorf("stored: %v, %v", keys, err)
	}
	if d, err := a.licence(t.Context(), s.URL+"/robots.txt"); err != nil || d.Err == "" {
		t.Errorf("licence: %+v, %v", d, err)
	}
	f.now = false
	expect(t, origin(t, a, s.at("/")), acap.Crawl, s.at("/open"), true)
	if d, err := a.licence(t.Context(), s.URL+"/robots.txt"); err != nil || d.Err != "" {
		t.Errorf("licence, next time: %+v, %v", d, err)
	}
	s.asked("/robots.txt", 2)
}

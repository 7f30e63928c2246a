package crawler

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/test/squeeze"
	"github.com/acapcrawl/acapcrawl/page"
)

func TestIncludeAndExclude(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/news/a", "/news/old/b", "/shop/c", "/jump", "/news/away")
	s.Page("/news/a", "/news/d.iso")
	s.Redirect("/news/away", "/shop/e")
	c := newCrawl(t)
	c.o.Include, c.o.Exclude = []string{"/news/*", "/jump"}, []string{"/news/old/", "*.iso$"}
	c.run(t, context.Background(), s.URL)
	for path, want := range map[string]int{"/": 1, "/news/a": 1, "/jump": 1, "/news/old/b": 0, "/shop/c": 0,
		"/news/d.iso": 0, "/news/away": 1, "/shop/e": 0} {
		if n := s.Asked(path); n != want {
			t.Errorf("%s was requested %d times, want %d", path, n, want)
		}
	}
	for path, pattern := range map[string]string{"/news/old/b": "/news/old/", "/news/d.iso": "*.iso$", "/shop/e": ""} {
		if skip := c.skips[s.URL+path]; skip.State != Outside || !strings.Contains(skip.Why, pattern) {
			t.Errorf("%s: %+v", path, skip)
		}
	}
	c.o.Exclude = nil // an address that is no longer excluded is visited by the next run
	c.run(t, context.Background())
	if s.Asked("/news/old/b") != 1 || s.Asked("/shop/c") != 0 {
		t.Errorf("after the exclusion went: %v", s.requests())
	}
	c.o.Exclude = []string{"/"}
	c.o.Refetch = true
	before := len(s.requests())
	if sum := c.run(t, context.Background()); sum.Fetched != 0 || len(s.requests()) != before {
		t.Errorf("an excluded seed was visited: %v", s.requests()[before:])
	}
}

func TestTraps(t *testing.T) {
	s := newSite(t)
	trapped := "/news/today/news/today/news/today/x"
	s.Page("/", trapped, "/fine")
	c := newCrawl(t)
	c.run(t, context.Background(), s.URL)
	if skip := c.skips[s.URL+trapped]; skip.State != Trapped || skip.Why == "" || s.Asked(trapped) != 0 ||
		s.Asked("/fine") != 1 {
		t.Errorf("%+v; %v", skip, s.requests())
	}
}

func TestLimitsOfBytesAndTime(t *testing.T) {
	s := newSite(t)
	var links []string
	for i := range 40 {
		links = append(links, fmt.Sprintf("/p%d", i))
		s.Handle(links[i], func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 10_000)) })
	}
	s.Page("/", links...)
	c := newCrawl(t)
	c.o.Concurrency, c.o.MaxBytes = 1, 35_000
	sum := c.run(t, context.Background(), s.URL)
	if !sum.Interrupted || sum.Bytes < 35_000 || sum.Bytes > 75_000 || sum.Queued == 0 || sum.Limit != LimitBytes {
		t.Errorf("%+v", sum)
	}
	c.o.MaxBytes = 0
	if sum := c.run(t, context.Background()); sum.Queued != 0 || sum.Interrupted || sum.Limit != "" {
		t.Errorf("going on: %+v", sum)
	}

	s.Handle("/packed", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(squeeze.Bytes(t, "gzip", make([]byte, 10_000)))
	})
	c.handler.receive = func(*page.Page) (Receipt, error) { return Receipt{Stored: true}, nil }
	c.o.MaxStored = 15_000
	seeds := []string{}
	for i := range 10 {
		seeds = append(seeds, fmt.Sprintf("%s/packed?%d", s.URL, i))
	}
	if sum := c.run(t, context.Background(), seeds...); sum.Fetched < 2 || sum.Fetched > 5 || sum.Queued == 0 ||
		sum.Limit != LimitStored || sum.Bytes > 1000 {
		t.Errorf("%+v", sum)
	}
	c.o.MaxStored = 0
	c.run(t, context.Background(), seeds...)

	ended := make(chan struct{})
	s.Handle("/slow", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	})
	defer close(ended)
	c.o.MaxTime, c.o.Grace = time.Millisecond, time.Millisecond
	if sum := c.run(t, context.Background(), s.URL+"/slow"); !sum.Interrupted || sum.Queued != 1 ||
		sum.Limit != LimitTime {
		t.Errorf("%+v", sum)
	}
}

func TestDroppedParameters(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/a?sid=1&x=1", "/a?x=1&sid=2", "/a?utm_source=z", "/b?sid=3")
	s.Page("/a")
	s.Page("/b")
	c := newCrawl(t)
	c.o.Drop = []string{"sid", "utm_*"}
	c.run(t, context.Background(), s.URL+"/?sid=9")
	s.Page("/?sid=9")
	want := []string{"/?sid=9", "/a", "/a?x=1", "/b"}
	got := s.requests()
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("requested %v, want %v", got, want)
	}
}

func TestRequisitesAreAsDeepAsTheirPage(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/one")
	s.Page("/one", "/two")
	s.Page("/style.css")
	s.Page("/font")
	c := newCrawl(t)
	c.o.Depth = 1
	c.handler.receive = func(p *page.Page) (Receipt, error) {
		r := Receipt{Links: p.Links(page.Cut{}), Stored: true}
		switch p.URL().Path {
		case "/one":
			r.Requisites = []string{s.URL + "/style.css", "http://cdn.example/x.js"}
		case "/style.css":
			r.Requisites = []string{s.URL + "/font"}
		}
		return r, nil
	}
	c.run(t, context.Background(), s.URL)
	if s.Asked("/style.css") != 0 {
		t.Error("requisites were fetched unasked")
	}
	c.o.Requisites, c.o.Refetch = true, true
	c.run(t, context.Background())
	if s.Asked("/style.css") != 1 || s.Asked("/font") != 1 || s.Asked("/two") != 0 {
		t.Errorf("requested %v", s.requests())
	}
	if skip := c.skips["http://cdn.example/x.js"]; skip.State != Outside {
		t.Errorf("%+v", skip)
	}
}

// canonical serves a page at path. The page names the address in to as its canonical address.
func (s *site) canonical(path, to string) {
	s.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html><head><link rel=canonical href=%q></head><body>text", to)
	})
}

func TestCanonicalPages(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/a", "/b", "/c", "/d")
	s.canonical("/a", "/article")
	s.canonical("/b", "/article")
	s.canonical("/c", "http://elsewhere.example/article")
	s.canonical("/d", "/gone")
	s.canonical("/article", "/article")
	c := newCrawl(t)
	c.o.Canonical = true
	c.run(t, context.Background(), s.URL+"/article") // the page is received before another page names it
	c.run(t, context.Background(), s.URL)
	for path, received := range map[string]int{"/a": 0, "/b": 0, "/c": 1, "/d": 1, "/article": 1} {
		if n := c.handler.times[s.URL+path]; n != received || s.Asked(path) != 1 {
			t.Errorf("%s was requested %d times and received %d times, want %d", path, s.Asked(path), n, received)
		}
	}
	if c.handler.led[s.URL+"/a"] != s.URL+"/article" || c.state(t, s.URL+"/a") != Fetched {
		t.Errorf("led: %v", c.handler.led)
	}
	c.o.Refetch = true
	c.run(t, context.Background())
	// the canonical address that /d names returned no page, so /d was stored again
	if n := c.handler.times[s.URL+"/d"]; n != 2 {
		t.Errorf("/d was received %d times", n)
	}
}

func TestConditionalVisits(t *testing.T) {
	s := newSite(t)
	tagged := func(path, tag string) {
		s.Handle(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", tag)
			if r.Header.Get("If-None-Match") == tag {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Write([]byte("text"))
		})
	}
	tagged("/held", `"1"`)
	tagged("/lost", `"1"`)
	s.Handle("/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) })
	s.Handle("/from", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/to")
		w.WriteHeader(http.StatusFound)
	})
	tagged("/to", `"1"`)
	c := newCrawl(t)
	match := http.Header{"If-None-Match": {`"1"`}}
	c.handler.ask = map[string]http.Header{s.URL + "/held": match, s.URL + "/lost": match, s.URL + "/from": match}
	c.handler.receive = func(p *page.Page) (Receipt, error) {
		if p.Last().Status == http.StatusNotModified && p.URL().Path != "/held" {
			return Receipt{Absent: true}, nil
		}
		return Receipt{Unchanged: p.Last().Status == http.StatusNotModified}, nil
	}
	sum := c.run(t, context.Background(), s.URL+"/held", s.URL+"/lost", s.URL+"/broken", s.URL+"/from")
	if sum.Unchanged != 1 || sum.Requests != 6 || sum.Errors != 1 {
		t.Errorf("%+v", sum)
	}
	if p := c.handler.pages[s.URL+"/lost"]; p.Last().Status != http.StatusOK || s.Asked("/lost") != 2 {
		t.Error("what went meanwhile was not asked for again")
	}
	if p := c.handler.pages[s.URL+"/to"]; p.Last().Status != http.StatusOK {
		t.Error("the condition of one address was sent to another")
	}
	if skip := c.skips[s.URL+"/broken"]; skip.State != Failed || !strings.Contains(skip.Why, "304") {
		t.Errorf("%+v", skip)
	}
}

func TestPagesAreVisitedAgain(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/a", "/gone", "/no")
	s.Page("/a")
	s.Handle("/no", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	c := newCrawl(t)
	c.o.Recrawl = Recrawl{Min: time.Hour, Max: 10 * time.Hour}
	begun := time.Now()
	c.run(t, context.Background(), s.URL)
	ended := time.Now()
	for path, want := range map[string]time.Duration{"/a": time.Hour, "/gone": 10 * time.Hour, "/no": time.Hour} {
		rec, _, err := c.frontier.Get(s.URL + path)
		must(t, err)
		if rec.Interval != want || rec.Again.Before(begun.Add(want).Truncate(time.Second)) ||
			rec.Again.After(ended.Add(want)) {
			t.Errorf("%s is due after %s, at %s (visited at %s), want %s", path, rec.Interval, rec.Again, rec.When,
				want)
		}
	}
	if sum := c.run(t, context.Background()); sum.Fetched != 0 {
		t.Errorf("visited before they were due: %+v", sum)
	}
	if n, err := c.frontier.Requeue(Filter{DueBy: time.Now().Add(2 * time.Hour)}); n != 3 || err != nil {
		t.Errorf("%d came back: %v", n, err)
	}
	if sum := c.run(t, context.Background()); sum.Fetched != 3 || s.Asked("/a") != 2 || s.Asked("/gone") != 1 {
		t.Errorf("%+v", sum)
	}
}

// While the lease of this machine has run out, or while another machine owns the host, visits fail
// no address and the run does not end.
func TestLeaseRunsOut(t *testing.T) {
	for _, cause := range []error{gate.ErrPaused, gate.ErrForeign} {
		s := newSite(t)
		s.Page("/", "/a", "/b")
		c := newCrawl(t)
		var checks atomic.Int32
		c.gate.Tenure = func(string) error {
			// four checks for the first page; then the lease is gone for a while
			if n := checks.Add(1); n > 4 && n < 50 {
				return cause
			}
			return nil
		}
		sum := c.run(t, context.Background(), s.URL)
		if sum.Fetched != 3 || len(c.skips) != 0 || sum.Requests != 3 || sum.Interrupted ||
			checks.Load() < 50 {
			t.Errorf("%v: %+v after %d checks", cause, sum, checks.Load())
		}
	}
}

// If only the host of a redirect has another owner, the address is visited again later, but not
// without end.
func TestRedirectToForeignHost(t *testing.T) {
	err := &gate.Refusal{URL: "http://b.example/", Rule: gate.RuleLease, Cause: gate.ErrForeign}
	hops := []gate.Hop{{URL: "http://a.example/", Status: 302}}
	if unleased(err, hops) || !unleased(err, nil) || !unleased(&gate.Refusal{Rule: gate.RuleLease,
		Cause: gate.ErrPaused}, hops) {
		t.Error("only a visit without requests, or during a pause, is returned to the queue")
	}
	for tries, want := range map[int]State{0: Queued, maxTries - 1: Failed} {
		l := &Lease{URL: "http://a.example/", Host: "a.example", Tries: tries}
		if o := outcomeOf(l, l.URL, hops, err, time.Now()); o.State != want {
			t.Errorf("after %d tries: %+v", tries, o)
		}
	}
}

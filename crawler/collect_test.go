package crawler

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
)

// calls records which callbacks were called and for which path.
type calls struct {
	mu   sync.Mutex
	site *site
	list []string
}

func (c *calls) add(callback, address string, more ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := callback + " " + strings.TrimPrefix(address, c.site.URL)
	if len(more) > 0 {
		line += " " + strings.TrimSuffix(fmt.Sprintln(more...), "\n")
	}
	c.list = append(c.list, line)
}

// sorted returns the recorded calls in alphabetical order.
func (c *calls) sorted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.list))
}

// note registers callbacks that record each call.
func (c *calls) note(o *colly.Collector) {
	o.OnRequest(func(r *colly.Request) { c.add("request", r.URL.String(), r.Depth) })
	o.OnResponse(func(r *colly.Response) { c.add("response", r.Request.URL.String(), r.StatusCode, len(r.Body)) })
	o.OnHTML("title", func(e *colly.HTMLElement) { c.add("html", e.Request.URL.String(), e.Text) })
	o.OnError(func(r *colly.Response, err error) {
		var refusal *gate.Refusal
		c.add("error", r.Request.URL.String(), r.StatusCode, len(r.Body), errors.As(err, &refusal))
	})
}

func (s *site) text(path, text string) {
	s.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, text)
	})
}

func newCollect(t testing.TB) (*site, *crawl, *calls) {
	s := newSite(t)
	c, seen := newCrawl(t), &calls{site: s}
	c.o.Collect = seen.note
	return s, c, seen
}

func wantCalls(t *testing.T, seen *calls, want ...string) {
	t.Helper()
	if got := seen.sorted(); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("called:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestCallbacksSeeEveryVisit(t *testing.T) {
	s, c, seen := newCollect(t)
	c.rules.text = "User-agent: *\nDisallow: /private\n"
	s.text("/", `<title>start</title><a href=/old><a href=/private><a href=/missing><a href=/plain>`)
	s.Redirect("/old", "/older")
	s.Redirect("/older", "/new")
	s.text("/new", `<title>new</title>`)
	s.Handle("/plain", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "<title>no markup</title>")
	})
	sum := c.run(t, context.Background(), s.URL)
	wantCalls(t, seen,
		"request / 1", "response / 200 82", "html / start",
		"request /old 2", "response /new 200 18", "html /new new",
		"request /private 2", "error /private 0 0 true",
		"request /missing 2", "error /missing 404 0 false",
		"request /plain 2", "response /plain 200 24")
	if sum.Fetched != 4 || sum.Refused.Crawl != 1 || sum.Errors != 0 || c.state(t, s.URL+"/missing") != Fetched {
		t.Errorf("%+v", sum)
	}
}

func TestPageOf(t *testing.T) {
	s, c, _ := newCollect(t)
	s.Redirect("/", "/a")
	s.text("/a", `<title>a</title><a href=/b><a rel=nofollow href=/c>`)
	c.handler.receive = func(p *page.Page) (Receipt, error) {
		return Receipt{Links: []string{s.URL + "/b"}, Stored: true, RefusedIndex: true,
				Decide: func(u acap.Usage) acap.Decision {
					return acap.Decision{Usage: u,
						Allowed: u == acap.Preserve}
				}},
			nil
	}
	c.o.Depth = 0
	called := 0
	c.o.Collect = func(o *colly.Collector) {
		o.OnRequest(func(r *colly.Request) {
			if _, _, ok := PageOf(r); ok {
				t.Error("there is a page before the request")
			}
		})
		o.OnHTML("title", func(e *colly.HTMLElement) {
			called++
			pg, receipt, ok := PageOf(e.Request)
			if !ok || len(pg.Hops()) != 2 || pg.URL().Path != "/a" || !receipt.Stored || !receipt.RefusedIndex ||
				!slices.Equal(receipt.Links, []string{s.URL + "/b"}) {
				t.Errorf("%v %+v %v", pg, receipt, ok)
			}
			if !receipt.Decide(acap.Preserve).Allowed || receipt.Decide(acap.Index).Allowed {
				t.Error("a decision got lost")
			}
		})
	}
	c.run(t, context.Background(), s.URL)
	if called != 1 {
		t.Errorf("OnHTML was called %d times", called)
	}
	if _, _, ok := PageOf(&colly.Request{Ctx: colly.NewContext()}); ok {
		t.Error("a request of another collector has a page")
	}
}

// P2 2.2.9.1 (X01): callbacks do not see a page that prohibits crawl in its own META tags or header
// fields.
func TestPageThatMayNotBeCrawledReachesNoCallback(t *testing.T) {
	s, c, seen := newCollect(t)
	s.text("/", `<title>start</title><a href=/secret><a href=/down>`)
	s.text("/secret", `<title>secret</title><a href=/x>`)
	s.text("/down", `<title>down</title>`)
	c.handler.receive = func(p *page.Page) (Receipt, error) {
		switch p.URL().Path {
		case "/secret":
			return Receipt{RefusedCrawl: true, Decision: acap.Decision{Usage: acap.Crawl}}, nil
		case "/down":
			return Receipt{TakenDown: &acap.Field{}}, nil
		}
		return Receipt{Links: p.Links(page.Cut{}), Stored: true}, nil
	}
	visible := 0
	c.o.Collect = func(o *colly.Collector) {
		seen.note(o)
		o.OnResponseHeaders(func(r *colly.Response) {
			if r.Request.URL.Path != "/" {
				t.Errorf("the header of %s was seen", r.Request.URL)
			}
		})
		o.OnError(func(r *colly.Response, err error) {
			if _, _, ok := PageOf(r.Request); ok || r.Body != nil || r.Headers != nil {
				visible++
			}
		})
	}
	sum := c.run(t, context.Background(), s.URL)
	wantCalls(t, seen, "request / 1", "response / 200 50", "html / start",
		"request /secret 2", "error /secret 0 0 true", "request /down 2", "error /down 0 0 true")
	if visible != 0 || sum.Refused.Crawl != 1 || c.state(t, s.URL+"/secret") != Refused || s.Asked("/x") != 0 {
		t.Errorf("%d visible; %+v", visible, sum)
	}
}

func TestCallbackAborts(t *testing.T) {
	s, c, _ := newCollect(t)
	s.Page("/", "/shop/a", "/news", "/filtered", "/jump")
	s.Page("/news")
	s.Redirect("/jump", "/filtered/too")
	c.o.Collect = func(o *colly.Collector) {
		o.DisallowedURLFilters = []*regexp.Regexp{regexp.MustCompile("/filtered")}
		o.OnRequest(func(r *colly.Request) {
			if strings.HasPrefix(r.URL.Path, "/shop") {
				r.Abort()
			}
		})
	}
	sum := c.run(t, context.Background(), s.URL)
	for _, path := range []string{"/shop/a", "/filtered", "/jump"} {
		if skip := c.skips[s.URL+path]; skip.State != Outside || skip.Why == "" {
			t.Errorf("%s: %+v", path, skip)
		}
	}
	if s.Asked("/shop/a")+s.Asked("/filtered")+s.Asked("/filtered/too") != 0 || s.Asked("/news") != 1 ||
		sum.Fetched != 2 || sum.Errors != 0 {
		t.Errorf("%v %+v", s.requests(), sum)
	}
}

func TestCallbackPanics(t *testing.T) {
	s, c, seen := newCollect(t)
	s.Page("/", "/a", "/b", "/c", "/d")
	for _, path := range []string{"/a", "/b", "/c", "/d"} {
		s.text(path, "<title>"+path+"</title>")
	}
	c.o.Collect = func(o *colly.Collector) {
		seen.note(o)
		o.OnRequest(func(r *colly.Request) { mustNotBe(r, "/a") })
		o.OnResponse(func(r *colly.Response) { mustNotBe(r.Request, "/b") })
		o.OnHTML("title", func(e *colly.HTMLElement) { mustNotBe(e.Request, "/c") })
	}
	sum := c.run(t, context.Background(), s.URL)
	for _, path := range []string{"/a", "/b", "/c"} {
		if skip := c.skips[s.URL+path]; skip.State != Failed || skip.Defect == nil ||
			!strings.Contains(skip.Defect.Where, "collect_test.go") {
			t.Errorf("%s: %+v", path, skip)
		}
	}
	if sum.Errors != 3 || c.state(t, s.URL+"/d") != Fetched || !slices.Contains(seen.sorted(), "html /d /d") {
		t.Errorf("%+v %v", sum, seen.sorted())
	}

	c.o.Collect = func(*colly.Collector) { panic("no") }
	if _, err := New(gate.New(c.gate), &c.handler, c.frontier, c.o).Run(context.Background(),
		[]string{s.URL + "/e"}); err == nil {
		t.Error("a panic of Collect was not reported")
	}
}

func mustNotBe(r *colly.Request, path string) {
	if r.URL.Path == path {
		panic("a defect of a callback")
	}
}

func TestCallbackQueuesLinks(t *testing.T) {
	s, c, _ := newCollect(t)
	s.text("/", `<title>start</title><a href=/ordinary><a rel=nofollow href=/kept%20back><div data-next=/found></div>`)
	s.text("/closed", `<title>closed</title><div data-next=/behind></div>`)
	s.Page("/found")
	s.Page("/ordinary")
	c.handler.receive = func(p *page.Page) (Receipt, error) {
		if p.URL().Path == "/closed" {
			return Receipt{RefusedFollow: true}, nil
		}
		return Receipt{Links: slices.DeleteFunc(p.Links(page.Cut{}),
			func(l string) bool { return strings.Contains(l, "kept") })}, nil
	}
	c.o.Collect = func(o *colly.Collector) {
		o.OnRequest(func(r *colly.Request) {
			if r.URL.Path == "/" {
				_ = r.Visit("/early")
			}
		})
		o.OnHTML("[data-next]", func(e *colly.HTMLElement) { must(t, e.Request.Visit(e.Attr("data-next"))) })
		o.OnHTML("a", func(e *colly.HTMLElement) { must(t, e.Request.Visit(e.Attr("href"))) })
		o.OnHTML("title", func(e *colly.HTMLElement) { must(t, e.Request.Post("/form", map[string]string{"a": "b"})) })
	}
	c.o.Concurrency = 1
	skips := map[string]Skip{}
	g := gate.New(c.gate)
	g.Use(c.rules)
	c.o.Skipped = func(skip Skip) { skips[strings.TrimPrefix(skip.URL, s.URL)] = skip }
	_, err := New(g, &c.handler, c.frontier, c.o).Run(context.Background(), []string{s.URL, s.URL + "/closed"})
	must(t, err)
	if got := slices.Sorted(slices.Values(s.requests())); !slices.Equal(got,
		[]string{"/", "/closed", "/found", "/ordinary"}) {
		t.Errorf("requested %v", got)
	}
	for _, path := range []string{"/early", "/kept%20back", "/behind", "/form"} {
		if skips[path].State != Refused || !strings.Contains(skips[path].Why, "a callback requested it") {
			t.Errorf("%s: %+v", path, skips[path])
		}
	}
}

// Callbacks cannot change the settings of their collector so that a request avoids the gate or goes
// to another address.
func TestCallbacksCannotAvoidTheGate(t *testing.T) {
	s, c, seen := newCollect(t)
	c.rules.text = "User-agent: *\nDisallow: /private\n"
	s.Page("/", "/private", "/moved", "/last")
	s.Page("/last")
	meddle := func(o *colly.Collector) {
		o.WithTransport(http.DefaultTransport)
		o.SetClient(&http.Client{Transport: http.DefaultTransport})
		o.Async, o.CacheDir, o.MaxBodySize, o.MaxRequests, o.MaxDepth = true, t.TempDir(), 1, 1, 1
		o.SetRedirectHandler(func(*http.Request, []*http.Request) error { return nil })
		o.UserAgent, o.AllowURLRevisit, o.DetectCharset = "another", false, true
	}
	var agents sync.Map
	for _, path := range []string{"/", "/last"} {
		inner := s.Handler(path)
		s.Handle(path, func(w http.ResponseWriter, r *http.Request) {
			agents.Store(r.UserAgent(), true)
			inner(w, r)
		})
	}
	c.o.Collect = func(o *colly.Collector) {
		seen.note(o)
		other := o.Clone()
		meddle(o)
		o.OnRequest(func(r *colly.Request) {
			if r.URL.Path == "/moved" {
				r.URL.Path = "/private"
			}
		})
		o.OnScraped(func(*colly.Response) { meddle(o) })
		o.OnResponse(func(r *colly.Response) {
			if err := other.Visit(s.URL + "/private"); err == nil {
				t.Error("a clone of the collector made a request")
			}
		})
	}
	c.run(t, context.Background(), s.URL)
	if got := slices.Sorted(slices.Values(s.requests())); !slices.Equal(got, []string{"/", "/last"}) {
		t.Errorf("requested %v", got)
	}
	if _, ok := agents.Load("another"); ok {
		t.Error("a callback changed the name of the crawler")
	}
	if skip := c.skips[s.URL+"/moved"]; skip.State != Outside || !strings.Contains(skip.Why, "changed the address") {
		t.Errorf("%+v", skip)
	}
	if !slices.Contains(seen.sorted(), "response /last 200 12") {
		t.Errorf("%v", seen.sorted())
	}
}

func TestCallbacksGetDecodedText(t *testing.T) {
	s, c, seen := newCollect(t)
	s.Handle("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, "<title>f\xe4hre</title>")
		must(t, z.Close())
	})
	c.run(t, context.Background(), s.URL)
	wantCalls(t, seen, "request / 1", "response / 200 21", "html / fähre")
}

// Colly parses without limits, so callbacks get no markup that package page reads only in part.
func TestHugeMarkupIsNotParsedAgain(t *testing.T) {
	s, c, seen := newCollect(t)
	s.text("/", "<title>huge</title>"+strings.Repeat("<br>", 310_000))
	c.run(t, context.Background(), s.URL)
	for _, call := range seen.sorted() {
		if strings.HasPrefix(call, "html") {
			t.Error(call)
		}
	}
	if !slices.ContainsFunc(seen.sorted(),
		func(call string) bool { return strings.HasPrefix(call, "response / 200") }) {
		t.Errorf("%v", seen.sorted())
	}
}

// TestErrorsReachCallbacks has a site for each error: after five failures in a row a host is left
// alone for an hour.
func TestErrorsReachCallbacks(t *testing.T) {
	for path, c := range map[string]struct {
		handler http.HandlerFunc
		want    map[int]int // number of calls by status
	}{
		"/broken": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
			map[int]int{0: maxTries}},
		"/busy": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
			map[int]int{http.StatusServiceUnavailable: maxTries}},
		"/part": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusPartialContent) },
			map[int]int{http.StatusPartialContent: 1}},
		"/circle": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/circle")
			w.WriteHeader(http.StatusFound)
		}, map[int]int{0: 1}},
	} {
		t.Run(path, func(t *testing.T) {
			s, crawl, _ := newCollect(t)
			s.Page("/", path)
			s.Handle(path, c.handler)
			var mu sync.Mutex
			failed := map[int]int{}
			crawl.o.Collect = func(o *colly.Collector) {
				o.OnError(func(r *colly.Response, _ error) {
					mu.Lock()
					defer mu.Unlock()
					if r.Request.URL.Path == path {
						failed[r.StatusCode]++
					}
				})
			}
			sum := crawl.run(t, context.Background(), s.URL)
			if !maps.Equal(failed, c.want) || sum.Errors != 1 {
				t.Errorf("called by status: %v, want %v; %+v", failed, c.want, sum)
			}
		})
	}
}

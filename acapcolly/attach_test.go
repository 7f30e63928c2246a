package acapcolly

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
)

// newSite starts a site with this robots.txt.
func newSite(t *testing.T, robots ...string) *testweb.Pages {
	s := testweb.NewPages(t)
	s.Text("/robots.txt", robots...)
	return s
}

// html answers path with this HTML.
func html(s *testweb.Pages, path, text string) {
	s.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!DOCTYPE html>", text)
	})
}

// paths returns what a site was asked for, without robots.txt and policy files, sorted.
func paths(s *testweb.Pages) string {
	var list []string
	for _, r := range s.Requests() {
		if r.Path != "/robots.txt" && !strings.HasPrefix(r.Path, "/.well-known/") {
			list = append(list, r.Method+" "+r.URI)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// attached is a collector that follows all links, with what its callbacks saw.
type attached struct {
	*colly.Collector
	permissions *Permissions

	mu     sync.Mutex
	pages  []string
	errors []error
}

func attach(t *testing.T, o Options, options ...colly.CollectorOption) *attached {
	t.Helper()
	a := &attached{Collector: colly.NewCollector(append(options, colly.UserAgent("examplebot/1.0"))...)}
	var err error
	if a.permissions, err = Attach(a.Collector, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.permissions.Close() })
	a.watch(a.Collector)
	return a
}

func (a *attached) watch(c *colly.Collector) {
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = e.Request.Visit(e.Attr("href")) })
	c.OnResponse(func(r *colly.Response) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.pages = append(a.pages, r.Request.URL.Path+" "+string(r.Body))
	})
	c.OnError(func(_ *colly.Response, err error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.errors = append(a.errors, err)
	})
}

// refusals returns the texts of the errors, sorted.
func (a *attached) refusals() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []string
	for _, err := range a.errors {
		list = append(list, err.Error())
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// has reports whether all texts occur in s.
func has(s string, texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(s, text) })
}

// What the policy prohibits is not requested, and the line that decided arrives in OnError. This holds in all modes.
func TestPolicy(t *testing.T) {
	for _, async := range []bool{false, true} {
		t.Run(fmt.Sprint("async=", async), func(t *testing.T) {
			s := newSite(t, "User-agent: *", "Disallow: /robots-off", "ACAP-crawler: *", "ACAP-disallow-crawl: /off",
				"ACAP-disallow-crawl: /landing")
			html(s, "/", `<a href=/a>a</a><a href=/off>off</a><a href=/moved>moved</a>`)
			html(s, "/a", `<a href=/>home</a>`)
			s.Redirect("/moved", "/landing")
			c := attach(t, Options{Seeds: []string{s.URL}, PerHost: 4}, colly.Async(async))
			if err := c.Visit(s.URL + "/"); err != nil {
				t.Fatal(err)
			}
			c.Wait()
			if got := paths(s); got != "GET /, GET /a, GET /moved" {
				t.Errorf("the site was asked for %s", got)
			}
			if got := c.refusals(); !has(got, s.URL+"/off", "robots.txt:4", s.URL+"/landing", "robots.txt:5") {
				t.Errorf("the refusals are\n%s", got)
			}
			if refusal, is := errors.AsType[*gate.Refusal](c.errors[0]); !is || refusal.Decision.Because == nil {
				t.Errorf("the first error has no decision: %v", c.errors[0])
			}
		})
	}
}

// In synchronous mode, Visit returns the refusal.
func TestVisitReturnsRefusal(t *testing.T) {
	s := newSite(t, "User-agent: *", "Disallow: /")
	c := attach(t, Options{Seeds: []string{s.URL}})
	err := c.Visit(s.URL + "/page")
	if refusal, is := errors.AsType[*gate.Refusal](err); !is || !has(refusal.Error(), "robots.txt:2") {
		t.Errorf("the error is %v", err)
	}
	if got := paths(s); got != "" {
		t.Errorf("the site was asked for %s", got)
	}
}

// P2 2.2.9.1 (X01): a page whose own META prohibits crawl reaches no callback, and its links are not followed.
func TestPageProhibitsCrawl(t *testing.T) {
	s := newSite(t)
	html(s, "/", `<meta name=robots content="ACAP disallow-crawl"><title>secret</title><a href=/next>next</a>`)
	html(s, "/next", `next`)
	c := attach(t, Options{Seeds: []string{s.URL}})
	if err := c.Visit(s.URL + "/"); err == nil {
		t.Error("no error")
	}
	if len(c.pages) > 0 || paths(s) != "GET /" {
		t.Errorf("callbacks saw %q, and the site was asked for %s", c.pages, paths(s))
	}
}

// Hosts with private addresses are requested only if a seed names them.
func TestAddress(t *testing.T) {
	s := newSite(t)
	c := attach(t, Options{})
	err := c.Visit(s.URL + "/")
	if refusal, is := errors.AsType[*gate.Refusal](err); !is || refusal.Rule != gate.RuleAddress ||
		len(s.Requests()) > 0 {
		t.Errorf("the error is %v, and the site got %v", err, s.Requests())
	}
}

// A take-down in robots.txt hides a page.
func TestTakeDown(t *testing.T) {
	s := newSite(t, "ACAP-crawler: *", "ACAP-request-take-down: /gone")
	c := attach(t, Options{Seeds: []string{s.URL}})
	err := c.Visit(s.URL + "/gone")
	if refusal, is := errors.AsType[*gate.Refusal](err); !is || refusal.Rule != gate.RuleTakeDown || paths(s) != "" {
		t.Errorf("the error is %v, and the site was asked for %s", err, paths(s))
	}
}

// The Crawl-delay holds for many requests at the same time.
func TestPace(t *testing.T) {
	s := newSite(t, "User-agent: *", "Crawl-delay: 0.1")
	for i := range 4 {
		html(s, fmt.Sprint("/", i), "page")
	}
	c := attach(t, Options{Seeds: []string{s.URL}, PerHost: 8}, colly.Async())
	for i := range 4 {
		_ = c.Visit(fmt.Sprint(s.URL, "/", i))
	}
	c.Wait()
	list := s.Requests()
	if len(list) < 5 {
		t.Fatalf("the site got %v; %s", list, c.refusals())
	}
	// half of the time, because a busy machine may notice the first request late
	if took := list[len(list)-1].At.Sub(list[0].At); took < 200*time.Millisecond {
		t.Errorf("%d requests came within %s", len(list), took)
	}
}

// replacements are the ways to replace the transport of a collector.
func replacements() map[string]func(*colly.Collector) {
	return map[string]func(*colly.Collector){
		"SetClient":     func(c *colly.Collector) { c.SetClient(&http.Client{}) },
		"WithTransport": func(c *colly.Collector) { c.WithTransport(&http.Transport{}) },
		"SetProxyFunc": func(c *colly.Collector) {
			c.SetProxyFunc(func(*http.Request) (*url.URL, error) { return nil, nil })
		},
	}
}

// If a program replaces the transport or the client after Attach, nothing is sent, and the error says why.
func TestTransportReplaced(t *testing.T) {
	for name, change := range replacements() {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			html(s, "/", "page")
			c := attach(t, Options{Seeds: []string{s.URL}})
			change(c.Collector)
			if err := c.Visit(s.URL + "/"); err == nil || !has(err.Error(), "replaced after Attach") {
				t.Errorf("the error is %v", err)
			}
			if len(s.Requests()) > 0 {
				t.Errorf("the site got %v", s.Requests())
			}
		})
	}
}

// CacheDir has no effect after Attach: each visit is a request.
func TestCacheDir(t *testing.T) {
	s := newSite(t)
	html(s, "/", "page")
	dir := t.TempDir()
	plain := colly.NewCollector(colly.CacheDir(dir))
	if err := plain.Visit(s.URL + "/"); err != nil {
		t.Fatal(err)
	}
	html(s, "/", "new page")
	c := attach(t, Options{Seeds: []string{s.URL}}, colly.AllowURLRevisit())
	c.CacheDir = dir
	for range 2 {
		_ = c.Visit(s.URL + "/")
	}
	if len(c.pages) != 2 || !has(c.pages[0], "new page") || !has(c.pages[1], "new page") || s.Asked("/") != 3 {
		t.Errorf("callbacks saw %q, and the site was asked for %s", c.pages, paths(s))
	}
}

// A clone needs an Attach of its own. It then has the same policies.
func TestClone(t *testing.T) {
	s := newSite(t, "User-agent: *", "Disallow: /off")
	html(s, "/", "page")
	a := attach(t, Options{Seeds: []string{s.URL}})
	clone := a.Collector.Clone()
	if err := clone.Visit(s.URL + "/"); !errors.Is(err, errNoTicket) || len(s.Requests()) > 0 {
		t.Errorf("without Attach: %v, and the site got %v", err, s.Requests())
	}
	second := a.Collector.Clone()
	second.AllowURLRevisit = true
	if err := a.permissions.Attach(second); err != nil {
		t.Fatal(err)
	}
	if err := second.Visit(s.URL + "/"); err != nil {
		t.Error(err)
	}
	if err := second.Visit(s.URL + "/off"); err == nil {
		t.Error("no error")
	}
	if got := paths(s); got != "GET /" || s.Asked("/robots.txt") != 1 {
		t.Errorf("the site was asked for %s, and %d times for robots.txt", got, s.Asked("/robots.txt"))
	}
	third := colly.NewCollector()
	if err := a.permissions.Attach(third); err == nil {
		t.Error("a collector with another User-Agent is accepted")
	}
}

// The name in the User-Agent is the one for which policies are evaluated.
func TestName(t *testing.T) {
	for agent, want := range map[string]string{"examplebot/1.0 (+https://x.example)": "", "colly - https://x": "",
		"Mozilla/5.0 (compatible; examplebot)": "name it", "": "name it"} {
		c := colly.NewCollector(colly.UserAgent(agent))
		p, err := Attach(c, Options{})
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !has(err.Error(), want)):
			t.Errorf("%q: %v", agent, err)
		case err == nil:
			_ = p.Close()
		}
	}
	c := colly.NewCollector(colly.UserAgent("Mozilla/5.0 (compatible; examplebot)"))
	if _, err := Attach(c, Options{Crawler: acap.Crawler{Names: []string{"otherbot"}}}); err == nil {
		t.Error("a User-Agent without the name is accepted")
	}
	s := newSite(t, "User-agent: examplebot", "Disallow: /")
	p, err := Attach(c, Options{Crawler: acap.Crawler{Names: []string{"examplebot"}}, Seeds: []string{s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c.OnRequest(func(r *colly.Request) { r.Headers.Set("User-Agent", "somebody else") })
	if err := c.Visit(s.URL + "/"); err == nil {
		t.Error("the lines for examplebot do not apply")
	}
}

// Methods other than GET and HEAD are refused.
func TestPost(t *testing.T) {
	s := newSite(t)
	c := attach(t, Options{Seeds: []string{s.URL}})
	err := c.Post(s.URL+"/", map[string]string{"a": "b"})
	if refusal, is := errors.AsType[*gate.Refusal](err); !is || refusal.Rule != gate.RuleMethod ||
		len(s.Requests()) > 0 {
		t.Errorf("the error is %v, and the site got %v", err, s.Requests())
	}
	if err := c.Head(s.URL + "/robots.txt"); err != nil {
		t.Errorf("HEAD: %v", err)
	}
}

// Requests from a queue, cookies, redirect handlers and the context of the collector work as without Attach.
func TestColly(t *testing.T) {
	s := newSite(t, "User-agent: *", "Disallow: /off")
	html(s, "/", `home`)
	s.Handle("/set", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "tide", Value: "low"})
	})
	s.Handle("/get", func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("tide"); err == nil {
			fmt.Fprint(w, c.Value)
		}
	})
	s.Redirect("/moved", "/nowhere")
	c := attach(t, Options{Seeds: []string{s.URL}})
	q, err := queue.New(2, &queue.InMemoryQueueStorage{MaxSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/off", "/set"} {
		if err := q.AddURL(s.URL + path); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Run(c.Collector); err != nil {
		t.Fatal(err)
	}
	if err := c.Visit(s.URL + "/get"); err != nil || !slices.Contains(c.pages, "/get low") {
		t.Errorf("%v; callbacks saw %q", err, c.pages)
	}
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })
	c.ParseHTTPErrorResponse = true
	if err := c.Visit(s.URL + "/moved"); err != nil {
		t.Error(err)
	}
	if got := paths(s); got != "GET /, GET /get, GET /moved, GET /set" {
		t.Errorf("the site was asked for %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Context = ctx
	if err := c.Visit(s.URL + "/later"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// A visit is forgotten when its request is no longer reachable.
func TestVisitsAreForgotten(t *testing.T) {
	s := newSite(t)
	html(s, "/", "page")
	c := attach(t, Options{Seeds: []string{s.URL}}, colly.AllowURLRevisit())
	for range 20 {
		if err := c.Visit(s.URL + "/"); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(time.Minute); ; {
		runtime.GC()
		c.permissions.mu.Lock()
		left := len(c.permissions.visits)
		c.permissions.mu.Unlock()
		if left <= 1 { // what is left of the last visit may still be on the stack
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d visits are left", left)
		}
	}
}

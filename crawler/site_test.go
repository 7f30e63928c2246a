package crawler

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
	"github.com/acapcrawl/acapcrawl/page"
)

// site is a web site on loopback.
type site struct{ *testweb.Pages }

func newSite(t testing.TB) *site { return &site{testweb.NewPages(t)} }

// requests returns the paths and queries that were requested, as sent.
func (s *site) requests() (list []string) {
	for _, r := range s.Requests() {
		list = append(list, r.URI)
	}
	return list
}

// rules implements the policies of the test sites: all hosts have the same robots.txt, except one
// host whose robots.txt cannot be read.
type rules struct {
	text string
	down string
}

func (r rules) Policy(_ context.Context, u *url.URL) (*acap.Policy, error) {
	robots := u.Scheme + "://" + u.Host + "/robots.txt"
	if r.down != "" && strings.Contains(u.Host, r.down) {
		return acap.Unreachable(robots, "HTTP status 503"), nil
	}
	return acap.Parse(robots, []byte(r.text)).Policy(acap.Crawler{Names: []string{"acapcrawl"}}), nil
}

func (r rules) Current(u *url.URL) (*acap.Policy, error) { return r.Policy(context.Background(), u) }

func (r rules) pause(ctx context.Context, u *url.URL) (time.Duration, error) {
	p, err := r.Policy(ctx, u)
	return p.CrawlDelay(), err
}

// shelf is a Handler that stores in memory what it receives.
type shelf struct {
	mu      sync.Mutex
	pages   map[string]*page.Page
	times   map[string]int
	receive func(*page.Page) (Receipt, error) // called with each page; nil: store the page and follow all links
	ask     map[string]http.Header            // address → conditional header fields for the request of that address
	// address → the page to which the address redirects and which was received before
	led map[string]string
}

func (s *shelf) Condition(address string) http.Header { return s.ask[address] }

func (s *shelf) Lead(_ context.Context, from []page.Hop, to string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.led == nil {
		s.led = map[string]string{}
	}
	for _, hop := range from {
		s.led[hop.URL] = to
	}
	return nil
}

func (s *shelf) Receive(_ context.Context, p *page.Page) (Receipt, error) {
	s.mu.Lock()
	if s.pages == nil {
		s.pages, s.times = map[string]*page.Page{}, map[string]int{}
	}
	s.pages[p.URL().String()] = p
	s.times[p.URL().String()]++
	s.mu.Unlock()
	if s.receive != nil {
		return s.receive(p)
	}
	return Receipt{Links: p.Links(page.Cut{}), Stored: true, Indexed: p.HTML()}, nil
}

// crawl holds the configuration and the results of crawls in a test.
type crawl struct {
	frontier *Frontier
	rules    rules
	gate     gate.Options
	handler  shelf
	o        Options
	skips    map[string]Skip
}

func newCrawl(t testing.TB) *crawl {
	f := newFrontier(t, FrontierOptions{PerHost: 4, Backoff: 10 * time.Millisecond})
	return &crawl{frontier: f, gate: gate.Options{PerHost: 8, AllowPrivate: true},
		o: Options{Concurrency: 4, Depth: -1}}
}

func (c *crawl) run(t testing.TB, ctx context.Context, seeds ...string) Summary {
	t.Helper()
	g := gate.New(c.gate)
	defer g.Close()
	g.Use(c.rules)
	c.skips = map[string]Skip{}
	c.o.Pause = c.rules.pause
	c.o.MaxPages = c.gate.MaxPages
	c.o.Skipped = func(s Skip) {
		if _, ok := c.skips[s.URL]; ok {
			t.Errorf("%s was reported twice", s.URL)
		}
		c.skips[s.URL] = s
	}
	s, err := New(g, &c.handler, c.frontier, c.o).Run(ctx, seeds)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.frontier.Check(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (c *crawl) state(t testing.TB, address string) State {
	t.Helper()
	r, _, err := c.frontier.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	return r.State
}

// AddLinks queues addresses as links of a page would be queued.
func (f *Frontier) AddLinks(depth int, links ...string) (int, error) {
	return f.add(FirstSeed, depth, links, false)
}

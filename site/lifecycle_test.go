package site

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/present"
)

// found returns the paths of p that a search for "page" shows.
func found(t *testing.T, s *Site, p *publisher) (paths []string) {
	t.Helper()
	list, err := s.Search(t.Context(), present.Query{Text: "page"}, present.Reader{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list.Results {
		paths = append(paths, strings.TrimPrefix(r.URL, p.origin))
	}
	slices.Sort(paths)
	return paths
}

// One open site crawls, searches, sweeps and crawls again, in any order.
func TestOneSiteDoesEverything(t *testing.T) {
	p := newPublisher(t, "/a.html", "/b.html")
	s := open(t, t.TempDir())
	if got := found(t, s, p); len(got) > 0 {
		t.Errorf("found before the crawl: %q", got)
	}
	crawl(t, s, p.origin+"/a.html")
	if got := found(t, s, p); !slices.Equal(got, []string{"/a.html"}) {
		t.Errorf("found: %q", got)
	}
	if _, err := s.Sweep(t.Context(), SweepOptions{}); err != nil {
		t.Fatal(err)
	}
	crawl(t, s, p.origin+"/b.html")
	if got := found(t, s, p); !slices.Equal(got, []string{"/a.html", "/b.html"}) {
		t.Errorf("found after the second crawl: %q", got)
	}
	p.says("ACAP-crawler: *\nACAP-request-take-down: /a.html\n")
	run, err := s.RunRequests(t.Context(), RunOptions{})
	if err != nil || run.Read != 1 || len(run.Requests) != 1 || run.Requests[0].State != actions.Done || len(run.Erased) != 1 {
		t.Fatalf("%+v, %v", run, err)
	}
	if got := found(t, s, p); !slices.Equal(got, []string{"/b.html"}) {
		t.Errorf("found after the take-down: %q", got)
	}
	if problems, err := s.Verify(t.Context(), nil, nil); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// While a crawl runs, other methods of the site answer, and a request that is submitted is executed.
func TestMethodsDuringCrawl(t *testing.T) {
	p := newPublisher(t, "/a.html", "/b.html", "/c.html")
	s := open(t, t.TempDir())
	crawl(t, s, p.origin+"/a.html")
	ready := make(chan struct{})
	seen := make(chan struct{})
	var crawling sync.WaitGroup
	crawling.Go(func() {
		_, err := s.Crawl(t.Context(), CrawlOptions{Seeds: []string{p.origin + "/b.html", p.origin + "/c.html"},
			Ready: func() { close(ready) },
			Collect: func(c *colly.Collector) {
				c.OnRequest(func(*colly.Request) { <-seen }) // the crawl goes on when the others have answered
			}})
		if err != nil {
			t.Error(err)
		}
	})
	<-ready
	lent := s.Lend(s.cfg, s.who)
	if got := found(t, lent, p); !slices.Equal(got, []string{"/a.html"}) {
		t.Errorf("found: %q", got)
	}
	r, err := lent.Submit(t.Context(), actions.Submission{Action: acap.TakeDown, URL: p.origin + "/a.html"})
	if err != nil || r.State != actions.Done {
		t.Errorf("%+v, %v", r, err)
	}
	if got := found(t, s, p); len(got) > 0 {
		t.Errorf("found after the take-down: %q", got)
	}
	close(seen)
	crawling.Wait()
	if got := found(t, s, p); !slices.Equal(got, []string{"/b.html", "/c.html"}) {
		t.Errorf("found after the crawl: %q", got)
	}
}

// Callbacks of Colly see the pages that may be crawled, with their terms, and no others.
func TestCallbacks(t *testing.T) {
	p := newPublisher(t, "/a.html", "/b.html")
	p.says("ACAP-crawler: *\nACAP-disallow-crawl: /b.html\nACAP-disallow-preserve: /a.html\n")
	s := open(t, t.TempDir())
	var mu sync.Mutex
	var titles, refused []string
	preserve := true
	_, err := s.Crawl(t.Context(), CrawlOptions{Seeds: []string{p.origin + "/a.html", p.origin + "/b.html"},
		Collect: func(c *colly.Collector) {
			c.OnHTML("title", func(e *colly.HTMLElement) {
				mu.Lock()
				defer mu.Unlock()
				titles = append(titles, e.Text)
				if _, terms, ok := crawler.PageOf(e.Request); ok {
					preserve = terms.Decide(acap.Preserve).Allowed
				}
			})
			c.OnError(func(r *colly.Response, _ error) {
				mu.Lock()
				defer mu.Unlock()
				refused = append(refused, r.Request.URL.Path)
			})
		}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(titles, []string{"x"}) || !slices.Equal(refused, []string{"/b.html"}) || preserve {
		t.Errorf("titles %q, refused %q, preserve permitted: %t", titles, refused, preserve)
	}
}

// A directory has one owner, and one that was never filled is empty.
func TestOpenErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	cfg, err := config.Load(config.Input{Flags: map[string]any{"data": dir}})
	if err != nil {
		t.Fatal(err)
	}
	var empty *EmptyError
	if _, err := Open(cfg, Options{}); !errors.As(err, &empty) || empty.Dir != dir {
		t.Errorf("empty: %v", err)
	}
	open(t, dir)
	if _, err := Open(cfg, Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("in use: %v", err)
	}
	if _, err := OpenArchive(cfg); !errors.Is(err, ErrInUse) {
		t.Errorf("archive in use: %v", err)
	}
}

// An interrupted crawl is no error, and the next one continues it.
func TestInterruptedCrawl(t *testing.T) {
	p := newPublisher(t, "/a.html")
	s := open(t, t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	stop()
	sum, err := s.Crawl(ctx, CrawlOptions{Seeds: []string{p.origin + "/a.html"}})
	if err != nil || !sum.Interrupted {
		t.Fatalf("%+v, %v", sum, err)
	}
	if sum, err = s.Crawl(t.Context(), CrawlOptions{Seeds: []string{p.origin + "/a.html"}}); err != nil || sum.Stored != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
}

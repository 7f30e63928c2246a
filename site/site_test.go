package site

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/acapcrawl/acapcrawl/config"
)

// publisher is a test web site with some pages and a robots.txt that can change.
type publisher struct {
	*httptest.Server
	origin string
	robots atomic.Pointer[string]
}

func newPublisher(t *testing.T, pages ...string) *publisher {
	t.Helper()
	p := &publisher{}
	p.setRobots("ACAP-crawler: *\n")
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
			io.WriteString(w, *p.robots.Load())
		case slices.Contains(pages, r.RequestURI):
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!DOCTYPE html><html lang=en><title>x</title><p>The page %s.</html>", r.RequestURI)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(p.Close)
	p.origin = p.URL
	return p
}

func (p *publisher) setRobots(robots string) { p.robots.Store(&robots) }

// open opens a data directory for a test, and creates it if necessary. The directory is closed at
// the end of the test.
func open(t *testing.T, dir string) *Site {
	t.Helper()
	return openDeep(t, dir, "0")
}

// openDeep is like open for crawls that follow links.
func openDeep(t *testing.T, dir, depth string) *Site {
	t.Helper()
	cfg, err := config.Load(config.Input{Flags: map[string]any{"data": dir, "delay": "0", "depth": depth}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(cfg, Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // the error is ignored here; a test that closes the site itself checks the error
	return s
}

// crawl visits the pages at urls.
func crawl(t *testing.T, s *Site, urls ...string) {
	t.Helper()
	sum, err := s.Crawl(t.Context(), CrawlOptions{Seeds: urls})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Stored != len(urls) {
		t.Fatalf("%d of %d pages are stored: %+v", sum.Stored, len(urls), sum)
	}
}

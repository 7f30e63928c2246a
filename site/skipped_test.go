package site

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

// TestSkipped checks which of the possible causes a reader learns of an address that was not fetched, and the line.
func TestSkipped(t *testing.T) {
	var robots atomic.Value
	elsewhere := newPublisher(t, "/a.html")
	elsewhere.setRobots("User-agent: *\nDisallow: /old\n")
	p := newPublisher(t)
	p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = io.WriteString(w, robots.Load().(string))
		case "/weekend":
			http.Redirect(w, r, "/members/x", http.StatusFound)
		case "/oldnocrawl":
			http.Redirect(w, r, elsewhere.origin+"/old", http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, `<!DOCTYPE html><html lang=en><title>x</title>`)
		}
	})
	robots.Store("User-agent: *\nDisallow: /members/\nDisallow: /once\nACAP-crawler: *\n" +
		"ACAP-request-take-down: /down\n")
	s := open(t, t.TempDir())
	seeds := []string{elsewhere.origin + "/a.html"}
	for _, path := range []string{"/members/", "/weekend", "/oldnocrawl", "/once", "/down"} {
		seeds = append(seeds, p.origin+path)
	}
	if _, err := s.Crawl(t.Context(), CrawlOptions{Seeds: seeds}); err != nil {
		t.Fatal(err)
	}
	robots.Store(strings.ReplaceAll(robots.Load().(string), "Disallow: /once\n", "# once\n"))
	refresh(t, s, p)
	found := map[string]view.SkippedAddress{}
	for _, one := range hostOf(t, s.Sites(), p, false).Skipped {
		found[strings.TrimPrefix(one.URL, p.origin)] = one
	}
	for path, want := range map[string]view.SkippedAddress{
		"/members/": {Why: "This conventional rule prohibits it.", File: p.origin + "/robots.txt", Line: 2,
			Text: "Disallow: /members/"},
		"/weekend": {Why: "It redirects to " + p.origin + "/members/x. This conventional rule prohibits it.",
			File: p.origin + "/robots.txt", Line: 2, Text: "Disallow: /members/"},
		"/oldnocrawl": {Why: "It redirects to " + elsewhere.origin + "/old. This conventional rule prohibits it.",
			File: elsewhere.origin + "/robots.txt", Line: 2, Text: "Disallow: /old"},
		"/once": {Why: "An earlier version of the policy prohibited it."},
	} {
		got := found[path]
		if got.Why != want.Why || got.File != want.File || got.Line != want.Line || got.Text != want.Text ||
			got.When.IsZero() {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if _, listed := found["/down"]; listed { // not every reader may see a link to it
		t.Errorf("%+v", found["/down"])
	}
}

// TestWhyRefused checks the reasons that today's policy does not give.
func TestWhyRefused(t *testing.T) {
	p := newPublisher(t)
	s := open(t, t.TempDir())
	refresh(t, s, p)
	o := s.Sites()
	for stored, want := range map[string]string{
		"crawl of http://q/x is not permitted by the page itself: prohibited by …": "A statement of the page " +
			"prohibits it.",
		"http://q/x is not fetched: 10.1.2.3 is a private address": "The rules of this crawler exclude " +
			"the address.",
	} {
		if why, by := o.tally.whyRefused(&crawler.Record{URL: p.origin + "/x", Why: stored}); why != want || by != nil {
			t.Errorf("%s: %q, %v", stored, why, by)
		}
	}
}

// TestUnreachable checks that only the operator learns what the network said about a robots.txt.
func TestUnreachable(t *testing.T) {
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	s := open(t, t.TempDir())
	if _, err := s.Crawl(t.Context(), CrawlOptions{Seeds: []string{dead.URL + "/a"}}); err != nil {
		t.Fatal(err)
	}
	p := &publisher{Server: dead, origin: dead.URL}
	open, full := hostOf(t, s.Sites(), p, false), hostOf(t, s.Sites(), p, true)
	if open.Policy.Why != "it could not be reached" || !strings.Contains(full.Policy.Why, "refused") {
		t.Errorf("%q and %q", open.Policy.Why, full.Policy.Why)
	}
	if open.Versions == nil || open.Skipped == nil || open.Requests == nil {
		t.Errorf("a list is null: %+v", open)
	}
}

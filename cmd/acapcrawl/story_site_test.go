package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/test/pagecheck"
	"github.com/acapcrawl/acapcrawl/internal/test/pictures"
	"github.com/acapcrawl/acapcrawl/site"
)

// storyYears is the number of years of which the tide tables have versions.
const storyYears = 20

// The background of the first version of the ferry page, and of essays.
const (
	ferryColour = "1b6e4f"
	paperColour = "f3e9d2"
)

// harbour is a web site with one page for each way in which an archive may show a page.
type harbour struct {
	*httptest.Server
	mu     sync.Mutex
	robots string
	later  bool // the ferry page has changed
}

const harbourRobots = `ACAP-version: 1.1
ACAP-crawler: *
ACAP-allow-present: /
ACAP-allow-present-currentcopy: /news/ time-limit=until-2099-12-31
ACAP-allow-present-oldcopy: /news/ time-limit=until-2099-12-31
ACAP-disallow-present-currentcopy: /letters/
ACAP-disallow-present-oldcopy: /letters/
ACAP-allow-present-currentcopy: /essays/ prohibited-modification=annotation
`

// text returns the page at path, "" if there is none.
func (h *harbour) text(path string) string {
	body := ""
	switch path {
	case "/news/ferry.html":
		body = `<title>The ferry sails again</title>` +
			`<style>body { background: #` + ferryColour + `; color: #fff }</style>
<h1>The ferry sails again</h1>` +
			`<p>From Monday the ferry crosses the harbour every hour, says <a href="/news/tide.html">the
harbour office</a>.`
		if h.later {
			body += `<p>On Sundays it sails every two hours.`
		}
	case "/news/tide.html":
		body = `<title>Tide tables</title><p>High water at the pier is at noon.`
	case "/letters/pier.html":
		body = `<title>Letters about the pier</title><p>A reader writes that the pier needs paint.`
	case "/essays/knots.html":
		body = `<title>On knots</title><link rel="stylesheet" href="/essays/paper.css">` +
			`<h1>On knots</h1><p>A bowline does not slip, and can be undone after a storm.`
	case "/essays/maps.html":
		body = `<title>On maps</title><link rel="preconnect" href="https://fonts.example/">` +
			`<p>A chart is never finished.`
	case "/retracted.html":
		body = `<title>Retracted</title><p>This report about the crane was wrong.`
	}
	if body == "" {
		return ""
	}
	return `<!DOCTYPE html><html lang="en"><meta charset="utf-8">` + body + `</html>`
}

func (h *harbour) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := h.text(r.URL.Path)
	switch {
	case r.URL.Path == "/robots.txt":
		fmt.Fprint(w, h.robots)
	case r.URL.Path == "/gull.png":
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(pictures.PNG())
	case r.URL.Path == "/essays/paper.css":
		w.Header().Set("Content-Type", "text/css")
		fmt.Fprintf(w, "body { background: #%s }", paperColour)
	case text == "":
		http.NotFound(w, r)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, text)
	}
}

// change changes the site.
func (h *harbour) change(fn func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn()
}

// startHarbour starts the site.
func startHarbour(t *testing.T) *harbour {
	t.Helper()
	h := &harbour{robots: harbourRobots}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// unreadable is the address of an archived page of a site whose policy cannot be read.
const unreadable = "http://silent.example/news/tide.html"

// crawlHarbour crawls the site. It archives two versions of the ferry page, the second with a thumbnail;
// /retracted.html is taken down; and the tide tables have twenty years of versions. It also stores the page at
// unreadable.
func crawlHarbour(t *testing.T) (h *harbour, data string) {
	t.Helper()
	h, data = startHarbour(t), filepath.Join(t.TempDir(), "data")
	settings := filepath.Join(t.TempDir(), "crawl.yaml")
	program, sandbox := pagecheck.Chromium(t)
	text := fmt.Sprintf("chromium_sandbox: %t\n", sandbox)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	crawl := func(args ...string) {
		t.Helper()
		args = append([]string{"crawl", "--config", settings, "--delay", "0", "--depth", "0"}, args...)
		if said := call(t.Context(), data, args...); said.status != statusDone {
			t.Fatal(said)
		}
	}
	crawl(h.URL+"/news/ferry.html", h.URL+"/news/tide.html", h.URL+"/letters/pier.html", h.URL+"/essays/knots.html",
		h.URL+"/essays/maps.html", h.URL+"/retracted.html", h.URL+"/gull.png", h.URL+"/essays/paper.css")
	addYears(t, data, h.URL+"/news/tide.html")
	h.change(func() {
		h.later = true
		h.robots += "ACAP-request-take-down: /retracted.html\n"
	})
	next := time.Now().Truncate(time.Second).Add(time.Second)
	time.Sleep(time.Until(next)) // versions of the same second have the same address
	crawl("--refetch", "--chromium", program, h.URL+"/news/ferry.html")
	return h, data
}

// addYears stores versions of an archived page, one for each month of the years before it was crawled, and the page
// at unreadable.
func addYears(t *testing.T, data, address string) {
	t.Helper()
	cfg, err := config.Load(config.Input{Flags: map[string]any{"data": data}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := site.Open(cfg, site.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	a := s.Archive()
	list, err := a.Captures(address)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	now := list[0]
	r, _, err := a.Resource(address)
	if err != nil {
		t.Fatal(err)
	}
	for months := 12 * storyYears; months > 0; months-- {
		d := archive.Deposit{Resource: r, Fetched: now.Fetched.AddDate(0, -months, 0), Header: now.Header, Past: true,
			Policy: now.Policy, Decided: now.Decided, Body: fmt.Appendf(nil,
				"<!DOCTYPE html><html lang=en><title>Tide tables</title><p>High water at the pier, table %d.", months)}
		if _, err := a.Receive(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	r.URL = unreadable
	d := archive.Deposit{Resource: r, Fetched: now.Fetched, Header: now.Header, Body: []byte("High water.")}
	if _, err := a.Receive(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/conformance"
	"github.com/acapcrawl/acapcrawl/internal/test/pagecheck"
	"github.com/acapcrawl/acapcrawl/internal/view"
	"github.com/acapcrawl/acapcrawl/site"
)

// crawlNewspaper serves the newspaper, crawls it and opens the data directory.
func crawlNewspaper(t *testing.T) (s *site.Site, newspaper string) {
	t.Helper()
	newspaper, stop, err := serveSite(t.Context(), conformance.NewSite())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	cfg, err := demoConfig(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if _, err := (&Command{}).crawl(t.Context(), cfg, log, newDemo(newspaper).options()); err != nil {
		t.Fatal(err)
	}
	if s, err = site.Open(cfg, site.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, newspaper
}

// serveReaders serves an archive to a visitor with a role, and returns the address of the server.
func serveReaders(t *testing.T, s *site.Site, role view.Role) string {
	t.Helper()
	h, err := newView(s, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := view.Visitor{Base: "http://" + r.Host, Role: role}
		if role != view.Anyone {
			v.Name, v.Token = string(role), "token"
		}
		h.ServeHTTP(w, r.WithContext(view.WithVisitor(r.Context(), v)))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// copyPath finds the link to a copy in a list of versions.
var copyPath = regexp.MustCompile(`href="(/copy/[^"]+)"`)

// pagesOf returns the text of pages by their addresses. If one lists versions, it adds the first copy and a
// comparison.
func pagesOf(t *testing.T, server string, paths ...string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for i := 0; i < len(paths); i++ {
		answer, err := http.Get(server + paths[i])
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
			t.Fatalf("%s: %v, %v", paths[i], answer.Header, err)
		}
		t.Logf("%d %s", answer.StatusCode, paths[i])
		pages[server+paths[i]] = string(text)
		link := copyPath.FindStringSubmatch(string(text))
		if of, is := strings.CutPrefix(paths[i], "/versions/"); is && link != nil {
			stamp := strings.Split(link[1], "/")[2]
			paths = append(paths, strings.ReplaceAll(link[1], "&amp;", "&"), "/compare/"+stamp+"/"+stamp+"/"+of)
		}
	}
	return pages
}

// TestPages checks every kind of page for readers with html-validate, and with axe-core in Chromium: no violation of
// WCAG 2.2, and no page is wider than the window.
func TestPages(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	s, newspaper := crawlNewspaper(t)
	host, ferry := strings.TrimPrefix(newspaper, "http://"), newspaper+"/news/ferry.html"
	pages := pagesOf(t, serveReaders(t, s, view.Anyone), "/", "/search?q=ferry", "/search?q=nothing.at/all",
		"/search?q=ferry&after=yesterday", "/sites",
		"/sites/"+host, "/sites/other.example", "/versions/"+ferry, "/versions/"+newspaper+"/news/live/council.html",
		"/versions/"+newspaper+"/special/noarchive.html", "/versions/x", "/explain",
		"/explain?url="+url.QueryEscape(ferry), "/docs")
	maps.Copy(pages, pagesOf(t, serveReaders(t, s, view.Operator), "/", "/sites", "/sites/"+host))
	t.Run("html", func(t *testing.T) { pagecheck.Validate(t, pages) })
	t.Run("axe", func(t *testing.T) { pagecheck.Axe(t, slices.Sorted(maps.Keys(pages))) })
}

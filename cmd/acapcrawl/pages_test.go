package main

import (
	"context"
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

	"github.com/acapcrawl/acapcrawl/conformance"
	"github.com/acapcrawl/acapcrawl/internal/pagecheck"
	"github.com/acapcrawl/acapcrawl/site"
	"github.com/acapcrawl/acapcrawl/view"
)

// readersOf crawls the newspaper and serves its archive to a visitor with a role. It returns the address
// of the server and that of the newspaper.
func readersOf(t *testing.T, role view.Role) (archive, newspaper string) {
	t.Helper()
	ctx := context.Background()
	newspaper, stop, err := serveSite(ctx, conformance.NewSite())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	cfg, err := demoConfig(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if _, err := (&Command{}).crawl(ctx, cfg, log, newDemo(newspaper).options()); err != nil {
		t.Fatal(err)
	}
	s, err := site.Open(cfg, site.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	h, err := newView(s, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := view.Visitor{Base: "http://" + r.Host, Role: role}
		if role != view.Anyone {
			v.Name, v.Token = string(role), "token"
		}
		h.ServeHTTP(w, r.WithContext(view.WithVisitor(r.Context(), v)))
	}))
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, newspaper
}

// copyPath finds the link to a copy in a list of versions.
var copyPath = regexp.MustCompile(`href="(/copy/[^"]+)"`)

// pagesOf returns the text of every kind of page by its address.
func pagesOf(t *testing.T, archive, newspaper string) map[string]string {
	t.Helper()
	host := strings.TrimPrefix(newspaper, "http://")
	ferry := newspaper + "/news/ferry.html"
	paths := []string{"/", "/search?q=ferry", "/search?q=nothingatall", "/sites", "/sites/" + host, "/sites/other.example",
		"/versions/" + ferry, "/versions/" + newspaper + "/news/live/council.html", "/versions/" + newspaper + "/never",
		"/versions/x", "/explain", "/explain?url=" + url.QueryEscape(ferry), "/requests", "/requests/1", "/login", "/docs"}
	pages := map[string]string{}
	for i := 0; i < len(paths); i++ {
		address := archive + paths[i]
		answer, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
			t.Fatalf("%s: %v, %v", address, answer.Header, err)
		}
		t.Logf("%d %s", answer.StatusCode, paths[i])
		pages[address] = string(text)
		if link := copyPath.FindStringSubmatch(string(text)); link != nil && strings.HasPrefix(paths[i], "/versions/") {
			copied := strings.ReplaceAll(link[1], "&amp;", "&")
			stamp := strings.Split(copied, "/")[2]
			paths = append(paths, copied, "/compare/"+stamp+"/"+stamp+"/"+ferry)
		}
	}
	return pages
}

// TestPages checks every kind of page, as everybody and as the operator, with html-validate, and with
// axe-core in Chromium: no violation of WCAG 2.2, and no page is wider than the window.
func TestPages(t *testing.T) {
	for _, role := range []view.Role{view.Anyone, view.Operator} {
		t.Run("role "+string(role), func(t *testing.T) {
			archive, newspaper := readersOf(t, role)
			pages := pagesOf(t, archive, newspaper)
			t.Run("html", func(t *testing.T) { pagecheck.Validate(t, pages) })
			t.Run("axe", func(t *testing.T) { pagecheck.Axe(t, slices.Sorted(maps.Keys(pages))) })
		})
	}
}

package view

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

var linkAttributes = regexp.MustCompile(`\s(?:href|src)="([^"]*)"`)

// TestLinks follows all links of pages of this server, and checks that none leads to nothing. The address of an
// archived page may contain characters that templates, browsers or servers treat in a special way.
func TestLinks(t *testing.T) {
	for _, path := range []string{"/paren(1)", "/quote'x", "/a//b/../c", "/a;b=c,d", "/%2F%25%28", "/ü?ü=1&b='(2)'",
		"/?",
		"/a*!$~@:b", "/http://other.example//x?y", "/a|b^c`d", "/%zz", "/a\"b<c>"} {
		s, h := stocked(t)
		page := stock.Site + path
		normal, err := target(page)
		if err != nil {
			t.Fatal(err)
		}
		sent := strings.TrimPrefix(normal, stock.Site)
		s.Hold(sent, "<title>Limpets</title><p>Limpets cling.", noon)
		s.Hold(sent, "<title>Limpets</title><p>Limpets cling to rocks.", noon.AddDate(0, 1, 0))
		seen, queue := map[string]bool{}, []string{"/search?q=limpets", "/versions/" + page, "/"}
		for ; len(queue) > 0; queue = queue[1:] {
			sent := queue[0]
			if seen[sent] {
				continue
			}
			seen[sent] = true
			w := ask(h, "GET", sent, "Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "same-origin")
			if w.Code == 302 {
				queue = append(queue, strings.TrimPrefix(w.Header().Get("Location"), base))
				continue
			}
			if w.Code != 200 && !strings.HasPrefix(sent, "/explain") && sent != "/sites" { // not part of this test
				t.Errorf("%s: %s leads to status %d", path, sent, w.Code)
			}
			if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || strings.HasPrefix(sent, "/raw/") {
				continue
			}
			for _, link := range linkAttributes.FindAllStringSubmatch(w.Body.String(), -1) {
				to, _, _ := strings.Cut(html.UnescapeString(link[1]), "#")
				if strings.HasPrefix(to, "/") {
					queue = append(queue, to)
				} else if strings.HasPrefix(to, "http") && to != normal {
					t.Errorf("%s: %s has a link to %s", path, sent, to)
				}
			}
		}
		for _, kind := range []string{"/copy/", "/raw/", "/compare/", "/versions/", "/timemap/", "/feed.atom?"} {
			found := false
			for sent := range seen {
				found = found || strings.HasPrefix(sent, kind)
			}
			if !found {
				t.Errorf("%s: no link to %s among %v", path, kind, seen)
			}
		}
	}
}

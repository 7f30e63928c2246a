package view

import (
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/pagecheck"
	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

// TestFollow checks the answer to a click in the frame of the viewer: never a copy, but a link to the viewer of the
// copy, if the viewer shows it.
func TestFollow(t *testing.T) {
	for _, c := range []struct {
		robots, path string
		status       int
		linked       bool
	}{
		{"", "/a", 200, true},
		{"ACAP-allow-present: / prohibited-context=within-user-frame", "/a", 200, true},
		{"ACAP-allow-present: / must-include-resource=the-acap:credit:text:Quay", "/a", 200, true},
		{"ACAP-disallow-present-currentcopy: /", "/a", 451, false},
		{"ACAP-disallow-present: /", "/a", 404, false},
		{"ACAP-request-take-down: /a", "/a", 410, false},
		{"", "/never", 404, false},
	} {
		s, h := stocked(t)
		s.Hold("/a", "<p>secret", noon)
		s.SetRobots(c.robots)
		sent := "/raw/20260301000000/" + stock.Site + c.path
		w := ask(h, "GET", sent, fromFrame...)
		body, head := w.Body.String(), w.Header()
		if w.Code != c.status || strings.Contains(body, "secret") || head.Get("Memento-Datetime") != "" ||
			head.Get("Content-Security-Policy") != framedPolicy ||
			!strings.Contains(head.Get("Cache-Control"), "no-store") {
			t.Errorf("%s: %d %v %s", c.robots, w.Code, head, body)
		}
		link := `href="` + at("/copy/", c.path) + `" target="_top"`
		if strings.Contains(body, link) != c.linked || strings.Contains(body, "<script") ||
			!strings.Contains(body, `You followed a link to <span class="address">`+stock.Site+c.path+"</span>") {
			t.Errorf("%s: %s", c.robots, body)
		}
		if w := ask(h, "HEAD", sent, fromFrame...); w.Code != c.status || w.Body.Len() > 0 {
			t.Errorf("HEAD: %d", w.Code)
		}
	}
	s, h := stocked(t)
	s.Hold("/a", "<p>x", noon)
	pages := map[string]string{}
	for _, path := range []string{"/a", "/never"} {
		pages[path] = ask(h, "GET", at("/raw/", path), fromFrame...).Body.String()
	}
	pagecheck.Validate(t, pages)
}

// TestClick clicks in Chromium on links in the frame of the viewer. A copy cannot change the window. A link
// within the frame leads to a page of this server, whose link opens the viewer of the other copy.
func TestClick(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	tab := pagecheck.Browse(t)
	s, h := stocked(t)
	s.Hold("/a",
		`<!doctype html><a href=/top target=_top style="position:absolute;top:0;left:0;width:300px;height:100px">`+
			`top</a><a href=/b style="position:absolute;top:100px;left:0;width:300px;height:100px">b</a>`+
			`<meta http-equiv=refresh content="0;url=/refresh">`, noon)
	s.Hold("/b", "<p>b", noon)
	server := record(t, h, nil)
	tab.Open(server.URL + at("/copy/", "/a"))
	tab.ClickFrame(50, 20, 150, server.awaits(t, "200 "+at("/raw/", "/b"))) // begins with clicks that do nothing
	if got := tab.Address(); got != server.URL+at("/copy/", "/a") {
		t.Errorf("the window shows %s", got)
	}
	tab.ClickFrame(50, 110, 300, server.awaits(t, "200 "+at("/copy/", "/b")))
	for _, request := range server.requested() {
		if strings.Contains(request, "/top") || strings.Contains(request, "/refresh") {
			t.Errorf("the copy requested %s", request)
		}
	}
}

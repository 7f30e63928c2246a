package view

import (
	"net/http"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/stock"
	"github.com/acapcrawl/acapcrawl/page"
)

// TestRendered checks that readers see the document that scripts made of a page, as UTF-8, and
// that they are told so. If a modification is prohibited, they see the page as it was sent. What an element of the
// document prohibits is left out.
func TestRendered(t *testing.T) {
	const sent = "<title>x</title><p id=app>caf\xe9</p><script>fetch('/a.json')</script>"
	hop := page.Hop{URL: stock.Site + "/app", Method: http.MethodGet, Status: http.StatusOK, Start: noon,
		Header: http.Header{"Content-Type": {"text/html; charset=iso-8859-1"}}, Body: []byte(sent),
		Rendered: []byte("<!DOCTYPE html><html><head><title>Timetable</title></head>" +
			"<body><p>Zoë’s ferry <a href=\"/b\">b</a></p>" +
			"<p class=\"the-acap:disallow-present-currentcopy\">not this</p>" +
			"<script>fetch('/a.json')</script></body></html>")}
	s, h := stocked(t)
	s.HoldHop(hop)
	w := ask(h, "GET", at("/raw/", "/app"))
	body := w.Body.String()
	if w.Code != 200 || !strings.Contains(body, "Zoë’s ferry") ||
		!strings.Contains(body, "/raw/20260105120000/"+stock.Site+"/b") ||
		w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d, %s: %s", w.Code, w.Header().Get("Content-Type"), body)
	}
	for _, secret := range []string{"not this", "caf"} {
		if strings.Contains(body, secret) {
			t.Errorf("%q is shown: %s", secret, body)
		}
	}
	if w = ask(h, "GET", at("/copy/", "/app")); !strings.Contains(w.Body.String(), "after its scripts ran") ||
		!strings.Contains(w.Body.String(), "Timetable") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	if w = ask(h, "GET", "/api/v1/show?sent=true&url="+hop.URL); w.Code != 200 ||
		strings.Contains(w.Body.String(), `"rendered":true`) {
		t.Errorf("as sent: %d: %s", w.Code, w.Body)
	}

	s, h = stocked(t)
	s.SetRobots("ACAP-allow-present: / prohibited-modification=any")
	hop.Rendered = []byte(strings.Replace(string(hop.Rendered),
		" class=\"the-acap:disallow-present-currentcopy\"", "", 1))
	s.HoldHop(hop)
	if w = ask(h, "GET", at("/raw/", "/app")); w.Code != 200 || w.Body.String() != sent {
		t.Errorf("unmodified: %d: %s", w.Code, w.Body)
	}
}

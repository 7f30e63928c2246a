package view

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

// TestLabel checks that the label of a copy has one meaning, and which names have no label.
func TestLabel(t *testing.T) {
	for page, want := range map[string]string{
		"http://quay.example/a":             "20260105120000h-#-quay-example",
		"https://quay.example/":             "20260105120000s-#-quay-example",
		"http://quay.example:8080/a?b=c":    "20260105120000h8080-#-quay-example",
		"http://my-quay.example/":           "20260105120000h-#-my--quay-example",
		"http://xn--kai-zna.example/":       "20260105120000h-#-xn----kai--zna-example",
		"http://192.0.2.7:81/":              "20260105120000h81-#-192-0-2-7",
		"http://[2001:db8::7]/":             "",
		"http://quay-.example/":             "20260105120000h-#-quay---example",
		"http://quay.-example/":             "", // it would have the label of quay-.example
		"http://a.b--c.example/":            "20260105120000h-#-a-b----c-example",
		"http://" + strings.Repeat("a", 36): "20260105120000h-#-" + strings.Repeat("a", 36),
		"http://" + strings.Repeat("a", 37): "",
	} {
		got, ok := labelOf(noon, page)
		if want = strings.Replace(want, "#", digestOf(page), 1); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %t", page, got, ok)
		}
	}
	for _, text := range []string{"", "www", "20260105120000h", "20260105120000h-aa", "20260105120000h-aa-",
		"20260105120000x-aa-quay", "20261305120000h-aa-quay", "20260105120000h99999-aa-quay",
		"20260105120000h80-aa-quay", "20260105120000h-aa-QUAY", "20260105120000h-aa-quay/x", "2026010512000"} {
		if l, ok := parseLabel(text); ok {
			t.Errorf("%q: %v", text, l)
		}
	}
}

// FuzzLabel checks that a label is of one site only.
func FuzzLabel(f *testing.F) {
	f.Add("http://a-.b.example/x?y")
	f.Add("https://xn--a.-b--c.example:81/")
	f.Fuzz(func(t *testing.T, page string) {
		normal, err := target(page)
		if err != nil {
			return
		}
		if name, ok := labelOf(noon, normal); ok {
			if l, ok := parseLabel(name); !ok || l.at != noon || originOf(normal) != l.origin ||
				strings.Contains(name, ".") {
				t.Errorf("%s: %s means %v", normal, name, l)
			}
		}
	})
}

// below returns a visitor whose request is below the replay domain, for the copy of a path at noon.
func below(t *testing.T, path string) Visitor {
	t.Helper()
	name, ok := labelOf(noon, stock.Site+path)
	if !ok {
		t.Fatal(path)
	}
	return Visitor{Base: base, Label: name, Ancestors: base + " http://localhost"}
}

// TestReplay checks the answers below the replay domain: the copy in the frame and its parts as they were sent, and
// for everything else no copy.
func TestReplay(t *testing.T) {
	s, h := stocked(t)
	s.Hold("/a", "<!doctype html><a href=/b>b</a><img src=/i.png>", noon)
	s.Hold("/b", "<!doctype html>secret b", noon.Add(time.Hour))
	hold(s, "/s.css", "text/css", "a{background:url(/i.png)}", "Set-Cookie", "a=b")
	s.HoldPicture("/i.png", noon.AddDate(1, 0, 0))
	for path, to := range map[string]string{"/moved": "/i.png", "/left": "https://far.example/x"} {
		s.HoldAnswer(stock.Site+path, http.StatusFound, http.Header{"Location": {to}}, []byte{}, noon)
	}
	s.SetRobots("ACAP-disallow-present: /hidden\nACAP-allow-present: /a prohibited-modification=any")
	s.Hold("/hidden", "secret", noon)
	who := below(t, "/a")
	for _, c := range []struct {
		path     string
		header   []string
		status   int
		location string
		part     string // of the body
	}{
		{"/a", fromFrame, 200, "", "<!doctype html><a href=/b>b</a><img src=/i.png>"},
		{"/a", nil, 302, base + at("/raw/", "/a"), ""},
		{"/a", fromCopy, 200, "", "<!doctype html>"},
		{"/b", fromFrame, 200, "", `href="` + base + "/copy/20260105130000/" + stock.Site + `/b" target="_top"`},
		{"/s.css", fromCopy, 200, "", "a{background:url(/i.png)}"},
		{"/i.png", fromCopy, 200, "", "\x89PNG"},
		{"/moved", fromCopy, 302, "/i.png", ""},
		{"/left", fromCopy, 302, "", ""},
		{"/hidden", fromCopy, 404, "", ""},
		{"/hidden", fromFrame, 404, "", ""},
		{"/never", fromCopy, 404, "", ""},
		{"/robots.txt", nil, 200, "", "Disallow: /\n"},
		{"/search?q=secret", nil, 302, base + at("/raw/", "/search?q=secret"), ""},
	} {
		w := askFrom(h, who, "GET", c.path, c.header...)
		body, head := w.Body.String(), w.Header()
		if w.Code != c.status || head.Get("Location") != c.location || !strings.Contains(body, c.part) ||
			strings.Contains(body, "secret") || head.Get("Set-Cookie") != "" {
			t.Errorf("%s %v: %d %v %s", c.path, c.header, w.Code, head, body)
		}
		if w.Code == 200 && c.path != "/robots.txt" {
			policy := head.Get("Content-Security-Policy")
			if !strings.HasSuffix(policy, "frame-ancestors "+who.Ancestors) ||
				head.Get("Cache-Control") != "private, no-store" {
				t.Errorf("%s: %v", c.path, head)
			}
		}
	}
	if w := askFrom(h, who, "POST", "/a", fromFrame...); w.Code != 405 {
		t.Errorf("POST: %d", w.Code)
	}
	who.Label = "www"
	if w := askFrom(h, who, "GET", "/a", fromFrame...); w.Code != 404 {
		t.Errorf("another label: %d", w.Code)
	}
	if at, origin := replayAddress(Visitor{}, present.Version{}); at != "" || origin != "" {
		t.Error("without a replay domain there are addresses below it")
	}
}

// TestReplayDomain checks in Chromium that a copy which must not be modified has the images and styles whose
// addresses begin with a slash, and that a click leads to the viewer of the other copy.
func TestReplayDomain(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	s, h := stocked(t)
	s.SetRobots("ACAP-allow-present: / prohibited-modification=any")
	s.Hold("/d/a", "<!doctype html><link rel=stylesheet href=/s.css><p>a<img src=/i.png>"+
		"<img src="+stock.Site+"/far.png><img src=//far.localhost/i.png>", noon)
	hold(s, "/s.css", "text/css", "@font-face{font-family:f;src:url(/f.woff2)}p{font-family:f;background:url(b.png)}")
	s.HoldPicture("/i.png", noon)
	s.HoldPicture("/b.png", noon.Add(2*time.Second))
	hold(s, "/f.woff2", "font/woff2", "")
	server := record(t, h, nil)
	server.replay = "replay.localhost"
	b := startBrowser(t)
	b.open(t, server, at("/copy/", "/d/a"), "200 /d/a", "200 /s.css", "200 /i.png", "200 /b.png", "200 /f.woff2")
	if hosts := b.hosts(t); len(hosts) > 0 {
		t.Errorf("Chromium contacts %v", hosts)
	}
}

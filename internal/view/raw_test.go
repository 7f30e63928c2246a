package view

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

// noon is when the pages of these tests were fetched.
var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// at is the path of a page of the stock, fetched at noon, with a prefix such as "/raw/".
func at(prefix, path string) string { return prefix + "20260105120000/" + stock.Site + path }

// hold archives an answer with status 200, fetched at noon. Header holds names and values.
func hold(s *stock.Stock, path, kind, body string, header ...string) {
	h := http.Header{"Content-Type": {kind}}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	s.HoldAnswer(stock.Site+path, http.StatusOK, h, []byte(body), noon)
}

// In the viewer, in its frame after a click, and within a copy: what a browser sends.
var (
	fromViewer = []string{"Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "same-origin"}
	fromFrame  = []string{"Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "cross-site"}
	fromCopy   = []string{"Sec-Fetch-Dest", "image", "Sec-Fetch-Site", "cross-site"}
)

// TestRawUnmodified checks that a page whose terms prohibit a modification is sent byte for byte as it is shown by
// the presenter, whatever the page contains.
func TestRawUnmodified(t *testing.T) {
	for _, modification := range []string{"any", "format", "style", "translation", "annotation", "appearance",
		"content", "metadata", "structure"} {
		s, h := stocked(t)
		body := "\ufeff<!doctype html>\r\n<a href=/b>b</a><img src='http://other.example/i.png'><base href=x>\x00\xff"
		hold(s, "/a", "text/html; charset=utf-8", body)
		s.SetRobots("ACAP-allow-present: / prohibited-modification=" + modification)
		w := ask(h, "GET", at("/raw/", "/a"))
		shown, err := s.Copy(context.Background(), stock.Site+"/a", present.Which{}, present.Reader{})
		if err != nil || w.Code != 200 || w.Body.String() != body || string(shown.Body) != body {
			t.Errorf("%s: %d %q, %v", modification, w.Code, w.Body, err)
		}
	}
}

// TestRawRewritten checks that links and images of a page that may be modified lead to archived copies.
func TestRawRewritten(t *testing.T) {
	s, h := stocked(t)
	hold(s, "/d/a", "text/html; charset=iso-8859-1",
		"<a href='b?x=1&amp;y=2#c'>caf\xe9</a><img src=//other.example/i.png>"+
			"<link rel=stylesheet href=/s.css><link rel=preconnect href=https://evil.example>"+
			"<a href='/%2e%2e/%2e%2e/logout'>")
	hold(s, "/s.css", "text/css", "@import 'http://evil.example/x.css'; a{background:url(i.png)}")
	hold(s, "/d/b?x=1&y=2", "text/html", "<p>target")
	w := ask(h, "GET", at("/raw/", "/d/a"))
	raw := "/raw/20260105120000/"
	want := `<a href="` + raw + stock.Site + `/d/b?x=1&amp;y=2#c">café</a>` +
		`<img src="` + raw + `http://other.example/i.png">` +
		`<link rel=stylesheet href="` + raw + stock.Site + `/s.css"><link rel=preconnect href="` + raw +
		`https://evil.example/"><a href="` + raw + stock.Site + `/logout">`
	if w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d %s\n%s\nwant %s", w.Code, w.Header().Get("Content-Type"), w.Body, want)
	}
	if w := ask(h, "GET", raw+stock.Site+"/d/b?x=1&y=2"); w.Code != 200 || w.Body.String() != "<p>target" {
		t.Errorf("the link leads to %d %s", w.Code, w.Body)
	}
	w = ask(h, "GET", at("/raw/", "/s.css"))
	want = `@import "` + raw + `http://evil.example/x.css"; a{background:url("` + raw + stock.Site + `/i.png")}`
	if w.Body.String() != want || w.Header().Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%s, want %s", w.Body, want)
	}
}

// TestRawHeader checks all header fields of a copy: those of this server, and which archived ones remain.
func TestRawHeader(t *testing.T) {
	s, h := stocked(t)
	hold(s, "/a", "text/html", "<p>a", "Set-Cookie", "a=b", "Content-Security-Policy", "default-src *", "Refresh",
		"0;url=//evil.example", "Link", "<https://evil.example>; rel=preconnect", "Alt-Svc", `h3="evil.example:443"`,
		"Strict-Transport-Security", "max-age=1", "Clear-Site-Data", `"*"`, "Service-Worker-Allowed", "/", "Location",
		"http://evil.example", "Access-Control-Allow-Origin", "*", "Nel", "{}", "Report-To", "{}", "Sourcemap", "/m",
		"Content-Disposition", "inline", "X-Frame-Options", "DENY", "Content-Encoding", "identity", "Etag", `"x"`,
		"Last-Modified", "Mon, 05 Jan 2026 12:00:00 GMT", "Vary", "accept-datetime", "Memento-Datetime", "x",
		"Content-Language", "en", "Content-Usage", "train-ai=n", "Tdm-Reservation", "1", "Tdm-Policy", "x\r\ny: z")
	w := ask(h, "GET", at("/raw/", "/a"))
	link := w.Header().Get("Link")
	want := http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Content-Length": {"4"},
		"Content-Security-Policy": {"sandbox; default-src 'none'; img-src 'self' data:; " +
			"style-src 'self' 'unsafe-inline'; " +
			"font-src 'self' data:; media-src 'self'; script-src 'none'; connect-src 'none'; frame-src 'none'; " +
			"form-action 'none'; base-uri 'none'; frame-ancestors 'self'"},
		"X-Content-Type-Options": {"nosniff"}, "Referrer-Policy": {"no-referrer"}, "X-Dns-Prefetch-Control": {"off"},
		"Cache-Control": {"private, no-store"}, "X-Robots-Tag": {"noindex, noarchive"},
		"Memento-Datetime": {"Mon, 05 Jan 2026 12:00:00 GMT"}, "Link": {link}, "Content-Language": {"en"},
		"Content-Usage": {"train-ai=n"}, "Tdm-Reservation": {"1"}}
	for name := range want {
		if got := w.Header()[name]; !slices.Equal(got, want[name]) {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, got := range w.Header() {
		if want[name] == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, rel := range []string{"original", "timegate", "timemap", "first last memento"} {
		if !strings.Contains(link, `rel="`+rel+`"`) {
			t.Errorf("no link %s in %s", rel, link)
		}
	}
}

// TestRawTimes checks which version answers a time.
func TestRawTimes(t *testing.T) {
	s, h := stocked(t)
	for n, body := range []string{"<p>one", "<p>two", "<p>three"} {
		s.Hold("/a", body, noon.AddDate(0, n, 0))
	}
	raw := func(stamp string) string { return "/raw/" + stamp + "/" + stock.Site + "/a" }
	for stamp, want := range map[string]string{"20250101000000": "20260105120000", "20260105120001": "20260105120000",
		"20260205115959": "20260105120000", "20260301000000": "20260205120000", "20300101000000": "20260305120000"} {
		w := ask(h, "GET", raw(stamp))
		if w.Code != 302 || w.Header().Get("Location") != base+raw(want) || w.Header().Get("Memento-Datetime") != "" ||
			w.Header().Get("Cache-Control") != "private, no-store" ||
			!strings.Contains(w.Header().Get("Link"), `rel="original"`) {
			t.Errorf("%s: %d %v", stamp, w.Code, w.Header())
		}
	}
	if w := ask(h, "HEAD", raw("20260205120000")); w.Code != 200 || w.Body.Len() > 0 ||
		w.Header().Get("Content-Length") != "6" {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
	for _, sent := range []string{raw("2026"), raw("20261305120000"), "/raw/20260105120000",
		"/raw/20260105120000/quay.example",
		"/raw/20260105120000/ftp://quay.example/", "/raw//", "/raw/20260105120000/http:/quay.example/a"} {
		if w := ask(h, "GET", sent); w.Code != 400 || w.Header().Get("Memento-Datetime") != "" {
			t.Errorf("%s: %d", sent, w.Code)
		}
	}
	s.SetRobots("ACAP-disallow-present-oldcopy: /")
	w := ask(h, "GET", raw("20260105120000"))
	if w.Code != 302 || w.Header().Get("Location") != base+raw("20260305120000") {
		t.Errorf("only the current copy may be shown: %d %v", w.Code, w.Header())
	}
}

// TestRawStatus checks archived redirects and errors, which are versions with a Memento-Datetime, and answers about
// pages that may not be shown, which are not.
func TestRawStatus(t *testing.T) {
	s, h := stocked(t)
	for path, location := range map[string]string{"/r": "/b?c", "/away": "https://other.example/x",
		"/odd": "javascript:alert(1)", "/split": "/x\r\nSet-Cookie: a=b", "/host": "//evil.example/\\@quay.example"} {
		s.HoldAnswer(stock.Site+path, 301, http.Header{"Location": {location}}, []byte{}, noon)
	}
	s.HoldAnswer(stock.Site+"/gone", 404, http.Header{"Content-Type": {"text/plain"}}, []byte("no such page"), noon)
	s.HoldAnswer(stock.Site+"/broken", 503, http.Header{"Content-Type": {"text/plain"}, "Retry-After": {"9"}},
		[]byte("later"), noon)
	for path, want := range map[string]string{"/r": "/raw/20260105120000/" + stock.Site + "/b?c",
		"/away": "/raw/20260105120000/https://other.example/x", "/odd": "", "/split": "",
		"/host": "/raw/20260105120000/http://evil.example/%5C@quay.example"} {
		w := ask(h, "GET", at("/raw/", path))
		if w.Code != 301 || w.Header().Get("Location") != want || w.Header().Get("Memento-Datetime") == "" ||
			w.Body.Len() > 0 {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	for path, status := range map[string]int{"/gone": 404, "/broken": 503} {
		w := ask(h, "GET", at("/raw/", path))
		if w.Code != status || w.Header().Get("Memento-Datetime") == "" || w.Header().Get("Retry-After") != "" ||
			w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	s.Hold("/a", "<p>a", noon)
	for _, c := range []struct {
		robots string
		status int
	}{{"ACAP-disallow-present: /", 404}, {"ACAP-disallow-present-currentcopy: /", 451},
		{"ACAP-request-take-down: /a", 410}} {
		s.SetRobots(c.robots)
		for _, prefix := range []string{"/raw/", "/copy/", "/compare/20260105120000/"} {
			w := ask(h, "GET", at(prefix, "/a"))
			if w.Code != c.status || w.Header().Get("Memento-Datetime") != "" ||
				w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s, %s: %d %v", c.robots, prefix, w.Code, w.Header())
			}
			never := strings.ReplaceAll(ask(h, "GET", at(prefix, "/b")).Body.String(), stock.Site+"/b<",
				stock.Site+"/a<")
			if c.status == 404 && never != w.Body.String() {
				t.Errorf("%s: a page never archived looks different", prefix)
			}
		}
	}
	s.SetUnread()
	if w := ask(h, "GET", at("/raw/", "/a")); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("no policy: %d", w.Code)
	}
}

// TestRawPlace checks terms about where a copy is shown: by itself, in the frame of the viewer, or within a copy.
func TestRawPlace(t *testing.T) {
	for _, c := range []struct {
		terms               string
		alone, viewer, part int
	}{
		{"", 200, 200, 200},
		{"prohibited-context=within-user-frame", 200, 451, 451},
		{"required-context=within-user-frame", 451, 200, 451},
		{"required-context=within-original-frame", 451, 451, 451},
		{"must-include-resource=the-acap:credit:text:Quay%20Press", 302, 200, 451},
	} {
		s, h := stocked(t)
		hold(s, "/i.png", "image/png", "\x89PNG\r\n\x1a\n")
		s.SetRobots("ACAP-allow-present: / " + c.terms)
		for _, place := range []struct {
			header []string
			want   int
		}{{nil, c.alone}, {[]string{"Sec-Fetch-Dest", "document"}, c.alone}, {fromViewer, c.viewer},
			{fromCopy, c.part}} {
			if w := ask(h, "GET", at("/raw/", "/i.png"), place.header...); w.Code != place.want {
				t.Errorf("%s, %v: %d, want %d", c.terms, place.header, w.Code, place.want)
			}
		}
	}
}

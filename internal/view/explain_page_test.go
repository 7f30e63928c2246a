package view

import (
	"html"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// TestExplainAgain checks that a value that cannot be used leads to the form with everything that was sent, and with
// a message next to the field.
func TestExplainAgain(t *testing.T) {
	h := explorer(t, &stored{who: acap.Crawler{Names: []string{"gazer"}}})
	for name, c := range map[string]struct{ value, label, must string }{
		"as_of":          {"soon", "As of", "needs a time such as 2026-01-31T12:00:00Z"},
		"headers":        {"X-Robots-Tag: noindex\nno header", "Response headers", "needs a header in line 2"},
		"url":            {"ftp://quay.example/", "Address or path of the page", "needs a whole address"},
		"reader_ip":      {"1.2.3", "IP address of the reader", "needs an IP address"},
		"reader_domain":  {"a/b", "Domain of the reader", "needs a domain name"},
		"reader_country": {"BEL", "Country of the reader", "needs a country code"},
		"crawler":        {strings.Repeat("a ", 30), "Crawler", "may have at most 20 names"},
	} {
		fields := map[string]string{"robots": quayRobots, "page": "<title>kept</title>"}
		fields[name] = c.value
		w := paste(t, h, fields)
		body := html.UnescapeString(w.Body.String())
		for _, part := range []string{`<a href="#post-` + name + `">` + c.label + "</a> " + c.must,
			`id="post-` + name + `-wrong" class="no">This ` + c.must, `aria-invalid="true"`, quayRobots,
			"<title>kept</title>", strings.TrimSpace(c.value)} {
			if !strings.Contains(body, part) {
				t.Errorf("%s: no %q in %s", name, part, body)
			}
		}
		if w.Code != 400 || strings.Contains(body, name+" needs") || strings.Contains(body, "u-crawl") ||
			strings.Count(body, "aria-invalid") != 1 {
			t.Errorf("%s: %d %s", name, w.Code, body)
		}
	}
	nothing := paste(t, h, map[string]string{"url": "/kept"}).Body.String()
	mustContain(t, "the form without texts", nothing, "paste one of them", `value="/kept"`)
	for _, sent := range []string{"/foo", "//host.example/x", "quay.example"} {
		w := get(h, "GET", "/explain?crawler=owlbot&url="+url.QueryEscape(sent))
		if body := w.Body.String(); w.Code != 400 || !strings.Contains(body, `value="`+sent+`"`) ||
			!strings.Contains(body, `id="get-url-wrong"`) || strings.Contains(body, "example.com") ||
			!strings.Contains(body, "<details open>") {
			t.Errorf("%s: %d %s", sent, w.Code, body)
		}
	}
}

// TestExplainScheme checks that the letter case of a scheme does not matter.
func TestExplainScheme(t *testing.T) {
	s := &stored{who: acap.Crawler{Names: []string{"gazer"}},
		robots: map[string]string{"http://quay.example": quayRobots}}
	h := explorer(t, s)
	for _, path := range []string{"/explain", "/api/v1/explain"} {
		if w := get(h, "GET", path+"?url=HTTP://Quay.example/p/a"); w.Code != 200 || len(s.asked) == 0 ||
			s.asked[len(s.asked)-1].URL.String() != "http://quay.example/p/a" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestExplainEmpty checks that the page does not say that a policy was read if none was.
func TestExplainEmpty(t *testing.T) {
	h := explorer(t, &stored{who: acap.Crawler{Names: []string{"gazer"}}})
	for _, fields := range []map[string]string{{"page": "<p>x", "url": "http://never.example/"},
		{"against": quayRobots}, {"page": "<p>x"}} {
		body := paste(t, h, fields).Body.String()
		if !strings.Contains(body, "so it counts as empty") || strings.Contains(body, "Read on") ||
			strings.Contains(body, "never.example/robots.txt") || strings.Contains(body, "example.com/robots.txt") {
			t.Errorf("%v: %s", fields, body)
		}
	}
}

// TestExplainTakenDown checks what the page says of a request in the ledger, and that only those who are logged in
// get a link to it.
func TestExplainTakenDown(t *testing.T) {
	s := &stored{who: acap.Crawler{Names: []string{"gazer"}}, robots: map[string]string{quay: quayRobots},
		down: &acap.Field{Source: acap.Request, URL: quay, Line: 3,
			Text: `take-down, requested with the credential "gazette"`}}
	h := explorer(t, s)
	for name, linked := range map[string]bool{"": false, "gazette": true} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RequestURI = "/explain?url=" + quay + "/p"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(WithVisitor(r.Context(), Visitor{Users: true, Name: name, Token: name})))
		body, _, _ := strings.Cut(w.Body.String(), `<h2 id="forms">`)
		_, body, _ = strings.Cut(body, "<main")
		mustContain(t, "the page", body, "This page was taken down by the publisher", "request 3",
			"These answers are in force again when the request is withdrawn")
		if strings.Contains(body, "/requests?url=") || strings.Contains(body, "gazette") ||
			strings.Contains(body, ":3:0") || strings.Contains(body, `<a href="/requests/3">`) != linked {
			t.Errorf("%q: %s", name, body)
		}
	}
}

// TestExplainMatrix checks plain words for each usage, limits with their lines, findings above the text, and what is
// shown at once.
func TestExplainMatrix(t *testing.T) {
	robots := "ACAP-crawler: *\nACAP-allow-present-snippet: /\nACAP-allow-present-snippet: /p max-length=20-words\n" +
		"ACAP-allow-present-snippet: /p max-length=10-words\nACAP-disallow-crawl: /p\nACAP-dissallow-index: /\n"
	h := explorer(t, &stored{who: acap.Crawler{Names: []string{"gazer"}}, robots: map[string]string{quay: robots}})
	body := get(h, "GET", "/explain?crawler=owlbot&url="+quay+"/p").Body.String()
	_, rows := answersOf(body)
	for u, words := range map[acap.Usage]string{"present-oldcopy": "show an older copy", "tdm": "text and data mining",
		"crawl": "fetch the page"} {
		if !strings.Contains(rows[u], words) {
			t.Errorf("no %q in %s", words, rows[u])
		}
	}
	if len(rows) != 18 || strings.Contains(body, `<span class="quiet"></span></th>`) {
		t.Errorf("%d rows, or one without words", len(rows))
	}
	mustContain(t, "the row of present-snippet", strings.Join(strings.Fields(rows["present-snippet"]), " "),
		`at most 10 words, by <a href="#s1-4">robots.txt, line 4</a>`)
	mustContain(t, "the page", strings.Join(strings.Fields(body), " "), "owlbot may not fetch this page.",
		`<details open> <summary>crawl: refused</summary> <div id="u-crawl">`,
		"<details> <summary>follow: allowed</summary>", `1 error</strong> in line <a href="#s1-6">6</a>`,
		`<a href="#forms">Change the question</a>`)
	for _, code := range []string{"P1 2", "F07", "[misspelt", "robots.txt:6"} {
		if strings.Contains(body, code) {
			t.Errorf("the page contains %q", code)
		}
	}
	if strings.Contains(body, "<datalist") {
		t.Error("crawlers are suggested, although the file names none")
	}
	mustContain(t, "the page of a server with pages of requests", as(h, Visitor{Users: true},
		"/explain?url="+quay+"/p").Body.String(), `href="/requests?url=http%3a%2f%2fquay.example%2fp"`)
	named := paste(t, h, map[string]string{"robots": "User-agent: owlbot\nDisallow: /\n"}).Body.String()
	mustContain(t, "the page about a file that names a crawler", named, `list="crawlers"`, `<option value="owlbot">`)
}

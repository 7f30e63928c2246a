package view

import (
	"net/http"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

// contains checks that a page contains all texts, and none of those that begin with "!".
func contains(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		text, not := strings.CutPrefix(text, "!")
		if strings.Contains(page, text) == not {
			t.Errorf("%q is in the page: %t\n%s", text, not, page)
		}
	}
}

// TestViewer checks what the viewer says about a copy, and in which form it shows the copy.
func TestViewer(t *testing.T) {
	const sandbox = `<iframe class="copy" sandbox="allow-top-navigation-by-user-activation"`
	frame, alone := sandbox+"\nsrc=\""+at("/raw/", "/a")+`" title=`, `>Open the copy`
	for _, c := range []struct {
		name, robots, kind, body string
		want                     []string
	}{
		{"all", "", "text/html", "<html lang=de><title>Ferry <b></title><p>x", []string{frame, alone,
			`<h1 class="short" lang="de" dir="auto">Ferry &lt;b&gt;</h1>`,
			"<title>Ferry &lt;b&gt;, copy of 5 January 2026, 12:00:00 UTC – acapcrawl</title>",
			"<dd>quay.example</dd>", "5 January 2026, 12:00:00 UTC",
			`<a href="` + stock.Site + `/a" rel="noreferrer noopener">`,
			"“<bdi>Ferry &lt;b&gt;</bdi>”, quay.example, fetched on 5 January 2026, 12:00:00 UTC, " + base +
				at("/copy/", "/a"),
			"<dd>without a time limit</dd>", "!Other terms"}},
		{"no link", "ACAP-disallow-present-link: /", "text/html", "x", []string{frame, `!href="` + stock.Site}},
		{"no modification", "ACAP-allow-present: / prohibited-modification=style", "text/html", "x",
			[]string{frame, "exactly as it was sent", "/robots.txt:3:1", "prohibited-modification=style</code>",
				"robots.txt, line 3", "<dt>Other terms</dt><dd>without modification of style"}},
		{"no modification, and other hosts", "ACAP-allow-present: / prohibited-modification=any", "text/html",
			"<link rel=preconnect href=//evil.example>",
			[]string{"!<iframe", "The element LINK in line 1 would", "download>Save",
				"&lt;link rel=preconnect href=//evil.example&gt;"}},
		{"a time limit", "ACAP-allow-present: / time-limit=until-2126-01-08", "text/html", "x",
			[]string{frame, "<dt>May be shown</dt><dd>until <time", "2126", "!Other terms"}},
		{"a credit", "ACAP-allow-present: / must-include-resource=the-acap:credit:id:by", "text/html",
			"<p id=by>By Ada &amp; Co", []string{frame,
				"<dt>Credit</dt>\n<dd>By Ada &amp; Co</dd>", "!shown only with", "!" + alone}},
		{"a licence", "ACAP-allow-present: / must-include-resource=the-acap:license-link:/l", "text/html", "x",
			[]string{`<dt>Licence</dt>` + "\n" + `<dd><a href="` + stock.Site + `/l" rel="noreferrer noopener">`}},
		{"only in a frame", "ACAP-allow-present: / required-context=within-user-frame", "text/html", "x",
			[]string{frame, "!" + alone}},
		{"not in a frame", "ACAP-allow-present: / prohibited-context=within-user-frame", "text/html", "x",
			[]string{"!<iframe", "does not permit this copy in a frame", alone}},
		{"SVG", "", "image/svg+xml", "<svg/>", []string{`<img class="copy" src="` + at("/raw/", "/a"), "!<iframe"}},
		{"PDF", "", "application/pdf", "%PDF-1.4", []string{"!<iframe", "download>Save", "application/pdf"}},
		{"XML", "", "application/xml", "<a>b</a>", []string{"!<iframe", "download>Save", "&lt;a&gt;b"}},
		{"unknown", "", "application/x-shockwave-flash", "FWS", []string{"!<iframe", "download>Save"}},
		{"text", "", "text/plain", "x", []string{frame}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, h := stocked(t)
			hold(s, "/a", c.kind, c.body)
			s.SetRobots(c.robots)
			w := ask(h, "GET", at("/copy/", "/a"))
			if w.Code != 200 || w.Header().Get("Content-Security-Policy") != ownPolicy ||
				w.Header().Get("Cache-Control") != "private, no-store" || w.Header().Get("Memento-Datetime") != "" {
				t.Errorf("%d %v", w.Code, w.Header())
			}
			contains(t, w.Body.String(), c.want...)
		})
	}
}

// TestViewerVersions checks the links to other versions, and that only versions count that may be shown.
func TestViewerVersions(t *testing.T) {
	s, h := stocked(t)
	for n, body := range []string{"<p>one", "<p>two", "<p>three"} {
		s.Hold("/a", body, noon.AddDate(0, n, 0))
	}
	path := func(stamp string) string { return "/copy/" + stamp + "/" + stock.Site + "/a" }
	first, second, third := path("20260105120000"), path("20260205120000"), path("20260305120000")
	w := ask(h, "GET", second)
	contains(t, w.Body.String(), `rel="prev" href="`+first, `rel="next" href="`+third,
		`"/compare/20260105120000/20260205120000/`+stock.Site+`/a"`, `"/versions/`+stock.Site+`/a"`)
	contains(t, ask(h, "GET", first).Body.String(), "!rel=\"prev\"", "!/compare/", `rel="next" href="`+second)
	for _, robots := range []string{"ACAP-allow-present-oldcopy: / prohibited-modification=annotation",
		"ACAP-allow-present-currentcopy: / prohibited-modification=annotation",
		"ACAP-allow-present: / prohibited-context=within-user-frame"} { // one of both may not be compared
		s.SetRobots(robots)
		contains(t, ask(h, "GET", third).Body.String(), `rel="prev" href="`+second, "!/compare/")
	}
	s.SetRobots("")
	if w := ask(h, "GET", path("20260206000000")); w.Code != 302 || w.Header().Get("Location") != second {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	s.SetRobots("ACAP-disallow-present-oldcopy: /")
	contains(t, ask(h, "GET", third).Body.String(), `!rel="prev"`, "!"+first)
	s.SetRobots("ACAP-allow-present-oldcopy: / prohibited-context=within-user-frame")
	contains(t, ask(h, "GET", first).Body.String(), "!<iframe", `href="/raw/20260105120000/`)
	contains(t, ask(h, "GET", third).Body.String(), "<iframe")
	// the version nearest to a time, in the frame or by itself
	for robots, want := range map[string][3]string{
		"ACAP-allow-present-oldcopy: / prohibited-context=within-user-frame":     {first, second, third},
		"ACAP-allow-present-currentcopy: / prohibited-context=within-user-frame": {first, second, third},
		"ACAP-disallow-present-oldcopy: /\n" +
			"ACAP-allow-present-currentcopy: / prohibited-context=within-user-frame": {third, third, third},
	} {
		s.SetRobots(robots)
		for i, stamp := range []string{"20250101000000", "20260206000000", "20270101000000"} {
			if w := ask(h, "GET", path(stamp)); w.Code != 302 || w.Header().Get("Location") != want[i] {
				t.Errorf("%s, %s: %d %v", robots, stamp, w.Code, w.Header())
			}
		}
	}
}

// TestViewerRedirect checks that the viewer names the target of an archived redirect, without a frame.
func TestViewerRedirect(t *testing.T) {
	s, h := stocked(t)
	s.HoldAnswer(stock.Site+"/r", http.StatusFound, http.Header{"Location": {"/b\">?c"}}, []byte{}, noon)
	s.HoldAnswer(stock.Site+"/odd", http.StatusFound, http.Header{"Location": {"javascript:alert(1)"}}, []byte{}, noon)
	contains(t, ask(h, "GET", at("/copy/", "/r")).Body.String(), "!<iframe",
		`<a href="`+at("/copy/", "/b%22%3E?c")+`">`)
	contains(t, ask(h, "GET", at("/copy/", "/odd")).Body.String(), "!<iframe", "!javascript:", "not a web page")
}

// TestThumbnail checks which thumbnails are sent.
func TestThumbnail(t *testing.T) {
	s, h := stocked(t)
	s.HoldPicture("/i.png", noon)
	s.Hold("/a", "<p>a", noon)
	for _, c := range []struct {
		robots, sent string
		header       []string
		status       int
		title        string
	}{
		{sent: at("/thumbnail/", "/i.png"), status: 200},
		{sent: "/thumbnail/20260106000000/" + stock.Site + "/i.png", status: 302},
		{sent: at("/thumbnail/", "/a"), status: 404, title: "There is no thumbnail of this page"},
		{robots: "ACAP-disallow-present-link: /", sent: at("/thumbnail/", "/a"), status: 404,
			title: "There is no thumbnail of this page"},
		{robots: "ACAP-disallow-present: /", sent: at("/thumbnail/", "/a"), status: 404, title: "Not in this archive"},
		{sent: at("/thumbnail/", "/never"), status: 404, title: "Not in this archive"},
		{sent: "/thumbnail/2026/" + stock.Site + "/i.png", status: 400},
		{robots: "ACAP-disallow-present-thumbnail: /", sent: at("/thumbnail/", "/i.png"), status: 451},
		{robots: "ACAP-disallow-present-currentcopy: /", sent: at("/thumbnail/", "/i.png"), status: 200},
		{robots: "ACAP-disallow-present: /", sent: at("/thumbnail/", "/i.png"), status: 404},
		{robots: "ACAP-request-take-down: /i.png", sent: at("/thumbnail/", "/i.png"), status: 410},
		{robots: "ACAP-allow-present: / prohibited-modification=format", sent: at("/thumbnail/", "/i.png"),
			status: 451},
		{robots: "ACAP-allow-present: / must-include-resource=the-acap:credit:text:Quay",
			sent: at("/thumbnail/", "/i.png"), status: 451},
		{robots: "ACAP-allow-present: / must-include-resource=the-acap:credit:text:Quay",
			sent:   at("/thumbnail/", "/i.png"),
			header: []string{"Sec-Fetch-Dest", "image", "Sec-Fetch-Site", "same-origin"}, status: 200},
	} {
		s.SetRobots(c.robots)
		w := ask(h, "GET", c.sent, c.header...)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.title) {
			t.Errorf("%s, %s: %d %s", c.robots, c.sent, w.Code, w.Body)
		}
		if w.Code == 200 && (!strings.HasPrefix(w.Header().Get("Content-Type"), "image/") || w.Body.Len() == 0 ||
			w.Header().Get("Content-Security-Policy") != copyPolicy ||
			w.Header().Get("Cache-Control") != "private, no-store") {
			t.Errorf("%s: %v, %d bytes", c.sent, w.Header(), w.Body.Len())
		}
	}
}

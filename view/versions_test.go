package view

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/stock"
	"github.com/acapcrawl/acapcrawl/present"
)

// stops returns the elements of a page that the tab key reaches within the main part, in order.
func stops(body string) []string {
	_, body, _ = strings.Cut(body, `<main`)
	return regexp.MustCompile(`<(?:a href|select|button|summary|textarea|input (?:id|name|type="[^h]))[^>]*>`).
		FindAllString(body, -1)
}

// years returns n versions, one every so often, of one page.
func years(n int, every time.Duration) *fixed {
	const page = stock.Site + "/a?b"
	f := &fixed{versions: map[string][]present.Version{}}
	for i := range n {
		entry := present.Entry{URL: page, Version: i + 1, Status: 200, MIME: "text/html",
			Fetched: time.Date(2006, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * every)}
		f.versions[page] = append(f.versions[page], present.Version{Entry: entry,
			Decision: acap.Decision{Allowed: true, Reason: acap.ByPermission}})
	}
	return f
}

// TestVersionsKeyboard checks that with the keyboard alone any of twenty years is reached with five tab
// stops, and that a page stays small: 7,000 versions are listed by year or month.
func TestVersionsKeyboard(t *testing.T) {
	h := handler(t, years(7000, 25*time.Hour))
	w := ask(h, "GET", "/versions/"+stock.Site+"/a?b")
	body := w.Body.String()
	if w.Code != 200 || len(body) > 300_000 {
		t.Errorf("%d, %d bytes", w.Code, len(body))
	}
	list := stops(body)
	if len(list) < 5 || !strings.Contains(list[0], `href="#list"`) || !strings.Contains(list[1], "<select") ||
		!strings.Contains(list[2], "<button") || !strings.Contains(body, `href="#other"`) || strings.Count(body, "<option") != 20 {
		t.Errorf("%d years; %q", strings.Count(body, "<option"), list[:5])
	}
	sent := ask(h, "GET", "/versions?url=http%3A%2F%2Fquay.example%2Fa%3Fb&period=2014")
	if sent.Code != 302 || sent.Header().Get("Location") != "/versions/2014/"+stock.Site+"/a?b#list" {
		t.Fatal(sent.Code, sent.Header())
	}
	body = ask(h, "GET", "/versions/2014/"+stock.Site+"/a?b").Body.String()
	_, rows, _ := strings.Cut(body, `id="list"`)
	if got := strings.Count(rows, `href="/copy/2014`); got != 350 || strings.Count(rows, "/copy/") != got {
		t.Errorf("%d versions of 2014", got)
	}
	for _, part := range []string{`href="/versions/2013/http://quay.example/a?b#list"`,
		`href="/versions/2015/http://quay.example/a?b#list"`,
		`href="/versions/200611/http://quay.example/a?b#list" aria-label="November 2006: 29 versions"`,
		`href="/timemap/link/http://quay.example/a?b"`, `href="/feed.atom?url=http%3A%2F%2Fquay.example%2Fa%3Fb"`} {
		if !strings.Contains(body, part) {
			t.Errorf("%s is missing", part)
		}
	}
}

// TestVersionsPeriods checks which versions a page lists: all if they are few, otherwise those of the
// last year, month or day.
func TestVersionsPeriods(t *testing.T) {
	for _, c := range []struct {
		n      int
		every  time.Duration
		period string
		want   string // heading and number of listed versions
	}{
		{1, time.Hour, "", ` 1`},
		{mostRows, 10 * 24 * time.Hour, "", ` 400`},
		{mostRows + 1, 10 * 24 * time.Hour, "", `2016 35`},
		{mostRows + 1, 10 * 24 * time.Hour, "2009", `2009 37`},
		{mostRows + 1, 10 * 24 * time.Hour, "200902", `February 2009 3`},
		{mostRows + 1, 10 * 24 * time.Hour, "20090203", `3 February 2009 0`},
		{5, 10 * 24 * time.Hour, "2006", `2006 5`},
		{3000, time.Hour, "", `May 2006 120`},
		{3000, time.Hour, "2006", `May 2006 120`},
		{3000, time.Hour, "200602", `28 February 2006 24`}, // too many for a list of the month
		{5000, 30 * time.Second, "", `2 January 2006 2000`},
	} {
		h := handler(t, years(c.n, c.every))
		path := "/versions/"
		if c.period != "" {
			path += c.period + "/"
		}
		body := ask(h, "GET", path+stock.Site+"/a?b").Body.String()
		_, list, _ := strings.Cut(body, `id="list"`)
		name := ""
		if m := regexp.MustCompile(`^[^>]*>\s*<h2>([^<]*)</h2>`).FindStringSubmatch(list); m != nil {
			name = m[1]
		}
		if got := fmt.Sprint(name, " ", strings.Count(list, `href="/copy/`)); got != c.want {
			t.Errorf("%d every %s, %s: %s, want %s", c.n, c.every, c.period, got, c.want)
		}
	}
	h := handler(t, years(1, 1))
	for _, sent := range []string{"/versions/200/", "/versions/200613/", "/versions/20060101000000/", "/versions/0/",
		"/versions/20060230/"} {
		if w := ask(h, "GET", sent+stock.Site+"/a?b"); w.Code != 400 {
			t.Errorf("%s: %d", sent, w.Code)
		}
	}
	for _, sent := range []string{"/versions", "/versions?url=quay.example",
		"/versions?period=200613&url=http://quay.example/"} {
		if w := ask(h, "GET", sent); w.Code != 400 {
			t.Errorf("%s: %d", sent, w.Code)
		}
	}
}

// TestVersionsRows checks what a row says: status, terms with their limits, redirects, and the comparison
// with the version before.
func TestVersionsRows(t *testing.T) {
	s, h := stocked(t)
	at := time.Now().UTC().Truncate(time.Second).Add(-3 * time.Hour)
	for i := range 3 {
		s.Hold("/a", fmt.Sprint("<p>version ", i), at.Add(time.Duration(i)*time.Hour))
	}
	s.SetRobots("ACAP-allow-present-currentcopy: / time-limit=20-days")
	body := ask(h, "GET", "/versions/"+stock.Site+"/a").Body.String()
	for part, n := range map[string]int{"<td>200</td>": 3, ">Compare<": 2, "/robots.txt:3": 1, "until ": 1} {
		if got := strings.Count(body, part); got != n {
			t.Errorf("%s: %d times, want %d", part, got, n)
		}
	}
	s.SetRobots("ACAP-disallow-present-oldcopy: /")
	body = ask(h, "GET", "/versions/"+stock.Site+"/a").Body.String()
	if strings.Count(body, `href="/copy/`) != 1 || strings.Contains(body, ">Compare<") {
		t.Error("versions that may not be shown are listed")
	}
}

package view

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/memento"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/test/stock"
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
		entry := present.Entry{URL: page, Version: i + 1, Status: 200, MIME: "text/html", Digest: fmt.Sprint(i),
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
		!strings.Contains(list[2], "<button") || !strings.Contains(body, `href="#other"`) ||
		strings.Count(body, "<option") != 20 {
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
	versions := func() string { return ask(h, "GET", "/versions/"+stock.Site+"/a").Body.String() }
	body := versions()
	for part, n := range map[string]int{">200</td>": 3, ">Compare<": 2, "/robots.txt:3": 1, "until ": 1,
		">Terms</th>": 1, "Terms of all versions below": 0} {
		if got := strings.Count(body, part); got != n {
			t.Errorf("%s: %d times, want %d", part, got, n)
		}
	}
	if strings.Index(body, at.Add(2*time.Hour).Format(time.RFC3339)) > strings.Index(body, at.Format(time.RFC3339)) {
		t.Error("the newest version is not the first")
	}
	s.SetRobots("ACAP-allow-present: / prohibited-modification=translation")
	contains(t, versions(), "/robots.txt:3: ACAP-allow-present: / prohibited-modification=translation</li>"+
		"<li>without modification of translation</li></ul>", "!>Terms</th>")
	s.SetRobots("ACAP-disallow-present-oldcopy: /")
	if body = versions(); strings.Count(body, `href="/copy/`) != 1 || strings.Contains(body, ">Compare<") {
		t.Error("versions that may not be shown are listed")
	}
}

// TestVersionsUnchanged checks which versions count as unchanged: those with the status, bytes and target of the
// version before.
func TestVersionsUnchanged(t *testing.T) {
	f := years(6, 24*time.Hour)
	list := f.versions[stock.Site+"/a?b"]
	list[1].Digest = list[0].Digest
	list[2].Digest, list[2].Status = list[0].Digest, 404
	list[3].Location, list[4].Location, list[5].Location = "/c", "/c", "/d"
	list[4].Digest, list[5].Digest = list[3].Digest, list[3].Digest
	body := ask(handler(t, f), "GET", "/versions/"+stock.Site+"/a?b").Body.String()
	_, rows, _ := strings.Cut(body, "<tbody")
	var got []string
	for row := range strings.SplitSeq(rows, "<tr") {
		got = append(got, fmt.Sprint(strings.Contains(row, ">unchanged<"), strings.Contains(row, ">Compare<"),
			strings.Count(row, `type="radio"`)))
	}
	// the newest first; redirects are not compared
	want := []string{"false false 0", "false false 0", "true false 0", "false false 0", "false true 2", "true false 2",
		"false false 2"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestVersionsPicked checks which versions can be selected for a comparison.
func TestVersionsPicked(t *testing.T) {
	f := years(7000, 25*time.Hour)
	list := f.versions[stock.Site+"/a?b"]
	body := ask(handler(t, f), "GET", "/versions/2014/"+stock.Site+"/a?b").Body.String()
	picked := map[string][]string{} // values by name; the selected one with an asterisk
	radio := regexp.MustCompile(`<input type="radio" name="(\w+)" form="compare" value="(\d{14})"` +
		`(?:\s+aria-label="[^"]*")?( checked)?>`)
	for _, found := range radio.FindAllStringSubmatch(body, -1) {
		picked[found[1]] = append(picked[found[1]], found[2]+strings.Replace(found[3], " checked", "*", 1))
	}
	first, last := memento.Timestamp(list[0].Fetched), memento.Timestamp(list[len(list)-1].Fetched)
	for name, want := range map[string]struct {
		selected int
		further  string // a version that is not listed
	}{"from": {1, first}, "to": {0, last}} {
		got := picked[name]
		if len(got) != 351 || got[350] != want.further || !strings.HasSuffix(got[want.selected], "*") ||
			strings.Count(strings.Join(got, ""), "*") != 1 || got[0][:14] <= got[1][:14] {
			t.Errorf("%s: %q", name, got)
		}
	}
	contains(t, body, `<form class="picked" id="compare" action="/compare" method="get">`)
	contains(t, ask(handler(t, years(1, 1)), "GET", "/versions/"+stock.Site+"/a?b").Body.String(), "!radio",
		"!/compare")
	s, h := stocked(t)
	s.Hold("/a", "<p>one", noon)
	s.Hold("/a", "<p>two", noon.AddDate(0, 0, 1))
	for robots, can := range map[string]bool{"": true,
		"ACAP-allow-present: / prohibited-modification=translation":          true,
		"ACAP-allow-present: / prohibited-modification=style":                false,
		"ACAP-allow-present-oldcopy: / prohibited-modification=style":        false,
		"ACAP-allow-present: / prohibited-context=within-user-frame":         false,
		"ACAP-allow-present-oldcopy: / required-context=within-user-frame":   true,
		"ACAP-allow-present: / must-include-resource=the-acap:credit:text:Q": true} {
		s.SetRobots(robots)
		body := ask(h, "GET", "/versions/"+stock.Site+"/a").Body.String()
		compare := ask(h, "GET", "/compare/20260105120000/20260106120000/"+stock.Site+"/a").Code
		got := strings.Contains(body, "radio") && strings.Contains(body, ">Compare<")
		if got != can || can != (compare == 200) {
			t.Errorf("%s: can be selected: %t; the comparison has status %d", robots, got, compare)
		}
	}
}

// TestVersionsLinks checks that no link about the versions of a page leads to a refusal, and that versions count that
// may be shown only in a frame, or only by themselves.
func TestVersionsLinks(t *testing.T) {
	for _, c := range []struct {
		robots        string
		count         int
		timemap, feed bool
	}{
		{"", 2, true, true},
		{"ACAP-disallow-present-link: /", 2, true, false},
		{"ACAP-allow-present: / required-context=within-user-frame", 2, false, false},
		{"ACAP-allow-present-currentcopy: / prohibited-context=within-user-frame\n" +
			"ACAP-allow-present-oldcopy: / required-context=within-user-frame", 2, true, true},
		{"ACAP-allow-present-link: / must-use-resource=the-acap:text:x", 2, true, false},
	} {
		s, h := stocked(t)
		s.Hold("/a", "<p>one", noon)
		s.Hold("/a", "<p>two", noon.AddDate(0, 0, 1))
		s.SetRobots(c.robots)
		body := ask(h, "GET", "/versions/"+stock.Site+"/a").Body.String()
		if got := strings.Count(body, `href="/copy/`); got != c.count {
			t.Errorf("%s: %d versions", c.robots, got)
		}
		feed := "/feed.atom?url=http%3A%2F%2Fquay.example%2Fa"
		for link, want := range map[string]bool{"/timemap/link/" + stock.Site + "/a": c.timemap, feed: c.feed} {
			got, status := strings.Contains(body, `href="`+link+`"`), ask(h, "GET", link).Code
			if got != want || got != (status == 200) {
				t.Errorf("%s: a link to %s: %t; it has status %d", c.robots, link, got, status)
			}
		}
	}
}

// TestGaps checks that the calendar says which years have no versions.
func TestGaps(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{{"2006", "2007", ""}, {"2006", "2008", "2007"},
		{"2006", "2012", "2007 to 2011"}} {
		if got := gapOf(c.before, c.after); got != c.want {
			t.Errorf("%s, %s: %s", c.before, c.after, got)
		}
	}
	body := ask(handler(t, years(3, 3*366*24*time.Hour)), "GET", "/versions/"+stock.Site+"/a?b").Body.String()
	contains(t, body, `<th scope="row">2007 to 2008</th><td colspan="12" class="quiet">no versions</td>`,
		`<option value="2012" selected>2012: 1 version</option>`, "<span>2006</span><span>2012</span>")
}

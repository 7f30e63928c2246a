package view

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

// readFeed reads a feed and checks what RFC 4287 demands of every feed and entry (4.1.1, 4.1.2, 4.2.6).
func readFeed(t *testing.T, h *Handler, v Visitor, sent string) (feed atomFeed) {
	t.Helper()
	w := askFrom(h, v, "GET", sent)
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/atom+xml; charset=utf-8" {
		t.Fatalf("%s: %d %v", sent, w.Code, w.Header())
	}
	if err := xml.Unmarshal(w.Body.Bytes(), &feed); err != nil {
		t.Fatal(err)
	}
	if feed.ID == "" || feed.Title == "" || feed.Author == "" || len(feed.Links) == 0 ||
		feed.Links[0] != (atomLink{"self", "application/atom+xml", base + sent}) {
		t.Errorf("%s: %+v", sent, feed)
	}
	ids := map[string]bool{feed.ID: true}
	for _, e := range append([]atomEntry{{ID: "tag:", Title: "-", Content: "-", Updated: feed.Updated}},
		feed.Entries...) {
		if _, err := time.Parse(time.RFC3339, e.Updated); err != nil || ids[e.ID] || e.Title == "" || e.Content == "" ||
			!strings.HasPrefix(e.ID, "tag:") || strings.ContainsAny(e.ID, " #[]<>\"") {
			t.Errorf("%s: %+v", sent, e)
		}
		ids[e.ID] = true
	}
	return feed
}

const versionsFeed = "/feed.atom?url=http%3A%2F%2Fquay.example%2Fa"

// TestVersionFeed checks order, links and stable identifiers of the feed of a page.
func TestVersionFeed(t *testing.T) {
	s, h := stocked(t)
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	s.Hold("/a", "<p>one", at)
	first := readFeed(t, h, Visitor{Base: base}, versionsFeed)
	s.Hold("/a", "<p>two", at.Add(time.Hour))
	feed := readFeed(t, h, Visitor{Base: base}, versionsFeed)
	if len(feed.Entries) != 2 || feed.Updated != "2026-01-05T13:00:00Z" || feed.ID != first.ID ||
		feed.Entries[1].ID != first.Entries[0].ID ||
		feed.Entries[0].ID != "tag:archive.example,2026:version:20260105130000:http%3A%2F%2Fquay.example%2Fa" ||
		feed.Entries[0].Links[0].Href != base+"/copy/20260105130000/"+stock.Site+"/a" {
		t.Errorf("%+v", feed)
	}
	w := ask(h, "GET", versionsFeed)
	if w := ask(h, "GET", versionsFeed, "If-None-Match", w.Header().Get("ETag")); w.Code != 304 || w.Body.Len() > 0 {
		t.Errorf("a conditional request: %d", w.Code)
	}
	f := years(70, time.Hour)
	feed = readFeed(t, handler(t, f), Visitor{Base: base}, "/feed.atom?url=http%3A%2F%2Fquay.example%2Fa%3Fb")
	if len(feed.Entries) != inFeed || feed.Updated != "2006-01-03T21:00:00Z" {
		t.Errorf("%d entries, updated %s", len(feed.Entries), feed.Updated)
	}
}

// TestFeedTerms checks that feeds hold only what this reader may see, and pages only to which this reader may
// see a link.
func TestFeedTerms(t *testing.T) {
	s, h := stocked(t)
	at := time.Now().Add(-time.Hour)
	s.Hold("/a", "<title>Harbour</title><p>The hidden ferry.", at.Add(-time.Hour))
	s.Hold("/a", "<title>Harbour</title><p>The hidden ferry sails.", at)
	france := Visitor{Base: base, Reader: acap.Target{Country: "FR"}}
	for _, row := range []struct {
		robots   string
		who      Visitor
		versions string // status and number of entries
		matches  int
	}{
		{robots: "", versions: "200 2", matches: 1},
		{robots: "ACAP-disallow-present-oldcopy: /", versions: "200 1", matches: 1},
		{robots: "ACAP-disallow-present-currentcopy: /\nACAP-disallow-present-oldcopy: /", versions: "451", matches: 1},
		{robots: "ACAP-disallow-present: /", versions: "404"},
		{robots: "ACAP-disallow-present-link: /\nACAP-disallow-present-snippet: /", versions: "404"},
		{robots: "ACAP-allow-present: / target-condition=prohibitedcountrylist:FR", who: france, versions: "404"},
		{robots: "ACAP-request-take-down: /a", versions: "410"},
	} {
		row.who.Base = base
		s.SetRobots(row.robots)
		w := askFrom(h, row.who, "GET", versionsFeed)
		got := fmt.Sprint(w.Code)
		if w.Code == 200 {
			got += fmt.Sprint(" ", len(readFeed(t, h, row.who, versionsFeed).Entries))
		}
		if got != row.versions {
			t.Errorf("%s: %s, want %s", row.robots, got, row.versions)
		}
		feed := readFeed(t, h, row.who, "/feed.atom?q=ferry")
		if len(feed.Entries) != row.matches {
			t.Errorf("%s: %d matches, want %d", row.robots, len(feed.Entries), row.matches)
		}
		all := w.Body.String() + askFrom(h, row.who, "GET", "/feed.atom?q=ferry").Body.String()
		if row.versions == "404" && (strings.Contains(all, "Harbour") || strings.Contains(all, "hidden ferry")) {
			t.Errorf("%s: the feeds contain the page", row.robots)
		}
	}
}

// TestMatchFeed checks that a feed of matches has the newest first, with the credits that must be shown.
func TestMatchFeed(t *testing.T) {
	s, h := stocked(t)
	now := time.Now()
	s.SetRobots("ACAP-allow-present-snippet: / must-include-resource=the-acap:credit:id:by")
	s.Hold("/old", "<title>Old</title><p>The ferry, ferry, ferry.<p id=by>By Ada Quill", now.AddDate(-3, 0, 0))
	s.Hold("/week", "<title>Week &amp; <b></title><p>The ferry.<p id=by>By Ada Quill", now.AddDate(0, 0, -2))
	s.Hold("/today", "<title>Today</title><p>The ferry.<p id=by>By Ada Quill", now)
	feed := readFeed(t, h, Visitor{Base: base}, "/feed.atom?q=ferry")
	if len(feed.Entries) != 2 || feed.Entries[0].Title != "Today" || feed.Entries[1].Title != "Week & <b>" ||
		feed.Entries[0].Links[0].Href != stock.Site+"/today" ||
		!strings.Contains(feed.Entries[0].Content, "Credit: By Ada Quill") {
		t.Errorf("%+v", feed)
	}
	if feed := readFeed(t, h, Visitor{Base: base}, "/feed.atom?q=nothing"); len(feed.Entries) != 0 {
		t.Errorf("%+v", feed)
	}
	for _, sent := range []string{"/feed.atom", "/feed.atom?q=a&url=http://quay.example/", "/feed.atom?q=a&q=b",
		"/feed.atom?q=a&n=1", "/feed.atom?url=quay.example", "/feed.atom?q=%22"} {
		if w := ask(h, "GET", sent); w.Code != 400 {
			t.Errorf("%s: %d", sent, w.Code)
		}
	}
}

// TestFinding checks the descriptions for other programs, and the links to them.
func TestFinding(t *testing.T) {
	s, h := stocked(t)
	s.Hold("/a", "<p>ferry", time.Now())
	w := ask(h, "GET", "/opensearch.xml")
	var d openSearchDescription
	if err := xml.Unmarshal(w.Body.Bytes(), &d); err != nil || len(d.ShortName) > 16 || len(d.URLs) != 3 ||
		w.Header().Get("Content-Type") != "application/opensearchdescription+xml" {
		t.Fatalf("%v %+v", err, d)
	}
	for _, u := range d.URLs {
		sent := strings.Replace(u.Template, "{searchTerms}", "ferry", 1)
		if w := ask(h, "GET", sent); w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), u.Type) {
			t.Errorf("%s: %d %v", sent, w.Code, w.Header())
		}
	}
	for sent, link := range map[string]string{
		"/": `<link rel="search" type="application/opensearchdescription+xml"`,
		"/search?q=ferry": `<link rel="alternate" type="application/atom+xml" title="New versions or matches" ` +
			`href="/feed.atom?q=ferry">`,
		"/versions/" + stock.Site + "/a": `<link rel="alternate" type="application/atom+xml" title="New versions or ` +
			`matches" href="` + versionsFeed + `">`,
	} {
		if w := ask(h, "GET", sent); !strings.Contains(w.Body.String(), link) {
			t.Errorf("%s: no %s", sent, link)
		}
	}
}

// TestOwnRobots checks that other crawlers may fetch no copy and nothing for programs, but the pages that
// describe the archive.
func TestOwnRobots(t *testing.T) {
	_, h := stocked(t)
	w := ask(h, "GET", "/robots.txt")
	policy := acap.Parse(base+"/robots.txt", w.Body.Bytes()).Policy(acap.Crawler{Names: []string{"anybot"}})
	may := func(path string) bool {
		u, err := url.Parse(base + path)
		if err != nil {
			t.Fatal(err)
		}
		return policy.Decide(acap.Crawl, acap.NewResource(u)).Allowed
	}
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for _, path := range []string{"/copy/20260105120000/" + stock.Site, "/raw/20260105120000/" + stock.Site,
		"/thumbnail/20260105120000/" + stock.Site, "/timegate/" + stock.Site, "/timemap/link/" + stock.Site,
		"/cdx?url=a", "/feed.atom?q=a", "/search?q=a", "/api/v1/search?q=a",
		"/compare/20260105120000/20260105120000/" + stock.Site} {
		if may(path) {
			t.Errorf("%s may be crawled", path)
		}
	}
	for _, path := range []string{"/", "/search", "/docs", "/sites"} {
		if !may(path) {
			t.Errorf("%s may not be crawled", path)
		}
	}
}

// TestMergeFeeds checks that a feed of several machines has each version once, the newest first.
func TestMergeFeeds(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	var feeds [][]byte
	for _, hours := range [][]int{{0, 2}, {1, 2}} {
		s, h := stocked(t)
		for _, n := range hours {
			s.Hold("/a", "<p>"+fmt.Sprint(n), at.Add(time.Duration(n)*time.Hour))
		}
		feeds = append(feeds, askFrom(h, Visitor{Base: base}, "GET", versionsFeed).Body.Bytes())
	}
	feeds = append(feeds, []byte("<feed"), []byte("no feed"))
	text, used, err := MergeFeeds(feeds)
	if err != nil || used != 2 {
		t.Fatalf("%d %v", used, err)
	}
	var out atomFeed
	if err := xml.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	var times []string
	for _, e := range out.Entries {
		times = append(times, e.Updated[11:13])
	}
	if strings.Join(times, " ") != "14 13 12" || out.Updated != "2026-01-05T14:00:00Z" || out.Author == "" ||
		len(out.Links) != 2 {
		t.Errorf("%s", text)
	}
	if _, _, err := MergeFeeds(feeds[2:]); err == nil {
		t.Error("damaged feeds are merged")
	}
}

// TestRefusedElsewhere checks that only a process of a cluster learns that a page is refused.
func TestRefusedElsewhere(t *testing.T) {
	f := &fixed{}
	h, err := New(Options{Presenter: f, Refuses: func(_ context.Context, address string, _ present.Reader) bool {
		return address == stock.Site+"/shy"
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, sent := range []string{"/raw/20260101000000/", "/versions/", "/api/v1/show?url=", "/timegate/"} {
		for path, refused := range map[string]bool{"/shy": true, "/never": false} {
			for _, shard := range []bool{true, false} {
				w := askFrom(h, Visitor{Base: base, Shard: shard}, "GET", sent+stock.Site+path)
				if got := w.Header().Get(ReasonHeader) == ReasonRefused; w.Code != 404 || got != (refused && shard) {
					t.Errorf("%s%s, shard %v: %d %v", sent, path, shard, w.Code, w.Header())
				}
			}
		}
	}
}

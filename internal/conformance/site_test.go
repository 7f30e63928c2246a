package conformance

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

const siteAt = "http://tidewick.example"

// ask sends a request for a path to the site, as a crawler does.
func ask(s *Site, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, siteAt+path, nil)
	r.Header.Set("User-Agent", "acapcrawl")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func atSite(path string) acap.Resource {
	u, err := url.Parse(siteAt + path)
	if err != nil {
		panic(err)
	}
	return acap.NewResource(u)
}

// sitePolicy returns the policy for acapcrawl from robots.txt and its reference.
func sitePolicy(t *testing.T, s *Site) *acap.Policy {
	t.Helper()
	who := acap.Crawler{Names: []string{"acapcrawl"}}
	f := acap.Parse(siteAt+"/robots.txt", ask(s, "GET", "/robots.txt").Body.Bytes())
	refs := f.References(who)
	if len(refs) != 1 || refs[0].URL != siteAt+"/acap-archive.txt" {
		t.Fatalf("robots.txt refers to %v", refs)
	}
	refs[0].File = acap.ParseReferred(refs[0].URL, ask(s, "GET", "/acap-archive.txt").Body.Bytes())
	return f.Policy(who, refs...)
}

func TestSiteServesWhatItSays(t *testing.T) {
	s := NewSite()
	for _, e := range s.Truth() {
		got := ask(s, "GET", e.Path)
		if got.Code != e.Status {
			t.Errorf("%s answers with %d, want %d", e.Path, got.Code, e.Status)
		}
		text := got.Body.String()
		if again := ask(s, "GET", e.Path).Body.String(); again != text {
			t.Errorf("%s answers differently when asked again", e.Path)
		}
		if strings.Contains(text, SiteBase) {
			t.Errorf("%s holds a placeholder", e.Path)
		}
		head := ask(s, "HEAD", e.Path)
		if head.Code != e.Status || e.Status == 200 && head.Body.Len() != 0 ||
			head.Header().Get("Content-Type") != got.Header().Get("Content-Type") {
			t.Errorf("HEAD of %s answers otherwise than GET", e.Path)
		}
		if e.Status != 200 {
			continue
		}
		tag := got.Header().Get("ETag")
		if r := ask(s, "GET", e.Path, "If-None-Match", tag); tag == "" || r.Code != http.StatusNotModified {
			t.Errorf("%s with ETag %s, asked again with it, answers with %d", e.Path, tag, r.Code)
		}
	}
	for path, want := range map[string]string{
		"/": "text/html; charset=utf-8", "/robots.txt": "text/plain; charset=utf-8",
		"/sitemap.xml":            "application/xml; charset=utf-8",
		"/archive/1911-flood.txt": "text/plain; charset=utf-8", "/pictures/harbour.png": "image/png",
		"/pictures/gull.gif": "image/gif",
	} {
		if got := ask(s, "GET", path).Header().Get("Content-Type"); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	for path, magic := range map[string]string{"/pictures/harbour.png": "image/png",
		"/pictures/gull.gif": "image/gif"} {
		if got := http.DetectContentType(ask(s, "GET", path).Body.Bytes()); got != magic {
			t.Errorf("%s holds %s", path, got)
		}
	}
	if got := ask(s, "POST", "/").Code; got != http.StatusMethodNotAllowed {
		t.Errorf("POST answers with %d", got)
	}
}

var siteLink = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

// Every link goes to a path of Truth, or to the style sheet, and some link goes to every path of
// Truth.
func TestSiteIsWhole(t *testing.T) {
	s := NewSite()
	left, known := map[string]bool{}, map[string]bool{}
	for _, e := range s.Truth() {
		if known[e.Path] {
			t.Errorf("%s stands in Truth twice", e.Path)
		}
		known[e.Path], left[e.Path] = true, e.Path != "/"
	}
	others := map[string]bool{"/robots.txt": true, "/acap-archive.txt": true, "/sitemap.xml": true, "/style.css": true}
	for _, path := range s.Files() {
		if !known[path] && !others[path] {
			t.Errorf("%s does not stand in Truth", path)
		}
		if !strings.Contains(siteType(path), "html") {
			continue
		}
		for _, m := range siteLink.FindAllStringSubmatch(ask(s, "GET", path).Body.String(), -1) {
			if !known[m[1]] && !others[m[1]] {
				t.Errorf("%s links to %s, which is not known", path, m[1])
			}
			delete(left, m[1])
		}
	}
	for path, lost := range left {
		if lost {
			t.Errorf("no link leads to %s", path)
		}
	}
	if n := len(s.Truth()); n < 35 || n > 50 {
		t.Errorf("the site has %d paths", n)
	}
}

// check reports no finding about the site, because the site is an example of good ACAP.
func TestSiteHasNoFindings(t *testing.T) {
	for _, f := range sitePolicy(t, NewSite()).Findings() {
		if f.Code != "query-in-pattern" { // the site uses "?" in a pattern deliberately
			t.Errorf("%v", f)
		}
	}
}

// ownTerms are the paths whose pages have additional terms, or cannot fulfil the terms of
// robots.txt.
var ownTerms = map[string]bool{
	"/news/flood-warning.html": true, "/mirror/news/harbour-bridge.html": true, "/archive/essays/salt-road.html": true,
	"/news/retracted.html":   true,
	"/notices/for-hire.html": true, "/special/by-name.html": true, "/special/noindex.html": true,
	"/special/nofollow.html": true, "/special/noarchive.html": true,
	"/special/nosnippet.html": true, "/special/x-robots-tag.html": true, "/special/robots-tag.html": true,
}

func columns(e Expectation) map[acap.Usage]bool {
	return map[acap.Usage]bool{acap.Crawl: e.Crawl, acap.Follow: e.Follow, acap.Index: e.Index,
		acap.Preserve:       e.Preserve,
		acap.PresentSnippet: e.PresentSnippet, acap.PresentLink: e.PresentLink,
		acap.PresentCurrentCopy: e.PresentCurrentCopy}
}

var columnOrder = []acap.Usage{acap.Crawl, acap.Follow, acap.Index, acap.Preserve, acap.PresentSnippet,
	acap.PresentLink, acap.PresentCurrentCopy}

// The decisions of robots.txt, before pages are read, agree with Truth, and the deciding line is
// the one in Truth.
func TestSiteTruthAtRobotsLevel(t *testing.T) {
	s := NewSite()
	p := sitePolicy(t, s)
	facts := acap.Facts{Now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	for _, e := range s.Truth() {
		if ownTerms[e.Path] {
			continue
		}
		because := ""
		for _, u := range columnOrder {
			d := p.Decide(u, atSite(e.Path)).At(facts)
			if (u == acap.Crawl || e.Crawl && e.Status == 200) && d.Allowed != columns(e)[u] {
				t.Errorf("%s: %s is %v (%s)", e.Path, u, d.Allowed, d.Why())
			}
			if !d.Allowed && because == "" && (u == acap.Crawl || e.Crawl) {
				because = d.Because.Text
			}
		}
		if because != e.Because && e.Path != "/weekend" { // the target of the redirect decides
			t.Errorf("%s: %q decides, want %q", e.Path, because, e.Because)
		}
	}
}

// siteCase returns a case whose web is the site.
func siteCase(t *testing.T, s *Site, path string, now time.Time) *Case {
	t.Helper()
	web := map[string]Response{}
	paths := s.Files()
	for _, e := range s.Truth() {
		paths = append(paths, e.Path)
	}
	for _, p := range paths {
		r := ask(s, "GET", p)
		status := r.Code
		web[siteAt+p] = Response{Status: &status, Header: r.Header(), BodyBase64: r.Body.Bytes()}
	}
	return &Case{Web: web, URL: siteAt + path, Facts: Facts{Now: &now}, Want: []string{"decision", "text", "snippet",
		"links", "copy", "actions"}}
}

// The decisions of the oracle about every path agree with Truth. A crawler that follows the
// permitted links requests every path of Truth that is not Forbidden, and no other.
func TestSiteTruth(t *testing.T) {
	for _, now := range []time.Time{time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2099, 12, 31, 23, 0, 0, 0,
		time.UTC)} {
		t.Run(now.Format(time.DateOnly), func(t *testing.T) { siteTruthAt(t, now) })
	}
}

func siteTruthAt(t *testing.T, now time.Time) {
	s := NewSite()
	whole := siteCase(t, s, "/", now)
	robots := sitePolicy(t, s)
	truth := map[string]Expectation{}
	for _, e := range s.Truth() {
		truth[e.Path] = e
	}
	requested := map[string]bool{}
	queue := []string{"/"}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		if requested[path] || !robots.Decide(acap.Crawl, atSite(path)).Allowed {
			continue
		}
		// X64: a take-down is obeyed when a page is requested; the decisions of the oracle ignore
		// it
		if down := robots.TakeDown(atSite(path)); down != nil {
			if e := truth[path]; slices.Contains(slices.Collect(maps.Values(columns(e))), true) ||
				e.Because != down.Text {
				t.Errorf("%s is to be taken down: %+v", path, e)
			}
			continue
		}
		requested[path] = true
		e, known := truth[path]
		if !known {
			t.Errorf("%s does not stand in Truth", path)
			continue
		}
		if to := siteRedirects[path]; to != "" {
			queue = append(queue, to)
		}
		if e.Status != 200 {
			continue
		}
		one := *whole
		one.URL = siteAt + path
		a, err := Decide(t.Context(), &one)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, e, a)
		if a.Links != nil {
			for _, link := range *a.Links {
				queue = append(queue, strings.TrimPrefix(link, siteAt))
			}
		}
	}
	for path := range truth {
		if requested[path] == slices.Contains(s.Forbidden(), path) {
			t.Errorf("%s is requested: %v", path, requested[path])
		}
	}
}

// agree compares an answer of the oracle with the expectation for a page.
func agree(t *testing.T, e Expectation, a *Answer) {
	t.Helper()
	first := ""
	for _, u := range columnOrder {
		got, want := a.Decisions[u], columns(e)[u]
		allowed := got.Allowed
		if u == acap.Index { // an element may permit index on a page that prohibits it
			allowed = a.Text != nil
		}
		if allowed != want {
			t.Errorf("%s: %s is %v (%s)", e.Path, u, allowed, got.Reason)
		}
		if !allowed && first == "" {
			first = got.Because.Field
		}
	}
	if because := strings.ReplaceAll(e.Because, SiteBase, siteAt); first != because {
		t.Errorf("%s: %q decides, want %q", e.Path, first, because)
	}
	for _, f := range a.Findings {
		if f.Code != "query-in-pattern" {
			t.Errorf("%s: %v", e.Path, f)
		}
	}
}

// What may be found and shown of a page has exactly the limits that the site sets.
func TestSiteLimits(t *testing.T) {
	s := NewSite()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	whole := siteCase(t, s, "/", now)
	answer := func(path string) *Answer {
		one := *whole
		one.URL = siteAt + path
		a, err := Decide(t.Context(), &one)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, c := range []struct{ path, holds, lacks string }{
		{"/news/regatta.html", "Sandpiper", "Periwinkle"},
		{"/news/flood-warning.html", "sockets", "sandbags"},
		{"/archive/1911-flood.html", "lamplighter", "scan"},
		{"/archive/essays/lighthouse.html", "wrong rock", "surveyor"},
	} {
		text := *answer(c.path).Text
		if !strings.Contains(text, c.holds) || strings.Contains(text, c.lacks) {
			t.Errorf("%s: the text to be indexed is %q", c.path, text)
		}
	}
	for path, want := range map[string]string{
		"/news/ferry.html": "40 words", "/opinion/leader.html": "25 words", "/notices/classified.html": "15 words",
		"/archive/": "250 chars", "/pictures/regatta.html": "30 words",
	} {
		l, got := answer(path).Decisions[acap.PresentSnippet].Limits, ""
		switch {
		case l.MaxWords != nil:
			got = fmt.Sprint(*l.MaxWords, " words")
		case l.MaxChars != nil:
			got = fmt.Sprint(*l.MaxChars, " chars")
		}
		if got != want {
			t.Errorf("%s: a snippet has %q, want %q", path, got, want)
		}
	}
	credit := answer("/pictures/regatta.html").Snippet
	if credit == nil || len(credit.Include) != 1 || credit.Include[0].Text != "Pictures: Ida Marsh" {
		t.Errorf("the snippet of the regatta is %+v", credit)
	}
	if s := answer("/archive/1911-flood.html").Snippet; s == nil || !strings.Contains(s.Text, "FLOOD") {
		t.Errorf("the snippet of 1911 is %+v", s)
	}
	news := answer("/news/ferry.html").Decisions
	if l := news[acap.Preserve].Limits; !l.Until.Equal(now.AddDate(0, 0, 30)) {
		t.Errorf("news is kept until %v", l.Until)
	}
	if l := news[acap.PresentCurrentCopy].Limits; !l.Until.Equal(now.AddDate(0, 0, 7)) || !l.UntilRecrawled {
		t.Errorf("copies of news are shown under %+v", l)
	}
	if l := answer("/pictures/gull.gif").Decisions[acap.PresentLink].Limits; !slices.Equal(l.MustInclude,
		[]string{"the-acap:credit:text:Ida%20Marsh%20for%20The%20Tidewick%20Lantern"}) {
		t.Errorf("the gull is shown with %v", l.MustInclude)
	}
	if l := answer("/opinion/leader.html").Decisions[acap.PresentCurrentCopy].Limits; !slices.Equal(
		l.ProhibitedModification, []string{"translation", "annotation"}) {
		t.Errorf("opinions are shown without %v", l.ProhibitedModification)
	}
	if d := answer("/archive/").Decisions; !d[acap.PresentOldCopy].Allowed ||
		answer("/news/").Decisions[acap.PresentOldCopy].Allowed {
		t.Error("old versions are shown of the archive alone")
	}
	var actions []string
	for _, r := range *answer("/").Actions {
		actions = append(actions, fmt.Sprint(r.Action, " ", strings.TrimPrefix(r.URL, siteAt), " ", r.Execute))
	}
	if want := []string{"take-down /news/retracted.html true", "re-crawl /news/tide-table.html true"}; !slices.Equal(
		actions, want) {
		t.Errorf("the site asks for %v, want %v", actions, want)
	}
}

// The site has different terms for some crawlers: rivalbot may crawl the news, a library may keep
// live pages, and the general terms apply to a crawler that is not named.
func TestSiteForOthers(t *testing.T) {
	s := NewSite()
	f := acap.Parse(siteAt+"/robots.txt", ask(s, "GET", "/robots.txt").Body.Bytes())
	rival := f.Policy(acap.Crawler{Names: []string{"rivalbot"}})
	library := f.Policy(acap.Crawler{Names: []string{"shelfbot"}, Purposes: []string{"preservation"}})
	for _, c := range []struct {
		who   *acap.Policy
		usage acap.Usage
		path  string
		want  bool
	}{
		{rival, acap.Crawl, "/", false},
		{rival, acap.Crawl, "/news/ferry.html", true},
		{rival, acap.Preserve, "/news/ferry.html", false},
		{library, acap.Preserve, "/news/live/council.html", true},
		{library, acap.Index, "/opinion/letters.html", true},
		{library, acap.Crawl, "/members/welcome.html", false},
	} {
		if d := c.who.Decide(c.usage, atSite(c.path)); d.Allowed != c.want {
			t.Errorf("%s of %s is %v (%s)", c.usage, c.path, d.Allowed, d.Why())
		}
	}
}

func TestSiteNotesVisits(t *testing.T) {
	s := NewSite()
	before := time.Now()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { ask(s, "GET", "/news/ferry.html?session=7f3a") })
	}
	wg.Wait()
	ask(s, "HEAD", "/nowhere")
	visits := s.Visits()
	if len(visits) != 9 {
		t.Fatalf("%d visits", len(visits))
	}
	for i, want := range map[int]string{0: "GET /news/ferry.html?session=7f3a acapcrawl",
		8: "HEAD /nowhere acapcrawl"} {
		v := visits[i]
		if got := fmt.Sprint(v.Method, " ", v.Path, " ", v.UserAgent); got != want || v.Time.Before(before) {
			t.Errorf("visit %d is %q at %v, want %q", i, got, v.Time, want)
		}
	}
	visits[0].Path = "changed"
	if s.Visits()[0].Path == "changed" {
		t.Error("visits can be changed from outside")
	}
}

package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/conformance"
)

// small is a site: it maps paths, "/robots.txt" included, to answers.
type small map[string]string

// ServeHTTP sends the lines of an answer before its first empty line as header fields; the line
// "Status" sets the status. The whole answer for robots.txt is the body.
func (s small) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, known := s[r.URL.Path]
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.URL.Path == "/robots.txt" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	status := http.StatusOK
	if head, body, is := strings.Cut(text, "\n\n"); is && r.URL.Path != "/robots.txt" {
		text = body
		for line := range strings.Lines(head) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if name == "Status" {
				fmt.Sscan(value, &status)
				continue
			}
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(status)
	fmt.Fprint(w, text)
}

func meta(statements ...string) string {
	var b strings.Builder
	for _, s := range statements {
		fmt.Fprintf(&b, "<meta name=%q content=%q>", "robots", s)
	}
	return b.String() + "<title>A</title>"
}

// A contradiction that publishers intend is not reported. Each reported contradiction names the
// crawlers that it concerns.
func TestAuditContradictions(t *testing.T) {
	for name, c := range map[string]struct {
		// robots: the record for any crawler and what follows it in robots.txt. page: the content
		// of the page
		robots, page string
		want         string // kind, usages and crawlers of each expected contradiction
		departures   int
	}{
		"all else is prohibited": {"ACAP-allow-crawl: /\nACAP-disallow-other: /\n", meta("ACAP allow-index"),
			"", 0},
		"all else of the page": {"ACAP-allow-crawl: /\n", meta("ACAP disallow-other", "ACAP allow-index"),
			"", 0},
		"nothing but snippets": {"ACAP-allow-crawl: /\n", meta("ACAP disallow-present",
			"ACAP allow-present-snippet"), "", 0},
		"one crawler is kept out": {"ACAP-allow-index: /\nACAP-crawler: badbot\nACAP-disallow-index: /\n",
			meta("ACAP allow-index"), "", 0},
		"one purpose is kept out": {"ACAP-allow-index: /\nACAP-usage-purpose: games\nACAP-disallow-index: /\n",
			meta("ACAP allow-index"), "", 0},
		"a page is not to be found":       {"ACAP-allow-index: /\n", meta("noindex"), "", 1},
		"a page is not to be found, ACAP": {"ACAP-allow-index: /\n", meta("ACAP disallow-index"), "", 1},
		"a header":                        {"ACAP-allow-index: /\n", "X-Robots-Tag: noindex\n\n" + meta(), "", 1},
		"a date has passed": {"ACAP-allow-index: /\n",
			meta("ACAP allow-index time-limit=until-2020-01-01"), "", 0},
		"a header against its page": {"", "X-Robots-Tag: noindex\n\n" + meta("ACAP allow-index"),
			"restricted[index] [ badbot]", 0},
		"a page says both": {"", meta("ACAP allow-index", "ACAP disallow-index"),
			"disputed[index] [ badbot]", 0},
		"a page opens what is closed": {"ACAP-disallow-index: /\n", meta("ACAP allow-index"), "lifted[index] [ badbot]",
			0},
		"a page opens it to one": {"ACAP-disallow-index: /\nACAP-crawler: badbot\nACAP-allow-index: /x\n",
			meta("ACAP allow-index"), "lifted[index] [ badbot]", 0},
		"for one crawler alone": {"ACAP-crawler: badbot\nACAP-disallow-preserve: /\n",
			`<meta name="badbot" content="ACAP allow-preserve">` + meta(), "lifted[preserve] [badbot]", 0},
		"a set that is not defined": {"ACAP-disallow-index: the-acap:resource-set:nosuch\n", meta("ACAP allow-index"),
			"overruled[index] [ badbot]", 0},
	} {
		t.Run(name, func(t *testing.T) {
			robots := "ACAP-version: 1.1\nACAP-crawler: *\n" + c.robots + "\nUser-agent: badbot\nDisallow: /x\n"
			a := audit(t, small{"/robots.txt": robots, "/": c.page}, 1)
			var got []string
			for _, one := range a.Contradictions {
				got = append(got, fmt.Sprint(one.Kind, one.Usages, one.Crawlers))
			}
			if strings.Join(got, "; ") != c.want || len(a.Departures) != c.departures {
				t.Errorf("%q and %d departures, want %q and %d", got, len(a.Departures), c.want, c.departures)
			}
		})
	}
}

// A crawler without ACAP obeys conventional tags and headers.
func TestAuditSilent(t *testing.T) {
	for page, want := range map[string]int{
		meta(): 0, meta("noindex"): 0, "X-Robots-Tag: max-snippet: 20\n\n" +
			meta(): 0, "X-Robots-Tag: unavailable_after: 2020-01-01\n\n" + meta(): 0,
		meta("ACAP disallow-preserve"): 1, meta("ACAP allow-index time-limit=3-days"): 1, meta("noindex",
			"ACAP allow-preserve time-limit=3-days"): 1,
	} {
		if a := audit(t, small{"/robots.txt": "User-agent: *\nDisallow: /x\n", "/": page}, 1); a.Silent != want {
			t.Errorf("%s: %d addresses, want %d", page, a.Silent, want)
		}
	}
}

// The audit reports that policy refuses a page, and does not confuse that with a failing site.
func TestAuditRefused(t *testing.T) {
	const private = "User-agent: *\nDisallow: /private/\n"
	for name, c := range map[string]struct {
		site             small
		refused, fetched bool
	}{
		"failing": {small{"/robots.txt": private, "/": "Status: 500\n\n"}, false, false},
		"shut":    {small{"/robots.txt": "User-agent: *\nDisallow: /\n", "/": ""}, true, false},
		"open":    {small{"/robots.txt": private, "/": ""}, false, true},
	} {
		a := audit(t, c.site, 1)
		if a.Refused() != c.refused || a.Fetched() != c.fetched {
			t.Errorf("%s: refused %v, fetched %v", name, a.Refused(), a.Fetched())
		}
	}
}

// The table of effects is made for the purposes and the dialect that the options of the audit name.
func TestAuditAs(t *testing.T) {
	site := small{"/robots.txt": "ACAP-crawler: *\nACAP-allow-index: /\nACAP-usage-purpose: " +
		"games\nACAP-disallow-index: /\n", "/": meta()}
	for purpose, want := range map[string]conformance.State{"news": conformance.Permitted,
		"games": conformance.Refused} {
		a := auditAs(t.Context(), t, acap.Crawler{Names: []string{"acapcrawl"}, Purposes: []string{purpose}}, site, 1,
			"http://lantern.test/")
		if got := a.Effects[0].Rows[0].Cells[2]; got.Usage != acap.Index || got.State != want ||
			!slices.Equal(a.Purposes, []string{purpose}) {
			t.Errorf("for %s: %+v", purpose, got)
		}
	}
}

// The report names the site by its origin, whatever the spelling of the given address, and none of
// its lists is null in JSON.
func TestAuditForm(t *testing.T) {
	for robots, page := range map[string]string{"": "", "ACAP-disallow-preserve: /a\nACAP-crawler: " +
		"*\nACAP-allow-index: /\nACAP-allow-(x): /\n": meta("ACAP allow-index", "noindex")} {
		site := small{"/robots.txt": robots, "/": page}
		if robots == "" {
			delete(site, "/robots.txt")
		}
		a := auditAs(t.Context(), t, acap.Crawler{Names: []string{"acapcrawl"}}, site, 1, "http://LANTERN.test:80/")
		text, err := json.Marshal(a)
		if err != nil || strings.Contains(string(text), "null") || a.Site != "http://lantern.test" {
			t.Errorf("%s, %v: %s", a.Site, err, text)
		}
		if none := strings.HasPrefix(a.Looked()[0], "There is no robots.txt"); none != (robots == "") {
			t.Errorf("%q", a.Looked())
		}
	}
}

// If a site asks for fewer requests, the audit stops requesting pages.
func TestAuditRests(t *testing.T) {
	links := `<a href="/a">a</a> <a href="/b">b</a> <a href="/c">c</a>`
	for head, want := range map[string]int{"Status: 429\n\n": 2, "Status: 503\nRetry-After: 60\n\n": 2,
		"Status: 503\n\n": 4} {
		site := small{"/robots.txt": "", "/": links, "/a": head, "/b": head, "/c": head}
		asked := 0
		a := audit(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/robots.txt" {
				asked++
			}
			site.ServeHTTP(w, r)
		}), 10)
		if asked != want || strings.Contains(strings.Join(a.Notes, " "), "asks crawlers to wait") != (want == 2) {
			t.Errorf("%q: %d requests, %q", head, asked, a.Notes)
		}
	}
}

// Pages that were not requested are not counted as requested, and if the audit leaves out a page
// that the caller names, a note says so.
func TestAuditCounts(t *testing.T) {
	site := small{"/robots.txt": "User-agent: *\nDisallow: /x\n", "/a": meta(), "/b": meta(), "/c": meta()}
	var start []string
	for _, path := range []string{"/x1", "/x2", "/a", "/b", "/c"} {
		start = append(start, "http://lantern.test"+path)
	}
	a := auditAs(t.Context(), t, acap.Crawler{Names: []string{"acapcrawl"}}, site, 2, start...)
	var requested []string
	for _, p := range a.Pages {
		if p.Requested {
			requested = append(requested, strings.TrimPrefix(p.URL, "http://lantern.test"))
		}
	}
	if !slices.Equal(requested, []string{"/a", "/b"}) ||
		!slices.ContainsFunc(a.Notes, func(n string) bool { return strings.HasPrefix(n, "1 address") }) {
		t.Errorf("requested %q, noted %q", requested, a.Notes)
	}
}

// The report distinguishes pages to be taken down from pages that may not be crawled, and contains
// no password.
func TestAuditSaysWhy(t *testing.T) {
	a := audit(t, small{"/robots.txt": "ACAP-crawler: *\nACAP-disallow-index: /old.html\nACAP-disallow-preserve: " +
		"/new.html\nACAP-request-take-down: /old.html\n",
		"/":         `<a href="/old.html">old</a> <a href="http://user:secret@lantern.test/new.html">new</a>`,
		"/new.html": meta()}, 5)
	why := map[string]string{}
	for _, p := range a.Pages {
		why[p.URL] = p.Why
	}
	want := map[string]string{"http://lantern.test/": "", "http://lantern.test/new.html": "",
		"http://lantern.test/old.html": "it was not requested: its publisher asks that it be taken down"}
	if !maps.Equal(why, want) {
		t.Errorf("%q", why)
	}
}

// The audit examines fewer addresses for a large file, and reports that.
func TestAuditGivesUp(t *testing.T) {
	var robots strings.Builder
	for i := range 30 {
		fmt.Fprintf(&robots, "ACAP-crawler: bot%d\nACAP-allow-follow: /\n", i)
	}
	for i := range 1000 { // records for bot29, about which the audit reports nothing
		fmt.Fprintf(&robots, "ACAP-allow-index: /%d/\n", i)
	}
	robots.WriteString("ACAP-crawler: *\n" + strings.Repeat("ACAP-allow-index: /same/\n", 10000))
	var links strings.Builder
	for i := range 200 {
		fmt.Fprintf(&links, `<a href="/%d.html">`, i)
	}
	a := audit(t, small{"/robots.txt": robots.String(), "/": links.String()}, 1)
	if len(a.Notes) < 2 || !strings.Contains(strings.Join(a.Notes, " "), "addresses of the site are known") {
		t.Errorf("%q", a.Notes)
	}
	if !slices.ContainsFunc(a.Notes, func(n string) bool {
		return strings.Contains(n,
			"some statements apply to no checked address")
	}) {
		t.Errorf("%q", a.Notes)
	}
}

// When its context ends, the audit returns what it has found so far and examines nothing more.
func TestAuditEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	site := small{"/robots.txt": "ACAP-crawler: *\nACAP-disallow-index: /a/\n", "/": `<a href="/b">b</a>`, "/b": meta()}
	a := auditAs(ctx, t, acap.Crawler{Names: []string{"acapcrawl"}},
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/b" {
				cancel()
			}
			site.ServeHTTP(w, r)
		}), 5, "http://lantern.test/")
	if a.Complete || len(a.Pages) != 1 || len(a.Effects) != 1 {
		t.Errorf("%+v", a)
	}
}

// The table of effects agrees with the answers of the oracle for every crawler.
func TestAuditAgreesWithOracle(t *testing.T) {
	newspaper := conformance.NewSite()
	web := map[string]conformance.Response{}
	a := audit(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		newspaper.ServeHTTP(answer, r)
		web["http://lantern.test"+r.URL.RequestURI()] = conformance.Response{Status: &answer.Code,
			Header: answer.Header().Clone(), BodyBase64: answer.Body.Bytes()}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		w.Write(answer.Body.Bytes())
	}), 100)
	status := map[string]int{}
	for _, p := range a.Pages {
		status[p.URL] = p.Status
	}
	compared := 0
	for _, e := range a.Effects {
		for _, name := range e.Crawlers {
			who := []string{}
			if name != "" {
				who = append(who, name)
			}
			for _, row := range e.Rows {
				if status[row.URL] >= 300 && status[row.URL] <= 399 { // the oracle does not follow redirects here
					continue
				}
				now := a.Time
				answer, err := conformance.Decide(t.Context(), &conformance.Case{Crawler: who, Web: web, URL: row.URL,
					Facts: conformance.Facts{Now: &now}})
				if err != nil {
					t.Fatal(err)
				}
				for _, cell := range row.Cells {
					d := answer.Decisions[cell.Usage]
					if d.Allowed != (cell.State != conformance.Refused) && d.Reason != acap.ByTarget &&
						cell.State != conformance.Ask || d.Reason != cell.Reason {
						t.Errorf("%s of %s for %q: %s by %s, the oracle says %v by %s", cell.Usage, row.URL, name,
							cell.State, cell.Reason, d.Allowed, d.Reason)
					}
					compared++
				}
			}
		}
	}
	if compared < 1500 {
		t.Errorf("%d cells were compared", compared)
	}
}

// An action request is reported with all crawlers that it addresses.
func TestAuditRequests(t *testing.T) {
	a := audit(t, small{"/robots.txt": "ACAP-crawler: *\nACAP-request-take-down: /a\nACAP-crawler: " +
		"beta\nACAP-crawler: gamma\nACAP-request-take-down: /b\n", "/": meta()}, 1)
	var got []string
	for _, r := range a.Actions {
		got = append(got, strings.TrimPrefix(r.URL, "http://lantern.test")+" "+r.Who())
	}
	if want := []string{"/a any crawler", "/b beta, gamma"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// If the audit read no page, the verdict is not positive. A sitemap that is named twice counts
// once.
func TestAuditVerdict(t *testing.T) {
	var sitemaps strings.Builder
	for i := range 20 {
		fmt.Fprintf(&sitemaps, "Sitemap: http://lantern.test/map%d\n", i%10)
	}
	for status, want := range map[string]bool{"Status: 500\n\n": true, "": false} {
		a := audit(t, small{"/robots.txt": "User-agent: *\nDisallow: /x\n" + sitemaps.String(), "/": status}, 1)
		var page strings.Builder
		if err := conformance.WriteAuditHTML(&page, []*conformance.Audit{a}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(page.String(), "No page was checked.") != want || len(a.Notes) > 0 ||
			len(a.Sitemaps) != 10 {
			t.Errorf("%q: %q, %d sitemaps", status, a.Notes, len(a.Sitemaps))
		}
	}
}

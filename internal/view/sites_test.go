package view

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/policy"
)

// fixedSites is a Sites with fixed answers. It has two versions of the policy of one origin.
type fixedSites struct {
	texts []string
	count int // number of origins
	crawl *Crawl
	asked []bool // values of full
}

const quay = "http://quay.example"

var day = time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)

func (f *fixedSites) Sites(_ context.Context, after string, limit int, full bool) (list []Site, more bool, err error) {
	f.asked = append(f.asked, full)
	for i := range f.count {
		host := fmt.Sprintf("h%03d.example", i)
		one := Site{Origin: "http://" + host, Host: host, Policy: SitePolicy{Status: policy.Read, Read: day}}
		if one.Origin > after {
			if len(list) == limit {
				return list, true, nil
			}
			if i%2 == 0 {
				one.Counts, one.Pace = &SiteCounts{Pages: 7, Counted: day}, &SitePace{CrawlDelay: 2.5, Failures: 1}
			}
			list = append(list, one)
		}
	}
	return list, false, nil
}

func (f *fixedSites) Host(_ context.Context, host string, full bool) ([]SiteDetail, error) {
	f.asked = append(f.asked, full)
	if host != "quay.example" {
		return nil, nil
	}
	d := SiteDetail{Site: Site{Origin: quay, Host: host, Policy: SitePolicy{Status: policy.Read, Read: day},
		Counts: &SiteCounts{Pages: 1, Counted: day, Again: day.Add(-time.Hour)},
		Pace:   &SitePace{Due: day.Add(time.Hour), Failures: 3}},
		Requests: []SiteRequest{{Action: "take-down", URL: quay + "/<x>", File: quay + "/robots.txt", Line: 3,
			State: "done", ID: 7}},
		Skipped: []SkippedAddress{{URL: quay + "/<p>", Reason: "refused", Why: "prohibited", File: quay + "/robots.txt",
			Line: 2, Text: "Disallow: /private"},
			{URL: quay + "/t", Reason: "trap", Why: "a trap", When: day.Add(-3 * time.Hour)}}}
	for i, text := range f.texts {
		since := day.Add(time.Duration(i) * time.Hour)
		v := policy.Version{Since: since, Robots: policy.Document{URL: quay + "/robots.txt", HTTP: 200,
			Text: []byte(text), Fetched: since}}
		d.Versions = append(d.Versions, SiteVersion{Since: since, Status: policy.Read, Bytes: int64(len(text)),
			Version: v})
	}
	return []SiteDetail{d}, nil
}

func (f *fixedSites) Totals() (Totals, error) { return Totals{Pages: 7654321}, nil }

func (f *fixedSites) Crawl() *Crawl { return f.crawl }

func sitesHandler(t *testing.T, f *fixedSites) *Handler {
	t.Helper()
	h, err := New(Options{Presenter: &fixed{}, Sites: f, Now: func() time.Time { return day }})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// as sends a GET request of a visitor.
func as(h *Handler, v Visitor, sent string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/", nil)
	r.RequestURI = sent
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(WithVisitor(r.Context(), v)))
	return w
}

func mustContain(t *testing.T, what, body string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(body, part) {
			t.Errorf("%s does not contain %s:\n%s", what, part, body)
		}
	}
}

// TestSitesList checks the pages of the list and what only the operator sees.
func TestSitesList(t *testing.T) {
	f := &fixedSites{count: 205, crawl: &Crawl{Began: day, Done: 9876543}}
	h := sitesHandler(t, f)
	first := get(h, "GET", "/sites").Body.String()
	if n := strings.Count(first, `<th scope="row" role="rowheader">`); n != sitesPerPage {
		t.Errorf("%d sites", n)
	}
	mustContain(t, "the first page", first, `href="/sites/h000.example"`, "2.5 s (Crawl-delay)", "1 failure in a row",
		"being counted", `href="/sites?after=http%3A%2F%2Fh199.example"`, "A crawl has been running")
	for _, private := range []string{"9876543", "7654321"} {
		if strings.Contains(first, private) {
			t.Errorf("every reader sees %s", private)
		}
	}
	mustContain(t, "the last page", get(h, "GET", "/sites?after=http%3A%2F%2Fh199.example").Body.String(),
		"h204.example", "First page")
	mustContain(t, "the page of the operator", as(h, Visitor{Role: Operator}, "/sites").Body.String(), "9876543",
		"7654321")
	home := get(h, "GET", "/").Body.String()
	mustContain(t, "home", home, "h009.example", "All sites", "7 pages")
	if strings.Contains(home, "h010.example") || strings.Contains(home, "7654321") {
		t.Error("home shows too much")
	}
	if last := len(f.asked) - 1; f.asked[last] || !f.asked[2] {
		t.Errorf("%v", f.asked)
	}
}

// TestSitePage checks the robots.txt with findings, the versions and their differences.
func TestSitePage(t *testing.T) {
	f := &fixedSites{texts: []string{
		"User-agent: *\nDisallow: /private\n",
		"User-agent: *\nDisallow: /private\nDisallow: /<b>\n",
		"User-agent: *\nDisallow: /<b>\nACAP-crawler: *\nACAP-dissallow-index: /\nCrawl-delay: 3\n"}}
	h := sitesHandler(t, f)
	body := get(h, "GET", "/sites/quay.example").Body.String()
	mustContain(t, "the page", body, `<div id="http-4" data-line="4"><code>ACAP-dissallow-index: /</code><ul><li>`+
		`<strong class="no">error:</strong>`, `<strong class="no">1 error</strong>`, `<a href="#http-4">4</a>`,
		`<a href="#http-2">line 2</a> <code>Disallow: /private</code>`, "http://quay.example/&lt;p&gt;",
		"take-down of http://quay.example/&lt;x&gt;", "<del>- Disallow: /private</del>", "<ins>+ ACAP-crawler: *</ins>",
		"crawl-delay", "Newly allowed", "any other crawler", `<code>/private</code>`,
		`refused</span><br><code>line 2: Disallow: /private</code>`, "nothing is said about it",
		"due since <time datetime=\"2026-03-01T11:00:00Z\">", `<a href="/search?site=quay.example">1</a>`,
		`<dt>Failures in a row</dt><dd class="no">3</dd>`, "13:00:00 UTC", "1 March 2026, 09:00 UTC")
	if strings.Contains(body, "/requests/7") || strings.Contains(body, "permitted") {
		t.Errorf("a link to pages that do not exist, or another word for allowed: %s", body)
	}
	mustContain(t, "the page of a server with pages of requests", as(h, Visitor{Users: true},
		"/sites/quay.example").Body.String(), `<a href="/requests/7">request 7</a>`)
	if strings.Contains(body, "/<b>") {
		t.Error("the publisher's text is not escaped")
	}
	at := url.QueryEscape(day.Add(time.Hour).Format(time.RFC3339Nano))
	older := get(h, "GET", "/sites/quay.example?origin=http%3A%2F%2Fquay.example&version="+at).Body.String()
	mustContain(t, "the older version", older, "<ins>+ Disallow: /&lt;b&gt;</ins>", "1 line added, 0 lines removed")
	if strings.Contains(older, "<ins>+ ACAP-crawler") {
		t.Error("the changes of another version are shown")
	}
	for sent, status := range map[string]int{
		"/sites/QUAY.example": 200, "/sites/other.example": 404, "/sites/": 400, "/sites/a/b": 400, "/sites/a%2Fb": 400,
		"/sites/a%00b": 400, "/sites/" + strings.Repeat("a", 400): 400, "/sites/user@quay.example": 400,
		"/sites/quay.example?origin=http%3A%2F%2Fquay.example&version=x":                    400,
		"/sites/quay.example?origin=http%3A%2F%2Fquay.example&version=2001-01-01T00:00:00Z": 400,
	} {
		if w := get(h, "GET", sent); w.Code != status {
			t.Errorf("%s: %d, want %d", sent, w.Code, status)
		}
	}
	for _, sent := range []string{"/sites", "/sites/quay.example"} {
		if w := get(handler(t, &fixed{}), "GET", sent); w.Code != 404 {
			t.Errorf("%s without sites: %d", sent, w.Code)
		}
	}
}

func TestDiffLines(t *testing.T) {
	var long []string
	for i := range 20 {
		long = append(long, fmt.Sprint(i))
	}
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""}, {"a", "a", "…"}, {"a", "b", "-a +b"}, {"a b c", "a c", " a -b  c"}, {"a", "a b", " a +b"},
		{"x a y b", "a b z", "-x  a -y  b +z"},
		{strings.Join(long, " "), strings.Join(long[:19], " ") + " new", "…  16  17  18 -19 +new"},
	} {
		var got []string
		for _, line := range diffLines(strings.Fields(c.a), strings.Fields(c.b)) {
			got = append(got, line.Mark+line.Text)
		}
		if out := strings.Join(got, " "); out != c.want {
			t.Errorf("%q and %q: %q, want %q", c.a, c.b, out, c.want)
		}
	}
}

// TestHostilePolicies checks that comparing two policies made to be complex ends.
func TestHostilePolicies(t *testing.T) {
	var a, b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&a, "User-agent: u%d\nDisallow: /*%d*x*\n", i, i)
		fmt.Fprintf(&b, "User-agent: u%d\nDisallow: /*%d*y*$\n", i, i*7)
	}
	f := &fixedSites{texts: []string{a.String(), b.String()}}
	if w := get(sitesHandler(t, f), "GET", "/sites/quay.example"); w.Code != 200 {
		t.Error(w.Code)
	}
}

package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/conformance"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
)

// handled serves requests with a handler, without a network. It does not follow redirects.
type handled struct {
	http.Handler
	policies *policy.Authority
}

func (h handled) answer(rawurl string) page.Hop {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, rawurl, nil))
	return page.Hop{URL: rawurl, Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
}

// Page returns an error for a page that may not be crawled, like the gate.
func (h handled) Page(ctx context.Context, rawurl string) (*page.Page, error) {
	u, err := url.Parse(rawurl)
	if err != nil {
		return nil, err
	}
	p, err := h.policies.Policy(ctx, u)
	if err != nil {
		return nil, err
	}
	if err := p.Decide(acap.Crawl, acap.NewResource(u)).Err(rawurl); err != nil {
		return nil, err
	}
	return page.New([]page.Hop{h.answer(rawurl)}), nil
}

func (h handled) Fetch(ctx context.Context, rawurl string) (*page.Page, error) {
	return h.Page(ctx, rawurl)
}

// files fetches robots.txt and the files to which it refers from a handler.
type files struct{ handled }

func (f files) Fetch(_ context.Context, rawurl string, _ http.Header) (policy.Response, error) {
	h := f.answer(rawurl)
	return policy.Response{URL: h.URL, Status: h.Status, Header: h.Header, Body: h.Body}, nil
}

func audit(t *testing.T, site http.Handler, pages int) *conformance.Audit {
	t.Helper()
	return auditAs(t.Context(), t, acap.Crawler{Names: []string{"acapcrawl"}}, site, pages, "http://lantern.test/")
}

func auditAs(ctx context.Context, t *testing.T, who acap.Crawler, site http.Handler, pages int,
	start ...string) *conformance.Audit {
	t.Helper()
	var urls []*url.URL
	for _, one := range start {
		u, err := url.Parse(one)
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, u)
	}
	h := handled{Handler: site}
	answers := &check.Answers{Fetcher: files{h}}
	h.policies = policy.New(answers, who, policy.NewMemory(), policy.Options{})
	t.Cleanup(func() { h.policies.Close() })
	s := conformance.AuditSite{Site: check.Site{Who: who, Sender: who, Policies: h.policies, Answers: answers,
		Fetcher: h},
		Sitemap: func(_ context.Context, address string) (pages, more []string, err error) {
			body := string(h.answer(address).Body)
			for _, part := range strings.Split(body, "<loc>")[1:] {
				address, _, _ := strings.Cut(part, "</loc>")
				pages = append(pages, address)
			}
			return pages, nil, nil
		}}
	a, err := conformance.AuditSiteOf(ctx, urls, s,
		conformance.AuditOptions{Pages: pages, Check: check.Options{Now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The audit reports the effects that the authors of the newspaper intended, and requests nothing
// that is prohibited.
func TestAuditOfNewspaper(t *testing.T) {
	site := conformance.NewSite()
	a := audit(t, site, 100)
	if !a.Complete || !a.Fetched() || a.Status != "read" {
		t.Fatalf("%+v", a.Pages)
	}
	for _, v := range site.Visits() {
		if slices.Contains(site.Forbidden(), v.Path) {
			t.Errorf("%s was requested", v.Path)
		}
	}
	i := slices.IndexFunc(a.Effects, func(e conformance.Effects) bool {
		return slices.Contains(e.Crawlers,
			"acapcrawl")
	})
	if i < 0 {
		t.Fatal("nothing is told for acapcrawl")
	}
	states := map[string]map[acap.Usage]conformance.State{}
	for _, row := range a.Effects[i].Rows {
		path := strings.TrimPrefix(row.URL, "http://lantern.test")
		states[path] = map[acap.Usage]conformance.State{}
		for _, c := range row.Cells {
			states[path][c.Usage] = c.State
		}
	}
	compared := 0
	for _, e := range site.Truth() {
		told, known := states[e.Path]
		if !known || e.Status != http.StatusOK || strings.Contains(e.Because, "take-down") ||
			e.Path == "/notices/for-hire.html" {
			continue
		}
		compared++
		if got := told[acap.Crawl] != conformance.Refused; got != e.Crawl {
			t.Errorf("crawl of %s: %s, %s", e.Path, told[acap.Crawl], e.Why)
		}
		if !e.Crawl { // without crawling, no other usage is possible
			continue
		}
		for usage, want := range map[acap.Usage]bool{acap.Follow: e.Follow, acap.Preserve: e.Preserve} {
			if got := told[usage] != conformance.Refused; got != want {
				t.Errorf("%s of %s: %s, %s", usage, e.Path, told[usage], e.Why)
			}
		}
		// P2 2.2.8 (N05): an element may permit index although the page prohibits it
		if told[acap.Index] != conformance.Refused && !e.Index {
			t.Errorf("index of %s: %s, %s", e.Path, told[acap.Index], e.Why)
		}
	}
	if compared < 35 {
		t.Errorf("%d pages of the newspaper were compared", compared)
	}
	// findings about /archive/essays/salt-road.html and about /mirror/
	for _, want := range []string{"part-not-found", "other-location"} {
		if !slices.ContainsFunc(a.Findings, func(f acap.Finding) bool { return f.Code == want }) {
			t.Errorf("%s is not told", want)
		}
	}
}

// If few pages may be requested, the audit chooses pages about which some statement decides.
func TestAuditSample(t *testing.T) {
	a := audit(t, conformance.NewSite(), 12)
	requested := 0
	for _, p := range a.Pages {
		if p.Requested {
			requested++
		}
	}
	if requested != 12 {
		t.Errorf("%d pages were requested", requested)
	}
	told := map[string]bool{}
	for _, l := range a.Lines() {
		told[l.String()] = true
	}
	for _, s := range a.Said {
		for _, l := range s.Lines {
			if s.ACAP && len(s.Purposes) == 0 && len(l.Usages) > 0 && !told[l.String()] {
				t.Errorf("no address is told on which it decides: %s", l)
			}
		}
	}
}

// FuzzAuditHTML: whatever a site contains, the page has only the elements and attributes of the
// template.
func FuzzAuditHTML(f *testing.F) {
	for _, seed := range []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</style><style>*{}",
		"javascript:alert(1)", "{{.}}", "\x1b[31m\u202e", "</title><base href=//x>"} {
		f.Add("ACAP-crawler: *\nACAP-allow-index: /"+seed+"\nACAP-disallow-"+seed+": /", seed, seed)
		f.Add("User-agent: "+seed+"\nDisallow: /"+seed, seed, seed)
	}
	f.Fuzz(func(t *testing.T, robots, title, tag string) {
		site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				w.Write([]byte(robots))
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("X-Robots-Tag", strings.NewReplacer("\r", "", "\n", "").Replace(tag))
			w.Write([]byte("<title>" + html.EscapeString(title) + `</title><meta name=robots content="ACAP ` +
				html.EscapeString(tag) + `"><a href="/` + html.EscapeString(title) + `">`))
		})
		var page bytes.Buffer
		if err := conformance.WriteAuditHTML(&page, []*conformance.Audit{audit(t, site, 2)}); err != nil {
			t.Fatal(err)
		}
		doc, err := html.Parse(&page)
		if err != nil {
			t.Fatal(err)
		}
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			switch n.Data {
			case "script", "img", "base", "iframe", "object", "form", "link", "svg":
				t.Fatalf("it holds an element %s", n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" || a.Key == "href" &&
					!strings.HasPrefix(a.Val, "#") {
					t.Fatalf("it holds %s=%q on %s", a.Key, a.Val, n.Data)
				}
			}
			if n.Data == "style" && n.Parent.Data != "head" {
				t.Fatal("it holds a second style")
			}
		}
	})
}

// If there is more than the audit can examine, a note says what was left out.
func TestAuditSaysWhatIsLeftOut(t *testing.T) {
	var list strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&list, "<loc>http://lantern.test/p/%d.html</loc>\n", i)
	}
	var robots strings.Builder
	for i := range 12 {
		fmt.Fprintf(&robots, "Sitemap: /map/%d.xml\n", i)
	}
	a := audit(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
			fmt.Fprint(w, robots.String())
		case strings.HasPrefix(r.URL.Path, "/map/"):
			fmt.Fprint(w, strings.ReplaceAll(list.String(), "/p/", "/p"+r.URL.Path+"/"))
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<p>Nothing new.")
		}
	}), 3)
	notes := strings.Join(a.Notes, "\n")
	for _, want := range []string{"/map/0.xml lists 3000 pages: some are chosen of 500", "the first 10 were read",
		"more than 1000 addresses"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q:\n%s", want, notes)
		}
	}
}

// The effect of one field on many pages is reported once, with the number of pages.
func TestAuditFolds(t *testing.T) {
	a := audit(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "ACAP-version: 1.1\nACAP-crawler: *\nACAP-allow-index: / "+
				"must-use-resource=the-acap:extract:id:nosuch\n")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<p><a href="/a.html">A</a> <a href="/b.html">B</a>`)
	}), 3)
	var text, html strings.Builder
	if err := errors.Join(a.WriteText(&text), conformance.WriteAuditHTML(&html, []*conformance.Audit{a})); err != nil {
		t.Fatal(err)
	}
	for form, got := range map[string]string{"text": text.String(), "HTML": html.String()} {
		if strings.Count(got, "nosuch&#34;, so")+strings.Count(got, `nosuch", so`) != 1 ||
			!strings.Contains(got, "2 findings more") {
			t.Errorf("%s: %s", form, got)
		}
	}
	if len(a.Findings) < 3 {
		t.Errorf("%d findings", len(a.Findings))
	}
}

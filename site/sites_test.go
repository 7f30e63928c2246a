package site

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

// hostOf returns the report about the only origin of a host.
func hostOf(t *testing.T, o *Sites, p *publisher, full bool) view.SiteDetail {
	t.Helper()
	for {
		list, err := o.Host(t.Context(), strings.TrimPrefix(p.origin, "http://"), full)
		if err != nil || len(list) != 1 {
			t.Fatalf("%d origins, %v", len(list), err)
		}
		if list[0].Counts != nil { // otherwise the count has not ended
			return list[0]
		}
	}
}

// refresh reads the policy of a publisher again.
func refresh(t *testing.T, s *Site, p *publisher) {
	t.Helper()
	u, err := url.Parse(p.origin)
	if err != nil {
		t.Fatal(err)
	}
	s.gate.Name(u)
	if _, err := s.policy.Refresh(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}

// TestSites checks what readers and the operator learn about a site: addresses that may not be linked
// are neither listed nor counted for readers.
func TestSites(t *testing.T) {
	p := newPublisher(t, "/a.html", "/b.html", "/secret.html")
	p.setRobots("User-agent: *\nDisallow: /private\nCrawl-delay: 0.01\nACAP-crawler: *\n" +
		"ACAP-disallow-present-link: /secret\nACAP-disallow-crawl: /secret-too\nACAP-request-take-down: /down.html\n")
	s := open(t, t.TempDir())
	seeds := []string{"/a.html", "/b.html", "/secret.html", "/private.html", "/secret-too.html", "/missing.html"}
	for i, path := range seeds {
		seeds[i] = p.origin + path
	}
	if _, err := s.Crawl(t.Context(), CrawlOptions{Seeds: seeds}); err != nil {
		t.Fatal(err)
	}
	o := s.Sites()
	open, full := hostOf(t, o, p, false), hostOf(t, o, p, true)
	if open.Counts.Pages != 2 || full.Counts.Pages != 3 || open.Counts.Refused != 1 || full.Counts.Refused != 2 {
		t.Errorf("open %+v, full %+v", *open.Counts, *full.Counts)
	}
	if text, err := json.Marshal(open.Skipped); err != nil || strings.Contains(string(text), "secret") ||
		len(open.Skipped) != 1 || open.Skipped[0].Line != 2 || open.Skipped[0].File != p.origin+"/robots.txt" {
		t.Errorf("%s, %v", text, err)
	}
	if len(full.Skipped) != 2 || full.Skipped[1].URL != p.origin+"/secret-too.html" {
		t.Errorf("%+v", full.Skipped)
	}
	if open.Pace == nil || open.Pace.CrawlDelay != 0.01 || open.Counts.LastVisit.IsZero() || len(open.Versions) != 1 {
		t.Errorf("%+v", open)
	}
	if len(open.Requests) != 1 || open.Requests[0].Action != "take-down" || open.Requests[0].Line != 7 ||
		open.Requests[0].State == "" {
		t.Errorf("%+v", open.Requests)
	}
	totals, err := o.Totals()
	if err != nil || totals.Versions != 3 || totals.Refused != 2 {
		t.Errorf("%+v, %v", totals, err)
	}
	if o.Crawl() != nil {
		t.Error("a crawl runs")
	}

	p.setRobots("ACAP-crawler: *\nACAP-disallow-present: /\n")
	refresh(t, s, p)
	if open := hostOf(t, o, p, false); open.Counts.Pages != 0 || len(open.Versions) != 2 {
		t.Errorf("after the policy changed: %+v", open)
	}
	if list, err := o.Host(t.Context(), "unknown.example", true); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestSitesInOrder checks that the list of sites has pages and no site is lost between them.
func TestSitesInOrder(t *testing.T) {
	s := open(t, t.TempDir())
	var want, got []string
	for range 3 {
		p := newPublisher(t)
		refresh(t, s, p)
		want = append(want, p.origin)
	}
	slices.Sort(want)
	o := s.Sites()
	for more := true; more; {
		var list []view.Site
		var err error
		after := ""
		if len(got) > 0 {
			after = got[len(got)-1]
		}
		if list, more, err = o.Sites(t.Context(), after, 2, true); err != nil || len(list) == 0 {
			t.Fatalf("%d sites, %v", len(list), err)
		}
		for _, one := range list {
			got = append(got, one.Origin)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSitesDuringCrawl checks the reports while a crawl runs.
func TestSitesDuringCrawl(t *testing.T) {
	p := newPublisher(t, "/a.html")
	s := open(t, t.TempDir())
	o := s.Sites()
	var running atomic.Int32
	sum, err := s.Crawl(t.Context(), CrawlOptions{Seeds: []string{p.origin + "/a.html"}, Every: time.Millisecond,
		Progress: func(crawler.Progress) {
			if o.Crawl() != nil {
				running.Add(1)
			}
			if _, _, err := o.Sites(t.Context(), "", 10, true); err != nil {
				t.Error(err)
			}
			if _, err := o.Totals(); err != nil {
				t.Error(err)
			}
		}})
	if err != nil || sum.Stored != 1 || running.Load() == 0 {
		t.Errorf("%+v, %v, seen %d times", sum, err, running.Load())
	}
	if o.Crawl() != nil {
		t.Error("the crawl has not ended")
	}
	for hostOf(t, o, p, false).Counts.Pages != 1 { // counts made during the crawl are used for a short time
	}
}

// TestSitesHide checks that a page to which not every reader may see a link is not counted for readers as
// soon as the policy says so.
func TestSitesHide(t *testing.T) {
	p := newPublisher(t, "/a.html", "/secret.html")
	s := open(t, t.TempDir())
	crawl(t, s, p.origin+"/a.html", p.origin+"/secret.html")
	o := s.Sites()
	if n := hostOf(t, o, p, false).Counts.Pages; n != 2 {
		t.Fatalf("%d pages", n)
	}
	for _, line := range []string{
		"ACAP-disallow-present-link: /secret", "ACAP-disallow-present: /secret",
		"ACAP-allow-present: /secret target-condition=permittedcountrylist:FR",
		"ACAP-allow-present-link: /secret time-limit=until-2012-12-31",
		"ACAP-allow-present-link: /secret must-use-resource=/other.html", "ACAP-disallow-present-link: /\n" +
			"ACAP-allow-present-link: /a",
		"ACAP-request-take-down: /secret.html",
	} {
		p.setRobots("ACAP-version: 1.1\nACAP-crawler: *\n" + line + "\n")
		refresh(t, s, p)
		open, full := hostOf(t, o, p, false), hostOf(t, o, p, true)
		if open.Counts.Pages != 1 || full.Counts.Pages != 2 || len(open.Skipped) != 0 {
			t.Errorf("%s: %d pages for readers, %d for the operator; %v", line, open.Counts.Pages, full.Counts.Pages,
				open.Skipped)
		}
	}
}

// TestSitesHideLinks checks that readers learn nothing of the addresses and sites in links of pages which they may not
// see.
func TestSitesHideLinks(t *testing.T) {
	far := newPublisher(t)
	p := newPublisher(t)
	p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = io.WriteString(w, "ACAP-version: 1.1\nACAP-crawler: *\nACAP-disallow-present: /hidden\n"+
				"ACAP-disallow-crawl: /admin/\n")
		case "/moved":
			http.Redirect(w, r, "/admin/zqtarget", http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, `<a href="/admin/zqsecret?token=zq1">x</a><a href="/admin/zqother">x</a>`+
				`<a href="`+far.origin+`/zqfar">x</a><a href="/moved">x</a>`)
		}
	})
	s := openDeep(t, t.TempDir(), "2")
	seeds := []string{p.origin + "/hidden", p.origin + "/admin/seed"}
	if _, err := s.Crawl(t.Context(), CrawlOptions{Seeds: seeds}); err != nil {
		t.Fatal(err)
	}
	refresh(t, s, far)
	o := s.Sites()
	for _, full := range []bool{false, true} {
		list, _, err := o.Sites(t.Context(), "", 10, full)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal([]any{list, hostOf(t, o, p, full)})
		if err != nil {
			t.Fatal(err)
		}
		if shown := strings.Contains(string(text), "zq") || strings.Contains(string(text), far.origin); shown != full {
			t.Errorf("for the operator %t: %s", full, text)
		}
		for _, want := range []string{"/admin/seed", p.origin} {
			if !strings.Contains(string(text), want) {
				t.Errorf("for the operator %t: no %s: %s", full, want, text)
			}
		}
	}
	var links []view.SkippedAddress
	for _, one := range hostOf(t, o, p, false).Skipped {
		if one.URL == "" {
			links = append(links, one)
		}
	}
	if len(links) != 2 || links[0].Count+links[1].Count != 3 || links[0].File == "" && links[1].File == "" {
		t.Errorf("%+v", links)
	}
}

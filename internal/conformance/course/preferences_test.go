package course

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// licensee is a crawler for tests of the judge that reads tdmrep.json and licence documents, unless
// it has the fault that is named after a station. It obeys no robots.txt except for tdmrep.json.
type licensee struct {
	client http.Client
	fault  string
	sites  map[string]*licensed
}

// licensed is what the licensee knows of an origin.
type licensed struct {
	robots   string
	contents []licence // of the documents of its robots.txt
	tdm      bool      // tdmrep.json was requested
}

// licence is an element content of a licence document.
type licence struct {
	URL    string `xml:"url,attr"`
	Server string `xml:"server,attr"`
}

// get requests an address once. It does not follow redirects.
func (l *licensee) get(t *testing.T, u *url.URL) (*http.Response, string) {
	t.Helper()
	req := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{"User-Agent": {"licensee/1.0"}}}
	resp, err := l.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b strings.Builder
	if err := resp.Write(&b); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(b.String(), "\r\n\r\n")
	return resp, body
}

// document returns the contents of a licence document, following at most maxHops redirects.
func (l *licensee) document(t *testing.T, named string) (list []licence) {
	t.Helper()
	hops := 3
	if l.fault == "rsl-loop" {
		hops = 2 * maxLoop
	}
	for range hops {
		u, err := url.Parse(named)
		if err != nil {
			t.Fatal(err)
		}
		resp, body := l.get(t, u)
		if resp.StatusCode == http.StatusOK {
			return contentsOf(body)
		}
		named = resp.Header.Get("Location")
	}
	return nil
}

func contentsOf(body string) []licence {
	var doc struct {
		Contents []licence `xml:"content"`
	}
	_ = xml.Unmarshal([]byte(body), &doc)
	return doc.Contents
}

// site reads robots.txt of an origin, its tdmrep.json and its licence documents.
func (l *licensee) site(t *testing.T, u *url.URL) *licensed {
	t.Helper()
	s := l.sites[u.Host]
	if s != nil {
		return s
	}
	s = &licensed{}
	l.sites[u.Host] = s
	_, s.robots = l.get(t, u.ResolveReference(&url.URL{Path: robotsPath}))
	if l.fault != "tdmrep-first" {
		l.askTDM(t, u, s)
	}
	global, own, named := strings.Cut(s.robots, "User-agent: licensee")
	if !named || l.fault == "rsl-own-group" {
		own = global
	}
	read := 0
	for line := range strings.Lines(own) {
		name, ok := strings.CutPrefix(line, "License: ")
		if read++; ok && (read < 20 || l.fault == "rsl-many") {
			s.contents = append(s.contents, l.document(t, strings.TrimSpace(name))...)
		}
	}
	return s
}

// askTDM requests tdmrep.json of an origin if robots.txt permits it.
func (l *licensee) askTDM(t *testing.T, u *url.URL, s *licensed) {
	t.Helper()
	if s.tdm && l.fault != "tdmrep-once" ||
		strings.Contains(s.robots, "Disallow: /.well-known/") && l.fault != "tdmrep-closed" {
		return
	}
	s.tdm = true
	l.get(t, u.ResolveReference(&url.URL{Path: tdmPath}))
}

// needsServer reports whether the longest path that matches needs a licence server.
func (l *licensee) needsServer(s *licensed, u *url.URL) bool {
	longest, needs := -1, false
	for _, c := range s.contents {
		pattern := c.URL
		if abs, err := url.Parse(pattern); err == nil && abs.Host == u.Host && l.fault != "rsl-absolute" {
			pattern = abs.Path
		}
		quoted := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(pattern, "$")), `\*`, ".*")
		if strings.HasSuffix(pattern, "$") || l.fault == "rsl-all" && pattern == "/" {
			quoted += "$"
		}
		matches := regexp.MustCompile("^" + quoted).MatchString(u.Path)
		if l.fault == "rsl-pattern" {
			matches = strings.HasPrefix(u.Path, pattern)
		}
		switch {
		case !matches, l.fault == "rsl-narrow" && longest >= 0:
		case len(pattern) > longest:
			longest, needs = len(pattern), c.Server != ""
		}
	}
	return needs && l.fault != "rsl-server"
}

var licenceLink = regexp.MustCompile(`^<(.*)>; rel="license"; type="application/rsl\+xml"$`)

// discards reports whether a page names a licence that needs a licence server.
func (l *licensee) discards(t *testing.T, resp *http.Response, root *html.Node) bool {
	t.Helper()
	var list []licence
	if m := licenceLink.FindStringSubmatch(resp.Header.Get("Link")); m != nil && l.fault != "rsl-header" {
		list = l.pageDocument(t, m[1])
	}
	for n := range root.Descendants() {
		attr := map[string]string{}
		for _, a := range n.Attr {
			attr[a.Key] = a.Val
		}
		switch {
		case attr["type"] != "application/rsl+xml":
		case n.Data == "link" && l.fault != "rsl-link":
			list = append(list, l.pageDocument(t, attr["href"])...)
		case n.Data == "script" && l.fault != "rsl-inline":
			list = append(list, contentsOf(n.FirstChild.Data)...)
		}
	}
	return slices.ContainsFunc(list, func(c licence) bool { return c.Server != "" })
}

// pageDocument returns the document that a page names. The licensee caches it.
func (l *licensee) pageDocument(t *testing.T, named string) []licence {
	t.Helper()
	s := l.sites[named]
	if s == nil || l.fault == "rsl-once" {
		s = &licensed{contents: l.document(t, named)}
		l.sites[named] = s
	}
	return s.contents
}

// visit requests a page and the pages that it links to, and returns its links.
func (l *licensee) visit(t *testing.T, u *url.URL, image bool) (links []*url.URL) {
	t.Helper()
	s := l.site(t, u)
	if l.needsServer(s, u) && (!image || l.fault != "rsl-image") {
		return nil
	}
	resp, body := l.get(t, u)
	l.askTDM(t, u, s)
	if to, err := resp.Location(); err == nil {
		if l.fault == "rsl-redirect" {
			l.get(t, to)
		}
		return []*url.URL{to}
	}
	if resp.StatusCode != http.StatusOK && l.fault == "rsl-paid" {
		l.get(t, u)
	}
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if l.discards(t, resp, root) {
		if l.fault == "rsl-discarded" && resp.StatusCode == http.StatusOK {
			l.get(t, u)
		}
		return nil
	}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if to, err := u.Parse(a.Val); err == nil && n.Data == "a" && a.Key == "href" {
				links = append(links, to)
			} else if err == nil && n.Data == "img" && a.Key == "src" {
				l.visit(t, to, true)
			}
		}
	}
	return links
}

// run lets the crawler visit the stations of TDMRep and RSL and returns what the judge finds with
// default options.
func (l *licensee) run(t *testing.T) *Visitor {
	t.Helper()
	s, err := Serve(t.Context(), Options{Run: "1"})
	if err != nil {
		t.Fatal(err)
	}
	l.sites = map[string]*licensed{}
	l.client = http.Client{Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var queue []*url.URL
	for _, st := range Stations() {
		if st.Protocol != TDMRep && st.Protocol != RSL {
			continue
		}
		u, err := url.Parse(s.URL(st.Origin) + st.Page())
		if err != nil {
			t.Fatal(err)
		}
		queue = append(queue, u)
	}
	for seen := map[string]bool{}; len(queue) > 0; queue = queue[1:] {
		if u := queue[0]; !seen[u.String()] {
			seen[u.String()] = true
			queue = append(queue, l.visit(t, u, false)...)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := Judge(t.Context(), s.Visits(), Told{})
	if err != nil || len(report.Visitors) != 1 {
		t.Fatal(report, err)
	}
	return report.Visitors[0]
}

// A crawler that reads tdmrep.json and licences passes all their stations. With one fault, it
// violates the station of this name.
func TestLicensees(t *testing.T) {
	faults := []string{""}
	for _, s := range Stations() {
		if (s.Protocol == TDMRep || s.Protocol == RSL) && s.Level != May {
			faults = append(faults, s.ID)
		}
	}
	for _, fault := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			v := (&licensee{fault: fault}).run(t)
			if v.TDMRep.Sign == "" || v.RSL.Sign == "" || !slices.Contains(v.Counted, TDMRep) ||
				!slices.Contains(v.Counted, RSL) {
				t.Fatalf("the signs are %+v and %+v; %v count", v.TDMRep, v.RSL, v.Counted)
			}
			for _, r := range v.Results {
				if r.Protocol != TDMRep && r.Protocol != RSL {
					continue
				}
				want := Kept
				switch {
				case r.Level == May:
					want = Used
				case r.ID == fault && r.Level == Advice:
					want = Unheeded
				case r.ID == fault:
					want = Violated
				case fault == "rsl-server" && r.Category == catLicences: // all servers are ignored
					want = r.Outcome
				}
				if r.Outcome != want {
					t.Errorf("%s is %s (%s %v), want %s", r.ID, r.Outcome, r.Why, r.Evidence, want)
				}
			}
		})
	}
}

// A crawler that knows neither TDMRep nor RSL is not judged by them, whatever it requests, unless
// the user says so. Its results in the other protocols do not depend on them.
func TestCrawlerWithoutPreferences(t *testing.T) {
	got := (&rover{agents: roverbot, keeps: rep}).run(t)
	if slices.Contains(got.Counted, TDMRep) || slices.Contains(got.Counted, RSL) || got.Failures() > 0 ||
		got.RSL.Prohibited < 8 {
		t.Errorf("%v count, %d failures, %+v", got.Counted, got.Failures(), got.RSL)
	}
	for _, r := range got.Results {
		if (r.Protocol == TDMRep || r.Protocol == RSL) && (r.Outcome != NotJudged || len(r.Evidence) > 0) {
			t.Errorf("%s is %s", r.ID, r.Outcome)
		}
	}
	visits := walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, "rsl/robots.txt", "rsl/rsl-server/",
		"rsl/rsl-server/open.html", "rsl/rsl-server/closed/trap.html")
	for _, told := range []Told{{Protocols: []Protocol{REP}}, {Protocols: []Protocol{RSL}}} {
		want := NotJudged
		if told.Protocols[0] == RSL {
			want = Violated
		}
		judged(t, told, visits)[0].wants(t, "rsl-server", want)
	}
}

// tdmrep.json is not requested before robots.txt, but it may be requested although all pages need a
// licence server.
func TestTDMRepIsNoPage(t *testing.T) {
	got := judged(t, Told{}, walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, "rslall/robots.txt",
		"rslall/.well-known/tdmrep.json", "rslall/policy/all.xml"))
	got[0].wants(t, "rsl-all", Kept)
	got = judged(t, Told{}, walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, "rslall/robots.txt",
		"rslall/policy/all.xml", "rslall/any/page.html"))
	got[0].wants(t, "rsl-all", Violated)
	got = judged(t, Told{}, walk(noon, "samplebot/1.0", "192.0.2.1", samplebot, "tdm/.well-known/tdmrep.json",
		"tdm/robots.txt", "tdm/tdmrep-first/", "tdm/tdmrep-first/open.html"))
	got[0].wants(t, "robots-first", Violated)
	got[0].wants(t, "tdmrep-first", Kept)
}

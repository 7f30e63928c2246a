package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/memento"
	"github.com/acapcrawl/acapcrawl/internal/view"
	"github.com/acapcrawl/acapcrawl/site"
)

// The words by which TestNothingHidden finds parts of the page. No other page contains them.
const (
	inPath  = "zqpath"
	inTitle = "zqtitle"
	inBody  = "zqbody"
	inOld   = "zqold" // only in the first version
)

// changingSite is a web site with one page whose robots.txt and version change.
type changingSite struct {
	mu     sync.Mutex
	robots string
	head   string // of the page
	old    bool
}

func (p *changingSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case r.URL.Path == "/robots.txt":
		fmt.Fprintf(w, "ACAP-version: 1.1\nACAP-crawler: *\n%s\n", p.robots)
	case r.URL.Path == "/open.html":
		fmt.Fprint(w, "<!DOCTYPE html><html lang=en><title>Open</title><p>An open page about gulls.")
	case r.URL.Path == "/"+inPath+".html":
		word := inBody
		if p.old {
			word = inOld
		}
		fmt.Fprintf(w, "<!DOCTYPE html><html lang=en><title>%s</title>%s<p>A page about gulls and %s.", inTitle, p.head,
			word)
	default:
		http.NotFound(w, r)
	}
}

// hiddenCase is a policy, a reader, and the words that this reader must not see.
type hiddenCase struct {
	robots, head string
	reader       acap.Target
	hidden       []string
}

var (
	all    = []string{inPath, inTitle, inBody, inOld}
	france = acap.Target{Country: "FR", IP: netip.MustParseAddr("192.0.2.1")}
)

// hiddenCases are policies that differ in what they hide, for all readers or for some.
func hiddenCases() map[string]hiddenCase {
	page := "/" + inPath + ".html"
	return map[string]hiddenCase{
		"present prohibited": {robots: "ACAP-disallow-present: " + page, hidden: all},
		"other countries": {robots: "ACAP-allow-present: / target-condition=permittedcountrylist:de", reader: france,
			hidden: all},
		"a prohibited country": {robots: "ACAP-allow-present: / target-condition=prohibitedcountrylist:FR",
			reader: france, hidden: all},
		"an unknown country": {robots: "ACAP-allow-present: / target-condition=permittedcountrylist:de",
			hidden: all},
		"a time that has ended": {robots: "ACAP-allow-present: / time-limit=until-2020-01-01", hidden: all},
		"taken down":            {robots: "ACAP-request-take-down: " + page, hidden: []string{inTitle, inBody, inOld}},
		"only the old copy": {robots: "ACAP-disallow-present-currentcopy: /\nACAP-disallow-present-snippet: /",
			hidden: []string{inBody}},
		"only the current copy": {robots: "ACAP-disallow-present-oldcopy: /\nACAP-disallow-present-oldsnippet: /",
			hidden: []string{inOld}},
		"only a link": {robots: "ACAP-disallow-present: /\nACAP-allow-present-link: /",
			hidden: []string{inBody, inOld}},
		"noarchive": {head: `<meta name="robots" content="noarchive, nosnippet">`,
			hidden: []string{inBody, inOld}},
		"not kept":      {robots: "ACAP-disallow-preserve: " + page, hidden: []string{inOld}},
		"META, present": {head: `<meta name="robots" content="ACAP disallow-present">`, hidden: all},
		"no link and no copy": {robots: "ACAP-disallow-present-link: /\nACAP-disallow-present-currentcopy: /\n" +
			"ACAP-disallow-present-oldcopy: /\nACAP-disallow-present-snippet: /\nACAP-disallow-present-oldsnippet: /",
			hidden: all},
		"an element": {head: `<p class="the-acap:disallow-present">x</p>`, hidden: nil},
	}
}

// TestNothingHidden requests every route as a reader who may not see a page, or not all of it, and looks
// for the hidden words. A page that the reader may not even see as a link must look like a page that
// was never archived.
func TestNothingHidden(t *testing.T) {
	t.Parallel()
	for name, c := range hiddenCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, origin, captures := archiveUnder(t, c)
			visitRoutes(t, h, c, origin, captures)
			visitReplayDomain(t, h, c, origin, captures)
		})
	}
}

// archiveUnder crawls two versions of the page, changes the policy of its site, and returns the handler of
// the archive, the address of the site, and the versions.
func archiveUnder(t *testing.T, c hiddenCase) (*view.Handler, string, []archive.Capture) {
	t.Helper()
	p := &changingSite{old: true}
	web := httptest.NewServer(p)
	t.Cleanup(web.Close)
	data := filepath.Join(t.TempDir(), "data")
	cfg, err := config.Load(config.Input{Flags: map[string]any{"data": data, "delay": "0"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := site.Open(cfg, site.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	hidden := web.URL + "/" + inPath + ".html"
	crawlOnce := func() {
		if _, err := s.Crawl(t.Context(), site.CrawlOptions{Seeds: []string{hidden, web.URL + "/open.html"},
			Refetch: true}); err != nil {
			t.Fatal(err)
		}
	}
	crawlOnce()
	p.mu.Lock()
	p.old, p.head = false, c.head
	p.mu.Unlock()
	crawlOnce()
	captures, err := s.Archive().Captures(hidden)
	if err != nil || len(captures) < 1 {
		t.Fatalf("%d versions, %v", len(captures), err)
	}
	p.mu.Lock()
	p.robots = c.robots
	p.mu.Unlock()
	if err := s.RefreshPolicies(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := newView(s, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return h, web.URL, captures
}

func visitRoutes(t *testing.T, h *view.Handler, c hiddenCase, origin string, captures []archive.Capture) {
	t.Helper()
	hidden := origin + "/" + inPath + ".html"
	routes := h.Routes()
	for _, route := range routes {
		list, known := targets(route, origin, hidden, captures)
		if !known {
			t.Errorf("no requests for the route %s: this test must have some", route)
		}
		for _, sent := range list {
			status, text := requestAs(h, c.reader, sent)
			// what the reader sent may come back, and robots.txt, which is public, is shown with its lines
			named := strings.Contains(sent, inPath)
			for _, word := range c.hidden {
				public := word == inPath && route == "/sites/"
				if strings.Contains(text, word) && !strings.Contains(sent, word) && !public {
					t.Errorf("%s: status %d shows %s", sent, status, word)
				}
			}
			// the policy explorer shows what robots.txt, which is public, says of the address
			explains := strings.HasSuffix(route, "/explain") && strings.Contains(c.robots, inPath)
			if named && slices.Contains(c.hidden, inPath) && !explains {
				as, other := requestAs(h, c.reader, strings.ReplaceAll(sent, inPath, "nopath"))
				if as != status || strings.ReplaceAll(text, inPath, "nopath") != other {
					t.Errorf("%s: status %d and %d bytes, but of a page never archived %d and %d bytes", sent, status,
						len(text), as, len(other))
				}
			}
		}
	}
}

// visitReplayDomain requests the page below the replay domain: as the copy in the frame of the viewer, after a click
// there, as a part of another page, and by itself.
func visitReplayDomain(t *testing.T, h *view.Handler, c hiddenCase, origin string, captures []archive.Capture) {
	t.Helper()
	answers := map[string][]string{}
	for _, path := range []string{"/" + inPath + ".html", "/nopath.html"} {
		digest := fmt.Sprintf("%x", sha256.Sum256([]byte(origin+path)))[:10]
		for _, one := range captures {
			for _, entry := range []string{digest, "0123456789"} {
				name := strings.Replace(origin, "http://127.0.0.1:", memento.Timestamp(one.Fetched)+"h", 1) +
					"-" + entry + "-127-0-0-1"
				who := view.Visitor{Reader: c.reader, Base: "http://archive.test", Label: name,
					Ancestors: "http://archive.test"}
				for _, dest := range []string{"iframe", "image", "empty"} {
					status, text := requestBy(h, who, path, "Sec-Fetch-Dest", dest, "Sec-Fetch-Site", "cross-site")
					answers[path] = append(answers[path],
						fmt.Sprint(status, strings.ReplaceAll(text, inPath, "nopath")))
				}
			}
		}
	}
	if shown := strings.Join(answers["/"+inPath+".html"], ""); c.hidden == nil && !strings.Contains(shown, inBody) {
		t.Error("below the replay domain, no request shows a page that may be shown")
	}
	for i, text := range answers["/"+inPath+".html"] {
		for _, word := range c.hidden {
			if word != inPath && strings.Contains(text, word) {
				t.Errorf("below the replay domain, request %d shows %s", i, word)
			}
		}
		if other := answers["/nopath.html"][i]; slices.Contains(c.hidden, inPath) && text != other {
			t.Errorf("below the replay domain, request %d: %s, but of a page never archived %s", i, text, other)
		}
	}
}

// requestAs sends a GET request of a reader.
func requestAs(h http.Handler, who acap.Target, sent string) (int, string) {
	return requestBy(h, view.Visitor{Reader: who, Base: "http://archive.test"}, sent)
}

// requestBy sends a GET request of a visitor, with the names and values of header fields.
func requestBy(h http.Handler, who view.Visitor, sent string, header ...string) (int, string) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RequestURI = sent
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(view.WithVisitor(r.Context(), who)))
	w.Header().Del("ETag") // a digest of the body, which contains the address
	return w.Code, fmt.Sprint(w.Header(), w.Body)
}

// targets returns requests for a route. known is false if the route has none here.
func targets(route, origin, hidden string, captures []archive.Capture) (list []string, known bool) {
	host := strings.TrimPrefix(origin, "http://")
	name, _, _ := strings.Cut(host, ":")
	stamps := []string{"19990101000000", "20990101000000"}
	for _, c := range captures {
		stamps = append(stamps, memento.Timestamp(c.Fetched))
	}
	switch route {
	case "/", "/sites", "/docs", "/openapi.json", "/opensearch.xml", "/robots.txt", "/requests", "/login",
		"/api/v1/archive/ls", "/api/v1/archive/stats", "/api/v1/decide", "/audit":
		return []string{route}, true
	case "/search", "/api/v1/search", "/feed.atom":
		for _, q := range []string{"gulls", "page", inBody, inTitle, inOld, "site:" + name} {
			list = append(list, route+"?q="+q)
		}
		switch route {
		case "/feed.atom":
			list = append(list, route+"?url="+hidden)
		case "/search":
			list = append(list, route+"?q="+hidden, route+"?q="+hidden+"&lang=en",
				route+"?q="+strings.TrimPrefix(hidden, "http://"))
		}
	case "/cdx":
		for _, m := range []string{"exact", "prefix", "host", "domain"} {
			list = append(list, "/cdx?url="+hidden+"&matchType="+m, "/cdx?url="+origin+"/&matchType="+m,
				"/cdx?output=json&url="+origin+"/&matchType="+m)
		}
	case "/api/v1/show":
		for _, form := range []string{"", "&version=1", "&version=2", "&snippet=true", "&snippet=true&version=1",
			"&thumbnail=true", "&original=true"} {
			list = append(list, route+"?url="+hidden+form)
		}
	case "/versions", "/explain", "/api/v1/explain":
		list = append(list, route+"?url="+hidden)
	case "/api/v1/sites":
		list = append(list, route, route+"?host="+host)
	case "/versions/", "/timegate/", "/timemap/link/", "/timemap/json/":
		list = append(list, route+hidden)
	case "/raw/", "/copy/", "/thumbnail/":
		for _, stamp := range stamps {
			list = append(list, route+stamp+"/"+hidden)
		}
	case "/compare":
		for _, from := range stamps {
			list = append(list, route+"?url="+hidden+"&from="+from+"&to="+stamps[0])
		}
	case "/compare/":
		for _, a := range stamps {
			for _, b := range stamps {
				list = append(list, route+a+"/"+b+"/"+hidden)
			}
		}
	case "/sites/":
		list = append(list, route+host, route+name)
	case "/assets/", "/requests/":
		list = append(list, route+"1")
	default:
		return nil, false
	}
	return list, true
}

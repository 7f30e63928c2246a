package conformance

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// SiteBase is the placeholder in the site's files, and in Expectation.Because, for the site's
// address: "http://" and the requested host.
const SiteBase = "{{BASE}}"

//go:embed site
var siteFiles embed.FS

// siteTypes are the media types of the site's files by extension.
var siteTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".gif": "image/gif", ".html": "text/html; charset=utf-8", ".png": "image/png",
	".txt": "text/plain; charset=utf-8", ".xml": "application/xml; charset=utf-8",
}

// siteRedirects maps paths of the site to redirect targets.
var siteRedirects = map[string]string{
	"/news/latest": "/news/ferry.html",
	"/weekend":     "/members/weekend.html",
}

// siteHeaders maps paths to the name and value of a robots header.
var siteHeaders = map[string][2]string{
	"/special/x-robots-tag.html": {"X-Robots-Tag", "noindex"},
	"/special/robots-tag.html":   {"Robots-Tag", "*;nosnippet, rivalbot;noindex"},
}

// siteDown is the path of the page that answers with status 503.
const siteDown = "/news/weather.html"

// Site is the reference publisher site: a small newspaper with a robots.txt, a file to which it
// refers, and pages with many different terms. It answers equal requests with equal bytes and
// records every visit. It is safe for concurrent use.
type Site struct {
	files map[string][]byte // content of the files, by path

	mu     sync.Mutex
	visits []Visit
}

// Visit is one request that reached the site.
type Visit struct {
	Method    string
	Path      string // path of the request, with its query
	Time      time.Time
	UserAgent string
}

// NewSite returns the site with no recorded visits.
func NewSite() *Site {
	s := &Site{files: map[string][]byte{}}
	// cannot fail: the files are embedded
	fs.WalkDir(siteFiles, "site", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := siteFiles.ReadFile(name)
		p := strings.TrimPrefix(name, "site")
		if dir, file := path.Split(p); file == "index.html" {
			p = dir
		}
		s.files[p] = body
		return err
	})
	return s
}

// ServeHTTP answers GET and HEAD.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.note(r)
	p := r.URL.Path
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are answered", http.StatusMethodNotAllowed)
		return
	}
	if to, ok := siteRedirects[p]; ok {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	file, ok := s.files[p]
	if !ok {
		http.NotFound(w, r)
		return
	}
	body := bytes.ReplaceAll(file, []byte(SiteBase), []byte("http://"+r.Host))
	w.Header().Set("Content-Type", siteType(p))
	if h, ok := siteHeaders[p]; ok {
		w.Header().Set(h[0], h[1])
	}
	if p == siteDown {
		w.WriteHeader(http.StatusServiceUnavailable)
		w.Write(body)
		return
	}
	sum := sha256.Sum256(body)
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sum[:8]))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

func siteType(p string) string {
	if strings.HasSuffix(p, "/") {
		return siteTypes[".html"]
	}
	return siteTypes[path.Ext(p)]
}

func (s *Site) note(r *http.Request) {
	v := Visit{Method: r.Method, Path: r.URL.RequestURI(), Time: time.Now(), UserAgent: r.UserAgent()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visits = append(s.visits, v)
}

// Visits returns the requests in the order of arrival.
func (s *Site) Visits() []Visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.visits)
}

// Files returns the paths with a body, robots.txt and the like included, in alphabetical order.
func (s *Site) Files() []string { return slices.Sorted(maps.Keys(s.files)) }

// Expectation says what a crawler does with one path of the site if its name is acapcrawl, it
// declares no purposes and it starts at "/". It holds on any day of this century from 2013 on. It
// was written by hand from robots.txt, the file to which it refers, and the pages.
type Expectation struct {
	Path   string // path of the page, with its query
	Status int    // the status of the site's answer

	// The actions. If a path gives no page (it is not crawled, or Status is not 200), only Crawl
	// may be true.
	Crawl    bool // the page is requested, and does not itself prohibit crawling
	Follow   bool // links of the page are followed, except links in elements that prohibit it
	Index    bool // some text of the page is indexed
	Preserve bool // a copy of the page is archived

	// what may be shown of the page to a reader about whom nothing is known
	PresentSnippet     bool
	PresentLink        bool
	PresentCurrentCopy bool

	Because string // the policy line of the first refusal, unchanged; "" if no line refuses
	Why     string // the reason in plain words
}

// Truth returns the expectations for every path of the site to which a page links.
func (s *Site) Truth() []Expectation { return slices.Clone(siteTruth) }

// Forbidden returns the paths that must never be requested: robots.txt prohibits them or requests
// their take-down, or all links to them are in places where links must not be followed.
func (s *Site) Forbidden() []string {
	var out []string
	for _, e := range siteTruth {
		// the prohibition is in the page, which is read only after the request
		if !e.Crawl && !strings.HasPrefix(e.Because, "ACAP allow-crawl") {
			out = append(out, e.Path)
		}
	}
	return out
}

const (
	yes = true
	no  = false
)

// siteTruth has the columns crawl, follow, index, preserve; snippet, link, copy.
var siteTruth = []Expectation{
	// pages: the front page and the news
	{"/", 200, yes, yes, yes, yes, yes, yes, yes, "", "the general terms hold: read, show forty words and a link, " +
		"keep until re-crawled"},
	{"/news/", 200, yes, yes, yes, yes, yes, yes, yes, "", "news is kept for a month and shown as a copy for a week"},
	{"/news/harbour-bridge.html", 200, yes, yes, yes, yes, yes, yes, yes, "",
		"the page is at the location that its own permission names"},
	{"/news/ferry.html", 200, yes, yes, yes, yes, yes, yes, yes, "",
		"but the link in its advertisement is not followed"},
	{"/news/ferry.html?session=7f3a", 200, no, no, no, no, no, no, no,
		"ACAP-disallow-crawl: the-acap:resource-set:backstage", "links with a session are not crawled"},
	{"/news/regatta.html", 200, yes, yes, yes, yes, yes, yes, yes, "",
		"but the paragraph with the children's names is not indexed"},
	{"/news/flood-warning.html", 200, yes, yes, yes, yes, yes, yes, yes, "",
		"the page is not indexed, except for the box that may be"},
	{"/news/cup-final.html", 200, yes, yes, yes, yes, no, no, no, "ACAP-allow-present: /news/cup-final.html " +
		"target-condition=permittedcountrylist:GB,IE", "it may be shown in two countries only, and the reader's is " +
		"not known"},
	{"/news/retracted.html", 200, no, no, no, no, no, no, no, "ACAP-request-take-down: /news/retracted.html",
		"it is to be taken down: although it is still there, it is not requested"},
	{"/news/tide-table.html", 200, yes, yes, yes, yes, yes, yes, yes, "", "and it is to be crawled again soon"},
	{"/news/election-2012.html", 200, yes, yes, no, yes, yes, yes, yes,
		"ACAP-allow-index: /news/election-2012.html time-limit=until-2012-12-31", "the time limit of its index entry " +
			"has passed"},
	{"/news/live/council.html", 200, yes, yes, yes, no, yes, yes, no, "ACAP-disallow-preserve: /news/live/",
		"live pages are not kept; the permission for libraries does not apply to a crawler without purposes"},
	{"/news/twin-towns/warnemoor.html", 200, yes, yes, yes, yes, yes, yes, yes, "", "news, in German"},
	{"/news/twin-towns/port-clairet.html", 200, yes, yes, yes, yes, yes, yes, yes, "", "news, in French"},
	{"/news/twin-towns/tomoshihama.html", 200, yes, yes, yes, yes, yes, yes, yes, "", "news, in Japanese"},
	{"/news/twin-towns/marsa-an-nur.html", 200, yes, yes, yes, yes, yes, yes, yes, "", "news, in Arabic"},
	{"/mirror/news/harbour-bridge.html", 200, no, no, no, no, no, no, no,
		"ACAP allow-crawl location={{BASE}}/news/harbour-bridge.html", "the page is not where its own permission " +
			"says: it is discarded"},
	{"/print/harbour-bridge.html", 200, no, no, no, no, no, no, no, "Disallow: /print/",
		"a conventional record refuses it, and no ACAP field lifts that"},

	// answers that are not pages
	{"/news/latest", 302, yes, no, no, no, no, no, no, "",
		"it redirects to the ferry story, which is archived under its own address"},
	{"/weekend", 302, yes, no, no, no, no, no, no, "ACAP-disallow-crawl: the-acap:resource-set:backstage",
		"it redirects to a page for members, where the crawl stops"},
	{"/news/yesterday.html", 404, yes, no, no, no, no, no, no, "", "there is no such page"},
	{"/news/weather.html", 503, yes, no, no, no, no, no, no, "", "the page is not available now"},

	// pages of the archive, whose terms are in the file to which robots.txt refers
	{"/archive/", 200, yes, yes, yes, yes, yes, yes, yes, "", "the archive is kept for this century"},
	{"/archive/1911-flood.html", 200, yes, yes, yes, yes, yes, yes, yes, "",
		"its transcript is indexed and quoted instead"},
	{"/archive/1911-flood.txt", 200, yes, yes, yes, yes, yes, yes, yes, "", "the transcript is a page like any other"},
	{"/archive/essays/lighthouse.html", 200, yes, yes, yes, yes, yes, yes, yes, "", "only its abstract is indexed"},
	{"/archive/essays/salt-road.html", 200, yes, yes, no, yes, yes, yes, yes,
		"ACAP-allow-index: /archive/essays/ must-use-resource=the-acap:extract:class:abstract",
		"it has no abstract that could be indexed"},
	{"/archive/court/inquest-1974.html", 200, yes, yes, no, yes, yes, yes, yes, "ACAP-disallow-index: /archive/court/",
		"court reports are not indexed, because they name people"},

	// pages about opinion, pictures, members, notices and puzzles
	{"/opinion/", 200, yes, yes, yes, yes, yes, yes, yes, "", "snippets have twenty-five words for acapcrawl"},
	{"/opinion/leader.html", 200, yes, yes, yes, yes, yes, yes, yes, "",
		"copies are shown without translation and annotation"},
	{"/opinion/letters.html", 200, yes, yes, no, yes, yes, yes, yes, "ACAP-disallow-index: /opinion/letters.html",
		"a crawler that declares no purposes obeys the prohibitions for all purposes"},
	{"/pictures/", 200, yes, yes, yes, yes, yes, yes, yes, "", "the general terms"},
	{"/pictures/harbour.png", 200, yes, yes, no, yes, yes, yes, yes,
		"ACAP-disallow-index: the-acap:resource-set:images", "pictures are shown with their credit, and not indexed"},
	{"/pictures/gull.gif", 200, yes, yes, no, yes, yes, yes, yes, "ACAP-disallow-index: the-acap:resource-set:images",
		"pictures are shown with their credit, and not indexed"},
	{"/pictures/regatta.html", 200, yes, yes, yes, yes, yes, yes, yes, "",
		"it is quoted with the credit that it contains"},
	{"/members/", 200, no, no, no, no, no, no, no, "ACAP-disallow-crawl: the-acap:resource-set:backstage",
		"for members"},
	{"/members/weekend.html", 200, no, no, no, no, no, no, no, "ACAP-disallow-crawl: the-acap:resource-set:backstage",
		"for members; a redirect does not change that"},
	{"/members/welcome.html", 200, yes, yes, yes, yes, yes, yes, yes, "", "acapcrawl, by name, may crawl this one"},
	{"/notices/classified.html", 200, yes, yes, yes, yes, yes, no, no,
		"ACAP-disallow-present: /notices/classified.html", "fifteen words may be shown and nothing else"},
	{"/notices/directory.html", 200, yes, no, yes, yes, yes, yes, yes, "ACAP-disallow-follow: /notices/directory.html",
		"its links are not followed"},
	{"/notices/for-hire.html", 200, no, no, no, no, no, no, no, "ACAP-disallow-follow: /notices/directory.html",
		"four links lead here, and none may be followed"},
	{"/puzzles/crossword.html", 200, yes, yes, no, yes, yes, yes, yes, "ACAP-disallow-index: /puzzles/",
		"an ACAP field with the same pattern lifts the conventional rule; the solution is not indexed"},

	// pages that have terms in addition to those of robots.txt
	{"/special/", 200, yes, yes, yes, yes, yes, yes, yes, "", "the general terms"},
	{"/special/by-name.html", 200, yes, yes, yes, no, yes, yes, no, "ACAP disallow-preserve",
		"the page addresses acapcrawl by name"},
	{"/special/noindex.html", 200, yes, yes, no, yes, yes, yes, yes, "noindex",
		"a robots tag restricts, whatever ACAP permits"},
	{"/special/nofollow.html", 200, yes, no, yes, yes, yes, yes, yes, "nofollow",
		"a robots tag restricts, whatever ACAP permits"},
	{"/special/noarchive.html", 200, yes, yes, yes, yes, yes, yes, no, "noarchive",
		"a copy may be kept, but not shown"},
	{"/special/nosnippet.html", 200, yes, yes, yes, yes, no, yes, yes, "nosnippet",
		"a link may be shown, but no words"},
	{"/special/x-robots-tag.html", 200, yes, yes, no, yes, yes, yes, yes, "X-Robots-Tag: noindex",
		"a header restricts in the same way as a robots tag"},
	{"/special/robots-tag.html", 200, yes, yes, yes, yes, no, yes, yes, "Robots-Tag: *;nosnippet, rivalbot;noindex",
		"the rule for all crawlers applies, the one for rivalbot does not"},
}

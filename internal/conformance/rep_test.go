package conformance

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// These tests check what public test suites for robots.txt check, but what a case of the corpus
// cannot express: see docs/rep.md.

// A line may be as long as the file. Nothing is cut off, so a rule of 20,000 bytes matches in full.
func TestLongRules(t *testing.T) {
	a, b := "/deep/"+strings.Repeat("a", 20000), "/deep/"+strings.Repeat("b", 20000)
	for _, c := range []struct {
		robots, path string
		line         int // line of the deciding rule; 0: no rule decides
	}{
		{"disallow: " + a + "/end\n", "/other", 0},
		{"disallow: " + a + "/end\n", a + "/end", 2},
		{"disallow: " + a + "/end\n", a + "/other", 0}, // Google cuts the rule after 16,664 bytes and refuses the page
		{"disallow: /\nallow: " + a + "/end\nallow: " + b + "/end\n", "/", 2},
		{"disallow: /\nallow: " + a + "/end\nallow: " + b + "/end\n", a + "/end", 3},
		// Google cuts the rule and permits the page
		{"disallow: /\nallow: " + a + "/end\nallow: " + b + "/end\n", b + "/other", 2},
	} {
		robots := "user-agent: searchbot\n" + c.robots
		d := decideOn(t, "http://harbour.example"+c.path, acap.Crawl,
			map[string]Response{"http://harbour.example/robots.txt": {Body: &robots}})
		line := 0
		if d.Because != nil {
			line = d.Because.Line
		}
		if line != c.line {
			t.Errorf("%.40s… for a path of %d octets: line %d decides, wanted %d", c.robots, len(c.path), line, c.line)
		}
	}
}

// If several groups apply to a crawler, it obeys the longest Crawl-delay.
func TestCrawlDelays(t *testing.T) {
	each := "User-agent: searchbot\nCrawl-delay: 10\nDisallow: /a\nUser-agent: newsbot\nCrawl-delay: 20\nDisallow: " +
		"/a\nUser-agent: *\nDisallow: /quay\n"
	joined := "User-agent: searchbot\nCrawl-delay: 1\n\nUser-agent: newsbot\nCrawl-delay: 2\n\nUser-agent: " +
		"*\nDisallow: /enter\n"
	for _, c := range []struct {
		robots, crawler string
		want            time.Duration
	}{
		{each, "searchbot", 10 * time.Second},
		{each, "newsbot", 20 * time.Second},
		{each, "archbot", 0},
		// RFC 9309 (X53): Crawl-delay does not end a list of names, so both names share this group
		{joined, "searchbot", 2 * time.Second},
		{joined, "archbot", 0}, // the last group has no Crawl-delay
		{"User-agent: *\nCrawl-delay: 0.5\nDisallow:\n", "searchbot", 500 * time.Millisecond},
		{"User-agent: *\nCrawl-delay: 3600\nDisallow:\n", "searchbot", time.Hour},
		{"User-agent: *\nCrawl-delay: soon\nDisallow: /a\n", "searchbot", 0},
		{"Crawl-delay: 5.2\nUser-agent: searchbot\nDisallow: /a\n", "searchbot", 0},
		{"\r\n\r\nUser-agent: *\r\nCrawl-delay: 1\r\n", "searchbot", time.Second},
		{"User-agent: searchbot\nDisallow: /a\n\nUser-agent: searchbot\nCrawl-delay: 30\n", "searchbot",
			30 * time.Second},
		{"User-agent: *\nDisallow: /a\n", "searchbot", 0},
	} {
		p := acap.Parse("http://harbour.example/robots.txt",
			[]byte(c.robots)).Policy(acap.Crawler{Names: []string{c.crawler}})
		if got := p.CrawlDelay(); got != c.want {
			t.Errorf("%q for %s: %v, wanted %v", c.robots, c.crawler, got, c.want)
		}
	}
}

// A Sitemap line belongs to no group, wherever it is. Its value is returned unchanged.
func TestSitemapLines(t *testing.T) {
	for robots, want := range map[string][]string{
		"sitemap: http://harbour.example/one.xml\nUser-agent: *\nDisallow:\n" +
			"SITEMAP: http://harbour.example/Two.xml\n": {
			"http://harbour.example/one.xml", "http://harbour.example/Two.xml"},
		"User-agent: a\nDisallow: /x\nUser-agent: b\nSitemap: https://harbour/list": {"https://harbour/list"},
		"Sitemap: /list.xml\n":                              {"/list.xml"},
		"Sitemap : /list.xml\n":                             {"/list.xml"},
		"site-map: /a.xml # another\n":                      {"/a.xml"},
		"http://harbour.example/a.xml\n":                    nil,
		"User-agent: *\nDisallow: /x\nCrawl-delay: 10\n":    nil,
		"Sitemap:\nUser-agent: *\nDisallow: /sitemap.xml\n": nil,
	} {
		got := acap.Parse("http://harbour.example/robots.txt", []byte(robots)).Sitemaps
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, wanted %q", robots, got, want)
		}
	}
}

// Every case and test that docs/rep.md names exists.
func TestPageOfREP(t *testing.T) {
	src, err := os.ReadFile("../../docs/rep.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range corpus(t) {
		names[s.Name], names[s.File] = true, true
	}
	for _, name := range []string{"TestLongRules", "TestCrawlDelays", "TestSitemapLines", "TestHugeReference"} {
		names[name] = true
	}
	found := regexp.MustCompile(
		"`((?:rep/|google-|crawler-commons-|protego-|D-references-|Test)[A-Za-z0-9-]+)`").FindAllStringSubmatch(
		string(src), -1)
	if len(found) < 30 {
		t.Errorf("the page names %d cases", len(found))
	}
	for _, m := range found {
		if !names[m[1]] {
			t.Errorf("docs/rep.md names %s, which does not exist", m[1])
		}
	}
}

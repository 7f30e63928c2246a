package acap

import (
	"net/url"
	"testing"
)

func ask(t *testing.T, c Crawler, robots string, u Usage, path string) Decision {
	t.Helper()
	f := Parse("http://example.com/robots.txt", []byte(robots))
	v, err := url.Parse("http://example.com" + path)
	if err != nil {
		t.Fatal(err)
	}
	return f.Policy(c).Decide(u, NewResource(v))
}

func TestSmoke(t *testing.T) {
	bot := Crawler{Names: []string{"foo"}}
	for _, c := range []struct {
		robots string
		u      Usage
		path   string
		want   bool
	}{
		{"ACAP-crawler: *\nACAP-disallow-crawl: /x", Crawl, "/x", false},
		{"ACAP-crawler: *\r\nACAP-disallow-crawl: /x\r\n\r\nACAP-crawler: foo\nACAP-allow-crawl: /", Crawl, "/x", true},
		{"ACAP-crawler: *\nACAP-allow-index: / tiem-limit=3-days", Index, "/", false},
		{"ACAP-crawler: *\nACAP-allow-(nope): /a/", Index, "/a/x", false},
		{"ACAP-crawler: *\nACAP-allow-(nope): /a/", Crawl, "/a/x", true},
		{"ACAP-resource-set: images *.gif\nACAP-crawler: *\nACAP-allow-index: /\nACAP-disallow-index: the-acap:resource-set:images", Index, "/x.gif", false},
		{"ACAP-crawler: *\nACAP-disallow-present: /\nACAP-allow-present-snippet: /", PresentSnippet, "/x", true},
		{"ACAP-crawler: *\nACAP-disallow-present: /\nACAP-allow-present-snippet: /", PresentLink, "/x", false},
		{"User-agent: *\nDisallow: /a", Crawl, "/a/b", false},
		{"User-agent: *\nDisallow: /a\nACAP-crawler: *\nACAP-allow-crawl: /a", Crawl, "/a/b", true},
		{"User-agent: foo\nDisallow: /a\nACAP-crawler: *\nACAP-allow-crawl: /a", Crawl, "/a/b", false},
		{"ACAP-crawler: *\nACAP-allow-index: /\nACAP-disallow-other: /", Preserve, "/x", false},
		{"ACAP-crawler: *\nACAP-allow-index: /\nACAP-disallow-other: /", Index, "/x", true},
		{"ACAP-crawler: *\nACAP-allow-index: /*a\nACAP-disallow-index: /*b\nACAP-allow-index: /x", Index, "/xab", true},
	} {
		if got := ask(t, bot, c.robots, c.u, c.path); got.Allowed != c.want {
			t.Errorf("%q %s %s: %v, want %v (%s)", c.robots, c.u, c.path, got.Allowed, c.want, got.Why())
		}
	}
}

package acap

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// The statements that a page makes after its scripts ran only restrict what it may be used for: each usage needs the
// permission of the page as sent, too.
func TestScripted(t *testing.T) {
	const address = "http://quay.example/a.html"
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	tag := func(content string) []Tag {
		return []Tag{{Source: Meta, Name: "robots", Content: content, Line: 7, Column: 30}}
	}
	for _, c := range []struct {
		name, robots, sent, scripted string
		usage                        Usage
		allowed                      bool
		because                      string
	}{
		{"a prohibition that scripts add is in force", "", "", "ACAP disallow-index", Index, false,
			address + " (after its scripts):7: ACAP disallow-index"},
		{"a permission that scripts add is not", "ACAP-disallow-index: /*.html", "", "ACAP allow-index", Index, false,
			"http://quay.example/robots.txt:2: ACAP-disallow-index: /*.html"},
		{"a permission of the page as sent is", "ACAP-disallow-index: /*.html", "ACAP allow-index",
			"ACAP allow-index", Index, true, ""},
		{"a prohibition that scripts remove stays", "", "ACAP disallow-preserve", "", Preserve, false,
			address + ":7: ACAP disallow-preserve"},
		{"a limit that scripts add is in force", "", "", "ACAP allow-present-snippet max-length=3-words",
			PresentSnippet, true, ""},
		{"scripts can prohibit crawl, so that nothing is used", "", "", "ACAP disallow-crawl", Crawl, false,
			address + " (after its scripts):7: ACAP disallow-crawl"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := Parse("http://quay.example/robots.txt", []byte("ACAP-crawler: *\n"+c.robots+"\n"))
			for _, purposes := range [][]string{nil, {"a", "b"}} {
				p := file.Policy(Crawler{Names: []string{"quay"}, Purposes: purposes})
				own := Own{URL: address, Scripted: &Own{URL: address}}
				if c.sent != "" {
					own.Tags = tag(c.sent)
				}
				if c.scripted != "" {
					own.Scripted.Tags = tag(c.scripted)
				}
				r := NewResource(u)
				q := p.Narrow(own)
				d := q.Decide(c.usage, r)
				if d.Allowed != c.allowed || c.because != "" && d.Because.String() != c.because {
					t.Errorf("%v: %v because of %v", purposes, d.Allowed, d.Because)
				}
				if strings.Contains(c.scripted, "max-length") {
					if l := d.Limits(Facts{Now: time.Now()}); l.MaxWords == nil || *l.MaxWords != 3 {
						t.Errorf("limits %+v", l)
					}
				}
				rivals := q.Trace(c.usage, r, Facts{Now: time.Now()})
				if len(rivals) == 0 || rivals[0].Outcome != Decides || !same(rivals[0].Field, d.Because) {
					t.Errorf("trace %+v, because of %v", rivals, d.Because)
				}
			}
		})
	}
}

package acap

import (
	"net/url"
	"testing"
)

// policiesOf parses a robots.txt once and returns its policy for each crawler.
func policiesOf(robots string, crawlers ...Crawler) (all []*Policy) {
	for _, c := range crawlers {
		all = append(all, policyOf(c, robots))
	}
	return all
}

// unable returns a copy of c that cannot interpret element-level statements.
func unable(c Crawler) Crawler {
	c.Cannot = []string{"element-level"}
	return c
}

// FuzzClass tests that Part decides on each part of a page, whatever class tokens its elements
// have, and that a prohibition on an outer element prohibits the part.
func FuzzClass(f *testing.F) {
	f.Add("the-acap:disallow-index", "the-acap:allow-index", "ACAP disallow-index", uint8(0))
	f.Add("the-acap:allow-(brief)", "the-acap:disallow-other", "ACAP allow-present max-length=3-words", uint8(33))
	f.Add("The-ACAP:Allow-Present", "the-acap:disallow-present-snippet", "noindex", uint8(46))
	r := NewResource(&url.URL{Scheme: "http", Host: "example.com", Path: "/a.html"})
	origins := policiesOf("ACAP-qualified-usage: brief present-snippet max-length=5-words\n"+typical, searchbot,
		unable(searchbot))
	f.Fuzz(func(t *testing.T, outer, inner, content string, shape uint8) {
		for _, origin := range origins {
			own := page(tag("robots", content))
			own.Marks = []Mark{
				{Token: outer, Line: 5, Column: 1, Element: 1, Place: []Place{OnElement, OnHead}[shape%2]},
				{Token: inner, Line: 6, Column: 1, Element: 1 + int(shape/2%2)},
			}
			p := origin.Narrow(own)
			checkFindings(t, p.Findings())
			checkPolicy(t, p, r)
			u := usageNames[int(shape/4)%len(usageNames)]
			no := Mark{Token: "the-acap:disallow-" + string(u), Line: 7, Column: 1, Element: 9}
			more := own
			more.Marks = append(own.Marks[:2:2], no)
			q := origin.Narrow(more)
			if d := p.Part(u, r, own.Marks); d.Usage != u || d.Reason == "" {
				t.Fatalf("%s: %+v", u, d)
			}
			if d := q.Part(u, r, more.Marks); d.Allowed {
				t.Fatalf("%s under %s: %s", u, no.Token, d.Why())
			}
		}
	})
}

// FuzzPilot tests that statements in the forms of the pilot of 2007 are either understood or
// refused, and that the decisions never contradict each other.
func FuzzPilot(f *testing.F) {
	f.Add("robots", "ACAP allow-index id-list= a b", "acap:allow-index", "q index time-limit=1-days")
	f.Add("ACAP-composite-usage", "c index (q)", "acap:allow-c", "q present-snippet max-length=3-words")
	f.Add("searchbot", "ACAP news allow-(q)id-list = a", "the-acap:allow-(q)",
		"q index location=http://example.com/a.html")
	r := NewResource(&url.URL{Scheme: "http", Host: "example.com", Path: "/a.html"})
	origins := policiesOf(typical, searchbot, pilotbot, unable(pilotbot))
	f.Fuzz(func(t *testing.T, name, content, token, definition string) {
		for _, origin := range origins {
			own := page(Tag{Source: Meta, Name: name, Content: content, Line: 2, Column: 3},
				tag("robots", "ACAP disallow-index"), tag("ACAP-qualified-usage", definition))
			own.Marks = []Mark{{Token: "#a", Line: 4, Column: 1, Element: 1}, {Token: token, Line: 5, Column: 1,
				Element: 2}, {Token: "acap:" + token, Line: 6, Column: 1, Element: 3}}
			for _, id := range Fragments(content) {
				own.Marks = append(own.Marks, Mark{Token: "#" + id, Line: 7, Column: 1, Element: 4})
			}
			p := origin.Narrow(own)
			checkFindings(t, p.Findings())
			checkPolicy(t, p, r)
			for _, u := range Usages() {
				for i := range own.Marks {
					p.Part(u, r, own.Marks[:i+1]).Limits(Facts{Now: noon})
					p.Part(u, r, own.Marks[i:]).Limits(Facts{Now: noon})
				}
			}
		}
	})
}

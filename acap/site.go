package acap

import (
	"net/url"
	"slices"
	"strings"
)

// Site is the input of a Vocabulary about an origin.
type Site struct {
	Root  *url.URL    // the root URL of the origin; nil if it is unknown
	Files []Reference // the files that Vocabulary.Files named and that could be read

	file    *File
	crawler *Crawler
	policy  *Policy // the ACAP policy of the origin; nil while Vocabulary.Files is called
	rules   *rules  // the Allow and Disallow lines for the crawler; nil if there are none
	groups  []*group
	*reporter
}

// Disallows reports whether an Allow or Disallow line of robots.txt prohibits the crawl of r (RFC
// 9309 2.2.2).
func (s *Site) Disallows(r Resource) bool {
	return s.rules != nil && s.rules.Opinion(Crawl, r).Verdict == Prohibits
}

// Strict reports whether the crawler uses the strict variants of readings.
func (s *Site) Strict() bool { return s.crawler.Strict }

// Line is a line of robots.txt that belongs neither to ACAP nor to RFC 9309.
type Line struct {
	Field *Field
	Name  string // the name in lower case
	Value string
}

// Lines returns the lines with one of the given names, which must be in lower case. ours are the
// lines that address the crawler; before are the lines before any User-agent line. A line with one
// of the names addresses the crawlers of its group. It ends a run of User-agent lines: User-agent
// lines below it begin another group. A crawler belongs to the groups that name it, otherwise to
// those for "*". If the lines of two vocabularies end each other's groups, each vocabulary must
// pass the names of both.
func (s *Site) Lines(names ...string) (ours, before []Line) {
	byGroup := map[*group]*groupLines{}
	for _, g := range s.file.groups {
		byGroup[g] = &groupLines{}
	}
	for _, o := range s.file.others {
		name, value, _ := splitField(o.field.Text)
		l := Line{o.field, strings.ToLower(name), value}
		switch {
		case !slices.Contains(names, l.Name):
		case o.group == nil:
			before = append(before, l)
		case byGroup[o.group] != nil: // File.For removes groups, so the group of a line may be missing
			byGroup[o.group].add(l, o.agents)
		}
	}
	for _, want := range []func(agent string) bool{s.crawler.names,
		func(agent string) bool { return agentToken(agent) == "*" }} {
		found := false
		for _, g := range s.file.groups {
			lines, met := byGroup[g].of(g.agents, want)
			ours, found = append(ours, lines...), found || met
		}
		if found {
			break
		}
	}
	return ours, before
}

// groupLines holds the lines of one group. agents holds, for each line, how many User-agent lines
// of the group are above it.
type groupLines struct {
	lines  []Line
	agents []int
}

func (s *groupLines) add(l Line, agents int) {
	s.lines, s.agents = append(s.lines, l), append(s.agents, agents)
}

// of returns the lines that address an agent for which the function want returns true. met reports
// whether there is such an agent in the group.
func (s *groupLines) of(agents []string, want func(string) bool) (lines []Line, met bool) {
	from, to := 0, 0 // the range of agents that the line addresses
	for i, l := range s.lines {
		if s.agents[i] != to {
			from, to = to, s.agents[i]
		}
		if slices.ContainsFunc(agents[from:to], want) {
			lines = append(lines, l)
		}
	}
	return lines, slices.ContainsFunc(agents, want)
}

// Report adds a finding about the field f.
func (s *Site) Report(f *Field, code string, severity Severity, hint, message string) {
	s.report(f, code, severity, hint, "%s", message)
}

// Page is the input of a Vocabulary about one page.
type Page struct {
	Own
	Rules []TagRule // conventional rules in META tags and headers that address the crawler, known or unknown, in order

	*narrowing
}

// TagRule is one rule of META, X-Robots-Tag or Robots-Tag, such as noindex or max-snippet:20.
type TagRule struct {
	Field *Field
	Name  string // the name in lower case
	Value string
}

// Addresses reports whether the name of a META tag is "robots" or names the crawler.
func (p *Page) Addresses(name string) bool {
	addressed, _, _ := p.addressee(name)
	return addressed
}

// Strict reports whether the crawler uses the strict variants of readings.
func (p *Page) Strict() bool { return p.crawler.Strict }

// Field returns the field for the tag t of the page.
func (p *Page) Field(t *Tag) *Field { return p.field(t) }

// Report adds a finding about the field f.
func (p *Page) Report(f *Field, code string, severity Severity, hint, message string) {
	p.report(f, code, severity, hint, "%s", message)
}

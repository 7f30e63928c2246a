package acap

import (
	"net/url"
	"slices"
	"strings"
)

// Site is what an origin says, as a Vocabulary reads it.
type Site struct {
	Root  *url.URL    // of the origin; nil if it is not known
	Files []Reference // the files that Vocabulary.Files named, as far as they were read

	file    *File
	crawler *Crawler
	policy  *Policy // by ACAP; nil while files are asked for
	groups  []*group
	*reporter
}

// Line is a line of robots.txt that is neither ACAP's nor RFC 9309's.
type Line struct {
	Field *Field
	Name  string // in lower case
	Value string
}

// Lines returns the lines with one of these names, in lower case, that speak to the crawler, and
// those before any User-agent line. A line is for the crawlers of its group.
// It also ends a run of User-agent lines: those below it begin another group. A crawler belongs to
// the groups that name it, or else to those for "*". Vocabularies whose lines end the runs of each
// other ask for the names of all.
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
		case byGroup[o.group] != nil: // File.For leaves groups out
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

// groupLines holds the lines of one group, and how many of its User-agent lines stand above each.
type groupLines struct {
	lines  []Line
	agents []int
}

func (s *groupLines) add(l Line, agents int) {
	s.lines, s.agents = append(s.lines, l), append(s.agents, agents)
}

// of returns the lines that speak to a wanted agent; met reports whether there is one among agents
// at all.
func (s *groupLines) of(agents []string, want func(string) bool) (lines []Line, met bool) {
	from, to := 0, 0 // the agents that the line speaks to
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

// Report adds a finding about f.
func (s *Site) Report(f *Field, code string, severity Severity, hint, message string) {
	s.report(f, code, severity, hint, "%s", message)
}

// Page is what one page says of itself, as a Vocabulary reads it.
type Page struct {
	Own
	Rules []TagRule // conventional rules of META and headers that address the crawler, known or not, in order

	*narrowing
}

// TagRule is one rule of META, X-Robots-Tag or Robots-Tag, such as noindex or max-snippet:20.
type TagRule struct {
	Field *Field
	Name  string // in lower case
	Value string
}

// Addresses reports whether the name of a META tag is "robots" or names the crawler.
func (p *Page) Addresses(name string) bool {
	addressed, _, _ := p.addressee(name)
	return addressed
}

// Field returns the field for a tag of the page.
func (p *Page) Field(t *Tag) *Field { return p.field(t) }

// Report adds a finding about f.
func (p *Page) Report(f *Field, code string, severity Severity, hint, message string) {
	p.report(f, code, severity, hint, "%s", message)
}

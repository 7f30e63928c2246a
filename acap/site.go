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
// lines that address the crawler; before are the lines before any User-agent line. A crawler
// belongs to the groups that name it, otherwise to those for "*". See LineGroups for how lines end
// groups.
func (s *Site) Lines(names ...string) (ours, before []Line) {
	groups, before := s.file.LineGroups(names...)
	for _, want := range []func(agent string) bool{s.crawler.names,
		func(agent string) bool { return agentToken(agent) == "*" }} {
		found := false
		for _, g := range groups {
			if slices.ContainsFunc(g.agents, want) {
				ours, found = append(ours, g.Lines...), true
			}
		}
		if found {
			break
		}
	}
	return ours, before
}

// LineGroup holds consecutive User-agent lines, and the lines below them that belong to other
// vocabularies than ACAP and RFC 9309.
type LineGroup struct {
	Agents []string // product tokens, or "*"
	Heads  []*Field // the User-agent lines, in the order of Agents
	Lines  []Line   // the lines for these agents; none if they have only other lines
	Group  int      // the index of the group in Groups that contains the User-agent lines

	agents []string // the values of the User-agent lines
}

// LineGroups returns the groups of lines with one of the given names, which must be in lower case,
// and the lines before any User-agent line. A line with one of the names addresses the crawlers of
// its group. It ends a run of User-agent lines: User-agent lines below it begin another group. If
// the lines of two vocabularies end each other's groups, the caller must pass the names of both.
func (f *File) LineGroups(names ...string) (groups []LineGroup, before []Line) {
	byGroup := map[*group]*groupLines{}
	for _, g := range f.groups {
		byGroup[g] = &groupLines{}
	}
	for _, o := range f.others {
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
	for i, g := range f.groups {
		groups = append(groups, byGroup[g].split(g, i)...)
	}
	return groups, before
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

// split divides the group g with the given index into groups of lines.
func (s *groupLines) split(g *group, index int) (groups []LineGroup) {
	part := func(from, to int) {
		p := LineGroup{Group: index, agents: g.agents[from:to], Heads: g.heads[from:to]}
		for _, a := range p.agents {
			p.Agents = append(p.Agents, agentToken(a))
		}
		groups = append(groups, p)
	}
	end := 0 // the number of agents in groups
	for i, l := range s.lines {
		if to := s.agents[i]; to != end {
			part(end, to)
			end = to
		}
		last := &groups[len(groups)-1]
		last.Lines = append(last.Lines, l)
	}
	if end < len(g.agents) {
		part(end, len(g.agents))
	}
	return groups
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

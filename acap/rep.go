package acap

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// ruleLine is one Allow or Disallow line of a conventional group as written (RFC 9309 2.2.2). Its
// value starts with "/" or "*".
type ruleLine struct {
	field *Field
	allow bool
	value string
}

// rule is an Allow or Disallow line of a group that applies to the crawler.
type rule struct {
	ruleLine
	exact string // the pattern, percent-normalised, in its own letter case
	shape
}

// conventional parses a conventional line as if the file had no ACAP lines: an ACAP record does not
// end a group, and a rule below ACAP lines belongs to the group above them (RFC 9309 2.2.4, X79).
func (p *parser) conventional(field *Field, name, value string) {
	switch name {
	case "sitemap":
		if value == "" {
			p.report(field, "empty-value", Warning, "name the URL of a sitemap", "the line names no sitemap")
			return
		}
		p.lookAtSitemap(field, value)
		p.f.Sitemaps = append(p.f.Sitemaps, value)
		return
	case "user-agent":
		p.agent(field, value)
		return
	}
	if p.group == nil {
		p.report(field, "orphan-field", Error, "put it below a User-agent line",
			"the line is before any User-agent line and is ignored")
		return
	}
	if p.record != nil { // P1 2.10.2 (C19): an ACAP record does not end a conventional group
		p.report(field, "within-acap", Warning, "put it before the ACAP records, behind its User-agent line",
			"a conventional line within an ACAP record counts for the group above, which begins in line %d",
			p.group.heads[0].Line)
	}
	if name == "crawl-delay" {
		p.delay(field, value)
		return
	}
	p.agentOpen, p.group.ruled = false, true
	switch {
	case value == "" && name == "allow":
		p.report(field, "empty-value", Notice, "name a path, or leave the line out",
			"the line names no path and has no effect")
	case value == "": // an empty rule has no effect
	// REP 1 (X52): a rule that starts with neither a slash nor an asterisk matches nothing
	case value[0] != '/' && value[0] != '*':
		p.report(field.at(value), "rule-without-slash", Warning, p.f.withSlash(value),
			"the rule %q starts with neither / nor * and matches nothing", value)
	default:
		if i := strings.IndexByte(value, '$'); i >= 0 && i < len(value)-1 {
			p.report(field.at(value), "dollar-in-rule", Notice, "write %24 for the character",
				"$ ends a rule only where it stands last: in %q it stands for itself", value)
		}
		p.addRule(ruleLine{field, name == "allow", value})
	}
}

// agent parses a User-agent line. Such a line ends an ACAP record (P1 2.3, C09). It ends the
// conventional group above it only if a rule is between the group and this line (RFC 9309, X53).
func (p *parser) agent(field *Field, value string) {
	if value == "" {
		p.report(field, "empty-value", Warning, "name a crawler, or * for any", "the line names no crawler")
	}
	switch {
	case !p.agentOpen:
		p.group = &group{}
		p.f.groups = append(p.f.groups, p.group)
		p.agentOpen = true
	// P1 2.10.2 (C19), RFC 9309 (X79): an ACAP record does not end a conventional group, because
	// conventional records are read as if the file had no ACAP lines
	case p.record != nil:
		p.report(field, "within-acap", Warning, "put the ACAP record below all conventional ones",
			"the User-agent line continues the group that begins in line %d: an ACAP record does not end a group",
			p.group.heads[0].Line)
	}
	p.lookAtAgent(field, value)
	p.group.agents = append(p.group.agents, value)
	p.group.heads = append(p.group.heads, field)
	p.record, p.sub, p.headOpen, p.within = nil, nil, false, true
}

// delay parses a Crawl-delay line.
func (p *parser) delay(field *Field, value string) {
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || !(seconds >= 0 && seconds <= 1e6) { // the negated condition also rejects NaN
		p.report(field.at(value), "malformed-delay", Warning, "write a number of seconds",
			"%q is not a number of seconds", value)
		return
	}
	if n := len(p.group.delays); n > 0 && p.group.delays[n-1].agents == len(p.group.agents) {
		p.report(field, "second-delay", Notice, "keep one Crawl-delay in a record",
			"the record has a Crawl-delay already: the longer counts")
	}
	p.group.delays = append(p.group.delays, delay{len(p.group.agents), time.Duration(seconds * float64(time.Second))})
}

// addRule adds a rule to the open group. The rules of all groups share one slice, to save
// allocations.
func (p *parser) addRule(l ruleLine) {
	if p.rules == nil {
		p.rules = make([]ruleLine, 0, p.lines-p.n+1)
	}
	p.rules = append(p.rules, l)
	n := len(p.group.rules) + 1
	p.group.rules = p.rules[len(p.rules)-n : len(p.rules) : len(p.rules)]
}

func (l ruleLine) read() rule {
	value := l.value
	if i := strings.IndexByte(value, '$'); i >= 0 && i < len(value)-1 {
		end := strings.HasSuffix(value, "$")
		value = strings.TrimSuffix(value, "$")
		value = strings.ReplaceAll(value, "$", "%24") // only a "$" at the end of a rule is a wildcard
		if end {
			value += "$"
		}
	}
	exact := percentNormal(value, false)
	return rule{ruleLine: l, exact: exact, shape: newShape(exact)}
}

func readAll(lines []ruleLine) []*rule {
	read, out := make([]rule, len(lines)), make([]*rule, len(lines))
	for i, l := range lines {
		read[i] = l.read()
		out[i] = &read[i]
	}
	return out
}

// agentToken returns the product token at the beginning of a User-agent value, or "*" (RFC 9309
// 2.2.1). A value that begins with neither is returned unchanged.
func agentToken(value string) string {
	end := 0
	if strings.HasPrefix(value, "*") && (len(value) == 1 || !nameChar(value[1])) {
		end = 1
	}
	for end < len(value) && value[0] != '*' && nameChar(value[end]) {
		end++
	}
	if end == 0 {
		return value
	}
	return value[:end]
}

// names reports whether a User-agent value means this crawler (RFC 9309 2.2.1, C05). If a token of
// the crawler contains characters that are not allowed in product tokens, it is compared with the
// whole value.
func (c *Crawler) names(agent string) bool {
	for _, token := range c.Names {
		if token == "" || len(agent) > len(token) && nameChar(agent[len(token)]) {
			continue
		}
		if _, ok := cutFold(agent, token); ok {
			return true
		}
	}
	return false
}

func nameChar(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_' || b == '.'
}

// governing returns the merged groups that name the crawler. If no group does, it returns the
// groups for "*" (RFC 9309 2.2.1, X67).
func governing(groups []*group, c *Crawler) (lines []ruleLine, delay time.Duration, named bool) {
	for _, want := range []bool{true, false} {
		found := false
		for _, gr := range groups {
			first := slices.IndexFunc(gr.agents, func(a string) bool {
				return want && c.names(a) ||
					!want && agentToken(a) == "*"
			})
			if first < 0 {
				continue
			}
			if found {
				lines = append(lines, gr.rules...)
			} else {
				lines = gr.rules[:len(gr.rules):len(gr.rules)]
			}
			found = true
			for _, d := range gr.delays {
				if first < d.agents {
					delay = max(delay, d.pause)
				}
			}
		}
		if found {
			return lines, delay, want
		}
	}
	return nil, 0, false
}

// rfc9309 is the vocabulary of the conventional records of robots.txt. It is only about crawl.
// Crawling is permitted if both ACAP and the rules permit it (P1 2.10.2, O05).
type rfc9309 struct{}

// rules holds the conventional rules that apply to a crawler.
type rules struct {
	list  []*rule
	found *lookup // a lookup for the patterns; nil if there are few rules
}

func newRules(list []*rule) *rules {
	return &rules{list, newLookup(len(list), func(i int) shape { return list[i].shape })}
}

func (rfc9309) Name() string { return "rfc9309" }

func (rfc9309) Key() string { return "rfc9309" }

func (rfc9309) Files(*Site) []Needed { return nil }

// Site returns the rules of the groups that apply to the crawler, without the rules that ACAP
// fields cancel (P1 2.10.2, O04).
func (rfc9309) Site(s *Site) Preferences {
	lines, _, named := governing(s.groups, s.crawler)
	if list := s.policy.uncancelled(lines, named); len(list) > 0 {
		return newRules(list)
	}
	return nil
}

func (rfc9309) Page(_ *Page, site Preferences) Preferences { return site }

func (rs *rules) Usages() []Usage { return []Usage{Crawl} }

// Opinion returns the verdict of the rule that decides whether r may be crawled. robots.txt itself
// may always be crawled (RFC 9309 2.2.2).
func (rs *rules) Opinion(u Usage, r Resource) Opinion {
	if u != Crawl || r.rep == "/robots.txt" {
		return Opinion{}
	}
	rule := rs.match(r.rep)
	if rule == nil {
		return Opinion{}
	}
	o := Opinion{Verdict: Prohibits, Reason: Conventional, Because: rule.field}
	if rule.allow {
		o.Verdict = Permits
	}
	return o
}

// match returns the rule that decides on path: the longest matching pattern, and Allow if two are
// equally long (RFC 9309 2.2.2, O10). It returns nil if no rule matches.
func (rs *rules) match(path string) (best *rule) {
	if rs.found != nil {
		var h hits
		if rs.found.find(path, &h); !h.full() {
			for _, id := range h.list[:h.n] {
				if r := rs.list[id]; r.beats(best) {
					best = r
				}
			}
			return best
		}
	}
	for _, r := range rs.list {
		if r.beats(best) && r.matches(path) {
			best = r
		}
	}
	return best
}

func (r *rule) beats(best *rule) bool {
	return best == nil || len(r.exact) > len(best.exact) || len(r.exact) == len(best.exact) && r.allow && !best.allow
}

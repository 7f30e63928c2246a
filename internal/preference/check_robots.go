package preference

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// CheckRobots returns the findings about the lines of a robots.txt that belong to the given
// vocabularies, for all crawlers. Each line is read once, and compared with the lines for the same
// crawlers. root is the root of the site, or nil if it is unknown.
func CheckRobots(f *acap.File, root *url.URL, vocabularies []acap.Vocabulary) []acap.Finding {
	c := newRobotsCheck(root, vocabularies)
	if !c.usage && c.signals == nil && !c.rsl {
		return nil
	}
	groups, before := f.LineGroups(lineNames()...)
	for _, l := range before {
		c.before(l)
	}
	for _, g := range groups {
		c.group(g)
	}
	c.ofGroups()
	c.missing(f.Groups(), groups)
	return c.Findings()
}

// CheckReferred returns the findings about such lines in a file to which a robots.txt refers: they
// are read in robots.txt only.
func CheckReferred(f *acap.File, vocabularies []acap.Vocabulary) []acap.Finding {
	c := newRobotsCheck(nil, vocabularies)
	groups, lines := f.LineGroups(lineNames()...)
	for _, g := range groups {
		lines = append(lines, g.Lines...)
	}
	for _, l := range lines {
		if c.inForce(l) {
			c.Report(l.Field, "misplaced-preference", acap.Warning, "write it in robots.txt",
				"preferences are read in robots.txt, not in files to which it refers: the line says nothing")
		}
	}
	return c.Findings()
}

func newRobotsCheck(root *url.URL, vocabularies []acap.Vocabulary) *robotsCheck {
	c := &robotsCheck{root: root, first: map[statementKey]*statement{}, lines: map[string]*agentLines{}}
	for _, v := range vocabularies {
		switch v := v.(type) {
		case aipref:
			c.usage = true
		case signals:
			c.signals = &v
		case rsl:
			c.rsl = true
		}
	}
	return c
}

// robotsCheck checks the lines of one robots.txt.
type robotsCheck struct {
	acap.Collector
	usage, rsl bool     // the vocabulary is in force
	signals    *signals // nil if the vocabulary is not in force
	root       *url.URL // the root of the site; nil if it is unknown

	first   map[statementKey]*statement // the strictest statement so far
	lines   map[string]*agentLines      // by product token in lower case
	tokens  []string                    // the keys of lines, in the order of the file
	own     []ownLicence                // the licences in groups for named crawlers
	general *acap.Field                 // the first License line before any User-agent line; nil if there is none
	work    int                         // number of comparisons
}

// statementKey identifies statements about the same: label is a label or a key, or the address of a
// licence.
type statementKey struct{ agent, line, path, label string }

// statement is what one member of a line says.
type statement struct {
	field  *acap.Field
	text   string // as it is written
	strict int    // how strict it is, compared with statements of the same key

	agents int // how many agents it addresses
	beaten int // for how many of them another statement is stricter
}

// agentLines are the lines for one product token.
type agentLines struct {
	head  *acap.Field            // the name in the first User-agent line
	first map[string]*acap.Field // the first line of each name, in the spelling of kindOf
}

// ownLicence is a License line in a group for named crawlers.
type ownLicence struct {
	field  *acap.Field
	agents []string
}

// anyGroup stands for the product token of lines before any User-agent line.
const anyGroup = "/"

// Limits on the work for a hostile file: of a group with more agents, no lines are compared; and
// how many comparisons are made in one file.
const (
	maxAgents   = 20
	maxCompared = 500_000
)

// kindOf returns the name under which lines are compared.
func kindOf(l acap.Line) string {
	switch l.Name {
	case contentUsage:
		return "Content-Usage"
	case license:
		return "License"
	}
	return "Content-Signal"
}

// inForce reports whether the vocabulary of a line is in force.
func (c *robotsCheck) inForce(l acap.Line) bool {
	switch l.Name {
	case contentUsage:
		return c.usage
	case license:
		return c.rsl
	}
	return c.signals != nil
}

// before checks a line before any User-agent line. A licence there is for all crawlers (RSL 4.4).
func (c *robotsCheck) before(l acap.Line) {
	switch {
	case !c.inForce(l):
	case l.Name != license:
		reportOrphan(l, c.Report)
	default:
		if c.general == nil {
			c.general = l.Field
		}
		c.licence(l, []string{anyGroup})
	}
}

// group checks the lines of one group.
func (c *robotsCheck) group(g acap.LineGroup) {
	agents := make([]string, 0, len(g.Agents))
	for i, a := range g.Agents {
		token := strings.ToLower(a)
		agents = append(agents, token)
		if c.lines[token] == nil {
			c.lines[token] = &agentLines{g.Heads[i].At(a), map[string]*acap.Field{}}
			c.tokens = append(c.tokens, token)
		}
	}
	slices.Sort(agents)
	agents = slices.Compact(agents)
	first := map[string]*acap.Field{}
	for _, l := range g.Lines {
		if !c.inForce(l) {
			continue
		}
		if first[kindOf(l)] == nil {
			first[kindOf(l)] = l.Field
		}
		c.line(l, agents)
	}
	for _, a := range agents {
		for kind, f := range first {
			if have := c.lines[a].first; have[kind] == nil {
				have[kind] = f
			}
		}
	}
}

// line checks a line of a group for the given product tokens.
func (c *robotsCheck) line(l acap.Line, agents []string) {
	switch l.Name {
	case contentUsage:
		c.usageLine(l, agents)
	case license:
		c.licence(l, agents)
		if !slices.Contains(agents, "*") {
			c.own = append(c.own, ownLicence{l.Field, agents})
		}
	default:
		c.signals.readLine(l, c.Report, opinions{})
		for _, m := range signalMembers(l.Value, l.Field) {
			c.signal(m, agents)
		}
	}
}

// usageLine checks a Content-Usage line.
func (c *robotsCheck) usageLine(l acap.Line, agents []string) {
	path, said := readUsageLine(l, false, c.Report)
	for _, label := range []string{"train-ai", "ai-use", "search"} {
		k := statementKey{"", kindOf(l), path, label}
		switch said[labels(label)[0]].Verdict {
		case acap.Permits:
			c.compare(k, statement{field: l.Field, text: label + "=y", strict: 0}, agents)
		case acap.Prohibits:
			c.compare(k, statement{field: l.Field, text: label + "=n", strict: 1}, agents)
		}
	}
}

// signal compares a member of a Content-Signal line with those for the same crawlers.
func (c *robotsCheck) signal(m signalMember, agents []string) {
	strict := slices.Index([]string{"full", "reference", "immediate"}, m.value)
	if m.key != "use" {
		strict = slices.Index([]string{"yes", "no"}, m.value)
	}
	if strict >= 0 && (m.key == "use" || signalUsages(m.key) != nil) {
		c.compare(statementKey{"", "Content-Signal", "", m.key},
			statement{field: m.field, text: m.key + "=" + m.value, strict: strict}, agents)
	}
}

// licence checks a License line.
func (c *robotsCheck) licence(l acap.Line, agents []string) {
	if !reportAddress(l, c.root, c.Report) {
		c.compare(statementKey{"", "License", "", l.Value}, statement{field: l.Field, text: l.Value, strict: 0}, agents)
	}
}

// ofGroups reports licences that are only for the crawlers that their group names: other crawlers
// read the licences of their own groups, or those before any group (RSL 4.4).
func (c *robotsCheck) ofGroups() {
	severity, others := acap.Warning, "other crawlers see no licence"
	if c.general != nil || c.lines["*"] != nil && c.lines["*"].first["License"] != nil {
		severity, others = acap.Notice, "the licences for other crawlers do not count for it"
	}
	for _, l := range c.own {
		c.Report(l.field, "licence-in-group", severity,
			"put a licence for all crawlers before the first User-agent line",
			fmt.Sprintf("the licence is only for %s: %s", strings.Join(l.agents[:min(len(l.agents), 3)], ", "), others))
	}
}

// compare compares a statement with earlier ones about the same. It reports only what is true for
// all agents.
func (c *robotsCheck) compare(k statementKey, s statement, agents []string) {
	if len(agents) > maxAgents {
		return
	}
	s.agents = len(agents)
	same := 0
	var other *statement // an earlier statement that is not milder
	for _, a := range agents {
		if c.work++; c.work > maxCompared {
			return
		}
		k.agent = a
		switch had := c.first[k]; {
		case had == nil:
			c.first[k] = &s
		case had.strict < s.strict:
			if had.beaten++; had.beaten == had.agents {
				c.weaker(had, &s)
			}
			c.first[k] = &s
		case had.strict > s.strict:
			s.beaten++
			other = had
		default:
			same++
			other = had
		}
	}
	switch {
	case s.beaten == len(agents):
		c.weaker(&s, other)
	case same == len(agents):
		c.Report(s.field.At(s.text), "repeated-preference", acap.Notice, "keep one of them",
			fmt.Sprintf("line %d says the same to the same crawlers: %s", other.field.Line, s.text))
	}
}

// weaker reports a statement that has no effect because a stricter one is about the same.
func (c *robotsCheck) weaker(s, than *statement) {
	c.Report(s.field.At(s.text), "contradictory-preference", acap.Warning, "keep one of them",
		fmt.Sprintf("line %d says %s about the same to the same crawlers: the stricter counts, and %s has no effect",
			than.field.Line, than.text, s.text))
}

// missing reports groups for named crawlers that lack lines which the groups for any crawler have:
// a named group inherits nothing (attach 3, RSL 4.4). Groups that may crawl nothing need no
// preferences.
func (c *robotsCheck) missing(all []acap.Group, groups []acap.LineGroup) {
	star := c.lines["*"]
	if star == nil {
		return
	}
	byGroup, rules := make([]reach, len(all)), map[string]reach{}
	for i, g := range all {
		byGroup[i] = reachOf(g.Rules)
	}
	for _, g := range groups {
		for _, a := range g.Agents {
			token, of := strings.ToLower(a), byGroup[g.Group]
			rules[token] = reach{rules[token].nothing || of.nothing, rules[token].allows || of.allows}
		}
	}
	for _, token := range c.tokens {
		lines := c.lines[token]
		if token == "*" || token == "" || rules[token].nothing && !rules[token].allows {
			continue
		}
		var lacks []string
		for _, kind := range []string{"Content-Usage", "Content-Signal", "License"} {
			if f := star.first[kind]; f != nil && lines.first[kind] == nil && (kind != "License" || c.general == nil) {
				lacks = append(lacks, fmt.Sprintf("%s (line %d)", kind, f.Line))
			}
		}
		if lacks != nil {
			c.Report(lines.head, "missing-preference", acap.Warning, "repeat the lines below it",
				"this crawler reads only its own group, which inherits nothing from *: it lacks "+
					strings.Join(lacks, ", "))
		}
	}
}

// reach says what the rules for a crawler prohibit.
type reach struct{ nothing, allows bool } // a rule prohibits every path; a rule allows some

func reachOf(rules []acap.Rule) (r reach) {
	for _, rule := range rules {
		if rule.Allow {
			r.allows = true
		} else if strings.TrimRight(rule.Pattern, "*") == "/" || strings.Trim(rule.Pattern, "*") == "" {
			r.nothing = true
		}
	}
	return r
}

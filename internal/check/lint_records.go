package check

import (
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// heads reports problems with the heads of records and groups.
func (l *linter) heads() {
	groups := byAgent(l.groups)
	for _, r := range l.records {
		if !l.looks(1 + len(r.Heads)) {
			return
		}
		if len(r.Fields) > 0 {
			l.emptied(r.Heads, r.Fields[0], "ACAP field",
				func(a, b *acap.Field) bool { return l.apart(groups[name(a)], groups[name(b)]) })
		}
	}
	var any *acap.Field // a line that prohibits something to crawlers that no group names
	for _, g := range groups["*"] {
		for _, r := range g.Rules {
			if any == nil && !r.Allow {
				any = r.Field
			}
		}
	}
	var prefers map[int]bool // the indexes of groups with preferences
	if len(l.options.Vocabularies) > 0 {
		prefers = preference.Groups(l.file)
	}
	for i := range l.groups {
		g := &l.groups[i]
		if !l.looks(1 + len(g.Heads)) {
			return
		}
		switch {
		case !g.Ruled && len(g.Heads) > 0:
			l.ruleless(g, any, groups, prefers[i])
		case len(g.Rules) > 0:
			l.emptied(g.Heads, g.Rules[0].Field, "Allow or Disallow", func(a, b *acap.Field) bool { return false })
		}
		l.repeated(i)
	}
}

// name returns the crawler name in a User-agent or ACAP-crawler line, in lower case and without a
// version.
func name(head *acap.Field) string {
	_, behind, _ := strings.Cut(head.Text, ":")
	token, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(behind)), "/")
	return token
}

// byAgent returns the groups for each User-agent value in lower case.
func byAgent(groups []acap.Group) map[string][]*acap.Group {
	out := map[string][]*acap.Group{}
	for i := range groups {
		for _, a := range groups[i].Agents {
			lower := strings.ToLower(a)
			out[lower] = append(out[lower], &groups[i])
		}
	}
	return out
}

// apart reports whether two crawlers have groups with different rules.
func (l *linter) apart(a, b []*acap.Group) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	x, y := l.said(a), l.said(b)
	return !slices.Equal(x, y)
}

// said returns the rules of some groups as written.
func (l *linter) said(groups []*acap.Group) (out []string) {
	for _, g := range groups {
		if !l.looks(1 + len(g.Rules)) {
			return out
		}
		for _, r := range g.Rules {
			out = append(out, r.Field.Text)
		}
	}
	return out
}

// emptied reports the head of a record that lost its fields and is now merged with the next record.
// Crawler names for the same fields are usually written on consecutive lines. If other lines are
// between two names, or if the conventional records distinguish the two crawlers, fields are
// missing. what is the name of the missing lines in the message; a Crawl-delay does not end a run
// of User-agent lines (REP 1, X53).
func (l *linter) emptied(heads []*acap.Field, first *acap.Field, what string, apart func(a, b *acap.Field) bool) {
	for i, h := range heads[:len(heads)-1] {
		next := heads[i+1]
		gap := l.lines[h.Line : next.Line-1]
		blank := slices.ContainsFunc(gap, func(line string) bool {
			return !strings.HasPrefix(strings.TrimSpace(line),
				"#")
		})
		if strings.EqualFold(h.Text, next.Text) || !blank && !apart(h, next) {
			continue
		}
		l.tell(h, firstWord(h), "emptied-record", acap.Warning, "write its fields below it, or leave it out",
			"no %s follows before line %d names the next crawler: the two are read as one record, and line %d and "+
				"those behind it hold for this crawler too",
			what, next.Line, first.Line)
	}
}

// ruleless reports a group without rules. prefers says that it has preferences. The group for any
// crawler does not apply to the crawlers that such a group names (RFC 9309 2.2.1). A crawler for
// which another group has rules is not reported.
func (l *linter) ruleless(g *acap.Group, any *acap.Field, groups map[string][]*acap.Group, prefers bool) {
	for k, h := range g.Heads {
		if slices.ContainsFunc(groups[strings.ToLower(g.Agents[k])],
			func(other *acap.Group) bool { return other.Ruled }) {
			continue
		}
		if any == nil || slices.Contains(g.Agents, "*") {
			if g.Paced || prefers {
				continue
			}
			l.tell(h, "", "empty-group", acap.Notice, "put rules below it, or leave it out",
				"the group has no rules and says nothing")
			continue
		}
		l.tell(h, firstWord(h), "empty-group", acap.Warning, "put rules below it, or leave it out",
			"the group has no rules: this crawler may crawl everything, as the rules for any (line %d) are not for a "+
				"crawler that a group names", any.Line)
	}
}

// repeated reports a crawler name that an earlier group contains, too.
func (l *linter) repeated(i int) {
	g := &l.groups[i]
	for k, a := range g.Agents {
		lower := strings.ToLower(a)
		switch first := l.first[lower]; {
		case first == nil:
			l.first[lower] = g.Heads[k]
		case !slices.Contains(g.Heads, first) && g.Ruled:
			l.tell(g.Heads[k], firstWord(g.Heads[k]), "repeated-group", acap.Notice,
				"put the rules of both into one group",
				"line %d begins a group for the same crawler: the rules of both count (RFC 9309 2.2.1), but many "+
					"crawlers read only one of them", first.Line)
		}
	}
}

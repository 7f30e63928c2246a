package acap

import (
	"slices"
	"strings"
)

// Elsewhere returns fields of robots.txt and its references about u that do not apply to this
// crawler and r: they address another crawler or purpose, do not count at their place, or have a
// pattern that does not cover r. It returns the n nearest, those that cover r first, and how many
// more there are. refs are as for Trace.
func (p *Policy) Elsewhere(u Usage, r Resource, n int, refs ...Reference) (nearest []Rival, more int) {
	k := u.kind()
	if p == nil || k == noKind {
		return nil, 0
	}
	e := elsewhere{Policy: p, kind: k, resource: r, seen: map[Field]int{}}
	for _, v := range p.Trace(u, r, Facts{}, refs...) {
		e.seen[*v.Field] = -1
	}
	p.files(refs, e.fields)
	if k == kCrawl {
		e.rules(refs)
	}
	slices.SortStableFunc(e.found, func(a, b distant) int {
		if a.step != b.step {
			return a.step - b.step
		}
		return b.common - a.common
	})
	for _, d := range e.found[:min(n, len(e.found))] {
		nearest = append(nearest, d.Rival)
	}
	return nearest, len(e.found) - len(nearest)
}

// elsewhere collects the fields that do not apply to one usage of one resource.
type elsewhere struct {
	*Policy
	kind     kind
	resource Resource
	seen     map[Field]int // index in found, -1 for the fields that Trace lists
	found    []distant
}

// distant is a field with its distance from applying: the step, and the length of path that its
// pattern shares.
type distant struct {
	Rival
	step, common int
}

// The steps.
const (
	uncounted = iota // does not count at its place
	others           // covers the resource, but addresses others
	aside            // addresses the crawler, about other resources
	foreign          // neither
)

func (e *elsewhere) put(f *Field, k kind, allow bool, step, common int, why, rule string) {
	d := distant{Rival{Field: f, Usage: k.usage(), Allow: allow, Outcome: Apart, Why: why, Rule: rule}, step, common}
	at, known := e.seen[*f]
	switch {
	case !known:
		e.seen[*f] = len(e.found)
		e.found = append(e.found, d)
	case at >= 0 && (step < e.found[at].step || step == e.found[at].step && common > e.found[at].common):
		e.found[at] = d
	}
}

// fields walks through the ACAP fields of a file.
func (e *elsewhere) fields(f, parent *File, second bool) {
	x := e.expander(f, parent)
	told := 0 // findings before the field
	x.walk(second, func(en *entry, h hearing, statements []*statement) {
		if len(statements) == 0 && Usage(en.usage) == e.kind.usage() {
			e.put(en.field, e.kind, en.allow, uncounted, 0, lastMessage(x.findings[told:]), "P1 2.8, B01")
		}
		told = len(x.findings)
		for _, s := range statements {
			if e.speaksOf(s) {
				e.statement(en, h, s, f, second)
			}
		}
	})
}

// statement lists s if it does not count.
func (e *elsewhere) statement(en *entry, h hearing, s *statement, f *File, second bool) {
	step, common := others, 0
	if !s.covers(&e.resource) {
		step = foreign
	}
	if s.pattern != nil {
		common = commonPrefix(s.pattern.rooted, e.resource.path)
	}
	why, rule := "", ""
	switch {
	case !h.reaches:
		why, rule = en.unheard()
	case !h.serves(s.allow):
		why, rule = en.sub.unserved(&e.crawler)
	case step == foreign:
		step, why, rule = aside, "its pattern does not cover the resource", "P1 2.4.4"
	case s.allow && !h.permits:
		why, rule = en.ungranting(f, second)
		step = uncounted
	default:
		return
	}
	e.put(s.field, s.kind, s.allow, step, common, why, rule)
}

// speaksOf reports whether a statement could affect the usage: it is about it, about present on
// which it is based, or prohibits other.
func (e *elsewhere) speaksOf(s *statement) bool {
	return s.kind == e.kind || s.kind == e.kind.basic() || s.kind == kOther && !s.allow
}

// rules walks through the Allow and Disallow lines.
func (e *elsewhere) rules(refs []Reference) {
	t := trace{Policy: e.Policy, refs: refs}
	governing := map[*Field]bool{}
	counted, silenced := t.conventionalLines()
	for _, r := range slices.Concat(counted, silenced) {
		governing[r.field] = true
	}
	e.files(refs, func(f, _ *File, _ bool) {
		for _, g := range f.groups {
			why := "its group speaks to " + someOf(g.agents)
			if slices.Contains(g.agents, "*") {
				why = "a group that names this crawler governs in its place"
			}
			for _, l := range g.rules {
				r := l.read()
				common := commonPrefix(r.exact, e.resource.rep)
				switch matches := r.matches(e.resource.rep); {
				case governing[r.field] && !matches:
					e.put(r.field, kCrawl, r.allow, aside, common, "its pattern does not match", "RFC 9309 2.2.2")
				case !governing[r.field] && matches:
					e.put(r.field, kCrawl, r.allow, others, common, why, "RFC 9309 2.2.1")
				case !governing[r.field]:
					e.put(r.field, kCrawl, r.allow, foreign, common, why, "RFC 9309 2.2.1")
				}
			}
		}
	})
}

// unheard returns why a field does not address the crawler.
func (e *entry) unheard() (why, rule string) {
	if e.stray {
		return "ACAP fields within a conventional record are ignored", "P1 2.10.2, C10"
	}
	return "its record speaks to " + someOf(e.record.names), "P1 2.3.1, C05"
}

// unserved returns why a sub-record is not for the crawler's purposes.
func (s *subRecord) unserved(c *Crawler) (why, rule string) {
	if c.Purposes == nil {
		return "a permission for one purpose does not count while no purpose is declared", "P1 2.3.3, C15"
	}
	return "it stands under " + clip(s.field.Text), "P1 2.3.3, C14"
}

// ungranting returns why a permission that addresses the crawler does not count.
func (e *entry) ungranting(f *File, second bool) (why, rule string) {
	switch {
	case second:
		return "no permission of a second reference counts", "D08"
	case f.cut:
		return "no permission counts in a file that is too long to be read whole", "A19"
	case e.record == nil:
		return "a permission outside any record grants nothing", "A13"
	}
	return "a permission beside a reference does not count", "P1 2.3.2, D02"
}

// lastMessage returns the last finding, which explains why a field makes no statement.
func lastMessage(findings []Finding) string {
	if len(findings) == 0 {
		return "it is ignored"
	}
	return findings[len(findings)-1].Message
}

// someOf returns the first few words, separated by commas.
func someOf(words []string) string {
	const few = 3
	list := clip(strings.Join(words[:min(few, len(words))], ", "))
	if len(words) > few {
		list += " and others"
	}
	return list
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

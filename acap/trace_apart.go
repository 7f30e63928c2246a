package acap

import (
	"slices"
	"strings"
)

// Elsewhere returns the fields about the usage u, in robots.txt and in referenced files, that do
// not apply to this crawler and the resource r. Such a field addresses another crawler or purpose,
// is at a place where it has no effect, or has a pattern that does not cover r. nearest holds at
// most n of these fields, beginning with fields that cover r; more is the number of the other
// fields. refs is the same as for Trace.
func (p *Policy) Elsewhere(u Usage, r Resource, n int, refs ...Reference) (nearest []Rival, more int) {
	k := u.anyKind()
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
	seen     map[Field]int // index of a field in found; -1 for fields that Trace lists
	found    []distant
}

// distant is a field that does not apply. step and common measure how nearly it applies; common is
// the length of the prefix that its pattern and the path of the resource have in common.
type distant struct {
	Rival
	step, common int
}

// The values of distant.step: how nearly a field applies, nearest first.
const (
	uncounted = iota // the field has no effect at its place
	others           // the field covers the resource, but addresses other crawlers or purposes
	aside            // the field addresses the crawler, but covers other resources
	foreign          // the field addresses other crawlers or purposes, and covers other resources
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

// fields collects the ACAP fields of a file that do not apply.
func (e *elsewhere) fields(f, parent *File, second bool) {
	x := e.expander(f, parent)
	told := 0 // number of findings before the current field
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

// statement adds the statement s if it does not apply.
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

// speaksOf reports whether a statement could affect the usage: it is about the usage itself, it is
// about "present" on which the usage is based, or it prohibits "other".
func (e *elsewhere) speaksOf(s *statement) bool {
	return s.kind == e.kind || s.kind == e.kind.basic() || s.kind == kOther && !s.allow
}

// rules collects the Allow and Disallow lines that do not apply.
func (e *elsewhere) rules(refs []Reference) {
	t := trace{Policy: e.Policy, refs: refs}
	governing := map[*Field]bool{}
	counted, silenced := t.conventionalLines()
	for _, r := range slices.Concat(counted, silenced) {
		governing[r.field] = true
	}
	e.files(refs, func(f, _ *File, _ bool) {
		for _, g := range f.groups {
			why := "its group addresses " + someOf(g.agents)
			if slices.Contains(g.agents, "*") {
				why = "a group that names this crawler applies instead"
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

// unheard returns why a field does not address the crawler, as a clause, and the rule for that.
func (e *entry) unheard() (why, rule string) {
	if e.stray {
		return "ACAP fields within a conventional record are ignored", "P1 2.10.2, C10"
	}
	return "its record addresses " + someOf(e.record.names), "P1 2.3.1, C05"
}

// unserved returns why a sub-record is not for the purposes of the crawler c, and the rule for
// that.
func (s *subRecord) unserved(c *Crawler) (why, rule string) {
	if c.Purposes == nil {
		return "a permission for one purpose does not count while no purpose is declared", "P1 2.3.3, C15"
	}
	return "it is under " + clip(s.field.Text), "P1 2.3.3, C14"
}

// ungranting returns why a permission that addresses the crawler has no effect, and the rule for
// that.
func (e *entry) ungranting(f *File, second bool) (why, rule string) {
	switch {
	case second:
		return "no permission of a second reference counts", "D08"
	case f.cut:
		return "no permission counts in a file that is too long to be read whole", "A19"
	case e.record == nil:
		return "a permission outside any record grants nothing", "A13"
	}
	return "a permission next to a reference does not count", "P1 2.3.2, D02"
}

// lastMessage returns the message of the last finding, which explains why a field makes no
// statement.
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

package acap

import "slices"

// admit adds the statements of all records of the file f that address the crawler, by name or by
// "*", to those of earlier files: records are merged field by field (P1 2.2.1, C01). If f is a
// referred file, parent is the file that refers to it. second is true if the reference is not the
// first one of its record (P1 2.3.2, D08: then only prohibitions have effect).
func (p *Policy) admit(f, parent *File, second bool) {
	x := p.expander(f, parent)
	x.seq = p.statements
	if parent != nil {
		p.findings = append(p.findings, f.Findings...)
		x.lookAtReferred()
	}
	x.walk(second, func(e *entry, h hearing, statements []*statement) {
		for _, s := range statements {
			if !h.reaches || s.allow && !h.permits || !h.serves(s.allow) {
				// P1 2.4.3 (X39): a permission without effect still prohibits if it cannot be
				// interpreted
				continue
			}
			s.named, s.purpose = h.named, e.sub != nil
			// P1 2.5.3.1 (X32): the permission takes effect once the licence terms in the image are
			// known
			s.counts = h.permits && h.serves(true)
			if s.beyond {
				p.beyond = append(p.beyond, s)
				continue
			}
			p.by[s.kind] = append(p.by[s.kind], s)
		}
	})
	p.statements = x.seq
	if x.full {
		x.report(&Field{Source: f.source, URL: f.URL, Line: 1, Column: 1}, "too-complex", Error,
			"use fewer fields, sets and definitions",
			"the fields make more than %d statements: nothing is permitted", maxStatements)
		p.refusal = &Decision{Reason: Unavailable, Note: "robots.txt is too complex to be judged"}
	}
	p.findings = append(p.findings, x.findings...)
}

// expander returns the expander that turns the fields of f into statements. parent is the file that
// refers to f; it is nil if f is robots.txt itself.
func (p *Policy) expander(f, parent *File) *expander {
	return &expander{crawler: &p.crawler, file: f, parent: parent, version: f.gating(&p.crawler), base: p.origin}
}

// hearing describes the effect of one field on the crawler.
type hearing struct {
	*audience
	reaches bool // the record of the field addresses the crawler
	named   bool // the record addresses the crawler by name
	permits bool // if the field is a permission, it has effect
}

// walk calls visit for each field of a file in order, with the effect of the field on the crawler,
// and with the statements of the field. It stops if the file makes too many statements.
func (x *expander) walk(second bool, visit func(*entry, hearing, []*statement)) {
	var to audience
	for _, e := range x.file.entries {
		to.turn(e, x.crawler)
		h := hearing{audience: &to}
		h.reaches, h.named, h.permits = e.reach(x.crawler, &to, x.parent == nil)
		// P1 4 (A19): a file that was cut permits nothing; P1 2.3.2 (D08): in the file that a
		// second reference names, only the prohibitions have effect
		h.permits = h.permits && !x.file.cut && !second
		statements := x.expand(e)
		if x.full {
			return
		}
		visit(e, h, statements)
	}
}

// lookAtReferred reports references in a referred file (P1 2.3.2, D01) and definitions that hide
// definitions of the same name in the referring file (P1 2.7, D03).
func (x *expander) lookAtReferred() {
	for _, r := range x.file.records {
		for _, field := range r.references {
			x.report(field, "nested-reference", Error, "name the file in robots.txt",
				"a reference in a referred file is not followed")
		}
	}
	for _, d := range x.file.definitions {
		if x.parent.usages[d.name] != nil {
			x.report(d.field, "shadowed-definition", Notice, "",
				"the usage %q is defined in the referring file too: in this document the definition here counts",
				d.name)
		}
	}
	for _, d := range x.file.setDefinitions {
		if x.parent.sets[d.name] != nil {
			x.report(d.field, "shadowed-definition", Notice, "",
				"the resource set %q is defined in the referring file too: in this document the definition here counts",
				d.name)
		}
	}
}

// audience stores whether the record and the sub-record of the last field address the crawler. The
// fields of a record follow each other, so each record is evaluated only once.
type audience struct {
	record         *record
	reaches, named bool
	sub            *subRecord
	allow, deny    bool
}

func (a *audience) turn(e *entry, c *Crawler) {
	if e.record != nil && e.record != a.record {
		a.record = e.record
		a.reaches, a.named = e.record.reaches(c)
	}
	if e.sub == nil || e.sub != a.sub {
		a.sub = e.sub
		a.allow, a.deny = e.sub.reaches(true, c), e.sub.reaches(false, c)
	}
}

func (a *audience) serves(allow bool) bool {
	if allow {
		return a.allow
	}
	return a.deny
}

// arrange sorts the statements of each usage, so that Policy.prevailing finds the narrowest
// statements in one pass.
func (p *Policy) arrange() {
	for k := range kinds {
		p.arrangeUsage(k)
	}
}

func (p *Policy) arrangeUsage(k kind) {
	starred := false
	for _, s := range p.by[k] {
		starred = starred || s.pattern != nil && s.pattern.raw != s.pattern.rooted
	}
	p.rooted[k] = p.by[k]
	if starred {
		p.rooted[k] = slices.Clone(p.by[k])
		slices.SortFunc(p.rooted[k], func(a, b *statement) int { return inOrder(a, b, true) })
	}
	slices.SortFunc(p.by[k], func(a, b *statement) int { return inOrder(a, b, false) })
	p.found[k] = index(p.by[k])
	p.foundToo[k] = p.found[k]
	if starred {
		p.foundToo[k] = index(p.rooted[k])
	}
}

// index returns a lookup of the statements with patterns, which come first in the list.
func index(list []*statement) *lookup {
	n := len(list)
	for n > 0 && list[n-1].pattern == nil {
		n--
	}
	return newLookup(n, func(i int) shape { return list[i].pattern.shape })
}

// covering calls visit for each statement of the usage type k that covers r, in the order that
// Policy.arrange creates.
func (p *Policy) covering(k kind, r *Resource, rooted bool, visit func(*statement)) {
	list, l := p.by[k], p.found[k]
	if rooted {
		list, l = p.rooted[k], p.foundToo[k]
	}
	if l != nil && r.ascii == "" {
		var h hits
		if l.find(r.path, &h); !h.full() {
			for _, id := range h.list[:h.n] {
				visit(list[id])
			}
			list = list[len(l.shapes):]
		}
	}
	for _, s := range list {
		if s.covers(r) {
			visit(s)
		}
	}
}

func inOrder(a, b *statement, rooted bool) int {
	switch {
	case a.pattern == nil || b.pattern == nil:
		if a.pattern != nil {
			return -1
		}
		if b.pattern != nil {
			return 1
		}
	case a.pattern == b.pattern:
	case rooted:
		if c := compareBreadth(a.pattern.rooted, b.pattern.rooted); c != 0 {
			return c
		}
	default:
		if c := compareBreadth(a.pattern.raw, b.pattern.raw); c != 0 {
			return c
		}
	}
	return a.seq - b.seq
}

// reach reports whether a field addresses the crawler c, whether it does so by name, and whether
// the field has effect if it is a permission.
func (e *entry) reach(c *Crawler, to *audience, top bool) (reaches, named, permits bool) {
	switch {
	// P1 2.10.2 (C10): ACAP fields within a conventional record are ignored
	case e.stray:
		return c.Strict, false, false
	// P1 2.3 (A13): a field outside any record prohibits for all crawlers and permits nothing
	case e.record == nil:
		return true, false, false
	}
	reaches, named = to.reaches, to.named
	switch {
	// P1 3 (A15): a record with only empty crawler names prohibits for all crawlers
	case e.record.nobody:
		return true, false, false
	// P1 2.3 (D02): in a record with a reference, permissions have no effect; P1 2.3.2 (X50): in a
	// referred file, they have effect even in a record with a reference
	case top && len(e.record.references) > 0:
		return reaches, named, false
	}
	return reaches, named, true
}

// uncancelled returns the conventional rules that no ACAP field cancels. A field cancels a rule
// with the same pattern and the opposite effect (P1 2.10.2, O04). The addressee of the ACAP field
// must be at least as specific as that of the group (P1 2.10.2, O07). If both a permission and a
// prohibition have the pattern of the rule, the rule is not cancelled, whether or not one of the
// fields overrides the other (P1 2.10.2, X72, X85).
func (p *Policy) uncancelled(lines []ruleLine, named bool) []*rule {
	type speech struct{ allows, denies, cancels bool }
	spoken := make(map[string]speech, len(p.by[kCrawl]))
	for _, s := range p.by[kCrawl] {
		if s.pattern == nil {
			continue
		}
		have := spoken[s.pattern.exact]
		have.allows = have.allows || s.allow
		have.denies = have.denies || !s.allow
		have.cancels = have.cancels || s.named || !named
		spoken[s.pattern.exact] = have
	}
	return slices.DeleteFunc(readAll(lines), func(r *rule) bool {
		s := spoken[r.exact]
		return s.cancels && s.allows != s.denies && s.allows != r.allow
	})
}

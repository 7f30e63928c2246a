package acap

import "slices"

// admit takes the statements of a file that reach the crawler. For a referred file parent is the file that refers to it, and
// second says that it is not the first of its record (D08).
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
				continue // X39: a permission that does not count still prohibits when it cannot be interpreted
			}
			s.named, s.purpose = h.named, e.sub != nil
			s.counts = h.permits && h.serves(true) // X32
			if s.beyond {
				p.beyond = append(p.beyond, s)
				continue
			}
			p.by[s.kind] = append(p.by[s.kind], s)
		}
	})
	p.statements = x.seq
	if x.full {
		x.report(&Field{Source: f.source, URL: f.URL, Line: 1, Column: 1}, "too-complex", Error, "use fewer fields, sets and definitions",
			"the fields make more than %d statements: nothing is permitted", maxStatements)
		p.refusal = &Decision{Reason: Unavailable, Note: "robots.txt is too complex to be judged"}
	}
	p.findings = append(p.findings, x.findings...)
}

// expander returns what turns the fields of f into statements; parent is the file that refers to f, nil for robots.txt itself.
func (p *Policy) expander(f, parent *File) *expander {
	return &expander{crawler: &p.crawler, file: f, parent: parent, version: f.gating(&p.crawler), base: p.origin}
}

// hearing says how a field counts for the crawler.
type hearing struct {
	*audience
	reaches bool // its record addresses the crawler
	named   bool // by name
	permits bool // a permission in it counts
}

// walk calls visit with each field of a file in order, how it counts, and its statements. It ends where the file makes too many
// statements.
func (x *expander) walk(second bool, visit func(*entry, hearing, []*statement)) {
	var to audience
	for _, e := range x.file.entries {
		to.turn(e, x.crawler)
		h := hearing{audience: &to}
		h.reaches, h.named, h.permits = e.reach(x.crawler, &to, x.parent == nil)
		h.permits = h.permits && !x.file.cut && !second // A19, D08
		statements := x.expand(e)
		if x.full {
			return
		}
		visit(e, h, statements)
	}
}

// lookAtReferred reports references in a referred file (D01) and definitions that hide those of the referring file (D03).
func (x *expander) lookAtReferred() {
	for _, r := range x.file.records {
		for _, field := range r.references {
			x.report(field, "nested-reference", Error, "name the file in robots.txt", "a reference in a referred file is not followed")
		}
	}
	for _, d := range x.file.definitions {
		if x.parent.usages[d.name] != nil {
			x.report(d.field, "shadowed-definition", Notice, "", "the usage %q is defined in the referring file too: the definition here holds here", d.name)
		}
	}
	for _, d := range x.file.setDefinitions {
		if x.parent.sets[d.name] != nil {
			x.report(d.field, "shadowed-definition", Notice, "", "the resource set %q is defined in the referring file too: the definition here holds here", d.name)
		}
	}
}

// audience remembers whom the record and the sub-record of the last field address: all fields of one stand together.
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

// arrange sorts the statements of each usage so that prevailing finds the narrowest in one pass.
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

// index makes a lookup of the statements that have patterns; in order, they come first.
func index(list []*statement) *lookup {
	n := len(list)
	for n > 0 && list[n-1].pattern == nil {
		n--
	}
	return newLookup(n, func(i int) shape { return list[i].pattern.shape })
}

// covering calls visit with each statement of a usage type that covers r, in the order of arrange.
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

// reach says whether a field addresses c, whether by name, and whether a permission in it counts.
func (e *entry) reach(c *Crawler, to *audience, top bool) (reaches, named, permits bool) {
	switch {
	case e.stray: // C10
		return c.Strict, false, false
	case e.record == nil: // A13
		return true, false, false
	}
	reaches, named = to.reaches, to.named
	switch {
	case e.record.nobody: // A15
		return true, false, false
	case top && len(e.record.references) > 0: // D02; X50: not for a nested reference
		return reaches, named, false
	}
	return reaches, named, true
}

// uncancelled leaves out the conventional rules that a contrary ACAP field with the same pattern
// cancels (P1 2.10.2, O04). The ACAP field must be at least as specific as the group in its
// addressee (O07). Where both polarities reach the crawler with the pattern nothing is cancelled,
// whichever of them overrides the other (X72, X85).
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

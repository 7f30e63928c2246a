package acap

// Decide answers for one usage of one resource (the order of evaluation is in the package comment). Facts and target are not
// looked at: a limit that they do not meet is found by Decision.At. A nil Policy refuses.
func (p *Policy) Decide(u Usage, r Resource) (d Decision) {
	k := u.kind()
	if p == nil || k == noKind {
		return Decision{Usage: u, Reason: Unavailable, Note: "no policy is known"}
	}
	if p.byPurpose != nil {
		return p.common(func(q *Policy) Decision { return q.Decide(u, r) }, k)
	}
	if early := p.foreclosed(k); early != nil {
		d = *early
		d.Usage = u
		return d
	}
	p.settle(k, &r, &d)
	p.consult(k, &r, &d)
	return d
}

// foreclosed returns the decision on a usage that is made before any statement is compared: a policy that could not be read, a
// page that prohibits its own crawling (P2 2.2.9.1, X01: it is not used at all), and what an element prohibits that cannot be cut out
// of the page (P2 2.2.6, N07 and N28). It returns nil if there is none.
func (p *Policy) foreclosed(k kind) *Decision {
	switch {
	case p.refusal != nil:
		return p.refusal
	case p.own == nil:
		return nil
	case p.own.discard != nil:
		return p.own.discard
	}
	return p.own.bars[k]
}

// common is the answer for several purposes: crawl if any purpose may, all else only if all may (X11); the limits of all bind (X78).
func (p *Policy) common(decide func(*Policy) Decision, k kind) Decision {
	var out Decision
	for i, q := range p.byPurpose {
		d := decide(q)
		switch {
		case i == 0:
			out = d
		case k == kCrawl && d.Allowed && !out.Allowed, k != kCrawl && !d.Allowed && out.Allowed:
			out = d
		case d.Allowed && out.Allowed:
			if out.Because == nil {
				out.Reason, out.Because = d.Reason, d.Because
			}
			out.fields.merge(&d.fields)
			out.fields.caps = out.fields.caps.with(d.fields.caps)
		}
	}
	if wholes.has(k) { // K03: one purpose may require what another prohibits
		out.form(k)
	}
	return out
}

// settle decides by the ACAP fields of the origin and of the page. d is zero before; here and below it is filled in place, since
// copying it would be half of the work.
func (p *Policy) settle(k kind, r *Resource, d *Decision) {
	starred := p.settleBy(k, r, false, d)
	if !starred || !d.Allowed && p.recorder == nil { // what both comparisons leave is recorded even if the first refuses
		return
	}
	var rooted Decision
	p.settleBy(k, r, true, &rooted) // F03, X34: permit only if both comparisons permit; the limits of both bind
	if !d.Allowed {
		return
	}
	if !rooted.Allowed {
		rooted.Reason = ByConflict
		*d = rooted
		return
	}
	d.fields.merge(&rooted.fields)
	d.form(k)
}

// settleBy decides with patterns compared as written, or rooted; starred says whether that can make a difference.
func (p *Policy) settleBy(k kind, r *Resource, rooted bool, d *Decision) (starred bool) {
	starred = p.prevailing(k, r, rooted, &d.fields)
	p.recorder.keep(&d.fields)
	if !k.derived() {
		if d.fields.n == 0 {
			p.unsaid(k, r, d)
			return starred
		}
		d.conclude(k)
		d.form(k)
		return starred
	}
	var general verdict
	starred = p.prevailing(kPresent, r, rooted, &general) || starred
	p.recorder.keep(&general)
	switch {
	case d.fields.n == 0 && general.n == 0:
		p.unsaid(k, r, d)
		return starred
	case d.fields.n == 0:
		d.fields = general
		d.conclude(k)
	case d.fields.prohibition() != nil:
		d.conclude(k) // F17: a specific prohibition always stands
	default:
		p.meet(k, r, general, rooted, d)
	}
	d.form(k)
	return starred
}

// maxCompared bounds the comparisons of a hostile file; beyond it the narrowest scope counts as undetermined (P1 2.4.6).
const maxCompared = 250_000

// meet lets the specific permissions of d meet what is said about present (F17, F18). A general
// prohibition stands where its pattern is narrower than, or incomparable with, that of every
// specific permission (X43), where it covers everything (X35), or where it replaces a permission,
// even if a beaten prohibition displaces it: the limits of that permission would bind (X81, X83).
func (p *Policy) meet(k kind, r *Resource, general verdict, rooted bool, d *Decision) {
	for i := range general.n {
		g := general.at(i)
		if g.allow {
			continue
		}
		if d.fields.n*general.n <= maxCompared {
			if s := p.beater(g, &d.fields, rooted); s != nil {
				p.recorder.beat(g, s)
				continue
			}
		}
		*d = refusal(k, g)
		return
	}
	permitted := general
	if general.prohibition() != nil { // what a beaten prohibition displaced still describes any presentation (F18, X83)
		permitted = p.permissions(kPresent, r, rooted)
		p.recorder.keep(&permitted)
	}
	if no := permitted.prohibition(); no != nil { // X81
		*d = refusal(k, no)
		return
	}
	for i := range permitted.n {
		d.fields.add(permitted.at(i)) // F18
	}
	d.conclude(k)
}

// permissions gives what would prevail of a usage type if only permissions were written: those, and
// what replaces them where they cannot be interpreted.
func (p *Policy) permissions(k kind, r *Resource, rooted bool) (v verdict) {
	m := matched{verdict: &v}
	p.covering(k, r, rooted, func(s *statement) {
		if s.written() {
			m.take(s, p, rooted)
		}
	})
	if p.own != nil && len(p.own.by[k]) > 0 {
		return p.own.permissions(k, v)
	}
	return v
}

// written reports whether a statement was written as a permission.
func (s *statement) written() bool { return s.allow || s.instead }

// beater returns a specific permission that beats the prohibition g of present, nil if there is none.
func (p *Policy) beater(g *statement, specific *verdict, rooted bool) *statement {
	if g.all { // X35
		return nil
	}
	for i := range specific.n {
		s := specific.at(i)
		if s.page && !g.page && s.rank()|g.rank() != s.rank() { // N02: a generic page permission never reverses a named prohibition
			continue
		}
		if rel := p.compare(s, g, rooted); rel == narrower || rel == identical {
			return s
		}
	}
	return nil
}

// compare says how the scope of a relates to that of b; a page speaks of itself alone, the narrowest scope there is (P2 2.2.8 note).
func (p *Policy) compare(a, b *statement, rooted bool) scope {
	switch {
	case a.page && b.page:
		return identical
	case a.page:
		return narrower
	case b.page:
		return broader
	case a.all || b.all:
		return undetermined
	case rooted:
		return compareScope(a.pattern.rooted, b.pattern.rooted, p.crawler.Strict)
	}
	return compareScope(a.pattern.raw, b.pattern.raw, p.crawler.Strict)
}

// prevailing fills the empty v with the statements of one exact usage type that are left after overriding (C02-C04), narrowest scope
// (F07) and, on a page, its own statements (N02, N03). starred says whether a pattern without a root is among those that cover the
// resource.
func (p *Policy) prevailing(k kind, r *Resource, rooted bool, v *verdict) (starred bool) {
	m := matched{verdict: v}
	p.covering(k, r, rooted, func(s *statement) {
		starred = starred || s.pattern != nil && s.pattern.raw[0] == '*'
		m.take(s, p, rooted)
	})
	if p.own != nil && len(p.own.by[k]) > 0 {
		*v = p.own.meet(k, *v, p.recorder)
	}
	return starred
}

// unsaid answers where nothing speaks of the usage: disallow-other (F19), else permitted (F21). allow-other never lifts it (X38).
func (p *Policy) unsaid(k kind, r *Resource, d *Decision) {
	d.Usage, d.Allowed, d.Reason = k.usage(), true, ByDefault
	if k == kOther {
		for _, s := range p.beyond { // L05
			if s.covers(r) {
				*d = refusal(k, s)
				return
			}
		}
		if p.own != nil && len(p.own.beyond) > 0 {
			*d = refusal(k, p.own.beyond[0])
		}
		return
	}
	var other *statement
	p.covering(kOther, r, false, func(s *statement) {
		if !s.allow && (other == nil || s.seq < other.seq) {
			other = s
		}
	})
	if other == nil && p.own != nil && k != kCrawl { // X68
		for _, s := range p.own.by[kOther] {
			if !s.allow {
				other = s
				break
			}
		}
	}
	if other != nil {
		d.Allowed, d.Reason, d.Because = false, ByOther, other.field
	}
}

// conclude turns the prevailing statements into a decision: all permissions permit, with the limits of all (F15); anything else
// prohibits (P1 2.4.6).
func (d *Decision) conclude(k kind) {
	no, yes := d.fields.prohibition(), d.fields.permission()
	if no == nil {
		d.Usage, d.Allowed, d.Reason, d.Because = k.usage(), true, ByPermission, yes.field
		return
	}
	*d = refusal(k, no)
	if yes != nil {
		d.Reason = ByConflict
	}
}

func refusal(k kind, s *statement) Decision {
	d := Decision{Usage: k.usage(), Reason: ByProhibition, Because: s.field}
	if s.fell {
		d.Reason = ByFallback
	}
	return d
}

// form looks at limits that no reader and no clock can change.
func (d *Decision) form(k kind) {
	if !d.Allowed {
		return
	}
	var required, prohibited bool
	for i := range d.fields.n {
		s := d.fields.at(i)
		if s.elsewhere { // M03
			*d = Decision{Usage: d.Usage, Reason: ByLocation, Because: s.field}
			return
		}
		if s.limits == nil {
			continue
		}
		l := s.limits
		note := ""
		if l.prevents&changes[k] != 0 { // K02, X28
			note = "a thumbnail changes what may not be changed"
			if snippets.has(k) {
				note = "a snippet changes what may not be changed"
			}
		}
		if k == kOriginal || k == kCurrentCopy || k == kOldCopy {
			if l.mustUse != nil { // I09
				note = "this form cannot be made from a substitute"
			}
			required = required || contains(l.required, withinUser)
			prohibited = prohibited || contains(l.prohibited, withinUser)
			if required && prohibited { // K03
				note = "the same context is required and prohibited"
			}
		}
		if note != "" {
			*d = Decision{Usage: d.Usage, Reason: ByProhibition, Because: s.field, Note: note}
			return
		}
	}
	if k == kOther { // X38
		d.Allowed, d.Reason, d.Note = false, Unfulfillable, "no field alone permits other usages; ask where it refers to"
	}
}

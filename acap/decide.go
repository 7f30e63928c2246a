package acap

// Decide returns the decision on one usage of one resource. The package comment lists the order of
// evaluation. Decide does not look at facts: Decision.At refuses a usage whose limits they do not
// meet. A nil Policy refuses.
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
	p.decideByFields(k, &r, &d)
	p.consult(k, &r, &d)
	return d
}

// foreclosed returns the decision on a usage that is made before any statement is compared: a
// policy that could not be read, a page that prohibits its own crawling (P2 2.2.9.1, X01: it is not
// used at all), and what an element prohibits that cannot be cut out of the page (P2 2.2.6, N07 and
// N28). It returns nil if there is none.
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

// common returns the decision for several purposes. P1 2.3.3 (X11): crawl is permitted if any
// purpose permits it, every other usage only if all do. The limits of all purposes bind (X78).
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
	if wholes.has(k) { // P1 2.5.5.8 (K03): one purpose may require what another prohibits
		out.form(k)
	}
	return out
}

// decideByFields decides by the ACAP fields of the origin and of the page. It fills d, which is
// zero: copying it would take half of the time of a decision.
func (p *Policy) decideByFields(k kind, r *Resource, d *Decision) {
	starred := p.decideCompared(k, r, false, d)
	// what both comparisons leave is recorded even if the first refuses
	if !starred || !d.Allowed && p.recorder == nil {
		return
	}
	var rooted Decision
	// P1 2.4.6 (F03, X34): permit only if both comparisons permit; the limits of both bind
	p.decideCompared(k, r, true, &rooted)
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

// decideCompared decides with patterns compared as they are written, or rooted. starred reports
// whether the two can differ.
func (p *Policy) decideCompared(k kind, r *Resource, rooted bool, d *Decision) (starred bool) {
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
	var general statementSet
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
		d.conclude(k) // P1 2.5.5 (F17): a prohibition of the type itself is always in force
	default:
		p.comparePresent(k, r, general, rooted, d)
	}
	d.form(k)
	return starred
}

// maxCompared bounds the comparisons of a hostile file; beyond it the narrowest scope counts as
// undetermined (P1 2.4.6).
const maxCompared = 250_000

// comparePresent compares the permissions of a type based on present, in d, with what is said of
// present itself (P1 2.5.5, F17, F18). A prohibition of present is in force if no permission of the
// type has a pattern that is at least as narrow (P1 2.5.5, X43), or if it covers everything (P1
// 2.4.6, X35). It is also in force if it replaces a permission that cannot be interpreted, even
// where a prohibition that was beaten displaces it: the limits of that permission would bind (P1
// 2.4.3, X81; P1 2.5.5, X83).
func (p *Policy) comparePresent(k kind, r *Resource, general statementSet, rooted bool, d *Decision) {
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
	// what a beaten prohibition displaced still describes any presentation (P1 2.5.5, F18, X83)
	if general.prohibition() != nil {
		permitted = p.permissions(kPresent, r, rooted)
		p.recorder.keep(&permitted)
	}
	// P1 2.4.3 (X81): what replaces a permission of present is beaten by no specific permission
	if no := permitted.prohibition(); no != nil {
		*d = refusal(k, no)
		return
	}
	for i := range permitted.n {
		d.fields.add(permitted.at(i)) // P1 2.5.5 (F18): what limits present limits its types too
	}
	d.conclude(k)
}

// permissions returns the statements of a usage type that would be left if only permissions were
// written, with the prohibitions that replace those that cannot be interpreted.
func (p *Policy) permissions(k kind, r *Resource, rooted bool) (v statementSet) {
	m := matched{statementSet: &v}
	p.covering(k, r, rooted, func(s *statement) {
		if s.written() {
			m.collect(s, p, rooted)
		}
	})
	if p.own != nil && len(p.own.by[k]) > 0 {
		return p.own.permissions(k, v)
	}
	return v
}

// written reports whether a statement was written as a permission.
func (s *statement) written() bool { return s.allow || s.instead }

// beater returns a specific permission that beats the prohibition g of present, nil if there is
// none.
func (p *Policy) beater(g *statement, specific *statementSet, rooted bool) *statement {
	if g.all { // P1 2.4.6 (X35): no scope beats a prohibition that covers everything; addressee and purpose do
		return nil
	}
	for i := range specific.n {
		s := specific.at(i)
		// P2 2.2.8 (N02): a generic page permission never reverses a named prohibition
		if s.page && !g.page && s.rank()|g.rank() != s.rank() {
			continue
		}
		if rel := p.compare(s, g, rooted); rel == narrower || rel == identical {
			return s
		}
	}
	return nil
}

// compare returns how the scope of a relates to that of b. A statement of a page covers that page
// alone, which is the narrowest scope (P2 2.2.8, note).
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

// prevailing fills v, which is empty, with the statements of exactly one usage type that are in
// force: those that no more specific addressee or purpose overrides (P1 2.2.1, C02-C04), with the
// narrowest patterns (P1 2.4.6, F07), together with the page's own (P2 2.2.8, N02, N03). starred
// reports whether one of the patterns that cover the resource begins with an asterisk.
func (p *Policy) prevailing(k kind, r *Resource, rooted bool, v *statementSet) (starred bool) {
	m := matched{statementSet: v}
	p.covering(k, r, rooted, func(s *statement) {
		starred = starred || s.pattern != nil && s.pattern.raw[0] == '*'
		m.collect(s, p, rooted)
	})
	if p.own != nil && len(p.own.by[k]) > 0 {
		*v = p.own.combine(k, *v, p.recorder)
	}
	return starred
}

// unsaid decides a usage of which no field speaks. P1 2.5.6 (F19): disallow-other prohibits it.
// Otherwise it is permitted (P1 2.4.3, F21). allow-other changes neither (P1 2.5.6.1, X38).
func (p *Policy) unsaid(k kind, r *Resource, d *Decision) {
	d.Usage, d.Allowed, d.Reason = k.usage(), true, ByDefault
	if k == kOther {
		// P1 2.4.3 (L05): a failed allow-other prohibits usages outside the listed ones only
		for _, s := range p.beyond {
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
	if other == nil && p.own != nil && k != kCrawl { // P1 2.5.6 (X68): disallow-other in META does not reach crawl
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

// conclude turns the statements that are left into a decision. If all are permissions the usage is
// permitted, with the limits of all (P1 2.4.6, F15). Otherwise it is prohibited (P1 2.4.6).
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

// form refuses a usage because of limits that do not depend on reader or clock.
func (d *Decision) form(k kind) {
	if !d.Allowed {
		return
	}
	var required, prohibited bool
	for i := range d.fields.n {
		s := d.fields.at(i)
		if s.elsewhere { // P2 2.2.9.1 (M03): at another place the usage is prohibited
			*d = Decision{Usage: d.Usage, Reason: ByLocation, Because: s.field}
			return
		}
		if s.limits == nil {
			continue
		}
		l := s.limits
		note := ""
		// P1 2.5.5.5 (K02, X28): a modification that is prohibited on present closes the forms that
		// make it; which modifications a thumbnail and a snippet are
		if l.prevents&changes[k] != 0 {
			note = "a thumbnail changes what may not be changed"
			if snippets.has(k) {
				note = "a snippet changes what may not be changed"
			}
		}
		if k == kOriginal || k == kCurrentCopy || k == kOldCopy {
			// P1 2.5.5.3 (I09): a substitute is for forms derived from a text, not for the original
			// and copies
			if l.mustUse != nil {
				note = "this form cannot be made from a substitute"
			}
			required = required || contains(l.required, withinUser)
			prohibited = prohibited || contains(l.prohibited, withinUser)
			if required && prohibited { // P1 2.5.5.8 (K03): a context both required and prohibited can never be met
				note = "the same context is required and prohibited"
			}
		}
		if note != "" {
			*d = Decision{Usage: d.Usage, Reason: ByProhibition, Because: s.field, Note: note}
			return
		}
	}
	if k == kOther { // P1 2.5.6.1 (X38): other is never permitted by a field alone
		d.Allowed, d.Reason, d.Note = false, Unfulfillable,
			"no field alone permits other usages; ask where it refers to"
	}
}

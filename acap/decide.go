package acap

// Decide returns the decision on one usage of one resource. The package comment lists the order of
// evaluation. Decide does not check time limits or conditions on the reader: Decision.At does. A
// nil Policy refuses.
func (p *Policy) Decide(u Usage, r Resource) (d Decision) {
	k := u.anyKind()
	if p == nil || k == noKind {
		return Decision{Usage: u, Reason: Unavailable, Note: "no policy is known"}
	}
	if p.byPurpose != nil || p.stages != nil {
		return p.common(func(q *Policy) Decision { return q.Decide(u, r) }, k)
	}
	if early := p.foreclosed(k); early != nil {
		d = *early
		d.Usage = u
		return d
	}
	p.decideByFields(k, &r, &d)
	p.consult(k, &r, &d)
	if d.Allowed && len(p.crawler.For) > 0 && (k == kIndex || k == kPreserve || presents.has(k)) {
		p.requireUses(&r, &d)
	}
	return d
}

// requireUses refuses d if a usage of Crawler.For is not allowed.
func (p *Policy) requireUses(r *Resource, d *Decision) {
	q := p
	if p.recorder != nil { // Trace lists the fields about the usage of d only
		unrecorded := *p
		unrecorded.recorder = nil
		q = &unrecorded
	}
	for _, use := range p.crawler.For {
		if o := q.Decide(use, *r); !o.Allowed {
			*d = Decision{Usage: d.Usage, Reason: o.Reason, Because: o.Because, Note: o.Note, Terms: o.Terms, For: use}
			return
		}
	}
}

// foreclosed returns a decision that does not depend on comparing statements, or nil if there is
// none. There are three cases: the policy could not be read; the page prohibits its own crawling
// (P2 2.2.9.1, X01: such a page is not used at all); an element prohibits a usage but cannot be cut
// out of the page (P2 2.2.6, N07 and N28).
func (p *Policy) foreclosed(k kind) *Decision {
	switch {
	case p.refusal != nil:
		return p.refusal
	case p.own == nil:
		return nil
	case p.own.discard != nil:
		return p.own.discard
	case k >= kinds:
		return p.own.newer
	}
	return p.own.bars[k]
}

// common returns the joint decision of the policies that p consists of. P1 2.3.3 (X11): crawl is
// permitted if any purpose permits it; every other usage is permitted only if all purposes permit it.
// The limits of all purposes are in force (X78). The two stages of a page must both permit every usage.
func (p *Policy) common(decide func(*Policy) Decision, k kind) Decision {
	if p.stages != nil {
		return joint(p.stages, decide, k, false)
	}
	return joint(p.byPurpose, decide, k, k == kCrawl)
}

// joint returns the decision on a usage of the kind k that several policies make together: the usage is
// permitted if all of them permit it, or, if any is true, one of them. The limits of all that permit it
// are in force.
func joint(policies []*Policy, decide func(*Policy) Decision, k kind, any bool) Decision {
	var out Decision
	for i, q := range policies {
		d := decide(q)
		switch {
		case i == 0:
			out = d
		case d.Allowed == any && out.Allowed != any:
			out = d
		case d.Allowed && out.Allowed:
			if out.Because == nil {
				out.Reason, out.Because = d.Reason, d.Because
			}
			out.fields.merge(&d.fields)
			out.fields.caps = out.fields.caps.with(d.fields.caps)
		}
	}
	if wholes.has(k) { // P1 2.5.5.8 (K03): one purpose may require a context that another prohibits
		out.form(k)
	}
	return out
}

// decideByFields decides by the ACAP fields of the origin and of the page. It fills d, which must
// be zero. A function that returned a Decision would have to copy it, which would take half of the
// time.
func (p *Policy) decideByFields(k kind, r *Resource, d *Decision) {
	if k >= kinds {
		p.unsaid(k, r, d)
		return
	}
	starred := p.decideCompared(k, r, false, d)
	// Trace needs the result of both comparisons, even if the first comparison refuses
	if !starred || !d.Allowed && p.recorder == nil {
		return
	}
	var rooted Decision
	// P1 2.4.6 (F03, X34): the usage is permitted only if both comparisons permit it; the limits of
	// both are in force
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

// decideCompared decides with one of two ways to compare patterns: as written, or rooted (with a
// slash in front of a leading asterisk). starred reports whether the two ways can differ.
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
		d.conclude(k) // P1 2.5.5 (F17): a prohibition of a type based on "present" is always in force
	default:
		p.comparePresent(k, r, general, rooted, d)
	}
	d.form(k)
	return starred
}

// maxCompared is the maximum number of comparisons between permissions of a type and statements
// about "present". If a hostile file needs more, the narrowest scope is treated as undetermined (P1
// 2.4.6).
const maxCompared = 250_000

// comparePresent compares the permissions in d, of a type based on "present", with general, the
// statements about "present" itself (P1 2.5.5, F17, F18). A prohibition of "present" is in force if
// no permission of the type has a pattern that is at least as narrow (P1 2.5.5, X43), or if the
// prohibition covers everything (P1 2.4.6, X35). A prohibition is also in force if it replaces a
// permission of "present" that cannot be interpreted, because the limits of that permission would
// be in force, too (P1 2.4.3, X81). Even if another prohibition displaced the replacement and then
// lost, the replacement is in force (P1 2.5.5, X83).
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
	// P1 2.5.5 (F18, X83): if a prohibition displaced permissions of "present" and then lost
	// itself, the limits of those permissions still apply to any presentation
	if general.prohibition() != nil {
		permitted = p.permissions(kPresent, r, rooted)
		p.recorder.keep(&permitted)
	}
	// P1 2.4.3 (X81): no permission of a type based on "present" wins against a prohibition that
	// replaces a permission of "present"
	if no := permitted.prohibition(); no != nil {
		*d = refusal(k, no)
		return
	}
	for i := range permitted.n {
		// P1 2.5.5 (F18): the limits of permissions of "present" also limit the types based on it
		d.fields.add(permitted.at(i))
	}
	d.conclude(k)
}

// permissions returns the statements of the usage type k that would remain if the file contained
// only permissions. Permissions that cannot be interpreted are replaced by prohibitions.
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

// written reports whether the publisher wrote the statement as a permission.
func (s *statement) written() bool { return s.allow || s.instead }

// beater returns a permission, from the set specific, that wins against g, a prohibition of
// "present". It returns nil if no permission wins.
func (p *Policy) beater(g *statement, specific *statementSet, rooted bool) *statement {
	// P1 2.4.6 (X35): no narrower scope wins against a prohibition that covers everything; only a
	// more specific addressee or purpose does
	if g.all {
		return nil
	}
	for i := range specific.n {
		s := specific.at(i)
		// P2 2.2.8 (N02): a page's permission for any crawler never wins against a prohibition for
		// a named crawler
		if s.page && !g.page && s.rank()|g.rank() != s.rank() {
			continue
		}
		if rel := p.compare(s, g, rooted); rel == narrower || rel == identical {
			return s
		}
	}
	return nil
}

// compare returns how the scope of the statement a relates to the scope of the statement b. A
// statement in a page covers only that page, which is the narrowest scope (P2 2.2.8, note).
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

// prevailing fills v, which must be empty, with the statements of the usage type k that are in
// force. These are the statements that no more specific addressee or purpose overrides (P1 2.2.1,
// C02-C04), with the narrowest patterns (P1 2.4.6, F07), together with the statements of the page
// (P2 2.2.8, N02, N03). starred reports whether one of the patterns that cover the resource begins
// with an asterisk.
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

// unsaid decides on a usage that no field names. P1 2.5.6 (F19): disallow-other prohibits the
// usage. Otherwise the usage is permitted (P1 2.4.3, F21). allow-other changes nothing (P1 2.5.6.1,
// X38).
func (p *Policy) unsaid(k kind, r *Resource, d *Decision) {
	d.Usage, d.Allowed, d.Reason = k.usage(), true, ByDefault
	if k == kOther {
		p.decideBeyond(k, r, d)
		return
	}
	var other *statement
	p.covering(kOther, r, false, func(s *statement) {
		if !s.allow && (other == nil || s.seq < other.seq) {
			other = s
		}
	})
	if other == nil && p.own != nil && k != kCrawl { // P1 2.5.6 (X68): disallow-other in META does not prohibit crawl
		for _, s := range p.own.by[kOther] {
			if !s.allow {
				other = s
				break
			}
		}
	}
	switch {
	case other != nil:
		d.Allowed, d.Reason, d.Because = false, ByOther, other.field
	case k >= kinds:
		p.decideBeyond(k, r, d)
	}
}

// decideBeyond decides on a usage that ACAP does not list, by the fields that replace permissions of
// "other". P1 2.4.3 (L05): an allow-other that cannot be interpreted prohibits only such usages.
func (p *Policy) decideBeyond(k kind, r *Resource, d *Decision) {
	for _, s := range p.beyond {
		if s.covers(r) {
			*d = refusal(k, s)
			return
		}
	}
	if p.own != nil && len(p.own.beyond) > 0 {
		*d = refusal(k, p.own.beyond[0])
	}
}

// conclude turns the statements in force, in d.fields, into a decision. If all are permissions, the
// usage is permitted, with the limits of all (P1 2.4.6, F15). Otherwise it is prohibited (P1
// 2.4.6).
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

// form refuses a usage because of limits that depend neither on the reader nor on the clock.
func (d *Decision) form(k kind) {
	if !d.Allowed {
		return
	}
	var required, prohibited bool
	for i := range d.fields.n {
		s := d.fields.at(i)
		if s.elsewhere { // P2 2.2.9.1 (M03): the permission is for another location, so it prohibits here
			*d = Decision{Usage: d.Usage, Reason: ByLocation, Because: s.field}
			return
		}
		if s.limits == nil {
			continue
		}
		l := s.limits
		note := ""
		// P1 2.5.5.5 (K02, X28): if a permission of "present" prohibits a modification, forms that
		// always make this modification, such as thumbnails and snippets, are prohibited
		if l.prevents&changes[k] != 0 {
			note = "a thumbnail changes content that may not be changed"
			if snippets.has(k) {
				note = "a snippet changes content that may not be changed"
			}
		}
		if k == kOriginal || k == kCurrentCopy || k == kOldCopy {
			// P1 2.5.5.3 (I09): forms derived from a text, such as snippets, may be made from a
			// substitute resource; the original and copies may not
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
	if k == kOther { // P1 2.5.6.1 (X38): a field never permits "other" without an agreement
		d.Allowed, d.Reason, d.Note = false, Unfulfillable,
			"no field alone permits other usages; ask where it refers to"
	}
}

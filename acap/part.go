package acap

import "strings"

// mark reads one class token (P2 2.2.5). What it says of elements is kept for Part; what cannot be said of an element alone is
// said of the page (N28).
func (n *narrowing) mark(m *Mark) {
	if strings.HasPrefix(m.Token, idMark) {
		n.fragment(m)
		return
	}
	x := &n.expander
	field := &Field{Source: Class, URL: n.url, Line: m.Line, Column: m.Column, Text: m.Token}
	lower := strings.ToLower(m.Token)
	if _, again := n.own.marks[lower]; again && m.Place != OnHead && (n.muted || n.reporter.full()) {
		return // it says nothing else, and no finding of it would be read
	}
	rest, ok := strings.CutPrefix(lower, scheme)
	pilot := !ok
	if pilot {
		rest = strings.TrimPrefix(lower, pilotPrefix)
	}
	if !isStatement(rest) {
		x.report(field, "unknown-statement", Error, n.nearStatement([]string{rest}), "the class token %q makes no ACAP statement", m.Token)
		return
	}
	e := &entry{field: field}
	e.usage, e.allow = strings.CutPrefix(rest, "allow-")
	if !e.allow {
		e.usage = strings.TrimPrefix(rest, "disallow-")
	}
	e.usage, e.local = localName(e.usage)
	switch {
	case pilot && !x.crawler.Pilot: // N10
		x.report(field, "pilot-form", Warning, "write "+e.token(scheme), "the prefix acap: is of the pilot and has no effect")
		return
	case pilot && x.crawler.unable("element-level"): // PILOT 1.3.3
		x.report(field, "pilot-form", Notice, "", "this crawler cannot treat elements on their own, and the pilot lets it ignore the token")
		return
	}
	if pilot {
		n.local(e)
	}
	statements := x.expand(e)
	if len(statements) == 0 && e.allow && x.crawler.unable(e.usage) {
		return
	}
	if x.crawler.unable("element-level") { // N07: even a permission prohibits the page; X77
		for _, s := range statements {
			if s.kind != kCrawl || !s.allow {
				n.prohibitPage(s, ByFallback)
			}
		}
		return
	}
	for _, s := range statements {
		s.pilot = pilot
		n.pageEffect(s, m.Place)
	}
	n.own.marks[lower] = append([]*statement(nil), statements...)
}

// pageEffect says of the page what a mark cannot say of its element: crawl, original and link cannot be cut (N28), and HTML and
// the head speak for the page (N27).
func (n *narrowing) pageEffect(s *statement, place Place) {
	reason := ByProhibition
	if s.fell {
		reason = ByFallback
	}
	switch {
	case s.allow && (s.kind.whole() || place == OnHead): // X12, N27
		n.report(s.field, "element-permission", Notice, "write a META tag for the page", "a permission of %s has no effect on this element", s.kind.usage())
	case s.allow:
	case place == OnHead:
		n.prohibitPage(s, reason)
	case s.kind.whole():
		n.own.bar(s.kind, s.field, reason)
	case s.kind == kPresent: // X13
		n.own.bar(kOriginal, s.field, reason)
		n.own.bar(kLink, s.field, reason)
	}
}

// whole reports whether a usage can only concern a page as a whole (N28).
func (k kind) whole() bool { return k == kCrawl || k == kOriginal || k == kLink }

// prohibitPage says of the whole page what a mark says: present reaches all that is based on it, other all that is not permitted
// (F19).
func (n *narrowing) prohibitPage(s *statement, reason Reason) {
	n.own.bar(s.kind, s.field, reason)
	switch {
	case s.kind == kPresent:
		for k := kOriginal; k <= kLink; k++ {
			n.own.bar(k, s.field, reason)
		}
	case s.kind == kOther && !s.beyond && !n.other && (!s.allow || n.crawler.Strict): // an offer reaches no other usage (L05)
		n.other = true
		c := *s
		c.allow, c.limits, c.fell = false, nil, reason == ByFallback
		n.add(&c)
	}
}

func (o *own) bar(k kind, field *Field, reason Reason) {
	if o.bars[k] == nil {
		o.bars[k] = &Decision{Usage: k.usage(), Reason: reason, Because: field}
	}
}

// Marked reports whether elements of the page may be treated otherwise than the page.
func (p *Policy) Marked() bool {
	if p == nil {
		return false
	}
	for _, q := range p.byPurpose {
		if q.Marked() {
			return true
		}
	}
	return p.own != nil && len(p.own.marks) > 0
}

// Part answers for a part of the page that stands under the given marks, outermost first. Any prohibition on the way down
// prohibits (N06); else a permission lifts a prohibition of the page by a less specific or equal addressee (N05), but never
// one of crawl, of a conventional rule (N12) or one that covers everything. Without marks, and for usages of the page as a whole
// (X12), it is Decide. A permission of present-link stands as the page has it, but the text of a
// link may be of an element: then the limits that its marks set to present and present-link bind
// too (N28).
func (p *Policy) Part(u Usage, r Resource, chain []Mark) Decision {
	k := u.kind()
	if p != nil && p.byPurpose != nil {
		return p.common(func(q *Policy) Decision { return q.Part(u, r, chain) }, k)
	}
	d := p.Decide(u, r)
	if len(chain) == 0 || p == nil || p.own == nil || p.refusal != nil || p.own.discard != nil || k == noKind ||
		k.whole() && (k != kLink || !d.Allowed) {
		return d
	}
	var yes verdict
	var other *statement
	for i := 0; i < len(chain); {
		j := i
		for j < len(chain) && chain[j].Element == chain[i].Element {
			j++
		}
		no, o := p.own.element(k, chain[i:j], &yes)
		if no != nil {
			return refusal(k, no)
		}
		if o != nil {
			other = o
		}
		i = j
	}
	permission := yes.permission()
	switch {
	case permission != nil && d.Allowed:
		left, changed := d.fields.yield(&yes)
		d.fields = left
		d.fields.merge(&yes)
		if d.Because == nil || changed {
			d.Reason, d.Because = ByPermission, permission.field
		}
		d.form(k)
		return d
	case permission != nil && p.liftable(k, r, d, &yes):
		lifted := Decision{Usage: u, Allowed: true, Reason: ByPermission, Because: permission.field, fields: yes}
		lifted.form(k)
		p.consult(k, &r, &lifted)
		return lifted
	case other != nil && d.Allowed && d.Reason != ByPermission: // F19 within the element
		return Decision{Usage: u, Reason: ByOther, Because: other.field}
	}
	return d
}

// Saying returns what is alike for chains of marks that make the same statements: Part permits the
// same under them, with the same limits.
func (p *Policy) Saying(chain []Mark) string {
	var b strings.Builder
	last := -1 // the element of the mark before
	for i := range chain {
		m := &chain[i]
		key := markKey(m.Token)
		if m.Place == OnHead || p == nil || !p.spoken[key] {
			continue
		}
		if m.Element != last {
			b.WriteByte('\n')
			last = m.Element
		}
		b.WriteString(key)
		b.WriteByte(' ')
	}
	return b.String()
}

// element reads the marks of one element for a usage: the exact type first, then present (X13,
// F17), whose limits bind the type too (F18). A prohibition of present that replaces a permission
// stands beside a permission of the exact type (X81). The element's permissions are added to yes.
func (o *own) element(k kind, marks []Mark, yes *verdict) (no, other *statement) {
	var general, specific *statement
	var limits, exact verdict
	settled := yes.settled()
	for i := range marks {
		if marks[i].Place == OnHead {
			continue
		}
		for _, s := range o.marked(&marks[i]) {
			switch {
			case s.pilot && settled.has(s.kind): // PILOT 1.3.3: the outermost wins
			case s.kind == kOther && !s.allow && !s.beyond && k != kOther:
				other = s
			case s.kind == k && !s.allow:
				specific = s
			case s.kind == k:
				exact.add(s)
			case !k.derived() || s.kind != kPresent:
			case !s.allow && (general == nil || !general.instead):
				general = s
			case !s.allow:
			default:
				limits.add(s)
			}
		}
	}
	switch {
	case specific != nil:
		return specific, other
	case general != nil && (exact.n == 0 || general.instead):
		return general, other
	}
	yes.merge(&exact)
	yes.merge(&limits)
	return nil, other
}

// marked gives the statements of a mark, with its own place.
func (o *own) marked(m *Mark) []*statement {
	statements := o.marks[markKey(m.Token)]
	if len(statements) == 0 || statements[0].field.Source != Class || statements[0].field.Line == m.Line && statements[0].field.Column == m.Column {
		return statements
	}
	field := *statements[0].field
	field.Line, field.Column, field.Text = m.Line, m.Column, m.Token
	out := make([]*statement, len(statements))
	for i, s := range statements {
		c := *s
		c.field = &field
		out[i] = &c
	}
	return out
}

// liftable says whether element permissions may lift the page's refusal d (N05). Class tokens address any crawler; what the pilot says
// of fragments in META may be as specific as what the page says. It does not where the limits of a permission refuse. What the page
// permits of present binds its forms beside the element's permissions, and is added to yes (F18).
func (p *Policy) liftable(k kind, r Resource, d Decision, yes *verdict) bool {
	switch d.Reason {
	case ByProhibition, ByConflict, ByFallback, ByOther:
	default:
		return false
	}
	if p.foreclosed(k) != nil {
		return false
	}
	prohibited := d.Reason == ByOther
	var exact, wide ranks
	specific := true // nothing in yes permits present as such
	for i := range yes.n {
		s := yes.at(i)
		wide[s.rank()] = true
		if s.kind == k {
			exact[s.rank()] = true
		}
		specific = specific && s.kind != k.basic()
	}
	for _, want := range [...]kind{k, k.basic()} {
		reach := wide
		if want == k {
			reach = exact
		}
		for _, rooted := range [...]bool{false, true} { // F03: either comparison may be what refuses
			var v verdict
			p.prevailing(want, &r, rooted, &v)
			written := p.permissions(want, &r, rooted) // those that a prohibition displaces still describe any presentation (X83)
			v.merge(&written)
			for i := range v.n {
				switch s := v.at(i); {
				case s.allow && want != k:
					yes.merge(&verdict{n: 1, few: [4]*statement{s}})
				case s.allow:
				case want == k && k.derived() && exact == (ranks{}): // F17: what is said of present does not lift what is said of its form
					return false
				case want != k && specific && s.instead: // X81
					return false
				case s.all || s.rank() != 0 && !reach.reach(s.rank()):
					return false
				default:
					prohibited = true
				}
			}
		}
	}
	return prohibited
}

package acap

import "strings"

// mark reads one class token (P2 2.2.5). Its statement about the element is stored for Part. A
// statement that cannot apply to only one element applies to the page (P2 2.2.5, N28), as do all if
// the crawler does not support statements on elements (P2 2.2.6, N07).
func (n *narrowing) mark(m *Mark) {
	if strings.HasPrefix(m.Token, idMark) {
		n.fragment(m)
		return
	}
	lower := strings.ToLower(m.Token)
	if _, again := n.own.marks[lower]; again && m.Place != OnHead && (n.muted || n.reporter.full()) {
		return // it says nothing new, and no finding about it would be read
	}
	e, pilot := n.readToken(m, lower)
	if e == nil {
		return
	}
	statements := n.expand(e)
	if len(statements) == 0 && e.allow && n.crawler.unable(e.usage) {
		return
	}
	if n.crawler.unable(ElementLevel) {
		// P2 2.2.6 (N07): a crawler that cannot treat elements on their own applies what is said of
		// one to the page. Even a permission prohibits the page, except one of crawl (P2 2.2.6,
		// X77).
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

// readToken reads a class token, given also in lower case. It returns nil for one without effect.
func (n *narrowing) readToken(m *Mark, lower string) (e *entry, pilot bool) {
	field := &Field{Source: Class, URL: n.url, Line: m.Line, Column: m.Column, Text: m.Token}
	rest, ok := strings.CutPrefix(lower, scheme)
	pilot = !ok
	if pilot {
		rest = strings.TrimPrefix(lower, pilotPrefix)
	}
	if !isStatement(rest) {
		n.report(field, "unknown-statement", Error, n.nearStatement([]string{rest}),
			"the class token %q makes no ACAP statement", m.Token)
		return nil, pilot
	}
	e = &entry{field: field}
	e.name(rest)
	switch {
	case !pilot:
		return e, false
	case !n.crawler.Pilot: // P2 2.2.5 (N10): tokens of the pilot have no effect
		n.report(field, "pilot-form", Warning, "write "+e.token(scheme),
			"the prefix acap: is of the pilot and has no effect")
		return nil, true
	case n.crawler.unable(ElementLevel): // PILOT 1.3.3
		n.report(field, "pilot-form", Notice, "",
			"this crawler cannot treat elements on their own, and the pilot lets it ignore the token")
		return nil, true
	}
	n.local(e)
	return e, true
}

// name reads the polarity and the usage of e from a word such as "disallow-index".
func (e *entry) name(word string) {
	e.usage, e.allow = strings.CutPrefix(word, "allow-")
	if !e.allow {
		e.usage = strings.TrimPrefix(word, "disallow-")
	}
	e.usage, e.local = localName(e.usage)
}

// pageEffect applies to the page what a mark cannot say of its element. Crawl, original and link
// concern a page as a whole (P2 2.2.5, N28); a mark on HTML or in the head speaks for the page (P2
// 2.2.5, N27).
func (n *narrowing) pageEffect(s *statement, place Place) {
	reason := ByProhibition
	if s.fell {
		reason = ByFallback
	}
	switch {
	case s.allow && (s.kind.whole() || place == OnHead): // P2 2.2.5 (X12, N27): it would permit the page
		n.report(s.field, "element-permission", Notice, "write a META tag for the page",
			"a permission of %s has no effect on this element", s.kind.usage())
	case s.allow:
	case place == OnHead:
		n.prohibitPage(s, reason)
	case s.kind.whole():
		n.own.bar(s.kind, s.field, reason)
	case s.kind == kPresent: // P2 2.2.5 (X13): present of an element includes original and link of the page
		n.own.bar(kOriginal, s.field, reason)
		n.own.bar(kLink, s.field, reason)
	}
}

// whole reports whether a usage can only concern a page as a whole (P2 2.2.5, N28).
func (k kind) whole() bool { return k == kCrawl || k == kOriginal || k == kLink }

// prohibitPage prohibits for the whole page what a mark says. A prohibition of present reaches all
// types that are based on it; one of other reaches all that is not permitted (P1 2.5.6, F19).
func (n *narrowing) prohibitPage(s *statement, reason Reason) {
	n.own.bar(s.kind, s.field, reason)
	switch {
	case s.kind == kPresent:
		for k := kOriginal; k <= kLink; k++ {
			n.own.bar(k, s.field, reason)
		}
	// P1 2.4.3 (L05): an offer reaches no other usage
	case s.kind == kOther && !s.beyond && !n.other && (!s.allow || n.crawler.Strict):
		n.other = true
		c := *s
		c.allow, c.limits, c.fell = false, nil, reason == ByFallback
		n.add(&c)
	}
}

// bar prohibits a usage for the whole page, whatever else is said. The first field is named.
func (o *own) bar(k kind, field *Field, reason Reason) {
	if o.bars[k] == nil {
		o.bars[k] = &Decision{Usage: k.usage(), Reason: reason, Because: field}
	}
}

// Marked reports whether elements of the page may be treated differently from the page.
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

// Part answers for a part of the page that is inside elements with the given marks, outermost
// first. Without marks, and for a usage of the page as a whole (P2 2.2.5, X12), it returns what
// Decide returns.
//
// A prohibition on any element prohibits the part (P2 2.2.5, N06). Otherwise a permission lifts a
// prohibition of the page whose addressee is no more specific (P2 2.2.5, N05), but never one of
// crawl, one that covers everything, or one of a conventional rule (P2 2.1, N12). Permissions of
// present-link do not change what the page says of its link; but the text of a link may come from
// an element, and then the limits that its marks set to present and present-link bind too (P2
// 2.2.5, N28).
func (p *Policy) Part(u Usage, r Resource, chain []Mark) Decision {
	k := u.kind()
	if p != nil && p.byPurpose != nil {
		return p.common(func(q *Policy) Decision { return q.Part(u, r, chain) }, k)
	}
	d := p.Decide(u, r)
	if p == nil || p.own == nil || k == noKind || len(chain) == 0 || p.discarded() {
		return d
	}
	if k.whole() && (k != kLink || !d.Allowed) {
		return d
	}
	no, other, yes := p.own.elements(k, chain)
	switch permission := yes.permission(); {
	case no != nil:
		return refusal(k, no)
	case permission != nil && d.Allowed:
		d.addPermissions(k, &yes)
	case permission != nil && p.liftable(k, r, d, &yes):
		lifted := Decision{Usage: u, Allowed: true, Reason: ByPermission, Because: permission.field, fields: yes}
		lifted.form(k)
		p.consult(k, &r, &lifted)
		return lifted
	case other != nil && d.Allowed && d.Reason != ByPermission: // P1 2.5.6 (F19): disallow-other within the element
		return Decision{Usage: u, Reason: ByOther, Because: other.field}
	}
	return d
}

// discarded reports whether nothing is decided by statements: the policy could not be read, or the
// page prohibits its own crawling.
func (p *Policy) discarded() bool { return p.refusal != nil || p.own.discard != nil }

// addPermissions adds the permissions of elements, yes, to a decision that permits.
func (d *Decision) addPermissions(k kind, yes *statementSet) {
	left, changed := d.fields.yield(yes)
	d.fields = left
	d.fields.merge(yes)
	if d.Because == nil || changed {
		d.Reason, d.Because = ByPermission, yes.permission().field
	}
	d.form(k)
}

// Saying returns a key for what a chain of marks says: under chains with the same key Part permits
// the same, with the same limits.
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

// elements reads the marks of a chain for a usage, element by element. It returns the first
// prohibition, or else the innermost prohibition of other and all permissions.
func (o *own) elements(k kind, chain []Mark) (no, other *statement, yes statementSet) {
	for len(chain) > 0 {
		n := 1
		for n < len(chain) && chain[n].Element == chain[0].Element {
			n++
		}
		said := o.element(k, chain[:n], yes.settled())
		if no = said.prohibition(); no != nil {
			return no, other, yes
		}
		if said.other != nil {
			other = said.other
		}
		yes.merge(&said.exact)
		yes.merge(&said.limits)
		chain = chain[n:]
	}
	return nil, other, yes
}

// elementSaying is what the marks of one element say of a usage.
type elementSaying struct {
	specific *statement   // prohibits the usage itself
	general  *statement   // prohibits present, on which the usage is based
	other    *statement   // prohibits other usages (P1 2.5.6, F19)
	exact    statementSet // permissions of the usage itself
	limits   statementSet // permissions of present: their limits bind the usage too (P1 2.5.5, F18)
}

// element reads the marks of one element for a usage. Settled are the usages that outer elements
// settle (PILOT 1.3.3: the outermost wins).
func (o *own) element(k kind, marks []Mark, settled kindSet) (said elementSaying) {
	for i := range marks {
		if marks[i].Place == OnHead {
			continue
		}
		for _, s := range o.marked(&marks[i]) {
			if !s.pilot || !settled.has(s.kind) {
				said.add(s, k)
			}
		}
	}
	return said
}

func (said *elementSaying) add(s *statement, k kind) {
	switch {
	case s.kind == kOther && !s.allow && !s.beyond && k != kOther:
		said.other = s
	case s.kind == k && !s.allow:
		said.specific = s
	case s.kind == k:
		said.exact.add(s)
	case !k.derived() || s.kind != kPresent:
	case s.allow:
		said.limits.add(s)
	case said.general == nil || !said.general.instead:
		said.general = s
	}
}

// prohibition returns what prohibits the usage, nil if nothing does. What is said of the usage
// itself goes before what is said of present (P1 2.5.5, F17 and X13), except for a prohibition of
// present that replaces a permission: it is in force next to any permission of the usage (P1 2.4.3,
// X81).
func (said *elementSaying) prohibition() *statement {
	switch {
	case said.specific != nil:
		return said.specific
	case said.general != nil && (said.exact.n == 0 || said.general.instead):
		return said.general
	}
	return nil
}

// marked returns the statements of a mark, with its own place.
func (o *own) marked(m *Mark) []*statement {
	statements := o.marks[markKey(m.Token)]
	if len(statements) == 0 {
		return nil
	}
	first := statements[0].field
	if first.Source != Class || first.Line == m.Line && first.Column == m.Column {
		return statements
	}
	field := *first
	field.Line, field.Column, field.Text = m.Line, m.Column, m.Token
	out := make([]*statement, len(statements))
	for i, s := range statements {
		c := *s
		c.field = &field
		out[i] = &c
	}
	return out
}

// liftable reports whether the permissions of an element may lift the page's refusal d (P2 2.2.5,
// N05). A class token addresses any crawler; what the pilot says of fragments in META may be as
// specific as what the page says. A refusal because of limits is not lifted. What the page permits
// of present binds its types next to the element's permissions: liftable adds it to yes (P1 2.5.5,
// F18).
func (p *Policy) liftable(k kind, r Resource, d Decision, yes *statementSet) bool {
	switch d.Reason {
	case ByProhibition, ByConflict, ByFallback, ByOther:
	default:
		return false
	}
	if p.foreclosed(k) != nil {
		return false
	}
	l := newLifting(k, yes)
	prohibited := d.Reason == ByOther
	for _, want := range [...]kind{k, k.basic()} {
		// P1 2.4.6 (F03): either comparison of patterns may be what refuses
		for _, rooted := range [...]bool{false, true} {
			var v statementSet
			p.prevailing(want, &r, rooted, &v)
			// P1 2.5.5 (X83): permissions that a prohibition displaces still describe any
			// presentation
			written := p.permissions(want, &r, rooted)
			v.merge(&written)
			for i := range v.n {
				s := v.at(i)
				switch {
				case s.allow && want != k:
					yes.merge(&statementSet{n: 1, few: [4]*statement{s}})
				case s.allow:
				case !l.lifts(s, want):
					return false
				default:
					prohibited = true
				}
			}
		}
	}
	return prohibited
}

// lifting is what the permissions of an element may lift of a usage.
type lifting struct {
	kind        kind
	exact, wide ranks // addressees and purposes of the permissions of the usage itself, and of all
	specific    bool  // none of them permits present as such
}

func newLifting(k kind, yes *statementSet) *lifting {
	l := &lifting{kind: k, specific: true}
	for i := range yes.n {
		s := yes.at(i)
		l.wide[s.rank()] = true
		if s.kind == k {
			l.exact[s.rank()] = true
		}
		l.specific = l.specific && s.kind != k.basic()
	}
	return l
}

// lifts reports whether the permissions lift s, a prohibition by the page of the usage itself or of
// present.
func (l *lifting) lifts(s *statement, of kind) bool {
	reach := &l.wide
	if of == l.kind {
		reach = &l.exact
	}
	switch {
	case of == l.kind && l.kind.derived() && l.exact == (ranks{}): // P1 2.5.5 (F17): present does not lift a type
		return false
	// P1 2.4.3 (X81): such a prohibition of present yields to no permission of a type
	case of != l.kind && l.specific && s.instead:
		return false
	}
	return !s.all && (s.rank() == 0 || reach.reach(s.rank()))
}

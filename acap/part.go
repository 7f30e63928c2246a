package acap

import (
	"slices"
	"strings"
)

// mark reads one class token (P2 2.2.5) and stores its statements about the element for
// Policy.Part. A statement that cannot apply to only one element applies to the page (P2 2.2.5,
// N28). If the crawler does not support statements on elements, all statements about elements apply
// to the page (P2 2.2.6, N07).
func (n *narrowing) mark(m *Mark) {
	if strings.HasPrefix(m.Token, idMark) {
		n.fragment(m)
		return
	}
	lower := strings.ToLower(m.Token)
	if _, again := n.own.marks[lower]; again && m.Place != OnHead && (n.muted || n.reporter.full()) {
		return // the same token was read before, so the statements are the same
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
		// P2 2.2.6 (N07): if a crawler cannot treat elements separately, a statement about an
		// element applies to the whole page. Even a permission prohibits the page, except a
		// permission of crawl (P2 2.2.6, X77).
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

// readToken reads a class token. lower is the token in lower case. It returns nil if the token has
// no effect. pilot reports whether the token has the form of the pilot of 2007.
func (n *narrowing) readToken(m *Mark, lower string) (e *entry, pilot bool) {
	field := n.classField(m)
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
	case !n.crawler.Pilot: // P2 2.2.5 (N10): class tokens of the pilot have no effect
		n.report(field, "pilot-form", Warning, "write "+e.token(scheme),
			"the prefix acap: is of the pilot and has no effect")
		return nil, true
	case n.crawler.unable(ElementLevel): // PILOT 1.3.3: a crawler without element level may ignore the token
		n.report(field, "pilot-form", Notice, "",
			"this crawler cannot treat elements on their own, and the pilot lets it ignore the token")
		return nil, true
	}
	n.local(e)
	return e, true
}

// name sets the polarity and the usage of e from a word such as "disallow-index".
func (e *entry) name(word string) {
	e.usage, e.allow = strings.CutPrefix(word, "allow-")
	if !e.allow {
		e.usage = strings.TrimPrefix(word, "disallow-")
	}
	e.usage, e.local = localName(e.usage)
}

// pageEffect applies a mark to the whole page if the mark cannot apply to its element. Crawl,
// original and link concern a page as a whole (P2 2.2.5, N28). A mark on the HTML element or in the
// head is about the page (P2 2.2.5, N27).
func (n *narrowing) pageEffect(s *statement, place Place) {
	reason := ByProhibition
	if s.fell {
		reason = ByFallback
	}
	switch {
	// P2 2.2.5 (X12, N27): a mark never permits a usage of the whole page
	case s.allow && (s.kind.whole() || place == OnHead):
		n.report(s.field, "element-permission", Notice, "write a META tag for the page",
			"a permission of %s has no effect on this element", s.kind.usage())
	case s.allow:
	case place == OnHead:
		n.prohibitPage(s, reason)
	case s.kind.whole():
		n.own.bar(s.kind, s.field, reason)
	// P2 2.2.5 (X13): a prohibition of "present" for an element also prohibits original and link
	// for the page
	case s.kind == kPresent:
		n.own.bar(kOriginal, s.field, reason)
		n.own.bar(kLink, s.field, reason)
	case s.kind == kOther:
		n.own.barNewer(s.field, reason)
	}
}

// whole reports whether a usage can only concern a page as a whole (P2 2.2.5, N28).
func (k kind) whole() bool { return k == kCrawl || k == kOriginal || k == kLink }

// prohibitPage prohibits the usage of s for the whole page. A prohibition of "present" applies to
// all types that are based on it. A prohibition of "other" applies to all usages that no field
// permits (P1 2.5.6, F19).
func (n *narrowing) prohibitPage(s *statement, reason Reason) {
	n.own.bar(s.kind, s.field, reason)
	if s.kind == kOther {
		n.own.barNewer(s.field, reason)
	}
	switch {
	case s.kind == kPresent:
		for k := kOriginal; k <= kLink; k++ {
			n.own.bar(k, s.field, reason)
		}
	// P1 2.4.3 (L05): an allow-other that cannot be interpreted prohibits no listed usage
	case s.kind == kOther && !s.beyond && !n.other && (!s.allow || n.crawler.Strict):
		n.other = true
		c := *s
		c.allow, c.limits, c.fell = false, nil, reason == ByFallback
		n.add(&c)
	}
}

// bar prohibits a usage for the whole page, even if other statements permit it. If bar is called
// several times for a usage, the first field is the reason.
func (o *own) bar(k kind, field *Field, reason Reason) {
	if o.bars[k] == nil {
		o.bars[k] = &Decision{Usage: k.usage(), Reason: reason, Because: field}
	}
}

// barNewer prohibits the newer usages for the whole page, because they cannot leave out an element.
// They belong to "other" (P1 2.5.6, F19). If it is called several times, the first field is the
// reason.
func (o *own) barNewer(field *Field, reason Reason) {
	if reason == ByProhibition {
		reason = ByOther
	}
	if o.newer == nil {
		o.newer = &Decision{Reason: reason, Because: field}
	}
}

// Marked reports whether decisions on elements of the page may differ from decisions on the whole
// page.
func (p *Policy) Marked() bool {
	if p == nil {
		return false
	}
	if slices.ContainsFunc(p.byPurpose, (*Policy).Marked) || slices.ContainsFunc(p.stages, (*Policy).Marked) {
		return true
	}
	return p.own != nil && len(p.own.marks) > 0
}

// Part decides on a usage of a part of the page. chain holds the marks of the elements around the
// part, outermost first. Without marks, and for a usage that concerns the page as a whole (P2
// 2.2.5, X12), Part returns the same as Decide.
//
// A prohibition on any element prohibits the part (P2 2.2.5, N06). Otherwise a permission on an
// element wins against a prohibition in the page whose addressee is not more specific (P2 2.2.5,
// N05). The permission never wins against a prohibition of crawl, against a prohibition that covers
// everything, or against a conventional rule (P2 2.1, N12). Permissions of present-link do not
// change the decision on the page's link; but if the text of a link comes from an element, the
// limits that the marks of this element set for "present" and present-link are in force, too (P2
// 2.2.5, N28).
func (p *Policy) Part(u Usage, r Resource, chain []Mark) Decision {
	k := u.anyKind()
	if p != nil && (p.byPurpose != nil || p.stages != nil) {
		return p.common(func(q *Policy) Decision { return q.Part(u, r, chain) }, k)
	}
	d := p.Decide(u, r)
	if p == nil || p.own == nil || k == noKind || len(chain) == 0 || p.discarded() {
		return d
	}
	if k >= kinds || k.whole() && (k != kLink || !d.Allowed) {
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
	// P1 2.5.6 (F19): disallow-other on the element prohibits usages that no field permits
	case other != nil && d.Allowed && d.Reason != ByPermission:
		return Decision{Usage: u, Reason: ByOther, Because: other.field}
	}
	return d
}

// discarded reports whether statements are ignored, because the policy could not be read or because
// the page prohibits its own crawling.
func (p *Policy) discarded() bool { return p.refusal != nil || p.own.discard != nil }

// addPermissions adds the permissions of elements, which yes holds, to d, a decision that permits
// the usage k.
func (d *Decision) addPermissions(k kind, yes *statementSet) {
	left, changed := d.fields.yield(yes)
	d.fields = left
	d.fields.merge(yes)
	if d.Because == nil || changed {
		d.Reason, d.Because = ByPermission, yes.permission().field
	}
	d.form(k)
}

// Saying returns a key for the effect of a chain of marks: for chains with the same key, Part
// returns the same permissions with the same limits.
func (p *Policy) Saying(chain []Mark) string {
	var b strings.Builder
	last := -1 // the number of the element of the previous mark; -1 before the first
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

// elements reads the statements of a chain of marks about the usage k, element by element. It
// returns the first prohibition. If there is none, it returns the innermost prohibition of "other",
// and all permissions.
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

// elementSaying holds the statements of the marks on one element that matter for one usage.
type elementSaying struct {
	specific *statement   // prohibition of the usage itself
	general  *statement   // prohibition of "present", on which the usage is based
	other    *statement   // prohibition of other usages (P1 2.5.6, F19)
	exact    statementSet // permissions of the usage itself
	limits   statementSet // permissions of "present", whose limits are in force for the usage too (P1 2.5.5, F18)
}

// element reads the statements of the marks on one element about the usage k. settled holds the
// usages that fragments around the element permit; statements of the pilot about these usages are
// ignored (PILOT 1.3.3: the outermost fragment wins).
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

// prohibition returns the statement that prohibits the usage, or nil if none does. A statement
// about the usage itself wins against a statement about "present" (P1 2.5.5, F17 and X13). The
// exception is a prohibition of "present" that replaces a permission: it is in force even if the
// usage itself is permitted (P1 2.4.3, X81).
func (said *elementSaying) prohibition() *statement {
	switch {
	case said.specific != nil:
		return said.specific
	case said.general != nil && (said.exact.n == 0 || said.general.instead):
		return said.general
	}
	return nil
}

// marked returns the statements of a mark. Their fields have the position of this mark.
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

// liftable reports whether the permissions on an element win against d, the refusal for the whole
// page (P2 2.2.5, N05). A class token addresses any crawler, but statements about fragments in META
// may be as specific as statements about the page. A refusal because of limits remains. Permissions
// of "present" in the page limit the types based on it, together with the element's permissions, so
// liftable adds them to yes (P1 2.5.5, F18).
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
		// P1 2.4.6 (F03): the refusal may come from either of the two ways to compare patterns
		for _, rooted := range [...]bool{false, true} {
			var v statementSet
			p.prevailing(want, &r, rooted, &v)
			// P1 2.5.5 (X83): if a prohibition displaced permissions of "present" and then lost
			// itself, the limits of those permissions still apply to any presentation
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

// lifting describes the prohibitions of one usage against which the permissions on an element win.
type lifting struct {
	kind        kind
	exact, wide ranks // ranks of the permissions of the usage itself, and of all permissions
	specific    bool  // no permission is a permission of "present" itself
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

// lifts reports whether the permissions win against s, a prohibition in the page of the usage
// itself or of "present".
func (l *lifting) lifts(s *statement, of kind) bool {
	reach := &l.wide
	if of == l.kind {
		reach = &l.exact
	}
	switch {
	// P1 2.5.5 (F17): a permission of "present" does not win against a prohibition of a type based
	// on it
	case of == l.kind && l.kind.derived() && l.exact == (ranks{}):
		return false
	// P1 2.4.3 (X81): no permission of a type based on "present" wins against a prohibition of
	// "present" that replaces a permission
	case of != l.kind && l.specific && s.instead:
		return false
	}
	return !s.all && (s.rank() == 0 || reach.reach(s.rank()))
}

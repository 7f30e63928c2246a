package acap

import "strings"

// mark reads one class token (P2 2.2.5). What it says of elements is kept for Part; what cannot be said of an element alone is
// said of the page (N28).
func (n *narrowing) mark(m *Mark) {
	x := &n.expander
	field := &Field{Source: Class, URL: n.url, Line: m.Line, Column: m.Column, Text: m.Token}
	lower := strings.ToLower(m.Token)
	rest, ok := strings.CutPrefix(lower, scheme)
	if !ok { // N10: the pilot's prefix
		x.report(field, "pilot-form", Warning, "write "+scheme+strings.TrimPrefix(lower, "acap:"), "the prefix acap: is of the pilot and has no effect")
		return
	}
	if !isStatement(rest) {
		x.report(field, "unknown-statement", Error, "", "the class token makes no ACAP statement")
		return
	}
	e := &entry{field: field}
	e.usage, e.allow = strings.CutPrefix(rest, "allow-")
	if !e.allow {
		e.usage = strings.TrimPrefix(rest, "disallow-")
	}
	e.usage, e.local = localName(e.usage)
	statements := x.expand(e)
	if len(statements) == 0 && e.allow && x.crawler.unable(e.usage) {
		return
	}
	if x.crawler.unable("element-level") { // N07: even a permission prohibits the page; X77
		for _, s := range statements {
			if s.kind != kCrawl || !s.allow {
				n.own.bar(s.kind, field, ByFallback)
			}
		}
		return
	}
	for _, s := range statements {
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
	uncuttable := s.kind == kCrawl || s.kind == kOriginal || s.kind == kLink
	switch {
	case s.allow && (uncuttable || place == OnHead): // X12, N27
		n.expander.report(s.field, "element-permission", Notice, "", "a permission of %s has no effect on this element", s.kind.usage())
	case s.allow:
	case place == OnHead:
		n.own.bar(s.kind, s.field, reason)
		if s.kind == kPresent {
			for k := kOriginal; k <= kLink; k++ {
				n.own.bar(k, s.field, reason)
			}
		}
	case uncuttable:
		n.own.bar(s.kind, s.field, reason)
	case s.kind == kPresent: // X13
		n.own.bar(kOriginal, s.field, reason)
		n.own.bar(kLink, s.field, reason)
	}
}

func (o *own) bar(k kind, field *Field, reason Reason) {
	if o.bars[k] == nil {
		o.bars[k] = &bar{field, reason}
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
// one of crawl, of a conventional rule (N12) or one that covers everything. Without marks it is Decide.
func (p *Policy) Part(u Usage, r Resource, chain []Mark) Decision {
	k := u.kind()
	if p != nil && p.byPurpose != nil {
		return p.common(func(q *Policy) Decision { return q.Part(u, r, chain) }, k)
	}
	d := p.Decide(u, r)
	if len(chain) == 0 || p == nil || p.own == nil || p.refusal != nil || p.own.discard != nil {
		return d
	}
	var yes, no, other *statement
	for i := 0; i < len(chain); {
		j := i
		for j < len(chain) && chain[j].Element == chain[i].Element {
			j++
		}
		y, n, o := p.own.element(k, chain[i:j])
		if n != nil {
			no = n
			break
		}
		if y != nil {
			yes = y
		}
		if o != nil {
			other = o
		}
		i = j
	}
	switch {
	case no != nil:
		return refusal(k, no)
	case yes != nil && d.Allowed:
		d.fields.add(yes)
		if d.Because == nil {
			d.Reason, d.Because = ByPermission, yes.field
		}
		return d
	case yes != nil && p.liftable(k, r, d):
		lifted := Decision{Usage: u, Allowed: true, Reason: ByPermission, Because: yes.field}
		lifted.fields.add(yes)
		return p.own.restrain(lifted, k)
	case yes == nil && other != nil && d.Allowed && d.Reason != ByPermission: // F19 within the element
		return Decision{Usage: u, Reason: ByOther, Because: other.field}
	}
	return d
}

// element reads the marks of one element for a usage: the exact type first, then present (X13, F17).
func (o *own) element(k kind, marks []Mark) (yes, no, other *statement) {
	kindsOf := []kind{k, kPresent}
	if !k.derived() {
		kindsOf = kindsOf[:1]
	}
	for _, want := range kindsOf {
		for i := range marks {
			if marks[i].Place == OnHead {
				continue
			}
			for _, s := range o.marks[strings.ToLower(marks[i].Token)] {
				switch {
				case s.kind == kOther && !s.allow && !s.beyond:
					other = s
				case s.kind != want:
				case !s.allow:
					no = s
				case yes == nil:
					yes = s
				}
			}
		}
		if no != nil || yes != nil {
			break
		}
	}
	return yes, no, other
}

// liftable says whether an element permission, addressed to any crawler, may lift the page's refusal d (N05).
func (p *Policy) liftable(k kind, r Resource, d Decision) bool {
	switch d.Reason {
	case ByProhibition, ByConflict, ByFallback, ByOther:
	default:
		return false
	}
	if _, barred := p.own.barred(k); barred {
		return false
	}
	for _, want := range []kind{k, k.basic()} {
		v, _ := p.prevailing(want, r, false)
		for i := range v.n {
			if s := v.at(i); !s.allow && (s.rank() != 0 || s.all) {
				return false
			}
		}
	}
	return true
}

package acap

import "net/url"

// statement is the one idea everything reduces to: one usage of one set of paths is permitted or prohibited to us.
type statement struct {
	field     *Field
	kind      kind
	allow     bool
	fell      bool     // it replaces a field that cannot be interpreted (P1 2.4.3, F24)
	instead   bool     // a prohibition that replaces a permission: as one of present no specific permission beats it (X81)
	beyond    bool     // a replaced allow-other: reaches no listed usage (L05, X70)
	page      bool     // speaks about one resource from within it
	pilot     bool     // about a fragment, in a form of the pilot
	all       bool     // a prohibition that covers everything: no permission beats it by scope (X35)
	named     bool     // addressed to us by name
	purpose   bool     // from a sub-record that reaches us
	elsewhere bool     // a permission whose location is not where the page is (M03)
	counts    bool     // the permissions in embedded would count, were they to take its place
	seq       int      // its place in the order of appearance, the same for every purpose
	pattern   *pattern // nil for all and page
	limits    *restrictions
	embedded  []*statement // the permissions that it stands in for until an image at hand tells their limits (X32)
}

// rank is the place of a statement among addressees and purposes: bit 1 named, bit 0 purpose (C02-C04).
func (s *statement) rank() uint8 {
	var r uint8
	if s.named {
		r |= 2
	}
	if s.purpose {
		r |= 1
	}
	return r
}

func (s *statement) covers(r *Resource) bool { return s.pattern == nil || s.pattern.covers(r) }

// flat is one usage that a field permits or prohibits, before its patterns.
type flat struct {
	usage  kind
	allow  bool
	fell   bool
	beyond bool
	limits *restrictions

	embedded *restrictions // of the permission that it stands in for, where they wait for plus-terms (X32)
}

// expander turns fields into statements for one crawler: gating (B), fallback (G), local usages and resource sets (E).
type expander struct {
	reporter
	crawler *Crawler
	file    *File // the file of the fields, or the robots.txt of a page
	parent  *File // the file whose reference led to it (D03)
	version version
	base    *url.URL // of relative references in qualifiers (I04)
	page    bool     // the fields are a page's own
	located string   // normal form of the page's URL
	words   slab[string]
	seq     int  // statements so far, those of files read before included
	full    bool // more than maxStatements: nothing is to be permitted

	read   map[*definition]qualified // qualifiers of local usages, read once
	behind map[reached]usagesBehind  // usages behind local usages, looked up once
}

// maxStatements bounds the work on a hostile file: beyond it nothing is permitted.
const maxStatements = 150_000

// expand gives the statements of one field, without addressee and purpose.
func (x *expander) expand(e *entry) []*statement {
	all := e.words(&x.words)
	tokens := all
	spec := specification{permit: []*pattern{nil}, deny: []*pattern{nil}}
	if !x.page {
		spec, tokens = x.specification(e, all)
		if len(tokens) > 0 && len(tokens) == len(all) { // X57: qualifiers without resources
			c := *e
			c.bare = true
			e = &c
		}
	}
	flats := x.flats(e, tokens)
	n := 0
	for _, fl := range flats {
		n += len(spec.patterns(fl.allow))
		if fl.embedded != nil {
			n += len(spec.permit)
		}
	}
	if !x.page && x.seq+n > maxStatements { // a page is bounded by maxOwn
		x.full = true
		return nil
	}
	statements, out := make([]statement, 0, n), make([]*statement, 0, n)
	state := func(fl flat, embedded, out []*statement) []*statement {
		limits, elsewhere := x.settle(e.field, fl.limits)
		for _, p := range spec.patterns(fl.allow) {
			x.seq++
			statements = append(statements, statement{field: e.field, kind: fl.usage, allow: fl.allow, fell: fl.fell, beyond: fl.beyond, seq: x.seq,
				instead: e.allow && !fl.allow, pattern: p, limits: limits, elsewhere: elsewhere, page: x.page,
				all: !x.page && p == nil, embedded: embedded})
			out = append(out, &statements[len(statements)-1])
		}
		return out
	}
	for _, fl := range flats {
		var embedded []*statement
		if fl.embedded != nil {
			embedded = state(flat{usage: fl.usage, allow: true, limits: fl.embedded}, nil, nil)
		}
		out = state(fl, embedded, out)
	}
	return out
}

// settle binds the required resources of a permission to its field and base, and compares its location (P2 2.2.9.1).
func (x *expander) settle(field *Field, r *restrictions) (l *restrictions, elsewhere bool) {
	if r == nil {
		return nil, false
	}
	c := *r
	c.mustUse = c.mustUse.at(field, x.base)
	c.mustInclude, c.usageRefs = nil, nil
	for _, m := range r.mustInclude {
		c.mustInclude = append(c.mustInclude, m.at(field, x.base))
	}
	for _, ref := range r.usageRefs {
		c.usageRefs = append(c.usageRefs, ref.at(field, x.base))
	}
	elsewhere = len(c.locations) > 0
	for _, loc := range c.locations { // M02
		elsewhere = elsewhere && loc.normal != x.located
	}
	return &c, elsewhere
}

package acap

import "net/url"

// statement permits or prohibits one usage of the resources that one pattern covers. All fields
// become statements.
type statement struct {
	field *Field
	kind  kind
	allow bool
	fell  bool // it replaces a field that cannot be interpreted (P1 2.4.3, F24)
	// a prohibition that replaces a permission: as one of present no specific permission beats it
	// (P1 2.4.3, X81)
	instead   bool
	beyond    bool     // a replaced allow-other: reaches no listed usage (P1 2.4.3, L05, X70)
	page      bool     // of a page, about that page
	pilot     bool     // about a fragment, in a form of the pilot
	all       bool     // a prohibition that covers everything: no permission beats it by scope (P1 2.4.6, X35)
	named     bool     // addressed to the crawler by name
	purpose   bool     // from a sub-record that addresses the crawler
	elsewhere bool     // a permission whose location is not where the page is (P2 2.2.9.1, M03)
	counts    bool     // the permissions in embedded would count, were they to take its place
	seq       int      // its place in the order of appearance, the same for every purpose
	pattern   *pattern // nil for all and page
	limits    *restrictions
	// the permissions that it replaces until the terms in an image give their limits (P1 2.5.3.1,
	// X32)
	embedded []*statement
}

// rank returns how specific the addressee and the purpose of a statement are: bit 1 for a named
// crawler, bit 0 for a purpose (P1 2.2.1, C02-C04).
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

// flat is one usage that a field permits or prohibits, without its patterns.
type flat struct {
	usage  kind
	allow  bool
	fell   bool
	beyond bool
	limits *restrictions

	embedded *restrictions // of the permission that it replaces until plus-terms are known (P1 2.5.3.1, X32)
}

// expander turns fields into statements for one crawler. It checks versions (P1 2.8), applies the
// fallback for what the crawler cannot interpret (P1 2.4.3), and expands local usages and resource
// sets (P1 2.7).
type expander struct {
	reporter
	crawler *Crawler
	file    *File // the file of the fields, or the robots.txt of a page
	parent  *File // the file whose reference led to it (P1 2.7, D03)
	version version
	base    *url.URL // of relative references in qualifiers (P1 2.5.3.2, I04)
	page    bool     // the fields are a page's own
	located string   // normal form of the page's URL
	words   slab[string]
	seq     int  // statements so far, including those of files read before
	full    bool // more than maxStatements: nothing is permitted

	read   map[*definition]qualified // qualifiers of local usages, read once
	behind map[reached]usagesBehind  // usages behind local usages, looked up once
}

// maxStatements bounds the work on a hostile file: beyond it nothing is permitted.
const maxStatements = 150_000

// expand returns the statements of one field. Their addressee and purpose are not set.
func (x *expander) expand(e *entry) []*statement {
	all := e.words(&x.words)
	tokens := all
	spec := specification{permit: []*pattern{nil}, deny: []*pattern{nil}}
	if !x.page {
		spec, tokens = x.specification(e, all)
		if len(tokens) > 0 && len(tokens) == len(all) { // P1 2.4.4 (X57): qualifiers without resources
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
		limits, elsewhere := x.resolveLimits(e.field, fl.limits)
		for _, p := range spec.patterns(fl.allow) {
			x.seq++
			statements = append(statements, statement{field: e.field, kind: fl.usage, allow: fl.allow, fell: fl.fell,
				beyond: fl.beyond, seq: x.seq,
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

// resolveLimits resolves the required resources of a permission against its base, and reports
// whether it is for another location (P2 2.2.9.1).
func (x *expander) resolveLimits(field *Field, r *restrictions) (l *restrictions, elsewhere bool) {
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
	for _, loc := range c.locations { // P2 2.2.9.1 (M02): several locations are alternatives
		elsewhere = elsewhere && loc.normal != x.located
	}
	return &c, elsewhere
}

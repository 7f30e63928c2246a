package acap

import "net/url"

// statement permits or prohibits one usage of the resources that one pattern covers. Every field
// becomes statements.
type statement struct {
	field *Field
	kind  kind
	allow bool
	fell  bool // the statement replaces a field that cannot be interpreted (P1 2.4.3, F24)
	// instead means that the statement is a prohibition that replaces a permission. If such a
	// prohibition is about "present", no permission of a type based on "present" wins against it
	// (P1 2.4.3, X81).
	instead bool
	// the statement replaces an allow-other that cannot be interpreted, and prohibits no usage that
	// ACAP lists (P1 2.4.3, L05, X70)
	beyond bool
	page   bool // the statement is in a page, and about that page
	pilot  bool // the statement is about a fragment of a page, written in a form of the pilot of 2007
	// the statement prohibits everything: no permission with a narrower scope wins against it (P1
	// 2.4.6, X35)
	all     bool
	named   bool // the statement addresses the crawler by name
	purpose bool // the statement comes from a sub-record for a purpose of the crawler
	// the statement is a permission for a location that is not the location of the page (P2
	// 2.2.9.1, M03)
	elsewhere bool
	counts    bool     // the permissions in embedded would have effect if they replaced this statement
	seq       int      // the position of the statement in the order of appearance, the same for every purpose
	pattern   *pattern // nil if all or page is set
	limits    *restrictions
	// embedded holds the permissions that this prohibition replaces as long as the licence terms in
	// an image, which set their limits, are unknown (P1 2.5.3.1, X32).
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

	// limits of the permission that this prohibition replaces as long as the licence terms are
	// unknown (P1 2.5.3.1, X32)
	embedded *restrictions
}

// expander turns fields into statements for one crawler. It checks versions (P1 2.8), applies the
// fallback for what the crawler cannot interpret (P1 2.4.3), and expands local usages and resource
// sets (P1 2.7).
type expander struct {
	reporter
	crawler *Crawler
	file    *File // the file that contains the fields; for a page, its robots.txt
	parent  *File // the file that refers to file (P1 2.7, D03); nil if there is none
	version version
	base    *url.URL // base of relative references in qualifiers (P1 2.5.3.2, I04)
	page    bool     // the fields are statements of a page
	located string   // the URL of the page in normal form
	words   slab[string]
	seq     int  // number of statements so far, including those of earlier files
	full    bool // the file makes more than maxStatements statements, so nothing is permitted

	read   map[*definition]qualified // qualifiers of local usages, stored so that each is read once
	behind map[reached]usagesBehind  // usages that local usages stand for, stored so that each is looked up once
}

// maxStatements bounds the work on a hostile file. If a file makes more statements, nothing is
// permitted.
const maxStatements = 150_000

// expand returns the statements of one field. The caller sets their addressee and purpose.
func (x *expander) expand(e *entry) []*statement {
	all := e.words(&x.words)
	tokens := all
	spec := specification{permit: []*pattern{nil}, deny: []*pattern{nil}}
	if !x.page {
		spec, tokens = x.specification(e, all)
		if len(tokens) > 0 && len(tokens) == len(all) { // P1 2.4.4 (X57): the field has qualifiers but no resources
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
	if !x.page && x.seq+n > maxStatements { // maxOwn limits the statements of a page
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

// resolveLimits returns r with the URLs of required resources resolved against the base. elsewhere
// reports whether the permission is for a location that is not the location of the page (P2
// 2.2.9.1).
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

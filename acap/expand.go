package acap

import (
	"net/url"
	"strings"
)

// statement is the one idea everything reduces to: one usage of one set of paths is permitted or prohibited to us.
type statement struct {
	field     *Field
	kind      kind
	allow     bool
	fell      bool     // it replaces a field that cannot be interpreted (P1 2.4.3, F24)
	beyond    bool     // a replaced allow-other: reaches no listed usage (L05, X70)
	page      bool     // speaks about one resource from within it
	all       bool     // a prohibition that covers everything: no permission beats it by scope (X35)
	named     bool     // addressed to us by name
	purpose   bool     // from a sub-record that reaches us
	elsewhere bool     // a permission whose location is not where the page is (M03)
	pattern   *pattern // nil for all and page
	limits    *restrictions
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

func (s *statement) covers(path string) bool {
	return s.pattern == nil || s.pattern.matches(path)
}

// flat is one usage that a field permits or prohibits, before its patterns.
type flat struct {
	usage  kind
	allow  bool
	fell   bool
	beyond bool
	limits *restrictions
}

// expander turns fields into statements for one crawler: gating (B), fallback (G), local usages and resource sets (E).
type expander struct {
	crawler  *Crawler
	file     *File // the file of the fields, or the robots.txt of a page
	parent   *File // the file whose reference led to it (D03)
	version  version
	base     *url.URL // of relative references in qualifiers (I04)
	page     *Field   // not nil while a page's own field is read
	located  string   // normal form of the page's URL
	findings *[]Finding
	sets     map[*resourceSet]specification // read once
}

func (x *expander) report(f *Field, code string, sev Severity, hint, format string, args ...any) {
	*x.findings = append(*x.findings, finding(f, code, sev, hint, format, args...))
}

// expand gives the statements of one field, without addressee and purpose.
func (x *expander) expand(e *entry) []*statement {
	tokens := e.tokens
	var spec specification
	if x.page != nil {
		spec = specification{permit: []*pattern{nil}, deny: []*pattern{nil}}
	} else {
		spec, tokens = x.specification(e)
		if e.allow && len(tokens) > 0 && len(tokens) == len(e.tokens) { // X57: qualifiers without resources
			c := *e
			c.suspect = true
			e = &c
		}
	}
	var out []*statement
	for _, fl := range x.flats(e, tokens) {
		patterns := spec.deny
		if fl.allow {
			patterns = spec.permit
		}
		for _, p := range patterns {
			s := &statement{field: e.field, kind: fl.usage, allow: fl.allow, fell: fl.fell, beyond: fl.beyond, pattern: p, limits: fl.limits,
				page: x.page != nil, all: x.page == nil && p == nil}
			x.settle(s)
			out = append(out, s)
		}
	}
	return out
}

// settle binds the required resources of a permission to its field and base, and compares its location (P2 2.2.9.1).
func (x *expander) settle(s *statement) {
	if s.limits == nil {
		return
	}
	l := *s.limits
	l.mustUse = l.mustUse.at(s.field, x.base)
	l.mustInclude, l.usageRefs = nil, nil
	for _, r := range s.limits.mustInclude {
		l.mustInclude = append(l.mustInclude, r.at(s.field, x.base))
	}
	for _, r := range s.limits.usageRefs {
		l.usageRefs = append(l.usageRefs, r.at(s.field, x.base))
	}
	s.limits = &l
	if len(l.locations) > 0 {
		s.elsewhere = true
		for _, loc := range l.locations { // M02
			s.elsewhere = s.elsewhere && loc.normal != x.located
		}
	}
}

// specification is the resources of one field: a nil pattern under deny covers everything.
type specification struct{ permit, deny []*pattern }

// everything is what a prohibition covers whose resources cannot be told; a permission then grants nothing (A10, E02, X35).
var everything = specification{deny: []*pattern{nil}}

// specification reads the first token (P1 2.4.4) and gives the rest.
func (x *expander) specification(e *entry) (specification, []string) {
	if len(e.tokens) == 0 { // A10
		x.report(e.field, "empty-pattern", Error, "write / for everything", "the field names no resources")
		return everything, nil
	}
	first, rest := e.tokens[0], e.tokens[1:]
	if e.allow && looksLikeQualifier(first) { // X57
		x.report(e.field, "missing-resources", Error, "write the resources before the qualifiers", "the permission names no resources")
		return everything, e.tokens
	}
	spec := x.resources(e, first)
	if !e.allow {
		for _, t := range rest {
			x.report(e.field, "qualified-prohibition", Error, "", "a prohibition takes one resource specification and no qualifiers: %q", t)
			if t[0] == '/' || t[0] == '*' {
				spec.deny = append(spec.deny, x.path(e, t).deny...)
			}
		}
		rest = nil
	}
	return spec, rest
}

func looksLikeQualifier(t string) bool {
	name, _, ok := strings.Cut(t, "=")
	name = strings.ToLower(name)
	return ok && isName(name) && (qualifierRow(name) != nil || nearest(name, qualifierNames()) != "")
}

// resources reads one resource specification: a path pattern or the name of a set (P1 2.4.5).
func (x *expander) resources(e *entry, token string) specification {
	rest, ours := cutScheme(token)
	if !ours {
		return x.path(e, token)
	}
	name, ok := cutFold(rest, setPrefix)
	name = strings.ToLower(name)
	set := x.file.sets[name]
	if set == nil && x.parent != nil { // D03
		if set = x.parent.sets[name]; set != nil {
			x.report(e.field, "set-of-parent", Notice, "", "the resource set %q is defined in the referring file", name)
		}
	}
	if !ok || set == nil { // E02
		x.report(e.field, "undefined-resource-set", Error, nearest(name, setNames(x.file, x.parent)), "the resource set %q is not defined", name)
		return everything
	}
	if spec, ok := x.sets[set]; ok {
		return spec
	}
	var spec specification
	for _, t := range set.first {
		spec.permit = append(spec.permit, x.path(e, t).permit...)
	}
	for _, t := range set.all {
		spec.deny = append(spec.deny, x.path(e, t).deny...)
	}
	if x.sets == nil {
		x.sets = map[*resourceSet]specification{}
	}
	x.sets[set] = spec
	return spec
}

func setNames(files ...*File) []string {
	var names []string
	for _, f := range files {
		if f != nil {
			for n := range f.sets {
				names = append(names, n)
			}
		}
	}
	sortStrings(names)
	return names
}

// path reads one resource path pattern (P1 2.4.4, 2.9).
func (x *expander) path(e *entry, token string) specification {
	if strings.Contains(token, "?") { // A11
		x.report(e.field, "query-in-pattern", Notice, "", "the pattern %q is compared with path and query", token)
	}
	if token[0] != '/' && token[0] != '*' && token != "$" { // F04
		x.report(e.field, "relative-pattern", Notice, "write /"+token, "the pattern %q is relative to the root", token)
	}
	i := strings.IndexByte(token, '$')
	if token == "$" || i >= 0 && i < len(token)-1 { // F13
		x.report(e.field, "dollar-in-pattern", Error, "write %24 for the character", "$ may only end a pattern: %q", token)
	}
	switch {
	case token == "$":
		return specification{permit: []*pattern{newPattern("/$")}, deny: everything.deny}
	case i == 0:
		return everything
	case i > 0 && i < len(token)-1:
		return specification{deny: []*pattern{newPattern(token[:i])}}
	}
	p := newPattern(token)
	spec := specification{permit: []*pattern{p}, deny: []*pattern{p}}
	if u, ok := absoluteURL(token); ok {
		x.report(e.field, "absolute-pattern", Error, "write the path alone", "%q is a URI; a pattern is a path of this site", token)
		spec.deny = append(spec.deny, newPattern(u.EscapedPath()))
	}
	return spec
}

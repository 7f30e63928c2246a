package acap

import (
	"sort"
	"strings"
)

// specification is the resources of one field: the patterns if it permits, and if it prohibits. A nil pattern among the latter
// covers everything.
type specification struct{ permit, deny []*pattern }

// everything is what a prohibition covers whose resources cannot be told; a permission then grants nothing (A10, E02, X35).
var everything = specification{deny: []*pattern{nil}}

func (s specification) patterns(allow bool) []*pattern {
	if allow {
		return s.permit
	}
	return s.deny
}

// specification reads the first token of a field (P1 2.4.4) and gives the rest.
func (x *expander) specification(e *entry) (specification, []string) {
	if len(e.tokens) == 0 { // A10
		x.report(e.field, "empty-pattern", Error, "write / for everything", "the field names no resources")
		return everything, nil
	}
	first, rest := e.tokens[0], e.tokens[1:]
	if e.allow && looksLikeQualifier(first) { // X57
		x.report(e.field.at(first), "missing-resources", Error, "write the resources before the qualifiers", "the permission names no resources")
		return everything, e.tokens
	}
	spec := x.resources(e, first)
	if e.allow || len(rest) == 0 {
		return spec, rest
	}
	x.report(e.field.at(rest[0]), "qualified-prohibition", Error, "", "a prohibition takes one resource specification and no qualifiers: %q", rest[0])
	deny := spec.deny[:len(spec.deny):len(spec.deny)]
	for _, t := range rest { // what may be meant as further resources is prohibited too
		if _, ours := cutScheme(t); ours || t[0] == '/' || t[0] == '*' {
			deny = append(deny, x.resources(e, t).deny...)
		}
	}
	return specification{deny: deny}, nil
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
		return x.path(e.field, token)
	}
	name, ok := cutFold(rest, setPrefix)
	name = strings.ToLower(name)
	set := x.file.sets[name]
	if set == nil && x.parent != nil { // D03
		if set = x.parent.sets[name]; set != nil && ok {
			x.report(e.field.at(token), "set-of-parent", Notice, "", "the resource set %q is defined in the referring file", name)
		}
	}
	if !ok || set == nil { // E02
		x.report(e.field.at(token), "undefined-resource-set", Error, x.near(name, x.setNames), "the resource set %q is not defined", name)
		return everything
	}
	return *set
}

// setNames and localNames choose from nothing where so much is defined that a hint would cost too much.
func (x *expander) setNames() (names []string) {
	for _, f := range []*File{x.file, x.parent} {
		if f == nil || len(f.sets) > maxNames {
			continue
		}
		for n := range f.sets {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	return names
}

func (x *expander) localNames() (names []string) {
	for _, f := range []*File{x.file, x.parent} {
		if f == nil || len(f.usages) > maxNames {
			continue
		}
		for n := range f.usages {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	return names
}

// path reads one resource path pattern (P1 2.4.4, 2.9).
func (r *reporter) path(field *Field, token string) specification {
	if strings.Contains(token, "?") { // A11
		r.report(field.at(token), "query-in-pattern", Notice, "", "the pattern %q is compared with path and query", token)
	}
	if token[0] != '/' && token[0] != '*' && token[0] != '$' { // F04
		r.report(field.at(token), "relative-pattern", Notice, "write /"+token, "the pattern %q is relative to the root", token)
	}
	i := strings.IndexByte(token, '$')
	if token == "$" || i >= 0 && i < len(token)-1 { // F13
		r.report(field.at(token), "dollar-in-pattern", Error, "write %24 for the character", "$ may only end a pattern: %q", token)
	}
	switch {
	case token == "$":
		return specification{permit: []*pattern{newPattern("/$")}, deny: everything.deny}
	case i == 0:
		return everything
	case i > 0 && i < len(token)-1:
		return specification{deny: []*pattern{newPattern(token[:i])}}
	}
	p := []*pattern{newPattern(token)}
	if !strings.Contains(token, "://") {
		return specification{permit: p, deny: p}
	}
	if u, ok := absoluteURL(token); ok {
		r.report(field.at(token), "absolute-pattern", Error, "write the path alone", "%q is a URI; a pattern is a path of this site", token)
		return specification{permit: p, deny: append(p[:1:1], newPattern(u.EscapedPath()))}
	}
	return specification{permit: p, deny: p}
}

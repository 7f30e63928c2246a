package acap

import "strings"

// specification holds the resources of one field: the patterns that apply if the field is a
// permission, and the patterns that apply if it is a prohibition. A nil pattern in deny covers
// everything.
type specification struct{ permit, deny []*pattern }

// everything is the specification of a field whose resources are unknown. It prohibits everything
// and permits nothing (P1 3, A10; P1 2.4.4, E02; P1 2.4.6, X35).
var everything = specification{deny: []*pattern{nil}}

func (s specification) patterns(allow bool) []*pattern {
	if allow {
		return s.permit
	}
	return s.deny
}

// specification reads the resource specification, which is the first token of a field (P1 2.4.4).
// It returns the other tokens.
func (x *expander) specification(e *entry, tokens []string) (specification, []string) {
	if len(tokens) == 0 { // P1 3 (A10): an empty pattern prohibits everything and permits nothing
		x.report(e.field, "empty-pattern", Error, "write / for everything",
			"the field names no resources: a prohibition covers everything, a permission nothing")
		return everything, nil
	}
	first, rest := tokens[0], tokens[1:]
	// P1 2.4.4 (X57): a permission must begin with a resource, not with a qualifier
	if e.allow && looksLikeQualifier(first) {
		x.report(e.field.at(first), "missing-resources", Error, "write the resources before the qualifiers",
			"the permission names no resources before %q and counts as a prohibition of everything", first)
		return everything, tokens
	}
	spec := x.resources(e, first)
	if e.allow || len(rest) == 0 {
		return spec, rest
	}
	x.report(e.field.at(rest[0]), "qualified-prohibition", Error, "leave it out, and write a field for each pattern",
		"a prohibition takes one resource specification and no qualifiers: it holds without %q", rest[0])
	deny := spec.deny[:len(spec.deny):len(spec.deny)]
	for _, t := range rest { // the author may mean further tokens as resources, so a prohibition covers them, too
		if _, ours := cutScheme(t); ours || t[0] == '/' || t[0] == '*' {
			deny = append(deny, x.resources(e, t).deny...)
		}
	}
	return specification{deny: deny}, nil
}

func looksLikeQualifier(t string) bool {
	name, _, ok := strings.Cut(t, "=")
	name = strings.ToLower(name)
	return ok && isName(name) && (qualifierRow(name) != nil || Nearest(name, qualifierNames()) != "")
}

// resources reads one resource specification: a path pattern, or the name of a resource set (P1
// 2.4.5).
func (x *expander) resources(e *entry, token string) specification {
	rest, ours := cutScheme(token)
	if !ours {
		return x.path(e.field, token)
	}
	name, ok := cutFold(rest, setPrefix)
	name = strings.ToLower(name)
	set := x.file.sets[name]
	// P1 2.7 (D03): a referred file may use the definitions of the referring file
	if set == nil && x.parent != nil {
		if set = x.parent.sets[name]; set != nil && ok {
			x.report(e.field.at(token), "set-of-parent", Notice, "define it where it is used",
				"the resource set %q is defined in the referring file", name)
		}
	}
	// P1 2.4.4 (E02): an undefined resource set makes a prohibition cover everything and a
	// permission cover nothing
	if !ok || set == nil {
		x.report(e.field.at(token), "undefined-resource-set", Error, x.nearDefined(name, x.setNames),
			"the resource set %q is not defined: a prohibition of it covers everything, a permission nothing", name)
		return everything
	}
	return *set
}

func (x *expander) setNames() []string { return append(x.file.setNames(), x.parent.setNames()...) }

func (x *expander) localNames() []string {
	return append(x.file.usageNames(), x.parent.usageNames()...)
}

// path reads one resource path pattern (P1 2.4.4, 2.9).
func (r *reporter) path(field *Field, token string) specification {
	// P1 3 (A11): a pattern may contain a query, because it is compared with path and query
	if strings.Contains(token, "?") {
		r.report(field.at(token), "query-in-pattern", Notice, "leave the query out to cover the path with any",
			"the pattern %q is compared with path and query", token)
	}
	var path string // the path of a token that begins with a host
	if token[0] != '/' && token[0] != '*' && token[0] != '$' {
		path = r.unrooted(field, token)
	}
	if strings.Contains(token, "%") && stray(token) {
		r.report(field.at(token), "percent-in-pattern", Warning, "write %25 for the character",
			"%q holds a percent sign without two hexadecimal digits behind it: it stands for itself", token)
	}
	i := strings.IndexByte(token, '$')
	switch {
	// P1 2.9 (F13): a "$" that is not the last character cuts the pattern of a prohibition and
	// makes a permission ineffective; %24 stands for the character
	case token == "$":
		r.report(field.at(token), "dollar-in-pattern", Error, "write / for everything, or /$ for the root",
			"the pattern is only $: a permission covers the root, a prohibition everything")
	// P1 2.9 (F13): a "$" that is not the last character cuts the pattern of a prohibition and
	// makes a permission ineffective; %24 stands for the character
	case i >= 0 && i < len(token)-1:
		r.report(field.at(token), "dollar-in-pattern", Error, "write %24 for the character",
			"$ may only end a pattern: %q prohibits everything that begins with the text before the $, and permits "+
				"nothing",
			token)
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
		r.report(field.at(token), "absolute-pattern", Error, "write only the path: "+path,
			"%q is a URI, a pattern is a path: a permission grants nothing, a prohibition covers its path here", token)
		return specification{permit: p, deny: append(p[:1:1], newPattern(u.EscapedPath()))}
	}
	return specification{permit: p, deny: p}
}

// unrooted reports a pattern without a leading slash, unless it is a URI. Such a pattern is
// relative to the root (P1 2.4.4). If it begins with a host, unrooted returns the path after the
// host.
func (r *reporter) unrooted(field *Field, token string) (path string) {
	host, path := hostOf(token)
	if path == "" {
		path = "/"
	}
	if host != "" && strings.Contains(token, "://") { // P1 2.4.4 (F04): a URI has another finding
		return path
	}
	hint := "write /" + token
	if host != "" {
		hint = "write " + path
	}
	r.report(field.at(token), "relative-pattern", Notice, hint, "the pattern %q is relative to the root", token)
	return path
}

// stray reports whether s contains a percent sign that does not begin an escape.
func stray(s string) bool {
	for i := range len(s) {
		if s[i] == '%' && !(i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2])) {
			return true
		}
	}
	return false
}

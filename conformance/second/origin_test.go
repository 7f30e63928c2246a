package second

import (
	"net/url"
	"slices"
	"strings"
)

// An engine answers one question.
type engine struct {
	q       *question
	tokens  []string
	ability ability
}

func newEngine(q *question) *engine {
	e := &engine{q: q, tokens: q.Crawler, ability: ability{q.Cannot, q.Strict}}
	if e.tokens == nil {
		e.tokens = []string{"acapcrawl"}
	}
	return e
}

// A purpose is one purpose that is decided for: a name, none at all, or undeclared.
type purpose struct {
	name     string
	declared bool
}

func (e *engine) purposes() []purpose {
	switch {
	case e.q.Purposes == nil:
		return []purpose{{}}
	case len(*e.q.Purposes) == 0:
		return []purpose{{declared: true}}
	}
	var out []purpose
	for _, p := range *e.q.Purposes {
		out = append(out, purpose{p, true})
	}
	return out
}

// applies returns whether a statement in a sub-record reaches the purpose. Where none are
// declared, prohibitions do (C15).
func (p purpose) applies(patterns []string, allow bool) bool {
	if len(patterns) == 0 {
		return true
	}
	if !p.declared {
		return !allow
	}
	if p.name == "" {
		return false
	}
	for _, s := range patterns { // C14: a prefix, unless a dollar sign ends it; letter case does not count
		if matches(strings.ToLower(s), strings.ToLower(p.name)) {
			return true
		}
	}
	return false
}

// An origin is an origin's policy for this crawler and one purpose.
type origin struct {
	status      string
	statements  []statement
	unavailable bool // a reference could not be read (D07)
	rules       []rule
	named       bool
	defs        *definitions
}

// origin reads the robots.txt of u's origin and what its references name (steps 1 to 5).
func (e *engine) origin(u *url.URL, p purpose) *origin {
	r := e.q.robots(u)
	o := &origin{status: r.status, defs: newDefinitions(nil)}
	if r.status != "read" {
		return o
	}
	f := readFile(r.body, nil)
	e.strictVersion(f)
	o.defs = f.defs
	groups := f.groups
	o.statements = e.statements(f, p, false)
	for _, fd := range f.fields {
		if !fd.reference {
			continue
		}
		nobody := len(fd.names) == 1 && fd.names[0] == "" // A15: it counts for any crawler's prohibitions
		if !nobody && e.addressee(fd.names) == 0 {
			continue
		}
		child, ok := e.reference(fd, u, f.defs)
		if !ok {
			o.unavailable = true
			continue
		}
		if child == nil { // X65: it refers to itself
			continue
		}
		if !child.ignore {
			groups = append(groups, child.groups...)
		}
		o.statements = append(o.statements, e.statements(child, p, fd.second || nobody)...)
	}
	if !f.ignore {
		o.rules, o.named = governing(groups, e.tokens)
	}
	return o
}

// strictVersion counts a comment that contradicts the version field as a malformed version (B09).
func (e *engine) strictVersion(f *file) {
	if e.ability.strict && f.comment != "" && f.spelled != "" && !sameVersion(f.comment, f.spelled) &&
		f.version != versionMajor {
		f.version, f.defs.version = versionBad, versionBad
	}
}

// sameVersion reports whether two versions have the same first two numbers.
func sameVersion(a, b string) bool {
	m, n := versionValue.FindStringSubmatch(a), versionValue.FindStringSubmatch(b)
	return m != nil && n != nil && m[1] == n[1] && (m[3] == n[3] || m[3]+n[3] == "0")
}

// reference reads the file that a reference names: relative to the root, or on another server
// (D05, D08). It returns no file for a reference to robots.txt itself, and false if it cannot be
// read (D07).
func (e *engine) reference(fd field, u *url.URL, parent *definitions) (*file, bool) {
	at, err := root(u, "/").Parse(fd.refers)
	if err != nil || fd.refers == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, false
	}
	at.Fragment = ""
	if at.String() == root(u, "/robots.txt").String() {
		return nil, true
	}
	got := e.q.get(at, func(hop *url.URL) bool { return reachable(hop, u) })
	if !got.ok || got.response.Status < 200 || got.response.Status > 299 {
		return nil, false
	}
	f := readFile(got.response.Body, parent)
	e.strictVersion(f)
	for i := range f.fields { // D01, X50: a nested reference is not followed, and the record's other fields count
		f.fields[i].reached = false
	}
	f.fields = slices.DeleteFunc(f.fields, func(fd field) bool { return fd.reference })
	return f, true
}

// addressee returns 2 if a record names this crawler, 1 if it addresses any crawler (C05, C06).
func (e *engine) addressee(names []string) int {
	out := 0
	for _, n := range names {
		if namesUs(n, e.tokens) {
			return 2
		}
		if n == "*" {
			out = 1
		}
	}
	return out
}

// statements returns the flat statements of a file that reach this crawler and purpose. void says
// that permissions of the file do not count (D08).
func (e *engine) statements(f *file, p purpose, void bool) []statement {
	var out []statement
	for _, fd := range f.fields {
		if fd.reference {
			continue
		}
		if fd.names == nil { // C10: strict honours stray prohibitions
			if !e.ability.strict || fd.permission {
				continue
			}
			fd.names, fd.void = []string{"*"}, true
		}
		who := e.addressee(fd.names)
		if who == 0 {
			continue
		}
		for _, v := range e.ability.expand(fd, f.version, f.defs, false) {
			if v.allow && (fd.void || fd.reached || void) || !p.applies(fd.purposes, v.allow) {
				continue
			}
			for _, pt := range patternsOf(fd, v.allow, f.defs) {
				out = append(out, newStatement2(v, fd, pt, who))
			}
		}
	}
	return out
}

func newStatement2(v verdict, fd field, pt pattern, who int) statement {
	s := statement{usage: v.usage, allow: v.allow, pattern: pt, terms: v.terms, replaced: v.replaced, offer: v.offer,
		addressee: who, source: "robots.txt", line: fd.number}
	if len(fd.purposes) > 0 {
		s.purpose = 1
	}
	return s
}

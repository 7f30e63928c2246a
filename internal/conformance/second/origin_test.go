package second

import (
	"net/url"
	"slices"
	"strings"
)

// engine answers one question.
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

// purpose is the purpose for which a decision is made: a name, no purpose, or an undeclared one.
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

// applies reports whether a statement in a sub-record applies to the purpose. If the crawler
// declares no purpose, only prohibitions apply. P1 2.3.3 (C15).
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
	// P1 2.3.3 (C14): the pattern is a prefix unless a dollar sign ends it; letter case does not
	// matter
	for _, s := range patterns {
		if matches(strings.ToLower(s), strings.ToLower(p.name)) {
			return true
		}
	}
	return false
}

// origin is the policy of an origin for this crawler and one purpose.
type origin struct {
	status      string
	statements  []statement
	unavailable bool // a referenced file could not be read (D07)
	rules       []rule
	named       bool
	defs        *definitions
}

// origin reads the robots.txt of u's origin and the referenced files (steps 1 to 5).
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
		// P1 3 (A15): with an empty name, prohibitions apply to any crawler
		nobody := len(fd.names) == 1 && fd.names[0] == ""
		if !nobody && e.addressee(fd.names) == 0 {
			continue
		}
		child, ok := e.reference(fd, u, f.defs)
		if !ok {
			o.unavailable = true
			continue
		}
		if child == nil { // P1 2.3.2 (X65): the file refers to itself
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

// strictVersion treats the version as malformed if a comment contradicts the version field. P1 2.1
// (B09).
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

// reference reads the file that a reference names, relative to the root or on another server. P1
// 2.3.2 (D05, D08). For a reference to robots.txt itself, the returned file is nil. ok is false if
// the file cannot be read (D07).
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
	// P1 2.3.2 (D01, X50): a reference in a referenced file is ignored; the other fields of its
	// record apply
	for i := range f.fields {
		f.fields[i].reached = false
	}
	f.fields = slices.DeleteFunc(f.fields, func(fd field) bool { return fd.reference })
	return f, true
}

// addressee returns 2 if a record names this crawler, 1 if it addresses any crawler. P1 2.3.1 (C05,
// C06).
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

// statements returns the simple statements of a file that apply to this crawler and purpose. void
// means that permissions of the file have no effect. P1 2.3.2 (D08).
func (e *engine) statements(f *file, p purpose, void bool) []statement {
	var out []statement
	for _, fd := range f.fields {
		if fd.reference {
			continue
		}
		if fd.names == nil { // P1 2.10.2 (C10): strict reading obeys prohibitions outside records
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

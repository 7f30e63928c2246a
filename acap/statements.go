package acap

import (
	"slices"
	"strings"
)

// Statement holds the permissions or prohibitions that one field of a file makes for a crawler that
// can interpret all of it, and the crawlers that the field addresses. A permission of a composite
// usage makes two statements if only some of its parts can be interpreted (P1 2.7.2, E08).
type Statement struct {
	Field   *Field
	Written bool // the publisher wrote a permission; if it cannot be interpreted, Allow is false (P1 2.4.3)
	Allow   bool // the statement is treated as a permission
	// Beyond means that the statement replaces a permission of "other" that cannot be interpreted.
	// It prohibits only usages that ACAP does not list (P1 2.4.3, L05).
	Beyond bool
	// the usages that the statement is about, with local usages expanded (P1 2.7.1, 2.7.2); none if
	// the statement has no effect
	Usages []Usage
	// patterns of resources, including those of resource sets (P1 2.7.3), in the form in which
	// patterns are compared; "" covers everything
	Patterns   []string
	Qualifiers []string // the qualifiers as written
	// the crawler names of the record that contains the field, "*" for any crawler; none outside
	// records
	Crawlers []string
	Purposes []string // the purposes of the sub-record that contains the field (P1 2.3.3)
}

// Statements returns the permissions and prohibitions of the file, in the order of lines. In a file
// that is too complex it leaves out the last fields. Do not change the slices: they are shared.
func (f *File) Statements() []Statement {
	c := &Crawler{}
	x := &expander{crawler: c, file: f, version: f.gating(c), base: rootOf(f.base)}
	out := make([]Statement, 0, len(f.entries))
	var last *record
	var crawlers []string
	for _, e := range f.entries {
		if e.record != last {
			last, crawlers = e.record, e.record.addressees()
		}
		s := Statement{Field: e.field, Written: e.allow, Allow: e.allow, Crawlers: crawlers}
		if all := e.words(&x.words); len(all) > 0 {
			s.Qualifiers = all[1:]
		}
		if e.sub != nil {
			for _, p := range e.sub.purposes {
				s.Purposes = append(s.Purposes, p.text())
			}
		}
		made := x.expand(e)
		if x.full {
			break
		}
		first := len(out)
		if out = append(out, s); len(made) > 0 {
			out[first].Allow, out[first].Beyond = made[0].allow, made[0].beyond
		}
		for _, st := range made {
			at := first + slices.IndexFunc(out[first:],
				func(o Statement) bool { return o.Allow == st.allow && o.Beyond == st.beyond })
			if at < first {
				at, s.Allow, s.Beyond = len(out), st.allow, st.beyond
				out = append(out, s)
			}
			out[at].speak(st)
		}
	}
	return out
}

func (s *Statement) speak(st *statement) {
	u := st.kind.usage()
	if !slices.Contains(s.Usages, u) {
		s.Usages = append(s.Usages, u)
	}
	switch {
	case u != s.Usages[0]: // all usages of a field have the same patterns, so the patterns are added only once
	case st.pattern == nil:
		s.Patterns = append(s.Patterns, "")
	default:
		s.Patterns = append(s.Patterns, st.pattern.exact)
	}
}

// For returns the file without the records and groups that do not address the crawler c. Its Policy
// for c makes the same decisions, and is faster to make. It has no findings and no action requests.
// Do not call For on a file that is too complex.
func (f *File) For(c Crawler) *File {
	g := *f
	g.Findings, g.actions = nil, nil
	g.entries, g.records, g.groups = slices.Clone(f.loose), nil, nil
	for _, r := range f.records {
		if reaches, _ := r.reaches(&c); reaches {
			g.records = append(g.records, r)
			g.entries = append(g.entries, r.entries...)
		}
	}
	for _, gr := range f.groups {
		if slices.ContainsFunc(gr.agents, func(a string) bool { return agentToken(a) == "*" || c.names(a) }) {
			g.groups = append(g.groups, gr)
		}
	}
	if len(f.loose) > 0 { // fields outside records may be anywhere in the file
		slices.SortStableFunc(g.entries, func(a, b *entry) int { return a.field.Line - b.field.Line })
	}
	return &g
}

// Size returns the number of permissions, prohibitions and conventional rules in the file.
func (f *File) Size() int {
	n := len(f.entries)
	for _, g := range f.groups {
		n += len(g.rules)
	}
	return n
}

func (r *record) addressees() []string {
	switch {
	case r == nil:
		return nil
	case r.any:
		return append([]string{"*"}, r.names...)
	}
	return r.names
}

// Record is an ACAP record (P1 2.3).
type Record struct {
	Heads  []*Field // the ACAP-crawler fields of the record
	Fields []*Field // the permission and prohibition fields of the record
}

// Records returns the ACAP records of the file. Do not change the slices: they are shared.
func (f *File) Records() []Record {
	out := make([]Record, len(f.records))
	for i, r := range f.records {
		out[i].Heads = r.heads
		for _, e := range r.entries {
			out[i].Fields = append(out[i].Fields, e.field)
		}
	}
	return out
}

// Group is a conventional group (RFC 9309 2.2.1).
type Group struct {
	Agents []string // product tokens, or "*"
	Heads  []*Field // the User-agent lines, in the order of Agents
	Ruled  bool     // the group has Allow or Disallow lines, even if the lines are empty
	Paced  bool     // the group has a Crawl-delay
	Rules  []Rule
}

// Rule is an Allow or Disallow line of a group. Lines without effect are left out (RFC 9309 2.2.2).
type Rule struct {
	Field   *Field
	Allow   bool
	Pattern string // the form in which the pattern is compared: percent-normalised, in its own letter case
}

// Groups returns the conventional groups of the file, whether or not
// ACAP-ignore-conventional-records is in effect.
func (f *File) Groups() []Group {
	out := make([]Group, len(f.groups))
	for i, g := range f.groups {
		out[i].Heads, out[i].Ruled, out[i].Paced = g.heads, g.ruled, len(g.delays) > 0
		for _, a := range g.agents {
			out[i].Agents = append(out[i].Agents, agentToken(a))
		}
		for _, l := range g.rules {
			out[i].Rules = append(out[i].Rules, Rule{Field: l.field, Allow: l.allow, Pattern: l.read().exact})
		}
	}
	return out
}

// Crawlers returns the names of crawlers in the file, without duplicates: those in ACAP records
// first, then those in conventional groups.
func (f *File) Crawlers() []string {
	var out []string
	seen := map[string]bool{"": true, "*": true}
	add := func(name string) {
		if lower := strings.ToLower(name); !seen[lower] {
			seen[lower] = true
			out = append(out, name)
		}
	}
	for _, r := range f.records {
		for _, n := range r.names {
			add(n)
		}
	}
	for _, g := range f.groups {
		for _, a := range g.agents {
			add(agentToken(a))
		}
	}
	return out
}

// Examples returns paths that a pattern of a Statement or a Rule covers, the simplest first. It
// replaces each "*" by nothing and by some text, and extends patterns without a final "$". The
// paths are written as in a URL.
func Examples(pattern string) []string {
	p := newShape(pattern)
	var out []string
	add := func(path string) {
		path = strings.ReplaceAll(strings.ReplaceAll(path, "*", "%2A"), "$", "%24")
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	for _, fill := range []string{"", "x", "x/y"} {
		path := strings.Join(p.pieces, fill)
		add(path)
		switch {
		case p.anchored:
		case strings.HasSuffix(path, "/"):
			add(path + "x.html")
		default:
			add(path + "x")
			add(path + "/x.html")
		}
	}
	return out
}

// Folded returns a pattern or a path in the form in which ACAP compares it: percent-normalised and
// in lower case (P1 2.9, F10).
func Folded(s string) string { return fold(percentNormal(s, false)) }

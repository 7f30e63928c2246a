package acap

import (
	"maps"
	"slices"
	"strings"
)

// The pilot of ACAP in October 2007 (PILOT in comments) had forms of statements in pages that
// version 1.0 dropped: class tokens that start with acap:, permissions of fragments by id-list=,
// and definitions in META tags. These forms are reported and have no effect (P2 2.2.5, N10; PILOT
// 1.3.1, N18). If Crawler.Pilot is set, the code in this file translates these forms into ordinary
// statements.

const (
	pilotPrefix = "acap:" // prefix of class tokens (PILOT 2.1)
	idList      = "id-list"
	idMark      = "#" // first character of Mark.Token if the rest is an id
)

// maxOfFragment is how many statements about one fragment are allowed. A page with more statements
// about one fragment may not be crawled.
const maxOfFragment = 256

// Fragments returns the ids of elements that a META tag in a form of the pilot names, for example
// "ACAP allow-index id-list= a b" (PILOT 1.3.1).
func Fragments(content string) []string {
	tokens := words(content)
	if !ours(tokens) {
		return nil
	}
	_, ids, _ := cutFragments(tokens[1:])
	return ids
}

// cutFragments removes every id-list= with its ids from the tokens of a statement. There may be no
// blank between the usage and id-list= (PILOT 1.3.5). A word that is a conventional rule is treated
// as a rule, not as an id (P2 2.2.1, X19).
func cutFragments(tokens []string) (rest, ids []string, listed bool) {
	within := false
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if strings.EqualFold(t, idList) && i+1 < len(tokens) && tokens[i+1][0] == '=' {
			i++
			t += tokens[i]
		}
		name, id, _ := strings.Cut(t, "=")
		at := len(name) - len(idList)
		switch {
		case len(name) < len(t) && at >= 0 && strings.EqualFold(name[at:], idList) && (at == 0 || isStatement(name)):
			within, listed = true, true
			if at > 0 {
				rest = append(rest, name[:at])
			}
			if id != "" {
				ids = append(ids, id)
			}
			continue
		case strings.Contains(t, "="), isStatement(t):
			within = false
		}
		if within && !knownRule(strings.ToLower(strings.TrimRight(t, ",;"))) {
			ids = append(ids, t)
		} else {
			rest = append(rest, t)
		}
	}
	return rest, ids, listed
}

// fragments returns the ids of the elements that a statement with an id-list= is about. It returns
// nil if the statement is about the page.
func (n *narrowing) fragments(e *entry, ids []string) []string {
	switch {
	case !e.allow: // PILOT 1.3.2: a prohibition has no id-list=, so the prohibition is about the page
		n.report(e.field, "pilot-form", Error, "write class="+e.token(scheme)+" on the elements",
			"a prohibition takes no id-list= and holds for the whole page")
		return nil
	// PILOT 1.3.1 (N18): in ACAP 1.x the forms of the pilot are unknown, so the permission becomes
	// a prohibition
	case !n.crawler.Pilot:
		n.report(e.field, "pilot-form", Error, "write class="+e.token(scheme)+" on the elements",
			"id-list= is of the pilot: the permission counts as a prohibition")
	case len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !isID(id) }):
		return ids
	default:
		n.report(e.field, "malformed-fragments", Error, "name ids of elements with blanks between them",
			"id-list= does not name elements: the permission counts as a prohibition of the page")
	}
	e.broken = true
	return nil
}

// isID reports whether s is an element id of HTML 4 (PILOT 1.3.1).
func isID(s string) bool { return isName(strings.ReplaceAll(s, ":", "-")) }

// token returns the class token with the same meaning as the entry e.
func (e *entry) token(prefix string) string {
	verb, usage := "disallow-", e.usage
	if e.allow {
		verb = "allow-"
	}
	if e.local || Usage(usage).kind() == noKind {
		usage = "(" + usage + ")"
	}
	return prefix + verb + usage
}

// local marks e as a use of a local usage if the page or robots.txt defines its name. The pilot
// writes no parentheses around names of local usages (PILOT 2.1).
func (n *narrowing) local(e *entry) {
	if n.crawler.Pilot && Usage(e.usage).kind() == noKind && n.lookup(e.usage) != nil {
		e.local = true
	}
}

// definitionTag reports whether a META tag is a definition in the form of the pilot, and whether it
// defines a composite usage (PILOT 1.3.4).
func definitionTag(t *Tag) (composite, ok bool) {
	name := strings.TrimSpace(uncurl(t.Name))
	composite = strings.EqualFold(name, "ACAP-composite-usage")
	return composite, t.Source == Meta && (composite || strings.EqualFold(name, "ACAP-qualified-usage"))
}

// define reads the definitions of a page. These definitions hide definitions in robots.txt with the
// same name (P1 2.7, as D03). The ACAP version that the page declares applies to them (P2 3, X18).
func (n *narrowing) define(tags []Tag) {
	f := &File{URL: n.url, source: Meta, version: n.version, claimed: n.version, usages: map[string]*definition{}}
	p := &parser{f: f}
	p.tags = n.tags
	for i := range tags {
		composite, ok := definitionTag(&tags[i])
		if !ok {
			continue
		}
		field := n.field(&tags[i])
		value := words(tags[i].Content)
		if ours(value) { // the pilot's grammar begins a definition with the word ACAP, its examples do not
			value = value[1:]
		}
		definition := strings.Join(value, " ")
		switch {
		// PILOT 1.3.1 (N18): in ACAP 1.x the forms of the pilot are unknown, so the definition has
		// no effect
		case !n.crawler.Pilot:
			n.report(field, "pilot-form", Error,
				"write "+strings.TrimSpace(tags[i].Name)+": "+definition+" in robots.txt",
				"a definition in a META tag is of the pilot and has no effect")
		case n.counted(field):
			p.definition(field, composite, definition)
		}
	}
	if len(f.definitions) == 0 {
		return
	}
	p.resolveParts()
	n.file, n.parent = f, n.file
	for _, d := range f.definitions {
		if n.parent != nil && n.parent.usages[d.name] != nil {
			p.report(d.field, "shadowed-definition", Notice, "",
				"the usage %q is defined in robots.txt too: in this document the definition here counts", d.name)
		}
	}
	n.findings = append(n.findings, p.findings...)
}

// addFragment stores a statement about the elements with the given ids.
func (n *narrowing) addFragment(ids []string, s *statement) {
	s.pilot = true
	for _, id := range ids {
		if !n.counted(s.field) {
			return
		}
		if len(n.said[id]) == maxOfFragment {
			n.tooComplex(s.field)
			return
		}
		if n.said == nil {
			n.said = map[string][]*statement{}
		}
		n.said[id] = append(n.said[id], s)
	}
}

// matchFragments compares the ids that statements name with the elements of the page. If several
// elements have the same id, permissions of that fragment become prohibitions, because PILOT does
// not say which element is meant. An id that no element has is reported.
func (n *narrowing) matchFragments(marks []Mark) {
	if len(n.said) == 0 {
		return
	}
	elements := map[string]int{}
	for i := range marks {
		if id, ok := strings.CutPrefix(marks[i].Token, idMark); ok {
			elements[id]++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(n.said)) {
		said := n.said[id]
		switch {
		// PILOT 1.3.3: a crawler without element level cannot obey this permission
		case n.crawler.unable("element-level"):
			n.report(said[0].field, "pilot-form", Notice, "",
				"this crawler cannot treat elements on their own, and the pilot lets it ignore what is said of them")
			delete(n.said, id)
		case elements[id] == 0:
			n.report(said[0].field, "unknown-fragment", Notice, "", "no element of the page has the id %q", id)
		case elements[id] > 1:
			n.report(said[0].field, "ambiguous-fragment", Error, "give every element its own id",
				"several elements have the id %q: the permission counts as a prohibition of each", id)
			n.said[id] = reversed(said)
		}
	}
}

// reversed returns, for each usage of the given statements, a prohibition.
func reversed(statements []*statement) []*statement {
	var out []*statement
	var have kindSet
	for _, s := range statements {
		if have.has(s.kind) {
			continue
		}
		have |= setOf(s.kind)
		c := *s
		c.allow, c.fell, c.limits, c.elsewhere = false, true, nil, false
		out = append(out, &c)
	}
	return out
}

// fragment reads a mark on an element whose id an id-list= names.
func (n *narrowing) fragment(m *Mark) {
	said := n.said[strings.TrimPrefix(m.Token, idMark)]
	for _, s := range said {
		n.pageEffect(s, m.Place)
	}
	if len(said) > 0 {
		n.own.marks[m.Token] = said
	}
}

// markKey returns the key of a mark in own.marks. Class tokens are converted to lower case (P2
// 2.2.5, N10); ids are not.
func markKey(token string) string {
	if strings.HasPrefix(token, idMark) {
		return token
	}
	return strings.ToLower(token)
}

// settled returns the usages that the permissions v of outer fragments decide for everything
// inside. Inner fragments cannot change the decisions on these usages (PILOT 1.3.3).
func (v *statementSet) settled() (set kindSet) {
	for i := range v.n {
		if s := v.at(i); s.pilot {
			set |= setOf(s.kind)
		}
	}
	return set
}

// yield returns v without those permissions of the page whose usages a fragment also permits. yes
// holds the permissions of the fragment. Within the fragment, these permissions replace the
// permissions of the page (PILOT 1.3.3). changed reports whether yield removed a permission.
func (v *statementSet) yield(yes *statementSet) (left statementSet, changed bool) {
	var said [kinds]ranks
	for i := range yes.n {
		if s := yes.at(i); s.pilot {
			said[s.kind][s.rank()] = true
		}
	}
	left.caps = v.caps
	for i := range v.n {
		if s := v.at(i); !s.page || !said[s.kind].reach(s.rank()) {
			left.add(s)
		}
	}
	return left, left.n < v.n
}

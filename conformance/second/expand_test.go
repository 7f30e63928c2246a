package second

import (
	"slices"
	"strings"
)

// A statement is flat: one usage, one pattern, one polarity.
type statement struct {
	usage     string
	allow     bool
	pattern   pattern
	terms     terms
	replaced  bool // made because a permission could not be fully interpreted (X81)
	offer     bool // a replaced allow-other: it reaches no listed usage (L05)
	addressee int  // 1 any crawler, 2 our name
	purpose   int  // 1 in a sub-record for our purpose
	page      bool // it stands in the page
	source    string
	line      int
}

// An ability is what this crawler can interpret.
type ability struct {
	cannot []string
	strict bool
}

// A verdict is what one usage of a field comes to before its resource is looked at.
type verdict struct {
	usage    string
	allow    bool
	terms    terms
	replaced bool
	offer    bool
}

// expand returns what a field says, usage by usage: versions gate it, what cannot be interpreted
// is replaced, local usages are spelled out (steps 2 to 4).
func (a ability) expand(fd field, v version, defs *definitions, page bool) []verdict {
	list, clean := readQualifiers(fd.rest)
	broken := !clean
	if !fd.local {
		if !fd.permission { // a prohibition has no qualifiers; what follows the resource does not count
			return a.prohibit(fd.usage, false)
		}
		return a.permit(part{usage: fd.usage, qualifiers: list, broken: broken, bare: fd.resource == "" &&
			!page}, fd.continued, gate{v, v}, page)
	}
	found, where := defs.find(fd.usage)
	if len(found) == 0 { // E01: prohibit all that could have been meant
		return a.undefined(fd.permission)
	}
	if !fd.permission { // E06
		return a.prohibitBases(found, where, false)
	}
	if len(list) > 0 || broken || fd.continued { // E05, A07
		return a.prohibitBases(found, where, true)
	}
	if !sameBodies(found) || invalid(found[0], where) { // E03, E07, E11
		return a.prohibitBases(found, where, true)
	}
	var out []verdict
	for _, p := range where.parts(found[0]) {
		if p.undefined {
			out = append(out, a.undefined(true)...)
			continue
		}
		if len(p.meant) > 0 {
			out = append(out, a.prohibitBases(p.meant, where, true)...)
			continue
		}
		out = append(out, a.permit(p, false, gate{v, where.version}, false)...) // M04: no location in a robots.txt
	}
	return out
}

// A gate holds the versions that a field answers to: its own file's, and that of the file that
// spells its qualifiers (X76).
type gate struct{ own, spelled version }

func (g gate) major() bool { return g.own == versionMajor || g.spelled == versionMajor }

// permit returns what a permission of a standard usage comes to. continued says that a line of
// qualifiers follows it (A07).
func (a ability) permit(p part, continued bool, g gate, page bool) []verdict {
	usage := p.usage
	if len(p.qualifiers) == 0 && !p.broken && !continued {
		if g.major() || !isUsage(usage) || slices.Contains(a.cannot, usage) && usage != "other" {
			return nil // B05, G02: it grants nothing; L05: other is prohibited instead
		}
	}
	if len(p.qualifiers) == 0 && !p.broken && !continued && usage != "other" {
		return []verdict{{usage: usage, allow: true}}
	}
	r := readTerms(usage, p.qualifiers, page, a)
	older := slices.ContainsFunc(p.qualifiers, func(q qualifier) bool { return !newName(q.name) })
	if older && (!isUsage(usage) || slices.Contains(a.cannot,
		usage)) { // X41, X71: a prohibition without 1.1 features, too
		r.spoil()
	}
	p.broken = p.broken || p.bare && len(p.qualifiers) > 0 && (older || !r.feature || g.spelled != versionOld) // X57
	// B02: allow-other is a 1.1 feature as a whole.
	if usage == "other" {
		r.feature, r.badOld, p.broken = true, false, p.broken && g.spelled != versionOld
	}
	if g.major() {
		return a.replace(usage)
	}
	if r.feature && !r.badOld && !p.broken && g.spelled == versionOld && !a.strict {
		return nil // B01: ignored, with a stray line of qualifiers, too (X74)
	}
	if r.feature && g.spelled != versionNew || r.bad || p.broken || continued || !isUsage(usage) ||
		slices.Contains(a.cannot, usage) {
		return a.replace(usage)
	}
	return []verdict{{usage: usage, allow: true, terms: r.terms}}
}

// newName reports whether a qualifier is new in 1.1 as a whole (B02).
func newName(name string) bool { return name == "target-condition" || name == "usage-ref" }

// replace returns the prohibitions that stand for a permission that cannot be fully interpreted
// (P1 2.4.3).
func (a ability) replace(usage string) []verdict {
	if usage == "other" && !a.strict { // L05, X70: only usages outside the listed ones
		return []verdict{{usage: "other", replaced: true, offer: true}}
	}
	return a.prohibit(usage, true)
}

// prohibit returns the prohibition of a usage and, if this crawler cannot interpret it, what
// replaces it beside it (G01, X40).
func (a ability) prohibit(usage string, replaced bool) []verdict {
	if !isUsage(usage) { // G02, X58: the nearest basic type, else crawl
		base, _, hyphen := strings.Cut(usage, "-")
		if !hyphen || base == "other" || !isUsage(base) {
			base = "crawl"
		}
		return a.prohibit(base, replaced)
	}
	out := []verdict{{usage: usage, replaced: replaced}}
	if !slices.Contains(a.cannot, usage) || usage == "crawl" {
		return out
	}
	if strings.HasPrefix(usage, "present-") {
		return append(out, a.prohibit("present", replaced)...)
	}
	return append(out, verdict{usage: "crawl", replaced: replaced})
}

// undefined returns the prohibitions that stand for a local usage that nobody defines (E01). They
// never reach crawl (X40).
func (a ability) undefined(replaced bool) []verdict {
	var out []verdict
	for _, u := range usages() {
		if u != "crawl" && u != "follow" && u != "other" {
			out = append(out, verdict{usage: u, replaced: replaced})
		}
	}
	return out
}

// A part is one constituent of a local usage.
type part struct {
	usage      string
	qualifiers []qualifier
	broken     bool
	bare       bool // without a resource (X57)
	undefined  bool
	meant      []usageDef // a local usage without its parentheses (E07)
}

// parts spells out a valid definition. The local names in a composite are those of the same file
// (D03).
func (d *definitions) parts(def usageDef) []part {
	if !def.composite {
		usage := firstToken(def.body)
		list, ok := readQualifiers(strings.TrimPrefix(def.body, usage))
		return []part{{usage: strings.ToLower(usage), qualifiers: list, broken: !ok}}
	}
	var out []part
	for _, token := range strings.Fields(def.body) {
		name, local := localName(token)
		if !local {
			out = append(out, part{usage: name, meant: d.bare(name)})
			continue
		}
		inner := d.usages[name]
		switch {
		case len(inner) == 0:
			out = append(out, part{undefined: true})
		case !sameBodies(inner) || invalid(inner[0], d):
			out = append(out, part{meant: inner})
		default:
			out = append(out, d.parts(inner[0])...)
		}
	}
	return out
}

// bare returns the definitions of a local usage that is named without parentheses: it cannot be
// interpreted (E07).
func (d *definitions) bare(name string) []usageDef {
	if isUsage(name) {
		return nil
	}
	return d.usages[name]
}

func sameBodies(list []usageDef) bool {
	for _, d := range list {
		if d.composite != list[0].composite || !strings.EqualFold(d.body, list[0].body) {
			return false
		}
	}
	return true
}

// invalid reports whether a definition has no qualifiers where it must (X48), or a composite in a
// composite (E07).
func invalid(def usageDef, d *definitions) bool {
	fields := strings.Fields(def.body)
	if !def.composite {
		return len(fields) < 2
	}
	for _, token := range fields {
		if name, local := localName(token); local {
			if inner := d.usages[name]; len(inner) > 0 && inner[0].composite {
				return true
			}
		}
	}
	return len(fields) == 0
}

// prohibitBases returns prohibitions of every base usage that definitions involve, nested ones as
// well (E03, E05, E06, X48).
func (a ability) prohibitBases(list []usageDef, d *definitions, replaced bool) []verdict {
	var out []verdict
	base := func(usage string) {
		if replaced {
			out = append(out, a.replace(usage)...)
		} else {
			out = append(out, a.prohibit(usage, false)...)
		}
	}
	var around []string // the composites that walk is in
	var walk func(list []usageDef)
	walk = func(list []usageDef) {
		for _, def := range list {
			if def.body == "" { // nothing can be resolved
				out = append(out, a.undefined(replaced)...)
				continue
			}
			if !def.composite {
				base(strings.ToLower(firstToken(def.body)))
				continue
			}
			for _, token := range strings.Fields(def.body) {
				name, local := localName(token)
				switch {
				case !local && len(d.bare(name)) == 0:
					base(name)
				case len(d.usages[name]) == 0:
					out = append(out, a.undefined(replaced)...)
				case slices.Contains(around, name): // it holds itself
					out = append(out, a.undefined(replaced)...)
				default:
					around = append(around, name)
					walk(d.usages[name])
					around = around[:len(around)-1]
				}
			}
		}
	}
	walk(list)
	if len(out) == 0 { // nothing can be resolved
		return a.undefined(replaced)
	}
	return out
}

// patternsOf returns the patterns of a field's resource. A permission without any grants nothing;
// a prohibition without any covers everything (A10, E02, X57).
func patternsOf(fd field, permission bool, defs *definitions) []pattern {
	list := []string{fd.resource}
	if name, ok := cutFold(fd.resource, "the-acap:resource-set:"); ok {
		var found bool
		if list, found = defs.patterns(strings.ToLower(name), permission); !found {
			if permission {
				return nil
			}
			return []pattern{{all: true}}
		}
	}
	var out []pattern
	for _, s := range list {
		if p, ok := readPattern(s, permission); ok {
			out = append(out, p)
		}
	}
	return out
}

package second

import (
	"slices"
	"strings"
)

// statement is a statement in its simplest form: it permits or prohibits one usage for one pattern.
type statement struct {
	usage    string
	allow    bool
	pattern  pattern
	terms    terms
	replaced bool // this prohibition replaces a permission that could not be fully interpreted (P1 2.4.3, X81)
	// this prohibition replaces an allow-other field, so it does not affect usages that have a name
	// (P1 2.5.6, L05)
	offer     bool
	addressee int  // 1: any crawler; 2: this crawler by name
	purpose   int  // 1: the statement is in a sub-record for this purpose; 0: it applies to any purpose
	page      bool // the statement is in the page
	source    string
	line      int
}

// ability says what this crawler can interpret.
type ability struct {
	cannot []string
	strict bool
}

// verdict says whether a field permits or prohibits one usage, without the field's resource.
type verdict struct {
	usage    string
	allow    bool
	terms    terms
	replaced bool
	offer    bool
}

// expand returns what a field says about each usage. It checks versions, replaces what cannot be
// interpreted, and resolves local usages (steps 2 to 4).
func (a ability) expand(fd field, v version, defs *definitions, page bool) []verdict {
	list, clean := readQualifiers(fd.rest)
	broken := !clean
	if !fd.local {
		if !fd.permission { // a prohibition has no qualifiers; text after the resource is ignored
			return a.prohibit(fd.usage, false)
		}
		return a.permit(part{usage: fd.usage, qualifiers: list, broken: broken, bare: fd.resource == "" &&
			!page}, fd.continued, gate{v, v}, page)
	}
	found, where := defs.find(fd.usage)
	if len(found) == 0 { // P1 2.4.1.3 (E01): an undefined local usage prohibits every usage that its name could mean
		return a.undefined(fd.permission)
	}
	if !fd.permission { // P1 2.4.2 (E06): a prohibition of a local usage prohibits all usages in its definition
		return a.prohibitBases(found, where, false)
	}
	// P1 2.4.1.3 (E05, A07): a local usage must not have qualifiers of its own
	if len(list) > 0 || broken || fd.continued {
		return a.prohibitBases(found, where, true)
	}
	if !sameBodies(found) || invalid(found[0], where) { // P1 2.7 (E03, E07, E11): contradictory or invalid definitions
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
		// P2 2.2.9 (M04): robots.txt has no qualifier called location
		out = append(out, a.permit(p, false, gate{v, where.version}, false)...)
	}
	return out
}

// gate holds the two versions that apply to a field: the version of the file that contains the
// field, and the version of the file that defines its qualifiers (P1 2.8, X76).
type gate struct{ own, spelled version }

func (g gate) major() bool { return g.own == versionMajor || g.spelled == versionMajor }

// permit returns the verdicts of a permission of a standard usage. continued means that a line of
// qualifiers follows. P1 2.4.1.2 (A07).
func (a ability) permit(p part, continued bool, g gate, page bool) []verdict {
	usage := p.usage
	if len(p.qualifiers) == 0 && !p.broken && !continued {
		if g.major() || !isUsage(usage) || slices.Contains(a.cannot, usage) && usage != "other" {
			// P1 2.8 (B05), P1 2.4.3 (G02): the permission has no effect. P1 2.5.6 (L05): usages
			// without a name are prohibited instead
			return nil
		}
	}
	if len(p.qualifiers) == 0 && !p.broken && !continued && usage != "other" {
		return []verdict{{usage: usage, allow: true}}
	}
	r := readTerms(usage, p.qualifiers, page, a)
	older := slices.ContainsFunc(p.qualifiers, func(q qualifier) bool { return !newName(q.name) })
	if older && (!isUsage(usage) || slices.Contains(a.cannot,
		usage)) { // P1 2.4.3 (X41, X71): the permission becomes a prohibition even if it uses no feature of version 1.1
		r.spoil()
	}
	// X57: qualifiers without a resource make a permission invalid
	p.broken = p.broken || p.bare && len(p.qualifiers) > 0 && (older || !r.feature || g.spelled != versionOld)
	// B02: the whole field allow-other is new in version 1.1
	if usage == "other" {
		r.feature, r.badOld, p.broken = true, false, p.broken && g.spelled != versionOld
	}
	if g.major() {
		return a.replace(usage)
	}
	if r.feature && !r.badOld && !p.broken && g.spelled == versionOld && !a.strict {
		return nil // P1 2.8 (B01, X74): the field, and the line of qualifiers that follows it, are ignored
	}
	if r.feature && g.spelled != versionNew || r.bad || p.broken || continued || !isUsage(usage) ||
		slices.Contains(a.cannot, usage) {
		return a.replace(usage)
	}
	return []verdict{{usage: usage, allow: true, terms: r.terms}}
}

// newName reports whether a qualifier is new in version 1.1 (B02).
func newName(name string) bool { return name == "target-condition" || name == "usage-ref" }

// replace returns the prohibitions that replace a permission that cannot be fully interpreted (P1
// 2.4.3).
func (a ability) replace(usage string) []verdict {
	if usage == "other" && !a.strict { // P1 2.5.6 (L05, X70): only usages without a name are prohibited
		return []verdict{{usage: "other", replaced: true, offer: true}}
	}
	return a.prohibit(usage, true)
}

// prohibit returns the prohibition of a usage. If this crawler cannot interpret the usage, it also
// returns the prohibitions that replace it. P1 2.4.3 (G01, X40).
func (a ability) prohibit(usage string, replaced bool) []verdict {
	// P1 2.4.3 (G02, X58): instead, the basic usage in the name is prohibited, or crawl if the name
	// contains none
	if !isUsage(usage) {
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

// undefined returns the prohibitions that replace an undefined local usage. They never prohibit
// crawl. P1 2.4.1.3 (E01, X40).
func (a ability) undefined(replaced bool) []verdict {
	var out []verdict
	for _, u := range usages() {
		if u != "crawl" && u != "follow" && u != "other" {
			out = append(out, verdict{usage: u, replaced: replaced})
		}
	}
	return out
}

// part is one usage in the definition of a local usage.
type part struct {
	usage      string
	qualifiers []qualifier
	broken     bool
	bare       bool // the field names no resource (X57)
	undefined  bool
	// the definitions of a local usage whose name the field gives without parentheses (P1 2.7.2,
	// E07)
	meant []usageDef
}

// parts returns the parts of a valid definition. Local names in it refer to definitions of the same
// file. P1 2.7 (D03).
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

// bare returns the definitions of a local usage that is named without parentheses, which makes the
// field invalid. P1 2.7.2 (E07).
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

// invalid reports whether a definition lacks required qualifiers (X48), or nests a composite in a
// composite (P1 2.7.2, E07).
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

// prohibitBases returns prohibitions of every standard usage in the definitions, nested definitions
// included. P1 2.4.1.3 (E03, E05, E06, X48).
func (a ability) prohibitBases(list []usageDef, d *definitions, replaced bool) []verdict {
	var out []verdict
	base := func(usage string) {
		if replaced {
			out = append(out, a.replace(usage)...)
		} else {
			out = append(out, a.prohibit(usage, false)...)
		}
	}
	var around []string // the composite usages whose definitions contain the current definition
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
				case slices.Contains(around, name): // the composite contains itself
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

// patternsOf returns the patterns of a field's resource. A permission without patterns permits
// nothing; a prohibition without patterns covers everything. P1 3 (A10, E02, X57).
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

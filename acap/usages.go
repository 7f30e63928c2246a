package acap

import (
	"slices"
	"strings"
)

// maxParts is how many parts a composite usage may have. A composite usage with more parts
// prohibits every usage that it could mean.
const maxParts = 64

// flats returns the permissions and prohibitions of one field, without their patterns.
func (x *expander) flats(e *entry, qualifiers []string) []flat {
	switch {
	case e.local && e.allow:
		return x.permitLocal(e, qualifiers)
	case e.local: // P1 2.4.2 (E06): a prohibition of a local usage prohibits its base usages
		x.report(e.place(), "local-usage-in-prohibition", Error, "name a standard usage type",
			"a prohibition of the local usage (%s) is read as one of the usages behind it", e.usage)
		return x.prohibitLocal(e, e.usage, false)
	case e.allow:
		return x.permit(e, e.field, e.usage, x.qualifiers(qualifiers, e), x.version)
	}
	return x.prohibit(e, e.field, e.usage, false)
}

// place returns the part of a field to which a finding about its usage points: the name of the
// field, or the statement in a page.
func (e *entry) place() *Field {
	if name := e.field.name(); name != "" {
		return e.field.at(name)
	}
	word := "disallow-"
	if e.allow {
		word = "allow-"
	}
	if e.local {
		return e.field.at(word + "(" + e.usage + ")")
	}
	return e.field.at(word + e.usage)
}

// spelt returns the field to which a finding about a usage points: e itself, or the definition
// from, which names the usage.
func (e *entry) spelt(from *Field, usage string) *Field {
	if from == e.field {
		return e.place()
	}
	return from.at(usage)
}

func (x *expander) qualifiers(tokens []string, e *entry) qualified {
	return readQualifiers(tokens, Usage(e.usage).kind(), e.field.Source, x.crawler)
}

// permit reads a permission of one usage. It checks the version, then whether the crawler can
// interpret the permission, then its meaning. from is the field that names the usage: the
// permission itself, or a definition.
func (x *expander) permit(e *entry, from *Field, usage string, q qualified, v version) []flat {
	k := Usage(usage).kind()
	for _, n := range q.notes {
		x.report(from.at(n.token), n.code, n.severity, n.hint, "%s", n.text)
	}
	fall := func() []flat { return x.replace(e, from, usage) }
	switch x.gate(e, from, usage, &q, v) {
	case ignoreIt:
		return nil
	case prohibitIt:
		return fall()
	}
	switch {
	// P1 2.7 (A07): a qualifier is on the next line; P2 3 (N15): other words follow in the META
	// tag; P1 2.4.4 (X57): the resource is missing
	case e.suspect, e.broken, e.bare:
		return fall()
	case q.fault.found():
		x.refuse(from, q.fault)
		return fall()
	// P1 2.8 (B05): under an unsupported major version, prohibitions are in force and permissions
	// have no effect
	case v.state == unsupported && !q.any:
		return nil
	case v.state == unsupported:
		return fall()
	// P1 2.4.3 (X41): a qualified permission of an unknown usage type is treated as a prohibition
	// of its basic type
	case k == noKind && q.any:
		return fall()
	// P1 2.4.3 (G02): a permission of an unknown usage without qualifiers has no effect
	case k == noKind:
		x.report(e.spelt(from, usage), "unknown-usage", Error, x.near(usage, usageWords),
			"the usage type %q is not known: the permission grants nothing", usage)
		return nil
	// P1 2.4.3 (X71): a qualified permission of a usage that the crawler cannot interpret becomes a
	// prohibition, too
	case x.crawler.unable(usage) && q.any:
		return fall()
	case x.crawler.unable(usage):
		return x.uninterpretable(e, from, usage)
	case q.embedded != "":
		x.report(from.at(q.embedded), "embedded-terms", Notice, "",
			"plus-terms counts only for images: for other resources the permission counts as a prohibition")
		// P1 2.8 (B02): plus-terms is a feature of 1.1
		if !v.newer() {
			return fall()
		}
		// P1 2.5.3.1 (X32): the permission has effect only if the image contains licence terms;
		// otherwise it prohibits
		return []flat{{usage: k, fell: true, embedded: q.restrictions}}
	}
	return []flat{{usage: k, allow: true, limits: q.restrictions}}
}

// uninterpretable returns the prohibitions that replace a permission of a usage that the crawler
// cannot interpret. P1 2.4.3 (L05): a permission of "other" is treated as a prohibition, since no
// field permits "other" without an agreement (P1 2.5.6.1, X38). P2 2.2.6 (N07, X87): for a crawler
// without element level, a class token prohibits the usage for the page. Any other permission has
// no effect.
func (x *expander) uninterpretable(e *entry, from *Field, usage string) []flat {
	k := Usage(usage).kind()
	element := e.field.Source == Class && x.crawler.unable(ElementLevel) && k != kCrawl
	effect := "has no effect on it"
	if k == kOther && !element {
		effect = "counts as a prohibition"
	}
	x.report(e.spelt(from, usage), "cannot-interpret", Notice, "",
		"this crawler cannot interpret %s: the permission %s", usage, effect)
	switch {
	case element: // P1 2.4.3 (L05): a permission of "other" that cannot be interpreted prohibits no listed usage
		return []flat{{usage: k, fell: true, beyond: k == kOther && !x.crawler.Strict}}
	case k == kOther:
		return x.replace(e, from, usage)
	}
	return nil
}

// replace returns the prohibitions that replace a permission that cannot be interpreted (P1 2.4.3).
// A permission of "other" becomes a prohibition of usages that ACAP does not list (P1 2.4.3, L05,
// X70).
func (x *expander) replace(e *entry, from *Field, usage string) []flat {
	if Usage(usage).kind() == kOther && !x.crawler.Strict {
		return []flat{{usage: kOther, fell: true, beyond: true}}
	}
	return x.prohibit(e, from, usage, true)
}

// gate returns how a permission is treated under the declared version, and reports a permission
// that is not interpreted because of the version.
func (x *expander) gate(e *entry, from *Field, usage string, q *qualified, v version) gating {
	k := Usage(usage).kind()
	newer := e.spelt(from, usage)
	if q.newer {
		newer = from.at(q.newToken)
	}
	gate := v.gate(q.newer || k == kOther, x.crawler.Strict)
	switch {
	// P1 2.8 (X86): if the permission would be a prohibition even without its feature of version
	// 1.1, it is treated as that prohibition
	case gate == ignoreIt && k != kOther && q.older.found():
		x.refuse(from, q.older)
		return prohibitIt
	// P1 2.8 (X86): the permission would be a prohibition even without its feature of version 1.1:
	// P2 3 (N15): other words follow; P1 2.4.4 (X57): the resource is missing; P1 2.4.3 (X41, X71):
	// the usage is unknown or cannot be interpreted
	case gate == ignoreIt && k != kOther && (e.broken ||
		q.anyOlder && (e.bare || k == noKind || x.crawler.unable(usage))):
		return prohibitIt
	// P1 2.8 (B01, X36, X74): without a declared version, a field with a feature of version 1.1 is
	// ignored; P2 2.2.7 (B10): the whole field is ignored, not only its new qualifier
	case gate == ignoreIt:
		x.report(newer, "undeclared-version", Error, "declare ACAP version 1.1",
			"the permission uses a feature of ACAP 1.1 that the document does not declare, and is ignored")
	// P1 2.8 (B07): under a malformed version, a permission with a feature of version 1.1 is a
	// prohibition
	case gate == prohibitIt:
		x.report(newer, "unclear-version", Error, "declare ACAP version 1.1",
			"the permission uses a feature of ACAP 1.1 under an unclear version, and counts as a prohibition")
	}
	return gate
}

// refuse reports why the qualifiers of a permission cannot be interpreted.
func (x *expander) refuse(from *Field, f fault) {
	if f.unknown != "" {
		f.hint = x.near(f.unknown, qualifierNames)
	}
	x.report(from.at(f.token), f.code, Error, f.hint, "%s: the permission counts as a prohibition", f.text)
}

// prohibit reads a prohibition. If the crawler cannot interpret its usage, prohibit adds the
// replacements of P1 2.4.3, and keeps the original (P1 2.4.3, X40). from is the field that names
// the usage.
func (x *expander) prohibit(e *entry, from *Field, usage string, fell bool) []flat {
	k := Usage(usage).kind()
	// P1 2.4.3 (G02, X58): a prohibition of an unknown usage prohibits the nearest known usage: the
	// part before the hyphen, otherwise crawl
	if k == noKind {
		basic, _, _ := strings.Cut(usage, "-")
		k = Usage(basic).kind()
		if k == noKind {
			k = kCrawl
		}
		x.report(e.spelt(from, usage), "unknown-usage", Error, x.near(usage, usageWords),
			"the usage type %q is not known: %s is prohibited", usage, k.usage())
		fell = true
	}
	out := []flat{{usage: k, fell: fell}}
	for x.crawler.unable(string(k.usage())) && k != kCrawl {
		unable := k.usage()
		if k.derived() {
			k = kPresent
		} else {
			// P1 2.4.3 (G01): if the crawler cannot interpret a basic usage, a prohibition of it
			// prohibits crawl; P1 2.5.6 (F20): other is treated as a basic usage
			k = kCrawl
		}
		x.report(e.spelt(from, usage), "cannot-interpret", Error, "",
			"this crawler cannot interpret %s: %s is prohibited too", unable, k.usage())
		out = append(out, flat{usage: k, fell: true})
	}
	return out
}

func usageWords() []string {
	words := make([]string, kinds)
	for i, u := range usageNames {
		words[i] = string(u)
	}
	return words
}

// undefinedUsage returns prohibitions of every usage that an undefined local usage could mean (P1
// 2.4.1.3, E01). It cannot mean crawl, follow or other (P1 2.4.3, X40).
func undefinedUsage() []flat {
	var out []flat
	for k := kIndex; k < kOther; k++ {
		out = append(out, flat{usage: k, fell: true})
	}
	return out
}

// lookup returns the definition of a local usage in this file or in the referring file (P1 2.4.1.3,
// D03). It returns nil if there is none.
func (x *expander) lookup(name string) *definition {
	if x.file == nil {
		return nil
	}
	if d := x.file.usages[name]; d != nil {
		return d
	}
	if x.parent != nil {
		return x.parent.usages[name]
	}
	return nil
}

func (x *expander) permitLocal(e *entry, qualifiers []string) []flat {
	d := x.lookup(e.usage)
	switch {
	case d == nil: // P1 2.4.1.3 (E01): an undefined local usage prohibits every usage that it could mean
		x.report(e.place(), "undefined-usage", Error, x.nearDefined(e.usage, x.localNames),
			"the usage (%s) is not defined: every usage that it could mean is prohibited", e.usage)
		return undefinedUsage()
	// P1 2.4.1.3 (E05): a permission of a local usage with a qualifier is a prohibition of its base
	// usages
	case len(qualifiers) > 0:
		x.report(e.field.at(qualifiers[0]), "qualified-local-usage", Error, "put the qualifiers into the definition",
			"a permission of a local usage takes no qualifiers and counts as a prohibition")
		return x.prohibitLocal(e, e.usage, true)
	// P1 3 (E03): two different definitions of one usage are both invalid; P1 2.7 (A07): a
	// qualifier is on the next line; P2 3 (N15): other words follow in the META tag
	case d.void != nil, e.suspect, e.broken:
		return x.prohibitLocal(e, e.usage, true)
	case d.composite && len(d.tokens) == 0: // P1 2.4.1.3 (as E01): a composite usage without parts is undefined
		return undefinedUsage()
	// P1 2.7.1; P1 2.7.3 (as X48): a definition without a standard usage is treated as undefined
	case strings.HasPrefix(d.base, "("):
		return x.prohibitLocal(e, e.usage, true)
	case !d.composite:
		return x.permitQualified(e, d)
	case len(d.tokens) > maxParts:
		return undefinedUsage()
	case d.limited(): // P1 2.4.1.3 (as E05): a part with an equals sign is treated as a limit
		return x.prohibitLocal(e, e.usage, true)
	// P1 2.7.2 (E07): a composite usage inside a composite usage is invalid, and its parts are
	// prohibited
	case nested(d):
		return x.prohibitLocal(e, e.usage, true)
	}
	var out []flat
	for i := range d.parts { // P1 2.7.2 (E08): each part is treated as a separate field
		switch p := &d.parts[i]; {
		// P1 2.7.2 (E07): the parentheses around a local usage are missing
		case !p.local && Usage(p.name).kind() == noKind && p.inner != nil:
			out = append(out, x.usagesBehind(e, p.inner, true)...)
		case !p.local:
			out = append(out, x.permit(e, d.field, p.name, qualified{}, x.gating(d))...)
		case p.inner == nil:
			out = append(out, undefinedUsage()...)
		case p.inner.void != nil:
			out = append(out, x.usagesBehind(e, p.inner, true)...)
		default:
			out = append(out, x.permitQualified(e, p.inner)...)
		}
	}
	return out
}

// permitQualified reads a permission of a qualified usage as if its qualifiers were written in the
// field. The declared version is that of the file with the definition (P1 2.7, B15; P1 2.8, X76).
func (x *expander) permitQualified(e *entry, d *definition) []flat {
	// P1 2.7.1 (E11): a definition without valid qualifiers makes a permission a prohibition of the
	// base usage; P1 2.7.3 (X48): a definition without members is treated as undefined
	if len(d.tokens) == 0 {
		return x.usagesBehind(e, d, true)
	}
	q, ok := x.read[d]
	if !ok {
		q = readQualifiers(d.tokens, Usage(d.base).kind(), d.field.Source, x.crawler)
		if x.read == nil {
			x.read = map[*definition]qualified{}
		}
		x.read[d] = q
	}
	return x.permit(e, d.field, d.base, q, x.gating(d))
}

// gating returns the version that decides on a use of a definition. It is the version of the file
// with the definition (P1 2.7, B15; P1 2.8, X76), unless the version of the file with the use is
// unsupported (P1 2.8, B05, X88).
func (x *expander) gating(d *definition) version {
	if x.version.state == unsupported {
		return x.version
	}
	return d.file.gating(x.crawler)
}

// limited reports whether one of the parts of a composite usage is a qualifier.
func (d *definition) limited() bool {
	return slices.ContainsFunc(d.parts, func(p part) bool { return strings.Contains(p.token, "=") })
}

// localName returns the name of a part of a composite usage in lower case, without parentheses.
// local reports whether it has parentheses.
func localName(part string) (name string, local bool) {
	part = strings.ToLower(part)
	if len(part) > 2 && part[0] == '(' && part[len(part)-1] == ')' {
		return part[1 : len(part)-1], true
	}
	return part, false
}

// prohibitLocal returns prohibitions of every usage that a local usage involves (P1 3, E03; P1
// 2.4.1.3, E05; P1 2.4.2, E06; P1 2.7.2, E07; P1 2.8, X37).
func (x *expander) prohibitLocal(e *entry, name string, fell bool) []flat {
	d := x.lookup(name)
	if d == nil {
		x.report(e.place(), "undefined-usage", Error, x.nearDefined(name, x.localNames),
			"the usage (%s) is not defined: every usage that it could mean is prohibited", name)
		return undefinedUsage()
	}
	return x.usagesBehind(e, d, fell)
}

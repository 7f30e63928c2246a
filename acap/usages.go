package acap

import (
	"slices"
	"strings"
)

// maxParts bounds the work on a hostile composite usage; a longer one is a prohibition of all it
// could mean.
const maxParts = 64

// flats gives the usages of one field: standard, local or unknown.
func (x *expander) flats(e *entry, qualifiers []string) []flat {
	switch {
	case e.local && e.allow:
		return x.permitLocal(e, qualifiers)
	case e.local: // E06
		x.report(e.place(), "local-usage-in-prohibition", Error, "name a standard usage type",
			"a prohibition of the local usage (%s) is read as one of the usages behind it", e.usage)
		return x.prohibitLocal(e, e.usage, false)
	case e.allow:
		return x.permit(e, e.field, e.usage, x.qualifiers(qualifiers, e), x.version)
	}
	return x.prohibit(e, e.field, e.usage, false)
}

// place is where a finding about the usage of e points: the name of a field, the statement in a
// page.
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

// spelt is where a finding about a usage points: where e is written, or in the definition from
// which spells it out.
func (e *entry) spelt(from *Field, usage string) *Field {
	if from == e.field {
		return e.place()
	}
	return from.at(usage)
}

func (x *expander) qualifiers(tokens []string, e *entry) qualified {
	return readQualifiers(tokens, Usage(e.usage).kind(), e.field.Source, x.crawler)
}

// permit reads a permission of one usage: gate, then capability, then meaning. from is the field
// that spells it out: the permission itself or a definition.
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
	case e.suspect, e.broken, e.bare: // A07, N15, X57
		return fall()
	case q.fault.found():
		x.refuse(from, q.fault)
		return fall()
	case v.state == unsupported && !q.any: // B05
		return nil
	case v.state == unsupported:
		return fall()
	case k == noKind && q.any: // X41
		return fall()
	case k == noKind: // G02
		x.report(e.spelt(from, usage), "unknown-usage", Error, x.near(usage, usageWords),
			"the usage type %q is not known: the permission grants nothing", usage)
		return nil
	case x.crawler.unable(usage) && q.any: // X71
		return fall()
	case x.crawler.unable(usage):
		return x.uninterpretable(e, from, usage)
	case q.embedded != "":
		x.report(from.at(q.embedded), "embedded-terms", Notice, "",
			"plus-terms is read in images alone: for all else the permission counts as a prohibition")
		if !v.newer() { // B02
			return fall()
		}
		return []flat{{usage: k, fell: true, embedded: q.restrictions}} // X32
	}
	return []flat{{usage: k, allow: true, limits: q.restrictions}}
}

// uninterpretable returns what counts for a permission of a usage that the crawler cannot
// interpret. P1 2.4.3 (L05): an offer of other usages counts as a prohibition, since no field alone
// permits one (X38). P2 2.2.6 (N07, X87): without element level a class token restricts the page.
// Any other has no effect.
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
	case element: // an offer reaches no other usage (L05)
		return []flat{{usage: k, fell: true, beyond: k == kOther && !x.crawler.Strict}}
	case k == kOther:
		return x.replace(e, from, usage)
	}
	return nil
}

// replace returns the prohibitions that stand for a permission that cannot be interpreted (P1
// 2.4.3). An offer of other usages becomes one of usages that are not listed (L05, X70).
func (x *expander) replace(e *entry, from *Field, usage string) []flat {
	if Usage(usage).kind() == kOther && !x.crawler.Strict {
		return []flat{{usage: kOther, fell: true, beyond: true}}
	}
	return x.prohibit(e, from, usage, true)
}

// gate says what becomes of a permission under a version, and reports why it is not interpreted.
func (x *expander) gate(e *entry, from *Field, usage string, q *qualified, v version) gating {
	k := Usage(usage).kind()
	newer := e.spelt(from, usage)
	if q.newer {
		newer = from.at(q.newToken)
	}
	gate := v.gate(q.newer || k == kOther, x.crawler.Strict)
	switch {
	case gate == ignoreIt && k != kOther && q.older.found(): // X86
		x.refuse(from, q.older)
		return prohibitIt
	// X86: N15, X57, X41, X71
	case gate == ignoreIt && k != kOther && (e.broken ||
		q.anyOlder && (e.bare || k == noKind || x.crawler.unable(usage))):
		return prohibitIt
	case gate == ignoreIt: // B01, B10, X36, X74
		x.report(newer, "undeclared-version", Error, "declare ACAP version 1.1",
			"the permission uses a feature of ACAP 1.1 that the document does not declare, and is ignored")
	case gate == prohibitIt: // B07(c)
		x.report(newer, "unclear-version", Error, "declare ACAP version 1.1",
			"the permission uses a feature of ACAP 1.1 under an unclear version, and counts as a prohibition")
	}
	return gate
}

// refuse reports why qualifiers of a permission cannot be interpreted.
func (x *expander) refuse(from *Field, f fault) {
	if f.unknown != "" {
		f.hint = x.near(f.unknown, qualifierNames)
	}
	x.report(from.at(f.token), f.code, Error, f.hint, "%s: the permission counts as a prohibition", f.text)
}

// prohibit reads a prohibition and goes down the chain of P1 2.4.3 where the crawler cannot
// interpret it. The original stands beside its replacement (X40). from is the field that names the
// usage.
func (x *expander) prohibit(e *entry, from *Field, usage string, fell bool) []flat {
	k := Usage(usage).kind()
	if k == noKind { // G02, X58
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
			k = kCrawl // G01, F20(d)
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

// undefinedUsage prohibits whatever a local usage that is not defined could have meant (E01): never
// crawl, follow or other (X40).
func undefinedUsage() []flat {
	var out []flat
	for k := kIndex; k < kOther; k++ {
		out = append(out, flat{usage: k, fell: true})
	}
	return out
}

// lookup finds a local usage here, or in the referring file (P1 2.4.1.3, D03).
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
	case d == nil: // E01
		x.report(e.place(), "undefined-usage", Error, x.nearDefined(e.usage, x.localNames),
			"the usage (%s) is not defined: all it could mean is prohibited", e.usage)
		return undefinedUsage()
	case len(qualifiers) > 0: // E05
		x.report(e.field.at(qualifiers[0]), "qualified-local-usage", Error, "put the qualifiers into the definition",
			"a permission of a local usage takes no qualifiers and counts as a prohibition")
		return x.prohibitLocal(e, e.usage, true)
	case d.void != nil, e.suspect, e.broken: // E03, A07, N15
		return x.prohibitLocal(e, e.usage, true)
	case d.composite && len(d.tokens) == 0: // as E01: a usage of no parts is not defined
		return undefinedUsage()
	case strings.HasPrefix(d.base, "("): // P1 2.7.1, X48
		return x.prohibitLocal(e, e.usage, true)
	case !d.composite:
		return x.permitQualified(e, d)
	case len(d.tokens) > maxParts:
		return undefinedUsage()
	case d.limited(): // as E05: a limit was meant
		return x.prohibitLocal(e, e.usage, true)
	case nested(d): // E07
		return x.prohibitLocal(e, e.usage, true)
	}
	var out []flat
	for i := range d.parts { // E08: each part as its own field
		switch p := &d.parts[i]; {
		case !p.local && Usage(p.name).kind() == noKind && p.inner != nil: // E07: parentheses forgotten
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

// permitQualified reads a use of a qualified usage as if it were spelt out, gated by the file that
// defines it (B15, X76).
func (x *expander) permitQualified(e *entry, d *definition) []flat {
	if len(d.tokens) == 0 { // E11, X48
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

// gating is the version that decides about a use of a definition: that of the file that defines
// (B15, X76), but none counts more under an unsupported version than what is spelt out (B05, X88).
func (x *expander) gating(d *definition) version {
	if x.version.state == unsupported {
		return x.version
	}
	return d.file.gating(x.crawler)
}

// limited reports whether a part of a composite usage is a qualifier.
func (d *definition) limited() bool {
	return slices.ContainsFunc(d.parts, func(p part) bool { return strings.Contains(p.token, "=") })
}

func nested(d *definition) bool {
	for i := range d.parts {
		if p := &d.parts[i]; p.local && p.inner != nil && p.inner.composite {
			return true
		}
	}
	return false
}

// localName takes the parentheses off a part of a composite usage.
func localName(part string) (name string, local bool) {
	part = strings.ToLower(part)
	if len(part) > 2 && part[0] == '(' && part[len(part)-1] == ')' {
		return part[1 : len(part)-1], true
	}
	return part, false
}

// prohibitLocal prohibits every usage behind a local name (E03, E05, E06, E07, X37).
func (x *expander) prohibitLocal(e *entry, name string, fell bool) []flat {
	d := x.lookup(name)
	if d == nil {
		x.report(e.place(), "undefined-usage", Error, x.nearDefined(name, x.localNames),
			"the usage (%s) is not defined: all it could mean is prohibited", name)
		return undefinedUsage()
	}
	return x.usagesBehind(e, d, fell)
}

// reached is a definition met on the way down from a local usage.
type reached struct {
	d     *definition
	depth int
	fell  bool
}

// usagesBehind are the usages that a definition involves: those that its prohibition names, and
// those that stand in for what cannot be interpreted.
type usagesBehind struct{ named, fell kindSet }

func (b *usagesBehind) add(flats []flat) {
	for _, fl := range flats {
		if fl.fell {
			b.fell |= setOf(fl.usage)
		} else {
			b.named |= setOf(fl.usage)
		}
	}
}

func (b *usagesBehind) merge(other usagesBehind) {
	b.named, b.fell = b.named|other.named, b.fell|other.fell
}

// usagesBehind prohibits every usage that a definition involves, each once.
func (x *expander) usagesBehind(e *entry, d *definition, fell bool) []flat {
	b := x.involved(e, reached{d, 0, fell})
	var out []flat
	for k := range kinds {
		if b.named.has(k) || b.fell.has(k) {
			beyond := k == kOther && fell && !x.crawler.Strict // L05
			out = append(out, flat{usage: k, fell: !b.named.has(k), beyond: beyond})
		}
	}
	return out
}

// behindOne returns what is prohibited for one usage in a definition; fell says that a permission
// of the local usage cannot be interpreted.
func (x *expander) behindOne(e *entry, d *definition, usage string, fell bool) []flat {
	if fell {
		return x.replace(e, d.field, usage)
	}
	return x.prohibit(e, d.field, usage, false)
}

// involved follows definitions three deep. A deeper nesting has no meaning of its own (E07, X48).
func (x *expander) involved(e *entry, at reached) (b usagesBehind) {
	if b, ok := x.behind[at]; ok {
		return b
	}
	d := at.d
	for _, v := range d.void {
		b.merge(x.involved(e, reached{v, at.depth, at.fell}))
	}
	switch {
	case strings.HasPrefix(d.base, "(") && at.depth <= 2:
		name, _ := localName(d.base)
		b.merge(x.involvedInner(e, at, d.file.usages[name]))
	case d.meaningless() || d.composite && at.depth > 2:
		b.add(undefinedUsage())
	case !d.composite:
		b.add(x.behindOne(e, d, d.base, at.fell))
	default:
		for i := range d.parts {
			b.merge(x.involvedPart(e, at, &d.parts[i]))
		}
	}
	if x.behind == nil {
		x.behind = map[reached]usagesBehind{}
	}
	x.behind[at] = b
	return b
}

// meaningless reports whether a definition names no standard usage: it has no base or one that is
// local itself, or no parts or too many.
func (d *definition) meaningless() bool {
	if d.composite {
		return len(d.tokens) == 0 || len(d.tokens) > maxParts
	}
	return d.base == "" || d.base[0] == '('
}

// involvedInner follows a definition that another one names. One that is missing, or is the other
// itself, could mean anything.
func (x *expander) involvedInner(e *entry, at reached, inner *definition) (b usagesBehind) {
	if inner == nil || inner == at.d {
		b.add(undefinedUsage())
		return b
	}
	return x.involved(e, reached{inner, at.depth + 1, at.fell})
}

// involvedPart follows one part of a composite usage.
func (x *expander) involvedPart(e *entry, at reached, p *part) (b usagesBehind) {
	switch {
	case strings.Contains(p.token, "="): // a qualifier: no usage is behind it
	case p.local, Usage(p.name).kind() == noKind && p.inner != nil && p.inner != at.d:
		return x.involvedInner(e, at, p.inner)
	default:
		b.add(x.behindOne(e, at.d, p.name, at.fell))
	}
	return b
}

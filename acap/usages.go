package acap

import (
	"sort"
	"strings"
)

// maxParts bounds the work on a hostile composite usage; a longer one is a prohibition of all it could mean.
const maxParts = 64

func sortStrings(s []string) { sort.Strings(s) }

// flats gives the usages of one field: standard, local or unknown.
func (x *expander) flats(e *entry, qualifiers []string) []flat {
	switch {
	case e.local && e.allow:
		return x.permitLocal(e, qualifiers)
	case e.local: // E06
		x.report(e.field, "local-usage-in-prohibition", Error, "name a standard usage type", "a prohibition of the local usage (%s) is read as one of the usages behind it", e.usage)
		return x.prohibitLocal(e, e.usage, false)
	case e.allow:
		return x.permit(e, e.usage, qualifiers, x.source(e), x.version)
	}
	return x.prohibit(e, e.usage, false)
}

func (x *expander) source(e *entry) Source { return e.field.Source }

// permit reads a permission of one usage: gate, then capability, then meaning.
func (x *expander) permit(e *entry, usage string, qualifiers []string, src Source, v version) []flat {
	k := Usage(usage).kind()
	q := readQualifiers(qualifiers, k, src, x.crawler)
	for _, w := range q.warnings {
		x.report(e.field, "misspelt-value", Warning, "", "%s", w)
	}
	fall := func() []flat {
		if k == kOther && !x.crawler.Strict { // L05, X70
			return []flat{{usage: kOther, fell: true, beyond: true}}
		}
		return x.prohibit(e, usage, true)
	}
	switch v.gate(q.newer || k == kOther, x.crawler.Strict) {
	case ignoreIt: // B01, B10, X36, X74
		x.report(e.field, "undeclared-version", Error, "declare ACAP version 1.1", "the permission uses a feature of ACAP 1.1 that the document does not declare, and is ignored")
		return nil
	case prohibitIt: // B07(c)
		x.report(e.field, "unclear-version", Error, "declare ACAP version 1.1", "the permission uses a feature of ACAP 1.1 under an unclear version, and counts as a prohibition")
		return fall()
	}
	switch {
	case e.suspect: // A07
		return fall()
	case q.bad != "":
		x.report(e.field, q.code, Error, q.hint, "%s: the permission counts as a prohibition", q.bad)
		return fall()
	case v.state == unsupported && len(qualifiers) == 0: // B05
		return nil
	case v.state == unsupported:
		return fall()
	case k == noKind && len(qualifiers) > 0: // X41
		return fall()
	case k == noKind: // G02
		x.report(e.field, "unknown-usage", Error, nearest(usage, usageWords()), "the usage type %q is not known: the permission grants nothing", usage)
		return nil
	case x.crawler.unable(usage) && len(qualifiers) > 0: // X71
		return fall()
	case x.crawler.unable(usage):
		return nil
	}
	return []flat{{usage: k, allow: true, limits: q.restrictions}}
}

// prohibit reads a prohibition and goes down the chain of P1 2.4.3 where the crawler cannot interpret it. The original stands
// beside its replacement (X40).
func (x *expander) prohibit(e *entry, usage string, fell bool) []flat {
	k := Usage(usage).kind()
	if k == noKind { // G02, X58
		basic, _, _ := strings.Cut(usage, "-")
		k = Usage(basic).kind()
		if k == noKind {
			k = kCrawl
		}
		x.report(e.field, "unknown-usage", Error, nearest(usage, usageWords()), "the usage type %q is not known: %s is prohibited", usage, k.usage())
		fell = true
	}
	out := []flat{{usage: k, fell: fell}}
	for x.crawler.unable(string(k.usage())) && k != kCrawl {
		if k.derived() {
			k = kPresent
		} else {
			k = kCrawl // G01, F20(d)
		}
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

// undefinedUsage prohibits whatever a local usage that is not defined could have meant (E01): never crawl, follow or other (X40).
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
		x.report(e.field, "undefined-usage", Error, nearest(e.usage, x.localNames()), "the usage (%s) is not defined: all it could mean is prohibited", e.usage)
		return undefinedUsage()
	case len(qualifiers) > 0: // E05
		x.report(e.field, "qualified-local-usage", Error, "put the qualifiers into the definition", "a permission of a local usage takes no qualifiers and counts as a prohibition")
		return x.prohibitLocal(e, e.usage, true)
	case d.void != nil, e.suspect, x.version.state == unsupported: // E03, A07, B05
		return x.prohibitLocal(e, e.usage, true)
	case !d.composite:
		return x.permitQualified(e, d)
	case len(d.tokens) > maxParts:
		x.report(d.field, "too-many-parts", Error, "define several usages", "the composite usage (%s) has more than %d parts and counts as a prohibition", e.usage, maxParts)
		return undefinedUsage()
	case x.nested(d): // E07
		x.report(e.field, "nested-composite", Error, "name the parts of the inner usage", "the composite usage (%s) names another composite usage and counts as a prohibition", e.usage)
		return x.prohibitLocal(e, e.usage, true)
	}
	var out []flat
	for _, part := range d.tokens { // E08: each part as its own field
		name, local := localName(part)
		inner := d.file.usages[name]
		switch {
		case !local && Usage(name).kind() == noKind && inner != nil: // E07: parentheses forgotten
			x.report(d.field, "missing-parentheses", Error, "write ("+name+")", "%q is a local usage without its parentheses and counts as a prohibition", name)
			out = append(out, x.prohibitLocal(e, name, true)...)
		case !local:
			out = append(out, x.permit(e, name, nil, Robots, d.file.version)...)
		case inner == nil:
			x.report(d.field, "undefined-usage", Error, nearest(name, x.localNames()), "the usage (%s) is not defined: all it could mean is prohibited", name)
			out = append(out, undefinedUsage()...)
		case inner.void != nil:
			out = append(out, x.prohibitDefinition(e, inner, true, 0)...)
		default:
			out = append(out, x.permitQualified(e, inner)...)
		}
	}
	return out
}

// permitQualified reads a use of a qualified usage as if it were spelt out, gated by the file that defines it (B15, X76).
func (x *expander) permitQualified(e *entry, d *definition) []flat {
	if len(d.tokens) == 0 { // E11, X48
		return x.prohibitLocal(e, d.name, true)
	}
	return x.permit(e, d.base, d.tokens, Robots, d.file.version)
}

func (x *expander) nested(d *definition) bool {
	for _, part := range d.tokens {
		if name, local := localName(part); local {
			if inner := d.file.usages[name]; inner != nil && inner.composite {
				return true
			}
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
		x.report(e.field, "undefined-usage", Error, nearest(name, x.localNames()), "the usage (%s) is not defined: all it could mean is prohibited", name)
		return undefinedUsage()
	}
	return x.prohibitDefinition(e, d, fell, 0)
}

// prohibitDefinition follows definitions three deep: a deeper nesting has no meaning of its own (E07, X48).
func (x *expander) prohibitDefinition(e *entry, d *definition, fell bool, depth int) []flat {
	var out []flat
	for _, v := range d.void {
		out = append(out, x.prohibitDefinition(e, &definition{field: v.field, file: v.file, composite: v.composite, base: v.base, tokens: v.tokens}, fell, depth)...)
	}
	if !d.composite {
		if d.base == "" || d.base[0] == '(' {
			return append(out, undefinedUsage()...)
		}
		return append(out, x.prohibit(e, d.base, fell)...)
	}
	if len(d.tokens) == 0 || len(d.tokens) > maxParts || depth > 2 {
		return append(out, undefinedUsage()...)
	}
	for _, part := range d.tokens {
		name, local := localName(part)
		inner := d.file.usages[name]
		switch {
		case (local || Usage(name).kind() == noKind) && inner != nil && inner != d:
			out = append(out, x.prohibitDefinition(e, inner, fell, depth+1)...)
		case local:
			out = append(out, undefinedUsage()...)
		default:
			out = append(out, x.prohibit(e, name, fell)...)
		}
	}
	return out
}

func (x *expander) localNames() []string {
	var names []string
	for _, f := range []*File{x.file, x.parent} {
		if f != nil {
			for n := range f.usages {
				names = append(names, n)
			}
		}
	}
	sortStrings(names)
	return names
}

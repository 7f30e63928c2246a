package acap

import (
	"strings"
)

func nested(d *definition) bool {
	for i := range d.parts {
		if p := &d.parts[i]; p.local && p.inner != nil && p.inner.composite {
			return true
		}
	}
	return false
}

// reached is a definition that a local usage involves, directly or through other definitions.
type reached struct {
	d     *definition
	depth int
	fell  bool
}

// usagesBehind holds the usages that a definition involves: named holds the usages that the
// definition names, and fell the usages that replace what cannot be interpreted.
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

// usagesBehind returns prohibitions of every usage that a definition involves, without duplicates.
func (x *expander) usagesBehind(e *entry, d *definition, fell bool) []flat {
	b := x.involved(e, reached{d, 0, fell})
	var out []flat
	for k := range kinds {
		if b.named.has(k) || b.fell.has(k) {
			// P1 2.4.3 (L05): an allow-other that cannot be interpreted prohibits only usages that
			// ACAP does not list
			beyond := k == kOther && fell && !x.crawler.Strict
			out = append(out, flat{usage: k, fell: !b.named.has(k), beyond: beyond})
		}
	}
	return out
}

// behindOne returns the prohibitions for one usage in a definition. fell means that these
// prohibitions replace a permission that cannot be interpreted.
func (x *expander) behindOne(e *entry, d *definition, usage string, fell bool) []flat {
	if fell {
		return x.replace(e, d.field, usage)
	}
	return x.prohibit(e, d.field, usage, false)
}

// involved returns the usages that a definition involves. It follows nested definitions to a depth
// of three; deeper nesting has no defined meaning (P1 2.7.2, E07; P1 2.7.3, X48).
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

// meaningless reports whether a definition names no standard usage: it has no base, a base that is
// a local usage, no parts, or too many parts.
func (d *definition) meaningless() bool {
	if d.composite {
		return len(d.tokens) == 0 || len(d.tokens) > maxParts
	}
	return d.base == "" || d.base[0] == '('
}

// involvedInner returns the usages that inner, a definition named by another definition, involves.
// If inner is missing, or is the other definition itself, it could mean any usage.
func (x *expander) involvedInner(e *entry, at reached, inner *definition) (b usagesBehind) {
	if inner == nil || inner == at.d {
		b.add(undefinedUsage())
		return b
	}
	return x.involved(e, reached{inner, at.depth + 1, at.fell})
}

// involvedPart returns the usages that one part of a composite usage involves.
func (x *expander) involvedPart(e *entry, at reached, p *part) (b usagesBehind) {
	switch {
	case strings.Contains(p.token, "="): // a qualifier names no usage
	case p.local, Usage(p.name).kind() == noKind && p.inner != nil && p.inner != at.d:
		return x.involvedInner(e, at, p.inner)
	default:
		b.add(x.behindOne(e, at.d, p.name, at.fell))
	}
	return b
}

package acap

import (
	"maps"
	"slices"
	"strings"
)

const setPrefix = "resource-set:" // the prefix of the name of a resource set, after the scheme "the-acap:" (P1 2.4.5)

// setDefinition is one definition of a resource set as it is written (P1 2.7.3).
type setDefinition struct {
	field  *Field
	name   string
	tokens []string
}

func (p *parser) resourceSet(field *Field, value string) {
	p.late(field)
	tokens := strings.Fields(value)
	if len(tokens) < 2 { // P1 2.7.3 (X48): an empty resource set is treated as undefined
		p.report(field, "empty-definition", Error, "name the set and its patterns",
			"the resource set %q has no patterns and is not defined", value)
		return
	}
	name := strings.ToLower(tokens[0])
	if !isName(name) {
		p.report(field.at(tokens[0]), "malformed-name", Warning, nameHint,
			"%q is not a name; the resource set is read all the same", tokens[0])
	}
	p.f.setDefinitions = append(p.f.setDefinitions, &setDefinition{field: field, name: name, tokens: tokens[1:]})
}

// resolveSets reads the patterns of all resource sets.
func (p *parser) resolveSets() {
	for _, d := range p.f.setDefinitions {
		set, again := p.f.sets[d.name], true
		if set == nil {
			set, again = &resourceSet{}, false
			p.f.sets[d.name] = set
		} else {
			// P1 3 (E03): two different definitions of one usage are both invalid; in prohibitions,
			// different definitions of one resource set are joined
			p.report(d.field.at(d.name), "duplicate-definition", Error, "give every set its own name",
				"the resource set %q is defined twice: prohibitions use both, permissions the first", d.name)
		}
		for _, t := range d.tokens {
			var spec specification
			if _, ours := cutScheme(t); ours { // P1 2.7.2 (as E07): a set inside a set has no defined meaning
				p.report(d.field.at(t), "nested-set", Error, "write the patterns of the inner set",
					"a resource set holds patterns, not %q: in prohibitions the set %q covers everything", t, d.name)
				spec = everything
			} else {
				spec = p.path(d.field, t)
			}
			set.deny = append(set.deny, spec.deny...)
			if !again {
				set.permit = append(set.permit, spec.permit...)
			}
		}
	}
}

// lookAtUse reports definitions that no field uses. It skips files that refer to other files,
// because those may use the definitions (P1 2.7, D03). It skips usages, because pages may use them
// (P2 3, X18).
func (p *parser) lookAtUse() {
	if len(p.f.setDefinitions)+len(p.f.definitions) == 0 ||
		slices.ContainsFunc(p.f.records, func(r *record) bool { return len(r.references) > 0 }) {
		return
	}
	sets, usages := map[string]bool{}, map[string]bool{}
	for _, e := range p.f.entries {
		if usages[e.usage] = true; len(p.f.setDefinitions) == 0 {
			continue
		}
		for _, t := range strings.Fields(e.value) {
			if rest, ours := cutScheme(t); ours {
				name, _ := cutFold(rest, setPrefix)
				sets[strings.ToLower(name)] = true
			}
		}
	}
	for _, d := range p.f.setDefinitions {
		if !sets[d.name] {
			p.report(d.field.at(d.name), "unused-definition", Notice,
				"write "+scheme+setPrefix+d.name+" where a field names resources", "no field names the resource set %q",
				d.name)
		}
	}
	for _, d := range p.f.definitions {
		for _, part := range d.parts {
			usages[part.name] = true
		}
	}
	for _, d := range p.f.definitions {
		if !usages[d.name] && isName(d.name) {
			p.report(d.field.at(d.name), "unused-definition", Notice,
				"write ACAP-allow-("+d.name+") where it is to be permitted",
				"no field here names the usage %q: only pages may", d.name)
		}
	}
}

// resolveParts looks up the names in the definitions of composite usages, and reports names that
// are not valid.
func (p *parser) resolveParts() {
	for _, d := range p.f.definitions {
		if !d.composite {
			continue
		}
		if len(d.tokens) > maxParts {
			p.report(d.field.at(d.tokens[maxParts]), "too-many-parts", Error, "define several usages",
				"the composite usage (%s) has more than %d parts and counts as a prohibition", d.name, maxParts)
			continue
		}
		for _, t := range d.tokens {
			name, local := localName(t)
			inner := p.f.usages[name]
			d.parts = append(d.parts, part{t, name, local, inner})
			switch {
			// P1 2.4.1.3 (as E05): a part with an equals sign is treated as a limit
			case strings.Contains(t, "="):
				p.report(d.field.at(t), "qualified-local-usage", Error, "define a qualified usage and name it here",
					"a composite usage takes no qualifiers: (%s) counts as a prohibition", d.name)
			case local && inner == nil:
				p.report(d.field.at(t), "undefined-usage", Error, p.nearDefined(name, p.f.usageNames),
					"the usage (%s) is not defined: every usage that it could mean is prohibited", name)
			// P1 2.7.2 (E07): a composite usage inside a composite usage is invalid, and its parts
			// are prohibited
			case local && inner.composite:
				p.report(d.field.at(t), "nested-usage", Error, "name the parts of ("+name+")",
					"the composite usage (%s) names the composite usage (%s) and counts as a prohibition", d.name, name)
			// P1 2.7.2 (E07): the parentheses around the name of a local usage are missing
			case !local && inner != nil && Usage(name).kind() == noKind:
				p.report(d.field.at(t), "missing-parentheses", Error, "write ("+name+")",
					"%q is a local usage without its parentheses and counts as a prohibition", name)
			}
		}
	}
}

// usageNames returns the names of the local usages, for hints.
func (f *File) usageNames() []string {
	if f == nil || len(f.usages) > maxNames {
		return nil
	}
	return slices.Sorted(maps.Keys(f.usages))
}

// setNames returns the names of the resource sets, for hints.
func (f *File) setNames() []string {
	if f == nil || len(f.sets) > maxNames {
		return nil
	}
	return slices.Sorted(maps.Keys(f.sets))
}

const nameHint = "start it with a letter and use only letters, digits, - _ ."

// late reports a finding and returns true if a definition comes after a record. The definition is
// accepted, since its meaning is clear (P1 2.2.1, E04).
func (p *parser) late(field *Field) bool {
	if len(p.f.records) > 0 {
		p.report(field, "late-definition", Error, "put definitions before all records",
			"the definition comes after an ACAP record; it is accepted")
	}
	p.started = true
	return len(p.f.records) > 0
}

func (p *parser) definition(field *Field, composite bool, value string) {
	d := &definition{field: field, file: p.f, composite: composite, late: p.late(field)}
	tokens := joinQualifiers(strings.Fields(value))
	if len(tokens) > 0 {
		d.name = strings.ToLower(strings.Trim(tokens[0], "()"))
		tokens = tokens[1:]
	}
	if !isName(d.name) {
		p.report(field.at(d.name), "malformed-name", Error, nameHint, "%q is not a name", d.name)
	}
	switch {
	case composite:
		d.tokens = tokens
	case len(tokens) > 0:
		d.base, d.tokens = strings.ToLower(tokens[0]), tokens[1:]
	}
	if len(d.tokens) == 0 { // P1 2.7.3 (as X48): a local usage with an empty definition is treated as undefined
		p.report(field, "empty-definition", Error,
			"name a usage type and qualifiers, or the parts of a composite usage",
			"the usage %q is not defined by anything: a permission of it counts as a prohibition", d.name)
	}
	// P1 2.7.1; P1 2.7.3 (as X48): a definition without a standard usage is treated as undefined
	if strings.HasPrefix(d.base, "(") {
		p.report(field.at(tokens[0]), "nested-usage", Error, p.near(strings.Trim(d.base, "()"), usageWords),
			"the qualified usage (%s) qualifies the local usage %s and counts as a prohibition", d.name, d.base)
	}
	p.f.definitions = append(p.f.definitions, d)
	have := p.f.usages[d.name]
	switch {
	case have == nil:
		p.f.usages[d.name] = d
	case have.same(d):
		p.report(field.at(d.name), "duplicate-definition", Warning, "keep one", "the usage %q is defined twice alike",
			d.name)
	case d.late && !have.late: // P1 2.2.1 (E04): a definition before the records wins against a later one
		p.report(field.at(d.name), "duplicate-definition", Error, "give every usage its own name",
			"the usage %q is defined already: the earlier definition counts", d.name)
	// P1 3 (E03): two different definitions of one usage are both invalid; in prohibitions,
	// different definitions of one resource set are joined
	default:
		p.report(field.at(d.name), "duplicate-definition", Error, "give every usage its own name",
			"the usage %q is defined twice: its uses count as prohibitions", d.name)
		have.void = append(have.void, d)
	}
}

func (d *definition) same(e *definition) bool {
	return d.composite == e.composite && d.base == e.base && slices.EqualFunc(d.tokens, e.tokens, strings.EqualFold)
}

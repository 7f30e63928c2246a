package acap

import (
	"slices"
	"strings"
)

const setPrefix = "resource-set:" // behind scheme (P1 2.4.5)

// setDefinition is one definition of a resource set as it is written (P1 2.7.3).
type setDefinition struct {
	field  *Field
	name   string
	tokens []string
}

func (p *parser) resourceSet(field *Field, value string) {
	p.late(field)
	tokens := strings.Fields(value)
	if len(tokens) < 2 { // X48: an empty set is an undefined one
		p.report(field, "empty-definition", Error, "name the set and its patterns", "the resource set has no patterns")
		return
	}
	name := strings.ToLower(tokens[0])
	if !isName(name) {
		p.report(field, "malformed-name", Warning, "use letters, digits, - _ . and start with a letter", "%q is not a name", tokens[0])
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
			p.report(d.field, "duplicate-definition", Error, "give every set its own name", "the resource set %q is defined twice: prohibitions use both, permissions the first", d.name) // E03
		}
		for _, t := range d.tokens {
			var spec specification
			if _, ours := cutScheme(t); ours { // as E07: it is not known what it stands for
				p.report(d.field.at(t), "nested-set", Error, "write the patterns of the inner set", "a resource set names patterns, not %q: in prohibitions the set covers everything", t)
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

// resolveParts finds what the parts of composite usages name.
func (p *parser) resolveParts() {
	for _, d := range p.f.definitions {
		if !d.composite || len(d.tokens) > maxParts {
			continue
		}
		for _, t := range d.tokens {
			name, local := localName(t)
			d.parts = append(d.parts, part{t, name, local, p.f.usages[name]})
		}
	}
}

// late notes a definition behind a record; its meaning is plain and it is accepted (E04).
func (p *parser) late(field *Field) bool {
	if len(p.f.records) > 0 {
		p.report(field, "late-definition", Error, "put definitions before all records", "the definition stands after an ACAP record")
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
		p.report(field, "malformed-name", Error, "use letters, digits, - _ . and start with a letter", "%q is not a name", d.name)
	}
	switch {
	case composite:
		d.tokens = tokens
	case len(tokens) > 0:
		d.base, d.tokens = strings.ToLower(tokens[0]), tokens[1:]
	}
	if len(tokens) == 0 || !composite && len(d.tokens) == 0 { // X48
		p.report(field, "empty-definition", Error, "name the usage and its qualifiers, or the parts", "the usage %q is not defined by anything", d.name)
	}
	p.f.definitions = append(p.f.definitions, d)
	have := p.f.usages[d.name]
	switch {
	case have == nil:
		p.f.usages[d.name] = d
	case have.same(d):
		p.report(field, "duplicate-definition", Warning, "keep one", "the usage %q is defined twice alike", d.name)
	case d.late && !have.late: // E04: the earlier stands
		p.report(field, "duplicate-definition", Error, "give every usage its own name", "the usage %q is defined already: the earlier definition stands", d.name)
	default: // E03
		p.report(field, "duplicate-definition", Error, "give every usage its own name", "the usage %q is defined twice: its uses count as prohibitions", d.name)
		have.void = append(have.void, d)
	}
}

func (d *definition) same(e *definition) bool {
	return d.composite == e.composite && d.base == e.base && slices.EqualFunc(d.tokens, e.tokens, strings.EqualFold)
}

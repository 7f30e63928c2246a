package acap

import "strings"

const setPrefix = "resource-set:"

func (p *parser) resourceSet(field *Field, value string) {
	p.late(field)
	tokens := strings.Fields(value)
	if len(tokens) < 2 { // X48: an empty set is an undefined one
		p.f.report(field, "empty-definition", Error, "name the set and its patterns", "the resource set has no patterns")
		return
	}
	name := strings.ToLower(tokens[0])
	if !isName(name) {
		p.f.report(field, "malformed-name", Warning, "use letters, digits, - _ . and start with a letter", "%q is not a name", tokens[0])
	}
	set := p.f.sets[name]
	if set == nil {
		p.f.sets[name] = &resourceSet{first: tokens[1:], all: tokens[1:]}
		return
	}
	p.f.report(field, "duplicate-definition", Error, "give every set its own name", "the resource set %q is defined twice: prohibitions use both, permissions the first", name) // E03
	set.all = append(append([]string(nil), set.all...), tokens[1:]...)
}

// late notes a definition behind a record; its meaning is plain and it is accepted (E04).
func (p *parser) late(field *Field) bool {
	if len(p.f.records) > 0 {
		p.f.report(field, "late-definition", Error, "put definitions before all records", "the definition stands after an ACAP record")
	}
	p.started = true
	return len(p.f.records) > 0
}

func (p *parser) definition(field *Field, composite bool, value string) {
	d := &definition{field: field, file: p.f, composite: composite, late: p.late(field)}
	tokens := joinQualifiers(strings.Fields(value), 2)
	if len(tokens) > 0 {
		d.name = strings.ToLower(strings.Trim(tokens[0], "()"))
		tokens = tokens[1:]
	}
	if !isName(d.name) {
		p.f.report(field, "malformed-name", Error, "use letters, digits, - _ . and start with a letter", "%q is not a name", d.name)
	}
	switch {
	case composite:
		d.tokens = tokens
	case len(tokens) > 0:
		d.base, d.tokens = strings.ToLower(tokens[0]), tokens[1:]
	}
	if len(tokens) == 0 || !composite && len(d.tokens) == 0 { // X48
		p.f.report(field, "empty-definition", Error, "name the usage and its qualifiers, or the parts", "the usage %q is not defined by anything", d.name)
	}
	have := p.f.usages[d.name]
	switch {
	case have == nil:
		p.f.usages[d.name] = d
	case have.same(d):
		p.f.report(field, "duplicate-definition", Warning, "keep one", "the usage %q is defined twice alike", d.name)
	case d.late && !have.late: // E04: the earlier stands
		p.f.report(field, "duplicate-definition", Error, "give every usage its own name", "the usage %q is defined already: the earlier definition stands", d.name)
	default: // E03
		p.f.report(field, "duplicate-definition", Error, "give every usage its own name", "the usage %q is defined twice: its uses count as prohibitions", d.name)
		have.void = append(have.void, d)
	}
}

func (d *definition) same(e *definition) bool {
	return d.composite == e.composite && d.base == e.base && strings.EqualFold(strings.Join(d.tokens, " "), strings.Join(e.tokens, " "))
}

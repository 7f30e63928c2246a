package acap

import (
	"slices"
	"strings"
)

func (p *parser) crawler(field *Field, value string) {
	p.started = true
	if p.record == nil || !p.headOpen {
		p.record = &record{nobody: true}
		p.f.records = append(p.f.records, p.record)
		p.headOpen, p.sub, p.subOpen = true, nil, false
		p.within = false // P1 2.10.2 (C19), RFC 9309 (X79): an ACAP record does not end the conventional group above it
	}
	r := p.record
	r.field = field
	r.heads = append(r.heads, field)
	switch {
	// P1 3 (A15): a record whose crawler names are all empty prohibits for all crawlers
	case value == "":
		p.report(field, "empty-crawler", Error, "name a crawler, or * for any",
			"the field names no crawler: in a record of no crawler prohibitions hold for all, and permissions for none")
		return
	case value == "*":
		r.any = true
	default:
		if strings.Contains(value, "*") { // P1 2.3.1 (C18): an asterisk inside a crawler name is an ordinary character
			p.report(field.at(value), "wildcard-in-name", Notice, "write the whole name, or only * for any crawler",
				"the asterisk in the crawler name %q is an ordinary character", value)
		}
		// P1 2.3.1 (C05): a name is compared as a whole with the crawler's tokens, in any letter
		// case, so a comma does not separate names
		if strings.Contains(value, ",") {
			p.report(field.at(value), "list-of-names", Warning, "write an ACAP-crawler field for each",
				"a crawler field names one crawler: the comma is part of the name %q", value)
		}
		r.names = append(r.names, value)
	}
	r.nobody = false
	// P1 2.3.1 (C06): an asterisk among names addresses all crawlers; a crawler that is also named
	// is treated as named
	if r.any && len(r.names) > 0 {
		p.report(field, "any-and-named", Warning, "use only *",
			"the record addresses any crawler: other names in it say nothing more")
	}
}

// inside reports whether a field that belongs into records has effect at its place, which is in an
// ACAP record or before all records (P1 2.3, A13). Within a conventional record it is ignored (P1
// 2.10.2, C10).
func (p *parser) inside(field *Field) bool {
	if p.within {
		p.report(field, "within-conventional", Error,
			"put ACAP records after the conventional ones, each starting with ACAP-crawler",
			"an ACAP field within a conventional record is ignored")
		return false
	}
	return true
}

func (p *parser) reference(field *Field, value string) {
	if !p.inside(field) {
		return
	}
	p.headOpen = false
	switch {
	case p.record == nil: // P1 2.3 (X55): a reference before any record has no effect
		p.report(field, "orphan-field", Error, "put it below an ACAP-crawler field",
			"the reference is before any record and has no effect")
		return
	case value == "":
		p.report(field, "empty-reference", Error, "name a path or a URI", "the reference names no file")
	// P1 2.3.2 (D08): in the file that a second reference names, only the prohibitions have effect
	case len(p.record.references) > 0:
		p.report(field.at(value), "second-reference", Error, "keep one reference in a record",
			"the record refers to a file already: of %q only the prohibitions count", value)
	}
	// P1 2.3.2 (X65): a reference of robots.txt to itself is nested, not missing
	if u, err := p.f.resolve(value); err == nil && p.f.source == Robots && *u == *p.f.base {
		p.report(field.at(value), "self-reference", Error, "name another file, or leave the field out",
			"the reference names this very file and is not followed")
	}
	p.record.used = true
	p.record.references = append(p.record.references, field)
	p.record.locators = append(p.record.locators, value)
}

func (p *parser) purpose(field *Field, value string) {
	if !p.inside(field) {
		return
	}
	if p.record == nil { // P1 2.3 (X55): a purpose before any record has no effect
		p.report(field, "orphan-field", Error, "put it below an ACAP-crawler field",
			"the purpose is before any record and has no effect")
		return
	}
	p.headOpen = false
	// P1 2.3.3 (C17, X60): a purpose ends at a blank; the blank in the purpose URI that the
	// specification prints is a typesetting error, so a purpose URI may contain blanks
	if parts := strings.Fields(value); len(parts) > 1 {
		written := field.at(value)
		if strings.Contains(parts[0], "://") {
			value = strings.Join(parts, "")
		} else {
			value = parts[0]
		}
		p.report(written, "blank-in-purpose", Warning, "write an ACAP-usage-purpose field for each purpose",
			"a purpose cannot hold a blank: it is read as %q", value)
	}
	if value == "" {
		p.report(field, "empty-purpose", Error, "name a purpose",
			"the purpose has no name: prohibitions under it hold for every purpose")
	}
	if p.sub == nil || !p.subOpen {
		p.sub, p.subOpen = &subRecord{field: field}, true
		p.f.subs = append(p.f.subs, p.sub)
	}
	p.sub.purposes = append(p.sub.purposes, p.pattern(field, value))
}

// pattern reads the pattern of a usage purpose in a file or a page (P1 2.3.3).
func (r *reporter) pattern(field *Field, value string) *purpose {
	pattern := newPurpose(value)
	// P1 2.9 (as F13): a "$" that is not the last character cuts the pattern of a prohibition and
	// makes a permission ineffective
	if pattern.cut {
		r.report(field.at(value), "dollar-in-purpose", Error, "put $ at the end, or leave it out",
			"$ may only end a purpose: %q prohibits everything that begins with the text before the $, and permits "+
				"nothing",
			value)
	}
	return pattern
}

func (p *parser) entry(field *Field, allow bool, usage, value string) {
	e := p.entries.one()
	*e = entry{field: field, allow: allow, usage: usage, value: value, record: p.record, sub: p.sub}
	if len(usage) >= 2 && usage[0] == '(' && usage[len(usage)-1] == ')' {
		e.local, e.usage = true, usage[1:len(usage)-1]
	}
	if !p.inside(field) {
		e.stray, e.record, e.sub = true, nil, nil
		if allow {
			return // P1 2.10.2 (C10): a permission within a conventional record is always ignored
		}
		// P1 2.3 (A13): a field before any record prohibits for all crawlers and permits nothing
	} else if p.record == nil {
		what := "the prohibition holds for any crawler"
		if allow {
			what = "the permission grants nothing"
		}
		p.report(field, "orphan-field", Error, "put an ACAP-crawler field before it",
			"the field is before any record: %s", what)
	}
	if !e.stray {
		p.headOpen, p.subOpen = false, false
	}
	if e.record != nil {
		e.record.used = true
	}
	if e.sub != nil {
		e.sub.used = true
	}
	if p.f.entries == nil {
		p.f.entries = make([]*entry, 0, p.lines-p.n+1)
	}
	p.f.entries = append(p.f.entries, e)
	if e.record != nil {
		n := len(e.record.entries) + 1
		e.record.entries = p.f.entries[len(p.f.entries)-n : len(p.f.entries) : len(p.f.entries)]
	} else {
		p.f.loose = append(p.f.loose, e)
	}
	if allow {
		p.permission = e
	}
}

// joinQualifiers joins "a = b", "a =b" and "a= b" to "a=b" (P1 3, A06).
func joinQualifiers(tokens []string) []string {
	if !slices.ContainsFunc(tokens, func(t string) bool { return t[0] == '=' || t[len(t)-1] == '=' }) {
		return tokens
	}
	out := make([]string, 0, len(tokens))
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		next := func() string {
			if i+1 == len(tokens) {
				return ""
			}
			return tokens[i+1]
		}
		if isName(t) && strings.HasPrefix(next(), "=") {
			t += next()
			i++
		}
		if name, ok := strings.CutSuffix(t, "="); ok && isName(name) && next() != "" {
			t += next()
			i++
		}
		out = append(out, t)
	}
	return out
}

func (p *parser) request(field *Field, action, value string) {
	// P1 3 (P12): an unknown action request is not executed
	if action != TakeDown && action != ReCrawl {
		hint := p.near(action, func() []string { return []string{TakeDown, ReCrawl} })
		p.report(field.at(field.name()), "unknown-action", Error, hint, "the action %q is not known and not executed",
			action)
		return
	}
	p.headOpen = false
	r := &request{field: field, action: action, path: value, record: p.record}
	switch {
	case p.within:
		r.record, r.why = nil, "it is within a conventional record"
	case p.record == nil: // P1 3 (P12): an action request before any record is not executed
		r.why = "it is before any record"
	default:
		r.why, r.sub = notSingle(value), p.sub != nil
	}
	switch {
	case r.why != "":
		p.report(field.at(value), "refused-request", Error, "write the path of one resource, in an ACAP record",
			"the request is not executed: %s", r.why)
	case r.sub: // P1 2.3 (C13): an action request inside a sub-record is refused
		p.report(field.at(value), "refused-request", Error, "move it before the sub-record",
			"the request is in a sub-record and is not executed, "+
				"unless the crawler is set to execute take-downs there")
	case strings.Contains(value, "?"): // P1 2.6 (P02): an action request names one URL, including its query
		p.report(field.at(value), "query-in-request", Notice, "write a request for each URL that is meant",
			"the request names %q with exactly this query", value)
	}
	if r.record != nil {
		r.record.used = true
	}
	p.f.actions = append(p.f.actions, r)
}

// lookAtRecords reports records and sub-records without fields (P1 2.3, C12), and fields in a
// record with a reference (P1 2.3, D02). References in referred files are reported by
// lookAtReferred (P1 2.3.2, X50).
func (p *parser) lookAtRecords() {
	for _, r := range p.f.records {
		if !r.used && !r.nobody {
			p.report(r.field, "empty-record", Notice, "put fields below it, or leave it out",
				"the record has no fields and says nothing")
		}
	}
	for _, s := range p.f.subs {
		if !s.used {
			p.report(s.field, "empty-record", Notice, "put fields below it, or leave it out",
				"the sub-record has no fields and says nothing")
		}
	}
	if p.f.source == Referred {
		return
	}
	for _, e := range p.f.entries {
		if e.record != nil && len(e.record.references) > 0 {
			p.report(e.field, "field-beside-reference", Error, "put it into the file referred to",
				"a record that refers to another file has no other fields: a permission does not count")
		}
	}
}

// hasScheme reports whether s starts like an absolute URI.
func hasScheme(s string) bool {
	i := strings.IndexByte(s, ':')
	return i > 0 && isName(s[:i]) && !strings.Contains(s[:i], "/")
}

package acap

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Parse reads a robots.txt, or a file in that format, as a whole: ACAP fields and conventional records beside them
// (P1 3, RFC 9309 2.2). It never fails; what it cannot read is among the Findings. name is the URL of the file.
func Parse(name string, src []byte) *File { return parse(name, src, Robots) }

// ParseReferred reads a file that a permissions reference names (P1 2.3.2): as Parse, with its fields marked as such.
func ParseReferred(name string, src []byte) *File { return parse(name, src, Referred) }

func parse(name string, src []byte, source Source) *File {
	f := &File{URL: name, source: source, usages: map[string]*definition{}, sets: map[string]*resourceSet{}}
	if u, err := url.Parse(name); err == nil && u.Host != "" {
		f.base = u
	}
	if len(src) > MaxSize {
		src = src[:MaxSize]
		end := strings.LastIndexAny(string(src), "\r\n")
		src = src[:end+1]
		f.cut = true
	}
	f.lines = splitLines(decode(src))
	p := &parser{f: f}
	for i, line := range f.lines {
		p.line(i+1, line)
	}
	p.finish()
	return f
}

// parser walks the lines of a file and knows in which record the next one stands.
type parser struct {
	f *File

	record   *record // the open ACAP record
	headOpen bool    // further ACAP-crawler lines still belong to it (P1 2.3, C08)
	sub      *subRecord
	subOpen  bool // further purpose lines still belong to its head

	group     *group // the open conventional group
	agentOpen bool   // further User-agent lines still belong to it
	within    bool   // after a conventional group, before the next ACAP record (C10)

	started    bool   // a definition, record or permission has been seen (O01)
	seenACAP   bool   // any ACAP field has been seen (B03)
	permission *entry // the last field, if it was a permission (A07)
	comment    string // version claimed by a ##ACAP comment (P1 2.10.3)
}

// conventionalNames are the names of conventional lines and the spellings commonly meant for them.
var conventionalNames = map[string]string{
	"user-agent": "user-agent", "useragent": "user-agent", "user agent": "user-agent",
	"allow": "allow", "disallow": "disallow", "dissallow": "disallow", "dissalow": "disallow", "disalow": "disallow",
	"diasllow": "disallow", "disallaw": "disallow",
	"crawl-delay": "crawl-delay", "crawldelay": "crawl-delay", "sitemap": "sitemap", "site-map": "sitemap",
}

const ignoreDirective = "acap-ignore-conventional-records"

func (p *parser) line(n int, line string) {
	text, at := line, 0
	field := &Field{Source: p.f.source, URL: p.f.URL, Line: n}
	if i := strings.IndexByte(text, '#'); i >= 0 { // A02
		if p.comment == "" && strings.HasPrefix(strings.ToLower(strings.TrimLeft(text[i:], "#")), "acap version=") {
			_, p.comment, _ = strings.Cut(strings.TrimSpace(text[i:]), "=")
		}
		if strings.TrimSpace(text[:i]) != "" && text[i-1] != ' ' && text[i-1] != '\t' {
			field.Column = column(line, i)
			p.f.report(field, "hash-in-value", Warning, "put a blank before a comment, or write %23", "a hash starts a comment even inside a value")
		}
		text = text[:i]
	}
	trimmed := strings.TrimLeft(text, " \t")
	at = len(text) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, " \t\x00")
	if trimmed == "" {
		return
	}
	if rest, ok := cutFold(trimmed, "[V1.1]"); ok { // A08
		at += len(trimmed) - len(strings.TrimLeft(rest, " \t"))
		trimmed = strings.TrimLeft(rest, " \t")
		field.Column = column(line, at)
		p.f.report(field, "version-marker", Warning, "leave the mark out", "[V1.1] is a mark of the specification's text, not part of a field")
	}
	field.Column, field.Text = column(line, at), trimmed
	name, value, colon := splitField(trimmed)
	lower := strings.ToLower(name)
	last := p.permission
	p.permission = nil
	switch {
	case lower == ignoreDirective:
		p.directive(field, value)
	case strings.HasPrefix(lower, "acap-") && (colon || p.known(lower)):
		if !colon { // A05, X54
			p.f.report(field, "missing-colon", Warning, "write "+name+":", "the colon after %s is missing", name)
		}
		p.acap(field, lower, value)
		p.seenACAP = true
	case last != nil && startsWithQualifier(trimmed): // A07
		last.suspect = true
		p.permission = last
		p.f.report(field, "broken-line", Error, "write the whole field on one line", "a qualifier stands on a line of its own: the permission before it counts as a prohibition")
	case conventionalNames[lower] != "" && (colon || len(strings.Fields(value)) == 1):
		if !colon {
			p.f.report(field, "missing-colon", Warning, "write "+name+":", "the colon after %s is missing", name)
		}
		p.conventional(field, conventionalNames[lower], value)
	case colon && !strings.ContainsAny(name, " <>/"):
		hint := ""
		if strings.HasPrefix(lower, "acap") {
			hint = nearest(lower, fieldNames())
		}
		p.f.report(field, "unknown-field", Notice, hint, "%q is not a field of robots.txt", name)
	default:
		p.f.report(field, "unknown-line", Notice, "", "the line is not a field of robots.txt")
	}
}

// splitField takes a line apart at its colon; without one, at the first blank.
func splitField(s string) (name, value string, colon bool) {
	i := strings.IndexAny(s, ": \t")
	if i < 0 {
		return s, "", false
	}
	rest := strings.TrimLeft(s[i:], " \t")
	if strings.HasPrefix(rest, ":") {
		return s[:i], strings.TrimLeft(rest[1:], " \t"), true
	}
	if agent, ok := cutFold(s, "user agent"); ok && strings.HasPrefix(strings.TrimLeft(agent, " \t"), ":") {
		return s[:10], strings.TrimLeft(strings.TrimLeft(agent, " \t")[1:], " \t"), true
	}
	return s[:i], rest, false
}

// startsWithQualifier reports whether a line starts like a qualifier: a name, then "=".
func startsWithQualifier(s string) bool {
	i := strings.IndexByte(s, '=')
	if i <= 0 {
		return false
	}
	name := strings.TrimRight(s[:i], " \t")
	return name != "" && isName(name)
}

// isName is name-start-char *name-char (P1 3).
func isName(s string) bool {
	if s == "" || !(s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z') {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !nameChar(s[i]) {
			return false
		}
	}
	return true
}

// known reports whether a name without a colon is a complete ACAP field name (A05, X54).
func (p *parser) known(lower string) bool {
	for _, n := range fieldNames() {
		if n == lower {
			return true
		}
	}
	for _, verb := range []string{"acap-allow-", "acap-disallow-"} {
		if usage, ok := strings.CutPrefix(lower, verb); ok {
			return Usage(usage).Standard() || len(usage) > 2 && usage[0] == '(' && usage[len(usage)-1] == ')'
		}
	}
	return false
}

func fieldNames() []string {
	names := []string{"acap-version", "acap-crawler", "acap-permissions-reference", "acap-usage-purpose", "acap-qualified-usage",
		"acap-composite-usage", "acap-resource-set", "acap-request-take-down", "acap-request-re-crawl", ignoreDirective}
	for _, u := range usageNames {
		names = append(names, "acap-allow-"+string(u), "acap-disallow-"+string(u))
	}
	return names
}

// directive obeys ACAP-ignore-conventional-records before the first definition, record or permission (O01), with nothing
// behind it but a colon (O03).
func (p *parser) directive(field *Field, value string) {
	switch {
	case value != "":
		p.f.report(field, "directive-value", Error, "write the directive alone on its line", "the directive takes no value and is not obeyed")
	case p.started:
		p.f.report(field, "misplaced-directive", Error, "put it before all definitions and records", "the directive stands after a definition or record and is not obeyed")
	default:
		p.f.ignore = true
	}
	p.seenACAP = true
}

func (p *parser) acap(field *Field, lower, value string) {
	switch {
	case lower == "acap-version":
		p.versionField(field, value)
	case lower == "acap-crawler":
		p.crawler(field, value)
	case lower == "acap-permissions-reference":
		p.reference(field, value)
	case lower == "acap-usage-purpose":
		p.purpose(field, value)
	case lower == "acap-qualified-usage", lower == "acap-composite-usage":
		p.definition(field, lower == "acap-composite-usage", value)
	case lower == "acap-resource-set":
		p.resourceSet(field, value)
	case strings.HasPrefix(lower, "acap-request-"):
		p.request(field, strings.TrimPrefix(lower, "acap-request-"), value)
	case strings.HasPrefix(lower, "acap-allow-") && len(lower) > len("acap-allow-"):
		p.entry(field, true, strings.TrimPrefix(lower, "acap-allow-"), value)
	case strings.HasPrefix(lower, "acap-disallow-") && len(lower) > len("acap-disallow-"):
		p.entry(field, false, strings.TrimPrefix(lower, "acap-disallow-"), value)
	default: // A16: never a record boundary
		p.f.report(field, "unknown-field", Error, nearest(lower, fieldNames()), "%q is not an ACAP field", lower)
	}
}

func (p *parser) versionField(field *Field, value string) {
	v := readVersion(value)
	if p.seenACAP { // B03
		p.f.report(field, "late-version", Error, "make it the first ACAP field of the file", "ACAP-version stands after other ACAP fields")
	}
	switch {
	case v.state == unclear:
		p.f.report(field, "malformed-version", Error, "write ACAP-version: 1.1", "%q is not a version number n.m", value)
	case v.state == unsupported:
		p.f.report(field, "unsupported-major", Error, "", "ACAP version %s is not supported: its permissions do not count", value)
	case v.String() != value:
		p.f.report(field, "version-form", Notice, "write ACAP-version: "+v.String(), "%s is read as %s", value, v)
	}
	if p.f.version.state != undeclared && p.f.version.declared != value {
		p.f.report(field, "contradictory-version", Error, "keep one version field", "the file declares version %s already", p.f.version.declared)
	}
	p.f.version = p.f.version.with(v)
}

func (p *parser) crawler(field *Field, value string) {
	p.started = true
	if p.record == nil || !p.headOpen {
		p.record = &record{nobody: true}
		p.f.records = append(p.f.records, p.record)
		p.headOpen, p.sub, p.subOpen = true, nil, false
		p.group, p.agentOpen, p.within = nil, false, false // C19
	}
	r := p.record
	switch {
	case value == "": // A15, X55
		p.f.report(field, "empty-crawler", Error, "name a crawler, or * for any", "the crawler has no name")
		return
	case value == "*":
		r.any = true
	default:
		if strings.Contains(value, "*") { // C18
			p.f.report(field, "wildcard-in-name", Notice, "", "an asterisk inside a crawler name is an ordinary character")
		}
		r.names = append(r.names, value)
	}
	r.nobody = false
	if r.any && len(r.names) > 0 { // C06
		p.f.report(field, "any-and-named", Warning, "use * alone", "the record addresses any crawler: other names in it say nothing more")
	}
}

// inside reports whether a record field stands where it belongs: in an ACAP record, or before all records (A13). Within a
// conventional record it is ignored (P1 2.10.2, C10).
func (p *parser) inside(field *Field) bool {
	if p.within {
		p.f.report(field, "within-conventional", Error, "put ACAP records after the conventional ones, each starting with ACAP-crawler", "an ACAP field within a conventional record is ignored")
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
	case p.record == nil: // X55
		p.f.report(field, "orphan-field", Error, "put it behind an ACAP-crawler field", "the reference stands before any record and has no effect")
		return
	case value == "":
		p.f.report(field, "empty-reference", Error, "name a path or a URI", "the reference names no file")
	case len(p.record.references) > 0: // D08
		p.f.report(field, "second-reference", Error, "keep one reference in a record", "only the prohibitions of a second reference count")
	}
	p.record.references = append(p.record.references, field)
	p.record.locators = append(p.record.locators, value)
}

func (p *parser) purpose(field *Field, value string) {
	if !p.inside(field) {
		return
	}
	if p.record == nil { // X55
		p.f.report(field, "orphan-field", Error, "put it behind an ACAP-crawler field", "the purpose stands before any record and has no effect")
		return
	}
	p.headOpen = false
	if parts := strings.Fields(value); len(parts) > 1 { // C17, X60
		if strings.Contains(parts[0], "://") {
			value = strings.Join(parts, "")
		} else {
			value = parts[0]
		}
		p.f.report(field, "blank-in-purpose", Warning, "", "a purpose cannot hold a blank: read as %q", value)
	}
	if value == "" {
		p.f.report(field, "empty-purpose", Error, "name a purpose", "the purpose has no name: prohibitions under it hold for every purpose")
	}
	if p.sub == nil || !p.subOpen {
		p.sub, p.subOpen = &subRecord{}, true
	}
	p.sub.purposes = append(p.sub.purposes, newPurpose(value))
}

func (p *parser) entry(field *Field, allow bool, usage, value string) {
	e := &entry{field: field, allow: allow, usage: usage, tokens: joinQualifiers(strings.Fields(value), 1), record: p.record, sub: p.sub}
	if len(usage) >= 2 && usage[0] == '(' && usage[len(usage)-1] == ')' {
		e.local, e.usage = true, usage[1:len(usage)-1]
	}
	if !p.inside(field) {
		e.stray, e.record, e.sub = true, nil, nil
		if allow {
			return // C10: a permission within a conventional record is ignored in every mode
		}
	} else if p.record == nil { // A13
		what := "the prohibition holds for any crawler"
		if allow {
			what = "the permission grants nothing"
		}
		p.f.report(field, "orphan-field", Error, "put an ACAP-crawler field before it", "the field stands before any record: %s", what)
	}
	if !e.stray {
		p.headOpen, p.subOpen = false, false
	}
	p.f.entries = append(p.f.entries, e)
	if allow {
		p.permission = e
	}
}

// joinQualifiers joins "a = b" to "a=b" (A06) from the token numbered first on; earlier tokens are a resource specification,
// unless they look like a qualifier's name.
func joinQualifiers(tokens []string, first int) []string {
	out := tokens[:0:0]
	glue := false
	for _, t := range tokens {
		n := len(out)
		switch {
		case glue:
			out[n-1] += t
			glue = strings.HasSuffix(t, "=") && t != "="
		case strings.HasPrefix(t, "=") && n > 0 && (n > first || isName(out[n-1])):
			out[n-1] += t
			glue = t == "="
		default:
			out = append(out, t)
			glue = strings.HasSuffix(t, "=") && isName(strings.TrimSuffix(t, "="))
		}
	}
	return out
}

func (p *parser) request(field *Field, action, value string) {
	if action != "take-down" && action != "re-crawl" { // P12
		p.f.report(field, "unknown-action", Error, nearest(action, []string{"take-down", "re-crawl"}), "the action %q is not known and not executed", action)
		return
	}
	p.headOpen = false
	r := &request{field: field, action: action, path: value, record: p.record}
	switch {
	case p.within:
		r.record, r.why = nil, "it stands within a conventional record"
	case p.record == nil: // P12
		r.why = "it stands before any record"
	case p.sub != nil: // C13
		r.why = "it stands in a sub-record"
	case value == "":
		r.why = "it names no resource"
	case strings.ContainsAny(value, "*$"): // P01
		r.why = "it holds a wildcard; a request names a single resource"
	case len(strings.Fields(value)) > 1:
		r.why = "it names more than one resource"
	case strings.HasPrefix(value, "//") || hasScheme(value): // P03
		r.why = "it names a resource by an absolute URI"
	}
	if r.why != "" {
		p.f.report(field, "refused-request", Error, "write the path of one resource, in an ACAP record", "the request is not executed: %s", r.why)
	} else if strings.Contains(value, "?") { // P02
		p.f.report(field, "query-in-request", Notice, "", "the request names the URL with exactly this query")
	}
	p.f.actions = append(p.f.actions, r)
}

// hasScheme reports whether s starts like an absolute URI.
func hasScheme(s string) bool {
	i := strings.IndexByte(s, ':')
	return i > 0 && isName(s[:i]) && !strings.Contains(s[:i], "/")
}

func (p *parser) conventional(field *Field, name, value string) {
	switch name {
	case "sitemap":
		p.f.Sitemaps = append(p.f.Sitemaps, value)
		return
	case "user-agent":
		if p.group == nil || !p.agentOpen { // X53
			p.group = &group{}
			p.f.groups = append(p.f.groups, p.group)
			p.agentOpen = true
		}
		p.group.agents = append(p.group.agents, value)
		p.record, p.sub, p.headOpen, p.within = nil, nil, false, true // C09
		return
	}
	switch {
	case p.record != nil: // P1 2.10.2, C19
		p.f.report(field, "within-acap", Error, "put it behind a User-agent line", "a conventional line within an ACAP record is ignored")
	case p.group == nil:
		p.f.report(field, "orphan-field", Error, "put it behind a User-agent line", "the line stands before any User-agent line and is ignored")
	case name == "crawl-delay":
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil || seconds < 0 || seconds > 1e6 {
			p.f.report(field, "malformed-delay", Warning, "write a number of seconds", "%q is not a number of seconds", value)
			return
		}
		p.group.delay = max(p.group.delay, time.Duration(seconds*float64(time.Second)))
	default:
		p.agentOpen = false
		r := newRule(field, name == "allow", value)
		if r == nil && value != "" { // X52
			p.f.report(field, "rule-without-slash", Warning, "write /"+value, "a rule that starts with neither / nor * matches nothing")
		}
		if r != nil {
			p.group.rules = append(p.group.rules, r)
		}
	}
}

// finish looks at the file as a whole.
func (p *parser) finish() {
	f := p.f
	top := &Field{Source: f.source, URL: f.URL, Line: 1, Column: 1}
	if f.cut {
		f.report(top, "too-long", Error, "shorten the file, with definitions for instance", "only the first %d bytes are read: no permission counts", MaxSize)
	}
	if len(f.lines) > 0 && strings.HasPrefix(strings.TrimSpace(strings.ToLower(strings.Join(f.lines[:min(3, len(f.lines))], " "))), "<") {
		f.report(top, "html", Warning, "serve robots.txt as plain text", "the file looks like HTML; it is read line by line all the same")
	}
	switch claimed := readVersion(p.comment); {
	case p.comment == "":
	case f.version.state == undeclared && claimed.newer(): // B09
		f.report(top, "version-comment", Warning, "add ACAP-version: 1.1", "a comment declares version %s, but only the field ACAP-version has effect", p.comment)
	case f.version.state != undeclared && f.version.String() != claimed.String():
		f.report(top, "version-comment", Warning, "make them agree", "the comment says version %s, the field %s", p.comment, f.version)
	}
	f.claimed = readVersion(p.comment)
	if p.comment == "" {
		f.claimed = f.version
	}
}

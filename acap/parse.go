package acap

import (
	"net/url"
	"slices"
	"strings"
)

// Parse reads a robots.txt, or a file in the same format, with ACAP fields and conventional records
// (P1 3, RFC 9309 2.2). Parse never fails: the Findings of the file report what Parse cannot read.
// name is the URL of the file.
func Parse(name string, src []byte) *File { return parse(name, src, Robots) }

// ParseReferred is like Parse, for a file that a permissions reference names (P1 2.3.2). The Source
// of the fields is Referred.
func ParseReferred(name string, src []byte) *File { return parse(name, src, Referred) }

func parse(name string, src []byte, source Source) *File {
	f := &File{URL: name, source: source, usages: map[string]*definition{}, sets: map[string]*resourceSet{}}
	if u, err := url.Parse(name); err == nil && u.Host != "" {
		f.base = u
	}
	f.cut = len(src) > MaxSize
	text := decode(src[:min(len(src), MaxSize+1)])
	// P1 4 (A19): the text is cut at the end of a line; the byte after the first MaxSize bytes
	// shows whether a line ended there
	if f.cut {
		text = text[:strings.LastIndexAny(text, "\r\n")+1]
	}
	f.text = text
	all := linesOf(text)
	p := &parser{f: f, lines: strings.Count(text, "\n") + all.returns + 1, html: looksLikeHTML(text),
		form: formOf(src), ascii: isASCII(text)}
	p.quiet = p.html || p.form == compressedForm || p.form == bareForm || p.form == binaryForm
	for line, ok := all.next(); ok; line, ok = all.next() {
		p.n++
		p.line(p.n, line)
	}
	p.finish()
	p.lookAtBytes(src)
	p.sort()
	return f
}

// parser reads the lines of a file in order and keeps track of the open record.
type parser struct {
	reporter
	f     *File
	n     int // the number of the current line
	lines int // the number of lines of the file, or a greater number as an estimate

	record   *record // the ACAP record to which the current line belongs
	headOpen bool    // further ACAP-crawler lines still belong to record (P1 2.3, C08)
	sub      *subRecord
	subOpen  bool // further purpose lines still belong to the head of the sub-record

	group     *group // the conventional group to which the current line belongs
	agentOpen bool   // further User-agent lines still belong to group
	within    bool   // the line is after a conventional group and before the next ACAP record (P1 2.10.2, C10)

	started bool // a definition or record has been seen (P1 2.10.1, O01)
	// an ACAP field other than the directive ACAP-ignore-conventional-records has been seen (P1
	// 2.8, B03)
	seenACAP   bool
	directed   bool   // the directive ACAP-ignore-conventional-records has been seen (P1 2.8, O02)
	ignoring   *Field // the directive ACAP-ignore-conventional-records that is in effect
	permission *entry // the field of the last line, if it was a permission (P1 2.7, A07)
	comment    string // the version that a ##ACAP comment claims (P1 2.10.3)
	claimed    int    // the number of the line with the ##ACAP comment
	html       bool   // the file looks like HTML
	form       form   // the kind of bytes in the file
	quiet      bool   // the file is HTML or not text, so that one finding replaces a finding for each line
	ascii      bool   // the file contains only ASCII characters

	name, lower, plain string // the name of the last line, and the results of lowerName for it

	fields  slab[Field] // fields and entries are allocated in pieces, to save allocations
	entries slab[entry]
	rules   []ruleLine
}

const ignoreDirective = "acap-ignore-conventional-records"

// line parses one line.
func (p *parser) line(n int, line string) {
	trimmed, at, cut := p.statement(n, line)
	if trimmed == "" {
		return
	}
	name, value, colon := p.split(trimmed)
	field := p.fields.one()
	*field = p.fieldAt(n, line, at)
	field.Text = trimmed
	last := p.permission
	p.permission = nil
	w := rawLine{n: n, line: line, cut: cut, value: value, at: at + len(trimmed) - len(value), plain: p.plain}
	switch {
	case p.lower == ignoreDirective:
		p.directive(field, value)
	case strings.HasPrefix(p.lower, "acap-") && (colon || known(p.lower)):
		p.acapLine(field, name, w, colon)
	case p.plain != "" && (colon || len(strings.Fields(value)) == 1):
		p.conventionalLine(field, name, w, colon)
	case last != nil && startsWithQualifier(trimmed): // P1 2.7 (A07): a field cannot continue on the next line
		last.suspect = true
		p.permission = last
		p.report(field, "broken-line", Error, "write the whole field on one line",
			"a qualifier is on a line of its own: the permission before it counts as a prohibition")
	default:
		p.unread(field, name, w, colon)
	}
}

func (p *parser) fieldAt(n int, line string, offset int) Field {
	return Field{Source: p.f.source, URL: p.f.URL, Line: n, Column: column(line, offset)}
}

// acapLine parses a line with the name of an ACAP field.
func (p *parser) acapLine(field *Field, name string, w rawLine, colon bool) {
	switch {
	case !colon: // P1 2.5.3.2 (A05, X54): a field without its colon is accepted
		p.report(field.at(name), "missing-colon", Warning, "write "+name+":", "the colon after %s is missing", name)
	case !strings.HasPrefix(w.line, name+":"): // P1 3 (A17): blanks before a name or a colon are accepted
		p.report(field.at(name), "loose-form", Notice, "write "+name+": at the start of the line",
			"there are blanks before the name of a field, or before its colon")
	}
	p.lookAtValue(w)
	p.acap(field, p.lower, w.value)
	p.seenACAP = true
}

// conventionalLine parses a line with the name of a conventional field, or with a common
// misspelling of one.
func (p *parser) conventionalLine(field *Field, name string, w rawLine, colon bool) {
	if !colon {
		p.report(field.at(name), "missing-colon", Warning, "write "+name+":", "the colon after %s is missing", name)
	}
	if p.plain != p.lower {
		usual := strings.ToUpper(p.plain[:1]) + p.plain[1:]
		p.report(field.at(name), "misspelt-name", Warning, "write "+usual+":", "%s is read as %s", name, usual)
	}
	p.lookAtValue(w)
	p.conventional(field, p.plain, w.value)
}

// unread reports a line that is neither a field of ACAP nor of RFC 9309.
func (p *parser) unread(field *Field, name string, w rawLine, colon bool) {
	switch {
	case !p.ascii && p.lookAtName(w):
	case strings.HasPrefix(p.lower, "acap"):
		p.unknown(field, p.lower)
	case p.quiet: // the finding html, not-text or wrong-encoding covers all these lines
	case colon && !strings.ContainsAny(name, " <>/"):
		p.other(field)
		if preferenceLine(p.lower) {
			return
		}
		known := conventionalFields
		if meant := meantPreference(p.lower); meant != "" {
			known = func() []string { return []string{meant} }
		}
		p.report(field.at(name), "foreign-field", Notice, p.near(p.lower, known),
			"%q is not a field of robots.txt", name)
	default:
		p.report(field, "unknown-line", Notice, "write a name, a colon and a value, or # before a comment",
			"the line is not a field of robots.txt")
	}
}

// other stores a line that ACAP and RFC 9309 do not define, because another vocabulary may define
// it.
func (p *parser) other(field *Field) {
	o := otherLine{field: field, group: p.group}
	if p.group != nil {
		o.agents = len(p.group.agents)
	}
	p.f.others = append(p.f.others, o)
}

// claim stores the version that the first ##ACAP comment claims: the word after the equals sign (P1
// 2.10.3).
func (p *parser) claim(n int, comment string) {
	if rest, ok := cutFold(strings.TrimLeft(comment, "#"), "acap version="); ok && p.comment == "" {
		words := strings.FieldsFunc(rest, func(r rune) bool { return r == '#' || Blank(r) })
		if len(words) > 0 {
			p.comment, p.claimed = words[0], n
		}
	}
}

// unknown reports a field whose name begins like an ACAP field but is unknown. Such a field never
// ends a record (P1 2.4.3, A16).
func (p *parser) unknown(field *Field, lower string) {
	name := field.name()
	p.report(field.at(name), "unknown-field", Error, strings.Replace(p.near(lower, fieldNames), "acap-", "ACAP-", 1),
		"%q is not an ACAP field", name)
}

// directive obeys ACAP-ignore-conventional-records. The directive must come before the first
// definition, record or permission (P1 2.10.1, O01), and only a colon may follow it (P1 2.10.1,
// O03).
func (p *parser) directive(field *Field, value string) {
	switch {
	case value != "":
		p.report(field.at(value), "directive-value", Error, "write the directive alone on its line",
			"the directive takes no value and is not obeyed")
	case p.started:
		p.report(field, "misplaced-directive", Error, "put it before all definitions and records",
			"the directive comes after a definition or record and is not obeyed")
	default:
		p.f.ignore, p.ignoring = true, field
	}
	p.directed = true
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
	default:
		p.unknown(field, lower)
	}
}

func (p *parser) versionField(field *Field, value string) {
	switch {
	case p.seenACAP: // P1 2.8 (B03): a version has effect even if it does not come first
		p.report(field, "late-version", Error, "make it the first ACAP field of the file",
			"ACAP-version comes after other ACAP fields")
	case p.directed: // P1 2.8 (O02): the version and the directive may come in either order
		p.report(field, "late-version", Notice, "make it the first ACAP field of the file",
			"ACAP-version comes after ACAP-ignore-conventional-records")
	}
	p.f.version = p.f.version.read(&p.reporter, field, value)
}

// finish reports problems that concern the file as a whole.
func (p *parser) finish() {
	f := p.f
	p.resolveSets()
	p.resolveParts()
	p.lookAtUse()
	p.lookAtRecords()
	if f.ignore && len(f.groups) > 0 {
		p.report(p.ignoring, "ignored-records", Notice, "leave the conventional records out, or the directive",
			"the conventional records of the file do not count for crawlers that read ACAP")
	}
	top := &Field{Source: f.source, URL: f.URL, Line: 1, Column: 1}
	if f.cut {
		p.addFinding(top, "too-long", Error, "shorten the file, with definitions for instance",
			"only the first %d bytes are read: no permission counts", MaxSize)
	}
	if p.html {
		p.addFinding(top, "html", Warning, "serve robots.txt as plain text",
			"the file looks like HTML; it is read line by line all the same, "+
				"and lines that are not fields are not listed")
	}
	f.claimed = readVersion(p.comment)
	claim := &Field{Source: f.source, URL: f.URL, Line: p.claimed, Column: 1, Text: f.Line(p.claimed)}
	claim = claim.at(p.comment)
	switch {
	case p.comment == "":
		f.claimed = f.version
	// P1 2.1 (B09): a version in a comment is not a declaration
	case f.version.state == undeclared && f.claimed.newer():
		p.report(claim, "version-comment", Warning, "add ACAP-version: 1.1",
			"a comment declares version %s, but only the field ACAP-version has effect", p.comment)
	case f.version.state != undeclared && f.version.String() != f.claimed.String():
		p.report(claim, "version-comment", Warning, "make them agree",
			"a comment says version %s, the field ACAP-version %s, and the field counts", p.comment, f.version)
	}
}

// sort sorts the findings by line and stores them in the file.
func (p *parser) sort() {
	p.f.Findings = p.findings
	slices.SortStableFunc(p.f.Findings, func(a, b Finding) int { return a.Line - b.Line })
}

// looksLikeHTML reports whether the first line that is not blank begins with "<".
func looksLikeHTML(text string) bool {
	return strings.HasPrefix(strings.TrimLeftFunc(text, Blank), "<")
}

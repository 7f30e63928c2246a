package second

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A file is a robots.txt file or a permission reference, read into fields; or, for META, the
// version of a page.
type file struct {
	version version
	fields  []field
	defs    *definitions
	groups  []group // conventional
	ignore  bool    // it has the ignore directive in a place where it counts
	spelled string  // what the first version field says
	comment string  // the version that a comment ##ACAP version= names
}

// A version says what becomes of a document's 1.1 features.
type version int

const (
	versionOld   version = iota // 1.0 or none: a field with 1.1 features is ignored (B01)
	versionNew                  // 1.1 and above: they are interpreted
	versionBad                  // malformed or ambiguous: they prohibit (B07)
	versionMajor                // an unsupported major version (B05)
)

var versionValue = regexp.MustCompile(`^([0-9]+)(\.([0-9]+)(\.[0-9]+)*)?$`)

func readVersion(s string) version {
	m := versionValue.FindStringSubmatch(s)
	if m == nil {
		return versionBad
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[3])
	switch {
	case major == 0:
		return versionBad // X56: 0.9 is malformed
	case major > 1:
		return versionMajor
	case minor == 0:
		return versionOld
	}
	return versionNew
}

// combineVersions returns the version of a document from its version fields: the first governs; if
// another would gate differently, 1.1 features prohibit (B04); an unsupported major version
// governs in any place (X56).
func combineVersions(values []string) version {
	if len(values) == 0 {
		return versionOld
	}
	first := readVersion(values[0])
	out := first
	for _, s := range values {
		switch v := readVersion(s); {
		case v == versionMajor:
			return versionMajor
		case v != first:
			out = versionBad
		}
	}
	return out
}

// A field is a permission or prohibition with the record it stands in.
type field struct {
	line
	permission bool
	usage      string // or the name of a local usage
	local      bool
	resource   string
	rest       string // what follows the resource

	names     []string // of the record
	purposes  []string // of the sub-record
	void      bool     // a permission here does not count (A13, A15, D02, D08)
	reached   bool     // the record is a reference record: see references
	second    bool     // a second reference of the record
	reference bool
	refers    string // what a reference names
}

// A record is what readRecords knows of the record it is in.
type record struct {
	names     []string
	head      bool // no field has followed the crawler lines
	purposes  []string
	inPurpose bool // no field has followed the purpose lines
	from      int  // the first of its fields
	refs      int
	read      int // references but those to robots.txt itself
}

// readFile reads the fields of a file.
func readFile(body string, parent *definitions) *file {
	lines := readLines(body)
	f := &file{defs: newDefinitions(parent)}
	if m := regexp.MustCompile(`(?m)^##ACAP version=(\S+)`).FindStringSubmatch(strings.TrimPrefix(body,
		"\ufeff")); m != nil {
		f.comment = m[1]
	}
	var versions []string
	records := false
	for _, l := range lines {
		switch l.name {
		case "acap-version":
			versions = append(versions, l.value)
		case "acap-crawler":
			records = true
		case "acap-ignore-conventional-records":
			// O01, O03: it counts before the first definition or record, without a value.
			if l.value == "" && !records && f.defs.empty() {
				f.ignore = true
			}
		case "acap-qualified-usage", "acap-composite-usage", "acap-resource-set":
			f.defs.add(l, records)
		}
	}
	f.version = combineVersions(versions)
	if len(versions) > 0 {
		f.spelled = versions[0]
	}
	f.defs.version = f.version
	f.readRecords(lines)
	f.groups = readGroups(lines)
	return f
}

// readRecords assigns permissions, prohibitions and references to the records they stand in (P1
// 2.3).
func (f *file) readRecords(lines []line) {
	var rec *record
	conventional := false
	for _, l := range lines {
		switch {
		case l.name == "user-agent": // C09: a conventional record ends the ACAP one
			rec, conventional = nil, true
		case l.name == "acap-crawler" && !l.bare:
			conventional = false
			if rec == nil || !rec.head {
				rec = &record{head: true, from: len(f.fields)}
			}
			rec.names = append(rec.names, strings.ToLower(l.value))
		case l.name == "acap-usage-purpose":
			if rec == nil {
				continue // X55: without a record it has no effect
			}
			rec.head = false
			if !rec.inPurpose {
				rec.purposes, rec.inPurpose = nil, true
			}
			rec.purposes = append(append([]string{}, rec.purposes...), readPurpose(l.value))
		case strings.HasPrefix(l.name, "acap-request-"):
			if rec != nil {
				rec.head = false
			}
		case l.name == "acap-permissions-reference":
			if rec == nil {
				continue
			}
			rec.head, rec.inPurpose = false, false
			if self := strings.ToLower(l.value); self != "/robots.txt" &&
				self != "robots.txt" { // X65: as if it were not there
				rec.read++
			}
			rec.refs++
			f.fields = append(f.fields, field{line: l, names: rec.names, reference: true, refers: l.value,
				second: rec.read > 1})
			f.voidRecord(rec)
		default:
			f.readStatement(l, rec, conventional)
		}
	}
}

// voidRecord takes the effect from the permissions of a record with a reference (D02).
func (f *file) voidRecord(rec *record) {
	for i := rec.from; i < len(f.fields); i++ {
		f.fields[i].reached = true
	}
}

// readStatement reads a permission or prohibition field.
func (f *file) readStatement(l line, rec *record, conventional bool) {
	fd, ok := newStatement(l)
	if !ok {
		return
	}
	switch {
	case rec != nil:
		rec.head, rec.inPurpose = false, false
		fd.names, fd.purposes, fd.reached = rec.names, rec.purposes, rec.refs > 0
		if len(rec.names) == 1 && rec.names[0] == "" { // A15: addressed to nobody; prohibitions to any crawler
			fd.names, fd.void = []string{"*"}, true
		}
	case conventional:
		fd.names = nil // C10: ignored; strict honours prohibitions
	default:
		fd.names, fd.void = []string{"*"}, true // A13: before any record
	}
	f.fields = append(f.fields, fd)
}

// newStatement splits a permission or prohibition field into usage, resource and the rest.
func newStatement(l line) (field, bool) {
	fd := field{line: l}
	var ok bool
	if fd.usage, ok = strings.CutPrefix(l.name, "acap-allow-"); ok {
		fd.permission = true
	} else if fd.usage, ok = strings.CutPrefix(l.name, "acap-disallow-"); !ok {
		return fd, false
	}
	if l.bare {
		return fd, false
	}
	fd.usage, fd.local = localName(fd.usage)
	if fd.resource = firstToken(l.value); qualifierStart.MatchString(l.value) { // X57: no resource
		fd.resource = ""
	}
	fd.rest = strings.TrimSpace(strings.TrimPrefix(l.value, fd.resource))
	return fd, true
}

// localName takes the parentheses off a local usage's name.
func localName(s string) (string, bool) {
	if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
		return strings.ToLower(s[1 : len(s)-1]), true
	}
	return strings.ToLower(s), false
}

func firstToken(s string) string {
	if f := strings.Fields(s); len(f) > 0 {
		return f[0]
	}
	return ""
}

// readPurpose reads a purpose pattern: a URI with a blank is joined, a name is cut at the blank
// (C17, X60).
func readPurpose(s string) string {
	if strings.Contains(s, "://") {
		return strings.Join(strings.Fields(s), "")
	}
	return firstToken(s)
}

// A definitions is what a file defines, and what the file that refers to it defines (D03).
type definitions struct {
	parent  *definitions
	version version
	usages  map[string][]usageDef
	sets    map[string][][]string
}

type usageDef struct {
	composite bool
	body      string
	late      bool
}

func newDefinitions(parent *definitions) *definitions {
	return &definitions{parent: parent, usages: map[string][]usageDef{}, sets: map[string][][]string{}}
}

func (d *definitions) empty() bool { return len(d.usages) == 0 && len(d.sets) == 0 }

// add adds a definition. One that stands behind a record and repeats an earlier name does not
// count, except that prohibitions of a set take all of its definitions together (E03, E04, X42).
func (d *definitions) add(l line, late bool) {
	name, _ := localName(firstToken(l.value))
	body := strings.Join(strings.Fields(strings.TrimPrefix(l.value, firstToken(l.value))), " ")
	if l.name == "acap-resource-set" {
		d.sets[name] = append(d.sets[name], strings.Fields(body))
		return
	}
	composite := l.name == "acap-composite-usage"
	if late && slices.ContainsFunc(d.usages[name], func(u usageDef) bool { return !u.late }) {
		return
	}
	d.usages[name] = append(d.usages[name], usageDef{composite, body, late})
}

// find returns the definitions of a local usage and the file's definitions they stand in: a
// child's own shadow its parent's.
func (d *definitions) find(name string) ([]usageDef, *definitions) {
	for ; d != nil; d = d.parent {
		if list := d.usages[name]; len(list) > 0 {
			return list, d
		}
	}
	return nil, nil
}

// patterns returns the patterns of a set, for a prohibition all of them, for a permission those of
// its first definition. An empty set is an undefined one (X48).
func (d *definitions) patterns(name string, permission bool) ([]string, bool) {
	for ; d != nil; d = d.parent {
		list, ok := d.sets[name]
		if !ok {
			continue
		}
		if permission {
			return list[0], len(list[0]) > 0
		}
		var out []string
		for _, l := range list {
			out = append(out, l...)
		}
		return out, len(out) > 0
	}
	return nil, false
}

package second

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// file is a parsed robots.txt file or permission reference. For META elements, it holds only the
// version of the page.
type file struct {
	version version
	fields  []field
	defs    *definitions
	groups  []group // the conventional groups
	ignore  bool    // the file has a valid directive to ignore conventional records
	spelled string  // the value of the first version field
	comment string  // the version that the comment ##ACAP version= contains
}

// version says how to handle features of version 1.1 in a document.
type version int

const (
	versionOld   version = iota // 1.0 or none: a field with 1.1 features is ignored (P1 2.8, B01)
	versionNew                  // 1.1 or higher: 1.1 features are interpreted
	versionBad                  // malformed or ambiguous: a permission with 1.1 features prohibits (P1 2.8, B07)
	versionMajor                // an unsupported major version (P1 2.8, B05)
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
		return versionBad // P1 2.8 (X56): 0.9 is malformed
	case major > 1:
		return versionMajor
	case minor == 0:
		return versionOld
	}
	return versionNew
}

// combineVersions returns the version of a document from its version fields. The first applies. If
// another has a different effect, 1.1 features prohibit (B04). An unsupported major version applies
// wherever it is (X56).
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

// field is a permission, prohibition or reference with the record that contains it.
type field struct {
	line
	permission bool
	usage      string // a standard usage or the name of a local usage
	local      bool
	resource   string
	rest       string // the text after the resource

	names     []string // crawler names of the record
	purposes  []string // purposes of the sub-record
	void      bool     // a permission here has no effect (P1 2.3: A13, A15, D02, D08)
	reached   bool     // the record has a reference to another file (see readRecords)
	second    bool     // this field is the second reference of its record
	reference bool
	refers    string // the address that a reference names
}

// record is the state of readRecords about the current record.
type record struct {
	names     []string
	head      bool // all fields of the record so far are crawler lines
	purposes  []string
	inPurpose bool // all fields since the last statement are purpose lines
	from      int  // index of the first field of the record
	refs      int
	read      int // number of references in the record, except references to robots.txt itself
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
			// P1 2.10.1 (O01, O03): the field is valid only without a value and before the first
			// definition or record
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

// readRecords assigns permissions, prohibitions and references to the records that contain them (P1
// 2.3).
func (f *file) readRecords(lines []line) {
	var rec *record
	conventional := false
	for _, l := range lines {
		switch {
		case l.name == "user-agent": // P1 2.3 (C09): a conventional record ends the ACAP record
			rec, conventional = nil, true
		case l.name == "acap-crawler" && !l.bare:
			conventional = false
			if rec == nil || !rec.head {
				rec = &record{head: true, from: len(f.fields)}
			}
			rec.names = append(rec.names, strings.ToLower(l.value))
		case l.name == "acap-usage-purpose":
			if rec == nil {
				continue // P1 2.3 (X55): a reference outside a record has no effect
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
				self != "robots.txt" { // P1 2.3.2 (X65): a reference to the file itself is ignored
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

// voidRecord marks the permissions of a record with a reference as without effect. P1 2.3 (D02).
func (f *file) voidRecord(rec *record) {
	for i := rec.from; i < len(f.fields); i++ {
		f.fields[i].reached = true
	}
}

// readStatement reads a permission or prohibition field of a record.
func (f *file) readStatement(l line, rec *record, conventional bool) {
	fd, ok := newStatement(l)
	if !ok {
		return
	}
	switch {
	case rec != nil:
		rec.head, rec.inPurpose = false, false
		fd.names, fd.purposes, fd.reached = rec.names, rec.purposes, rec.refs > 0
		// P1 3 (A15): an empty name addresses nobody; prohibitions apply to any crawler
		if len(rec.names) == 1 && rec.names[0] == "" {
			fd.names, fd.void = []string{"*"}, true
		}
	case conventional:
		fd.names = nil // P1 2.10.2 (C10): the field is ignored here; strict reading obeys it if it is a prohibition
	default:
		// P1 2.3 (A13): the field stands before any record, so it addresses any crawler, and as a
		// permission it has no effect
		fd.names, fd.void = []string{"*"}, true
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
	if fd.resource = firstToken(l.value); qualifierStart.MatchString(l.value) { // X57: the field has no resource
		fd.resource = ""
	}
	fd.rest = strings.TrimSpace(strings.TrimPrefix(l.value, fd.resource))
	return fd, true
}

// localName removes the parentheses from a local usage's name. ok is false if there are none.
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

// readPurpose reads a purpose pattern. Blanks in a URI are removed; a name ends at the first blank.
// P1 2.3.3 (C17, X60).
func readPurpose(s string) string {
	if strings.Contains(s, "://") {
		return strings.Join(strings.Fields(s), "")
	}
	return firstToken(s)
}

// definitions holds the definitions of a file and of the file that refers to it. P1 2.7 (D03).
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

// add adds a definition. If a definition after the first record repeats a name, it has no effect,
// except that prohibitions of a set use all its definitions. P1 2.7 (E03, E04, X42).
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

// find returns the definitions of a local usage, and the file's definitions that contain them.
// Definitions of a referenced file hide those of the referring file.
func (d *definitions) find(name string) ([]usageDef, *definitions) {
	for ; d != nil; d = d.parent {
		if list := d.usages[name]; len(list) > 0 {
			return list, d
		}
	}
	return nil, nil
}

// patterns returns the patterns of a resource set. For a prohibition it returns the patterns of all
// definitions of the set, for a permission only those of the first definition. An empty set counts
// as undefined (X48).
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

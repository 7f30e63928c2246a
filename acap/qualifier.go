package acap

import (
	"fmt"
	"strings"
	"time"
)

// restrictions holds the limits that the qualifiers of one permission set together (P1 annex A).
type restrictions struct {
	hasUntil    bool
	until       time.Time // the first instant at which the usage is no longer permitted
	hasDays     bool
	days        int64
	recrawled   bool // the permission ends at the next successful crawl (until-recrawled)
	maxChars    *int
	maxWords    *int
	mustUse     *Required
	mustInclude []*Required
	mods        []string
	prevents    Changes  // the modifications that the values in mods prohibit
	prohibited  []string // contexts in which the resource may not be shown
	required    []string // contexts in which the resource must be shown
	targets     []condition
	locations   []location
	usageRefs   []*Required
	plus        plusTerms // the qualifiers whose value is in the licence terms of the resource
	creditAt    int       // the index in mustInclude at which the credit of the licence terms belongs
	notes       []note
}

// location is one value of the location qualifier, as written and in normal form (P2 2.2.9.1,
// M01).
type location struct{ text, normal string }

// qualifierType is one row of the qualifier table of P1 annex A.
type qualifierType struct {
	name  string
	newer bool    // all values are a feature of version 1.1
	usage kindSet // usage types that the qualifier may limit
	hint  string  // describes valid values, for findings
	meta  bool    // valid only in META tags (P2 2.2.9)
	first bool    // only the first value is used
	// newValue reports whether a value is a feature of version 1.1. If newValue is nil, no value is
	// such a feature.
	newValue func(v string) bool
	// read adds to r the values that are not ignored. It returns the reason why a value cannot be
	// interpreted, or "" if all can.
	read func(r *restrictions, values []string, strict bool) string
}

var (
	presents = setOf(kPresent, kOriginal, kCurrentCopy, kOldCopy, kSnippet, kThumbnail, kOldSnippet, kOldThumbnail,
		kLink)
	wholes   = setOf(kPresent, kOriginal, kCurrentCopy, kOldCopy)
	snippets = setOf(kSnippet, kOldSnippet)
	// forms that may be made from a substitute resource (P1 2.5.5.3, I09)
	derivable = setOf(kSnippet, kThumbnail, kOldSnippet, kOldThumbnail, kLink)
	anyUsage  = kindSet(1<<kinds - 1)
)

var qualifierTable = []qualifierType{
	{name: "time-limit", hint: "write until-recrawled, until-yyyy-mm-dd, n-days or plus-terms",
		usage: setOf(kIndex, kPreserve) | presents, newValue: isPlus, read: readTimeLimit},
	{name: "must-use-resource", hint: "write a URI, or the-acap:extract: " +
		"with id:, idlist:, class:, classlist:, meta: or taglist: and names, or the-acap:text: and a text",
		usage: setOf(kIndex, kPresent) | derivable, first: true, newValue: newMustUse, read: readMustUse},
	{name: "max-length", hint: "write n-chars or n-words",
		usage: snippets, first: true, read: readMaxLength},
	{name: "prohibited-modification", hint: "write any, format, style, translation, annotation, " +
		"appearance, content, metadata, structure or plus-terms",
		usage: wholes, newValue: newModification, read: readModification},
	{name: "must-include-resource", hint: "write the-acap: with extract:, credit:, link:, license-link: " +
		"or registration-link:, and id:, class:, meta:, text: or a URI",
		usage: setOf(kPresent) | snippets, first: true, newValue: newMustInclude, read: readMustInclude},
	{name: "prohibited-context", hint: "write within-user-frame",
		usage: wholes, first: true, read: readProhibitedContext},
	{name: "required-context", hint: "write within-original-frame or within-user-frame",
		usage: wholes, first: true, newValue: func(v string) bool { return strings.EqualFold(v, withinUser) },
		read: readRequiredContext},
	{name: "target-condition", hint: "write a list of: " + strings.Join(conditionTypes(), ", "),
		newer: true, usage: setOf(kPresent), read: readTarget},
	{name: "usage-ref", hint: "write a URI, or the-acap: with link:, terms-link: or permission-link: and a URI",
		newer: true, usage: setOf(kOther), read: readUsageRef},
	{name: "location", hint: "write an absolute URI",
		usage: anyUsage, meta: true, read: readLocation},
}

const (
	withinUser     = "within-user-frame"
	withinOriginal = "within-original-frame"
	plusValue      = "plus-terms"
)

func qualifierRow(name string) *qualifierType {
	for i := range qualifierTable {
		if qualifierTable[i].name == name {
			return &qualifierTable[i]
		}
	}
	return nil
}

func qualifierNames() []string {
	names := make([]string, len(qualifierTable))
	for i, q := range qualifierTable {
		names[i] = q.name
	}
	return names
}

// maxQualifiers is how many qualifiers a field may have. A field with more cannot be interpreted.
const maxQualifiers = 64

// qualified is the result of reading the qualifiers of one permission.
type qualified struct {
	any          bool          // the permission has qualifiers
	anyOlder     bool          // at least one qualifier type is older than version 1.1
	restrictions *restrictions // nil if the permission has no qualifiers
	newer        bool          // a qualifier uses a feature of version 1.1 (P1 2.8, B02)
	newToken     string        // the first token that uses a feature of version 1.1
	fault        fault         // the reason why the qualifiers cannot be interpreted
	// the reason why the qualifiers could not be interpreted even without features of version 1.1
	// (P1 2.8, X86)
	older    fault
	embedded string // the last qualifier with the value plus-terms
	notes    []note
}

// fault is the reason why qualifiers cannot be interpreted. The zero value means that there is
// none.
type fault struct {
	text, code, hint string
	token            string // the qualifier that cannot be interpreted
	unknown          string // the name of the qualifier, if that name is unknown
}

func (f fault) found() bool { return f.text != "" }

// note is a finding about qualifiers that can be interpreted.
type note struct {
	code     string
	severity Severity
	token    string
	text     string
	hint     string
}

// written holds the qualifiers of one type in a field: tokens as written, and their values.
type written struct {
	row            *qualifierType
	tokens, values []string
}

// readQualifiers reads the tokens after a resource specification. It first decides whether any
// qualifier uses a feature of version 1.1 (P1 2.8, X36). If one qualifier cannot be interpreted,
// the whole permission cannot be interpreted (P1 2.4.3, B11, G04, G07).
func readQualifiers(tokens []string, k kind, src Source, c *Crawler) qualified {
	if len(tokens) == 0 {
		return qualified{}
	}
	out := qualified{any: true, restrictions: &restrictions{}}
	order := out.sort(tokens)
	for i := range order {
		out.read(&order[i], k, src, c)
	}
	for i := range order {
		// P1 2.8 (X86): if a permission with a feature of version 1.1 would be a prohibition
		// without that feature, it is treated as that prohibition even if no version is declared
		if out.newer {
			out.readOlder(&order[i], c.Strict)
		}
	}
	out.notes = append(out.notes, out.restrictions.notes...)
	return out
}

// fail stores the first fault. older means that the fault does not depend on a feature of version
// 1.1 (P1 2.8, X86).
func (q *qualified) fail(older bool, f fault) {
	if !q.fault.found() {
		q.fault = f
	}
	if older && !q.older.found() {
		q.older = f
	}
}

// sort groups the qualifiers by type. The types have the order in which they first appear.
func (q *qualified) sort(tokens []string) (order []written) {
	if len(tokens) > maxQualifiers {
		q.fail(true, fault{token: tokens[maxQualifiers], code: "too-many-qualifiers",
			hint: "keep the few that are needed",
			text: fmt.Sprintf("the field has more than %d qualifiers", maxQualifiers)})
	}
	at := map[*qualifierType]int{}
	for _, t := range tokens {
		name, value, ok := strings.Cut(t, "=")
		name = strings.ToLower(name)
		row := qualifierRow(name)
		q.anyOlder = q.anyOlder || row == nil || !row.newer
		switch {
		case !ok || name == "":
			hint := "write qualifier-type=value without blanks in the value"
			if t[0] == '/' || t[0] == '*' {
				hint = "write a field for each pattern"
			}
			q.fail(true, fault{token: t, code: "malformed-qualifier", hint: hint,
				text: fmt.Sprintf("%q is not a qualifier", clip(t))})
		case row == nil:
			q.fail(true, fault{token: t, code: "unknown-qualifier", unknown: name,
				text: fmt.Sprintf("the qualifier %q is not known", clip(name))})
		default:
			i, again := at[row]
			if !again {
				i, at[row] = len(order), len(order)
				order = append(order, written{row: row})
			}
			order[i].tokens, order[i].values = append(order[i].tokens, t), append(order[i].values, value)
		}
	}
	return order
}

// read reads the qualifiers of one type.
func (q *qualified) read(w *written, k kind, src Source, c *Crawler) {
	row, t := w.row, w.tokens[0]
	values := counted(row, w.values, c.Strict)
	if !q.newer && isNewer(row, w.values, values) {
		q.newer, q.newToken = true, t
	}
	f := fault{token: t, code: "inapplicable-qualifier"}
	switch {
	// P2 2.2.9 (M04): location is valid only in META, for any usage; in robots.txt it makes a
	// permission a prohibition
	case row.meta && src != Meta:
		f.hint = "leave it out: robots.txt says by its patterns where a permission holds"
		f.text = fmt.Sprintf("the qualifier %s is valid only in META tags", row.name)
	// P1 2.4.1.2 (G04): a qualifier that does not apply to the usage makes a permission a
	// prohibition
	case k < kinds && !row.usage.has(k):
		f.hint, f.text = "it may qualify "+row.usage.String(),
			fmt.Sprintf("the qualifier %s may not qualify %s", row.name, k.usage())
	case c.unable(row.name):
		f = fault{token: t, code: "cannot-interpret", text: "this crawler cannot interpret " + row.name}
	}
	if f.found() {
		q.fail(!row.newer, f)
		return
	}
	for _, v := range values {
		if strings.EqualFold(v, "until-recrawl") { // P1 2.4.1.2 (H01): until-recrawl means until-recrawled
			q.notes = append(q.notes, note{"misspelt-value", Warning, row.name + "=" + v,
				"until-recrawl is read as until-recrawled", "write until-recrawled"})
		}
	}
	// P1 2.5.3.1 (H07), P1 2.5.5.6 (J08): if a qualifier has several values, some are ignored
	if len(values) < len(w.values) {
		q.notes = append(q.notes, ignored(w.tokens[firstLeftOut(w.values, values)], row.name))
	}
	before := q.restrictions.plus
	for _, f := range w.faults(q.restrictions, values, c.Strict) {
		q.fail(false, f)
	}
	if q.restrictions.plus != before {
		q.embedded = t
	}
}

// readOlder reads only those values of one qualifier type that are older than version 1.1 (P1 2.8,
// X86).
func (q *qualified) readOlder(w *written, strict bool) {
	values := w.older()
	if len(values) == 0 || q.older.found() {
		return
	}
	var alone restrictions
	switch faults := w.faults(&alone, counted(w.row, values, strict), strict); {
	case len(faults) > 0:
		q.older = faults[0]
	// P1 2.8 (B02): must-include-resource=plus-terms makes a permission a prohibition even if
	// version 1.1 is not declared
	case alone.plus != 0:
		q.older = fault{token: w.tokens[0], code: "undeclared-version", hint: "declare ACAP version 1.1",
			text: w.row.name + "=plus-terms is a feature of ACAP 1.1 that the document does not declare"}
	}
}

// faults reads values into r. It returns the reasons why some values cannot be interpreted.
func (w *written) faults(r *restrictions, values []string, strict bool) (list []fault) {
	for _, v := range values {
		// P1 3 (A04): a quotation mark or apostrophe that is not percent-encoded makes a value
		// invalid; a grave accent does not
		if v == "" || strings.ContainsAny(v, "\"'") {
			list = append(list, fault{token: w.row.name + "=" + v, code: "malformed-value",
				hint: "write quotation marks as %22 and %27",
				text: fmt.Sprintf("%s=%s is not a value", w.row.name, clip(v))})
		}
	}
	if why := w.row.read(r, values, strict); why != "" {
		list = append(list, fault{token: w.tokens[0], code: "malformed-value", hint: w.row.hint,
			text: w.row.name + ": " + why})
	}
	return list
}

// older returns the values that are not features of version 1.1.
func (w *written) older() (values []string) {
	for _, v := range w.values {
		if !w.row.newer && (w.row.newValue == nil || !w.row.newValue(v)) {
			values = append(values, v)
		}
	}
	return values
}

func ignored(token, name string) note {
	return note{"ignored-qualifier", Notice, token, "this " + name + " does not count next to the others of its kind",
		"leave it out"}
}

// firstLeftOut returns the index of the first value in all that is not in counted. Both lists have
// the same order.
func firstLeftOut(all, counted []string) int {
	for i, v := range counted {
		if all[i] != v {
			return i
		}
	}
	return len(counted)
}

// String returns the names of the usage types in the set, separated by commas.
func (s kindSet) String() string {
	var names []string
	for k := range kinds {
		if s.has(k) {
			names = append(names, string(k.usage()))
		}
	}
	return strings.Join(names, ", ")
}

// counted returns the values that are used if a qualifier is repeated. The other values are ignored
// without a check (P1 2.4.3, G07).
func counted(row *qualifierType, values []string, strict bool) []string {
	switch {
	// P1 2.5.5.6 (J08): in the strict variant all values of must-include-resource are used
	case row.first && strict && row.name == "must-include-resource":
		return values
	case row.first:
		return values[:1]
	case row.name == "time-limit":
		return countedTimeLimits(values)
	case row.name == "prohibited-modification":
		return countedModifications(values)
	}
	return values
}

func isNewer(row *qualifierType, all, counted []string) bool {
	// P1 2.8 (B02): more than one time-limit is a feature of version 1.1
	if row.newer || row.name == "time-limit" && len(all) > 1 {
		return true
	}
	if row.newValue == nil {
		return false
	}
	for _, v := range counted { // P1 2.8 (X47): a value that is ignored is not a feature of version 1.1
		if row.newValue(v) {
			return true
		}
	}
	return false
}

func isPlus(v string) bool { return strings.EqualFold(v, plusValue) }

package acap

import (
	"fmt"
	"strings"
	"time"
)

// restrictions holds what the qualifiers of one permission say together (P1 annex A).
type restrictions struct {
	hasUntil    bool
	until       time.Time // first instant no longer permitted
	hasDays     bool
	days        int64
	recrawled   bool // until-recrawled
	maxChars    *int
	maxWords    *int
	mustUse     *Required
	mustInclude []*Required
	mods        []string
	prevents    Changes  // what mods prohibit
	prohibited  []string // contexts
	required    []string // contexts
	targets     []condition
	locations   []location
	usageRefs   []*Required
	plus        plusTerms // which qualifiers take their value from terms in the resource
	creditAt    int       // the place of their credit among mustInclude
	notes       []note
}

// location is one value of the location qualifier, as written and in normal form (P2 2.2.9.1, M01).
type location struct{ text, normal string }

// qualifierType is one row of the qualifier table of P1 annex A.
type qualifierType struct {
	name  string
	newer bool    // a feature of version 1.1 as a whole
	usage kindSet // usage types it may qualify
	hint  string  // the values it takes
	meta  bool    // in META only (P2 2.2.9)
	first bool    // second and later occurrences are ignored
	// newValue reports whether a value is a feature of version 1.1; nil: none is.
	newValue func(v string) bool
	// read fills r from the values that count. It returns why they cannot be interpreted, or "".
	read func(r *restrictions, values []string, strict bool) string
}

var (
	presents = setOf(kPresent, kOriginal, kCurrentCopy, kOldCopy, kSnippet, kThumbnail, kOldSnippet, kOldThumbnail,
		kLink)
	wholes   = setOf(kPresent, kOriginal, kCurrentCopy, kOldCopy)
	snippets = setOf(kSnippet, kOldSnippet)
	// may be made from a substitute (P1 2.5.5.3, I09)
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

// maxQualifiers is how many qualifiers a field may have. One with more cannot be interpreted.
const maxQualifiers = 64

// qualified is the result of reading the qualifiers of one permission.
type qualified struct {
	any          bool          // there are qualifiers
	anyOlder     bool          // some of them are none of version 1.1 as a whole
	restrictions *restrictions // nil without any
	newer        bool          // holds a feature of version 1.1 (P1 2.8, B02)
	newToken     string        // the first that does
	fault        fault         // why they cannot be interpreted
	older        fault         // why they cannot be without the features of version 1.1 either (P1 2.8, X86)
	embedded     string        // the last one that leaves its value to embedded terms
	notes        []note
}

// fault is why qualifiers cannot be interpreted. The zero value means that they can be.
type fault struct {
	text, code, hint string
	token            string // the one that cannot be
	unknown          string // its name, where that is not known
}

func (f fault) found() bool { return f.text != "" }

// note is a finding about qualifiers that are understood.
type note struct {
	code     string
	severity Severity
	token    string
	text     string
	hint     string
}

// written holds the tokens of one type of qualifier in a field, and their values.
type written struct {
	row            *qualifierType
	tokens, values []string
}

// readQualifiers reads the tokens after a resource specification. Every qualifier counts for the
// version before any is interpreted (P1 2.8, X36); the first that cannot be interpreted makes the
// whole permission uninterpretable (P1 2.4.3, B11, G04, G07).
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
		// P1 2.8 (X86): a gated field that would be a prohibition without its feature of 1.1 too is
		// that prohibition
		if out.newer {
			out.readOlder(&order[i], c.Strict)
		}
	}
	out.notes = append(out.notes, out.restrictions.notes...)
	return out
}

// fail stores the first fault. older means that it has nothing to do with version 1.1 (P1 2.8,
// X86).
func (q *qualified) fail(older bool, f fault) {
	if !q.fault.found() {
		q.fault = f
	}
	if older && !q.older.found() {
		q.older = f
	}
}

// sort groups the qualifiers by type, in the order in which the types appear.
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
	// P2 2.2.9 (M04): location is for META and any usage there; in robots.txt it prohibits
	case row.meta && src != Meta:
		f.hint = "leave it out: robots.txt says by its patterns where a permission holds"
		f.text = fmt.Sprintf("the qualifier %s may stand in META tags only", row.name)
	case k < kinds && !row.usage.has(k): // P1 2.4.1.2 (G04): a qualifier that does not apply to its usage prohibits
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
	if len(values) < len(w.values) { // P1 2.5.3.1 (H07), P1 2.5.5.6 (J08): of several values some do not count
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

// readOlder reads the values of one type without those of version 1.1 (P1 2.8, X86).
func (q *qualified) readOlder(w *written, strict bool) {
	values := w.older()
	if len(values) == 0 || q.older.found() {
		return
	}
	var alone restrictions
	switch faults := w.faults(&alone, counted(w.row, values, strict), strict); {
	case len(faults) > 0:
		q.older = faults[0]
	// P1 2.8 (B02): must-include-resource=plus-terms is a prohibition where 1.1 is not declared,
	// too
	case alone.plus != 0:
		q.older = fault{token: w.tokens[0], code: "undeclared-version", hint: "declare ACAP version 1.1",
			text: w.row.name + "=plus-terms is a feature of ACAP 1.1 that the document does not declare"}
	}
}

// faults reads values into r and returns why some cannot be interpreted.
func (w *written) faults(r *restrictions, values []string, strict bool) (list []fault) {
	for _, v := range values {
		// P1 3 (A04): a raw quotation mark or apostrophe spoils a qualifier value, a grave accent
		// does not
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
	return note{"ignored-qualifier", Notice, token, "this " + name + " does not count beside the others of its kind",
		"leave it out"}
}

// firstLeftOut returns the index of the first value that does not count. Both lists have the same
// order.
func firstLeftOut(all, counted []string) int {
	for i, v := range counted {
		if all[i] != v {
			return i
		}
	}
	return len(counted)
}

// String returns the usage types of a set, separated by commas.
func (s kindSet) String() string {
	var names []string
	for k := range kinds {
		if s.has(k) {
			names = append(names, string(k.usage()))
		}
	}
	return strings.Join(names, ", ")
}

// counted returns the values that count when a qualifier is repeated. Those that do not count are
// not checked (P1 2.4.3, G07).
func counted(row *qualifierType, values []string, strict bool) []string {
	switch {
	// P1 2.5.5.6 (J08): in the strict variant all count
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
	if row.newer || row.name == "time-limit" && len(all) > 1 { // P1 2.8 (B02): repetition of time-limit is new
		return true
	}
	if row.newValue == nil {
		return false
	}
	for _, v := range counted { // P1 2.8 (X47): an ignored value is no feature
		if row.newValue(v) {
			return true
		}
	}
	return false
}

func isPlus(v string) bool { return strings.EqualFold(v, plusValue) }

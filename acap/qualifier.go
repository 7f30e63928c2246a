package acap

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// restrictions is what the qualifiers of one permission field say together (P1 annex A).
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
	plus        plusTerms // what is left to terms embedded in the resource
	creditAt    int       // the place of their credit among mustInclude
	notes       []note
}

// location is one value of the location qualifier, as written and in normal form (M01).
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
	// read fills r from the values that count; a non-empty answer says why they cannot be interpreted.
	read func(r *restrictions, values []string, strict bool) string
}

var (
	presents  = setOf(kPresent, kOriginal, kCurrentCopy, kOldCopy, kSnippet, kThumbnail, kOldSnippet, kOldThumbnail, kLink)
	wholes    = setOf(kPresent, kOriginal, kCurrentCopy, kOldCopy)
	snippets  = setOf(kSnippet, kOldSnippet)
	derivable = setOf(kSnippet, kThumbnail, kOldSnippet, kOldThumbnail, kLink) // may be made from a substitute (I09)
	anyUsage  = kindSet(1<<kinds - 1)
)

var qualifierTable = []qualifierType{
	{name: "time-limit", hint: "write until-recrawled, until-yyyy-mm-dd, n-days or plus-terms",
		usage: setOf(kIndex, kPreserve) | presents, newValue: isPlus, read: readTimeLimit},
	{name: "must-use-resource", hint: "write a URI, or the-acap:extract: with id:, idlist:, class:, classlist:, meta: or taglist: and names, or the-acap:text: and a text",
		usage: setOf(kIndex, kPresent) | derivable, first: true, newValue: newMustUse, read: readMustUse},
	{name: "max-length", hint: "write n-chars or n-words",
		usage: snippets, first: true, read: readMaxLength},
	{name: "prohibited-modification", hint: "write any, format, style, translation, annotation, appearance, content, metadata, structure or plus-terms",
		usage: wholes, newValue: newModification, read: readModification},
	{name: "must-include-resource", hint: "write the-acap: with extract:, credit:, link:, license-link: or registration-link:, and id:, class:, meta:, text: or a URI",
		usage: setOf(kPresent) | snippets, first: true, newValue: newMustInclude, read: readMustInclude},
	{name: "prohibited-context", hint: "write within-user-frame",
		usage: wholes, first: true, read: readProhibitedContext},
	{name: "required-context", hint: "write within-original-frame or within-user-frame",
		usage: wholes, first: true, newValue: func(v string) bool { return strings.EqualFold(v, withinUser) }, read: readRequiredContext},
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

// maxQualifiers bounds the work on a hostile field; one with more cannot be interpreted.
const maxQualifiers = 64

// qualified is what became of the qualifiers of one permission.
type qualified struct {
	any          bool          // there are qualifiers
	restrictions *restrictions // nil without any
	newer        bool          // holds a feature of version 1.1 (B02)
	newToken     string        // the first that does
	code, bad    string        // why it cannot be interpreted; bad is empty if it can
	hint         string
	token        string // the one that cannot be
	unknown      string // its name, where that is not known
	embedded     string // the last one that leaves its value to embedded terms
	notes        []note
}

// note is something to tell of qualifiers that are understood.
type note struct {
	code     string
	severity Severity
	token    string
	text     string
	hint     string
}

// readQualifiers reads the tokens behind a resource specification. Every qualifier counts towards gating before any is judged
// (X36); the first that cannot be interpreted makes the whole permission uninterpretable (P1 2.4.3, B11, G04, G07).
func readQualifiers(tokens []string, k kind, src Source, c *Crawler) qualified {
	if len(tokens) == 0 {
		return qualified{}
	}
	out := qualified{any: true, restrictions: &restrictions{}}
	fail := func(token, code, hint, format string, args ...any) bool {
		first := out.bad == ""
		if first {
			out.token, out.code, out.hint, out.bad = token, code, hint, fmt.Sprintf(format, args...)
		}
		return first
	}
	if len(tokens) > maxQualifiers {
		fail(tokens[maxQualifiers], "too-many-qualifiers", "keep the few that are needed", "the field has more than %d qualifiers", maxQualifiers)
	}
	var order []*qualifierType
	values, written := map[*qualifierType][]string{}, map[*qualifierType][]string{}
	for _, t := range tokens {
		name, value, ok := strings.Cut(t, "=")
		name = strings.ToLower(name)
		row := qualifierRow(name)
		switch {
		case !ok || name == "":
			hint := "write qualifier-type=value without blanks in the value"
			if t[0] == '/' || t[0] == '*' {
				hint = "write a field for each pattern"
			}
			fail(t, "malformed-qualifier", hint, "%q is not a qualifier", clip(t))
		case row == nil:
			if fail(t, "unknown-qualifier", "", "the qualifier %q is not known", clip(name)) {
				out.unknown = name
			}
		default:
			if values[row] == nil {
				order = append(order, row)
			}
			values[row], written[row] = append(values[row], value), append(written[row], t)
		}
	}
	for _, row := range order {
		t, all := written[row][0], values[row]
		vs := counted(row, all, c.Strict)
		if !out.newer && isNewer(row, all, vs) {
			out.newer, out.newToken = true, t
		}
		switch {
		case row.meta && src != Meta:
			fail(t, "inapplicable-qualifier", "leave it out: robots.txt says by its patterns where a permission holds", "the qualifier %s may stand in META tags only", row.name) // M04
			continue
		case k < kinds && !row.usage.has(k):
			fail(t, "inapplicable-qualifier", "it may qualify "+row.usage.String(), "the qualifier %s may not qualify %s", row.name, k.usage()) // G04
			continue
		case c.unable(row.name):
			fail(t, "cannot-interpret", "", "this crawler cannot interpret %s", row.name)
			continue
		}
		for _, v := range vs {
			if v == "" || strings.ContainsAny(v, "\"'") { // A04
				fail(row.name+"="+v, "malformed-value", "write quotation marks as %22 and %27", "%s=%s is not a value", row.name, clip(v))
			}
			if strings.EqualFold(v, "until-recrawl") { // H01
				out.notes = append(out.notes, note{"misspelt-value", Warning, row.name + "=" + v, "until-recrawl is read as until-recrawled", "write until-recrawled"})
			}
		}
		if len(vs) < len(all) { // H07, H08, H12, J08, K01 and the like
			out.notes = append(out.notes, ignored(written[row][firstLeftOut(all, vs)], row.name))
		}
		before := out.restrictions.plus
		if why := row.read(out.restrictions, vs, c.Strict); why != "" {
			fail(t, "malformed-value", row.hint, "%s: %s", row.name, why)
		}
		if out.restrictions.plus != before {
			out.embedded = t
		}
	}
	out.notes = append(out.notes, out.restrictions.notes...)
	return out
}

func ignored(token, name string) note {
	return note{"ignored-qualifier", Notice, token, "this " + name + " does not count beside the others of its kind", "leave it out"}
}

// firstLeftOut gives the index of the first value that is not among those that count, which are in the same order.
func firstLeftOut(all, counted []string) int {
	for i, v := range counted {
		if all[i] != v {
			return i
		}
	}
	return len(counted)
}

// String lists the usage types of a set, as a sentence has them.
func (s kindSet) String() string {
	var names []string
	for k := range kinds {
		if s.has(k) {
			names = append(names, string(k.usage()))
		}
	}
	return strings.Join(names, ", ")
}

// counted drops the occurrences of a qualifier that its combination rule ignores; an ignored occurrence is not even checked (G07).
func counted(row *qualifierType, values []string, strict bool) []string {
	switch {
	case row.first && strict && row.name == "must-include-resource": // J08, strict variant
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
	if row.newer || row.name == "time-limit" && len(all) > 1 { // B02: repetition of time-limit is new
		return true
	}
	if row.newValue == nil {
		return false
	}
	for _, v := range counted { // X47: an ignored value is no feature
		if row.newValue(v) {
			return true
		}
	}
	return false
}

func isPlus(v string) bool { return strings.EqualFold(v, plusValue) }

// countedTimeLimits removes plus-terms beside other limits (H08) and then all but the first two (H12).
func countedTimeLimits(values []string) []string {
	var rest []string
	for _, v := range values {
		if !isPlus(v) {
			rest = append(rest, v)
		}
	}
	if len(rest) == 0 {
		return values[:1] // X46
	}
	return rest[:min(2, len(rest))]
}

// maxDays keeps n-days within what a time can express (X26).
const maxDays = 3_000_000

func readTimeLimit(r *restrictions, values []string, _ bool) string {
	for _, v := range values {
		v = strings.ToLower(v)
		switch {
		case v == plusValue: // X32
			r.plus |= plusEnd
		case v == "until-recrawled" || v == "until-recrawl": // H01
			r.recrawled = true // a repetition says nothing new
		case strings.HasPrefix(v, "until-"):
			date := strings.TrimPrefix(v, "until-")
			day, err := time.Parse("2006-01-02", date)
			if err != nil { // H10
				return fmt.Sprintf("%q is not a date yyyy-mm-dd", date)
			}
			if r.hasUntil { // H07: of two dates the first
				r.notes = append(r.notes, ignored("time-limit="+v, "time-limit"))
				continue
			}
			r.hasUntil, r.until = true, day.AddDate(0, 0, 1) // H02, X03
		case strings.HasSuffix(v, "-days"):
			n, ok := digits(strings.TrimSuffix(v, "-days"))
			if !ok { // H03
				return fmt.Sprintf("%q is not a number of days", v)
			}
			if r.hasDays { // H07
				r.notes = append(r.notes, ignored("time-limit="+v, "time-limit"))
				continue
			}
			if n > maxDays { // X26
				r.notes = append(r.notes, clamped("time-limit="+v, maxDays))
			}
			r.hasDays, r.days = true, min(n, maxDays)
		default:
			return fmt.Sprintf("%q is none of until-recrawled, until-yyyy-mm-dd, n-days", v)
		}
	}
	return ""
}

func clamped(token string, n int) note {
	return note{"clamped-value", Notice, token, "the number is read as " + strconv.Itoa(n), "leave the qualifier out where nothing is limited"}
}

// digits reads 1*DIGIT; a number beyond int64 is clamped (X26).
func digits(s string) (int64, bool) {
	if s == "" {
		return 0, false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		n = 1<<63 - 1
	}
	return n, true
}

func readMaxLength(r *restrictions, values []string, _ bool) string {
	v := strings.ToLower(values[0])
	for suffix, to := range map[string]**int{"-chars": &r.maxChars, "-words": &r.maxWords} {
		if number, ok := strings.CutSuffix(v, suffix); ok {
			n, ok := digits(number)
			if !ok {
				break
			}
			if n > 1<<31-1 { // X26
				r.notes = append(r.notes, clamped("max-length="+v, 1<<31-1))
			}
			m := int(min(n, 1<<31-1))
			*to = &m
			return ""
		}
	}
	return fmt.Sprintf("%q is neither n-chars nor n-words", v)
}

func newModification(v string) bool {
	m, _ := modificationNamed(strings.ToLower(v))
	return m.newer || isPlus(v)
}

// countedModifications: any and plus-terms each ignore all other values, but not one another (K01).
func countedModifications(values []string) []string {
	var rule []string
	for _, v := range values {
		if strings.EqualFold(v, "any") || isPlus(v) {
			rule = append(rule, v)
		}
	}
	if rule != nil {
		return rule
	}
	return values
}

func readModification(r *restrictions, values []string, _ bool) string {
	for _, v := range values {
		v = strings.ToLower(v)
		if v == plusValue { // X32, K01
			r.plus |= plusAlterations
			continue
		}
		if _, known := modificationNamed(v); !known {
			return fmt.Sprintf("%q is not a kind of modification", v)
		}
		r.mods = appendNew(r.mods, v)
	}
	r.prevents = prevented(r.mods)
	return ""
}

func readProhibitedContext(r *restrictions, values []string, _ bool) string {
	v := strings.ToLower(values[0])
	if v != withinUser {
		return fmt.Sprintf("%q is not %s", v, withinUser)
	}
	r.prohibited = appendNew(r.prohibited, v)
	return ""
}

func readRequiredContext(r *restrictions, values []string, _ bool) string {
	v := strings.ToLower(values[0])
	if v != withinOriginal && v != withinUser {
		return fmt.Sprintf("%q is neither %s nor %s", v, withinOriginal, withinUser)
	}
	r.required = appendNew(r.required, v)
	return ""
}

// readLocation keeps all values: any one of them may be where the page is (M02).
func readLocation(r *restrictions, values []string, _ bool) string {
	for _, v := range values {
		u, ok := absoluteURL(v)
		if !ok {
			return fmt.Sprintf("%q is not an absolute http or https URI", v)
		}
		r.locations = append(r.locations, location{text: v, normal: NewResource(u).URL})
	}
	return ""
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

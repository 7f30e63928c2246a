package second

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// qualifier is one qualifier of a permission, written name=value. The name is in lower case.
type qualifier struct{ name, value string }

// terms holds the parsed qualifiers of one permission.
type terms struct {
	recrawled   bool
	days        []int
	dates       []time.Time // for each date, the first instant after it (X03)
	mustUse     string
	mustInclude []string
	chars       *int
	words       *int
	mods        []string
	prohibited  []string
	required    []string
	targets     []string
	locations   []string
	usageRefs   []string
}

// reading is the result of reading the qualifiers of one permission.
type reading struct {
	terms   terms
	bad     bool // the qualifiers cannot be fully interpreted
	badOld  bool // the qualifiers without 1.1 features cannot be interpreted either (X86)
	feature bool // the qualifiers use a feature of version 1.1
}

func (r *reading) spoil() { r.bad, r.badOld = true, true }

// new records that the qualifiers use a feature of version 1.1.
func (r *reading) new() { r.feature = true }

func isQualifier(name string) bool { return applies(name, "") }

// applies reports whether a qualifier belongs to a usage, by the annex of P1. With usage "" it
// reports whether the qualifier exists. location exists only in META.
func applies(name, usage string) bool {
	var list string
	switch name {
	case "max-length":
		list = "present-snippet present-oldsnippet"
	case "must-include-resource":
		list = "present present-snippet present-oldsnippet"
	case "must-use-resource":
		list = "index present present-snippet present-thumbnail present-oldsnippet present-oldthumbnail present-link"
	case "prohibited-context", "prohibited-modification", "required-context":
		list = "present present-original present-currentcopy present-oldcopy"
	case "target-condition":
		list = "present"
	case "time-limit":
		return usage != "crawl" && usage != "follow" && usage != "other"
	case "usage-ref":
		list = "other"
	case "location":
		return true
	default:
		return false
	}
	return usage == "" || slices.Contains(strings.Fields(list), usage)
}

// readQualifiers splits the tokens after a resource into qualifiers. Blanks around the equals sign
// are allowed (P1 3, A06). ok is false if a token is not a qualifier.
func readQualifiers(s string) ([]qualifier, bool) {
	ok := true
	var out []qualifier
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		m := oneQualifier.FindStringSubmatch(s)
		if m == nil {
			ok = false
			s = strings.TrimPrefix(s, firstToken(s))
			continue
		}
		out = append(out, qualifier{strings.ToLower(m[1]), m[2]})
		s = s[len(m[0]):]
	}
	return out, ok
}

// oneQualifier matches a type, an equals sign and a value that ends at a blank (P1 3).
var oneQualifier = regexp.MustCompile(`^([^ \t\r\n=]+)\s*=\s*(\S*)`)

// readTerms reads the qualifiers of a permission. page means that they are in META.
func readTerms(usage string, list []qualifier, page bool, a ability) reading {
	var r reading
	seen := map[string]int{}
	values := map[string][]string{}
	for _, q := range list {
		seen[q.name]++
		values[q.name] = append(values[q.name], q.value)
	}
	for name := range seen {
		switch {
		case slices.Contains(a.cannot, name):
			r.bad = true
			r.feature, r.badOld = r.feature || newName(name), r.badOld || !newName(name)
		// P1 2.4.3 (B11), P2 2.2.9 (M04): an unknown qualifier makes the permission a prohibition
		case !isQualifier(name), name == "location" && !page:
			r.spoil()
		case !applies(name, usage): // P1 2.4.1.2 (G04): the qualifier is not valid for this usage
			r.bad = true
			if newName(name) {
				r.new()
			} else {
				r.badOld = true
			}
		case name == "must-include-resource" && a.strict:
			// P1 2.5.5.6 (J08): if strict, every listed resource must be shown
			for _, v := range values[name] {
				readOne(&r, name, v)
			}
		case name == "max-length", name == "must-use-resource", name == "must-include-resource",
			name == "prohibited-context", name == "required-context":
			readFirst(&r, name, values[name])
		case name == "time-limit":
			readTimeLimits(&r, values[name])
		case name == "prohibited-modification":
			readModifications(&r, values[name])
		case name == "target-condition":
			readTargets(&r, values[name])
		case name == "usage-ref":
			r.new()
			for _, v := range values[name] {
				if !isUsageRef(v) {
					r.bad = true
				}
			}
			r.terms.usageRefs = values[name]
		case name == "location":
			r.terms.locations = values[name]
			for _, v := range values[name] { // P2 2.2.9.1: the value is an absolute URI
				if !strings.Contains(v, "://") || !isURI(v) {
					r.spoil()
				}
			}
		}
	}
	for _, q := range list {
		if !cleanValue(q.value) && readsAll(q.name) { // P1 3 (A04): invalid characters in the value
			r.bad = true
			r.badOld = r.badOld || !newName(q.name)
		}
	}
	return r
}

// readFirst reads a qualifier of which only the first occurrence applies. P1 2.4.3 (G07). Without
// 1.1 features, the first occurrence of an old form applies (X86).
func readFirst(r *reading, name string, values []string) {
	readOne(r, name, values[0])
	if !r.feature || r.badOld {
		return
	}
	for _, v := range values {
		var alone reading
		if readOne(&alone, name, v); !alone.feature || alone.bad {
			r.badOld = alone.bad
			return
		}
	}
}

func readsAll(name string) bool {
	return name == "location" || name == "usage-ref" || name == "target-condition"
}

// cleanValue reports whether a value contains only permitted characters: no quotation mark, no
// apostrophe. P1 3 (A04).
func cleanValue(s string) bool {
	return s != "" && !strings.ContainsAny(s, "\"'")
}

var (
	lengthValue = regexp.MustCompile(`^([0-9]+)-(chars|words)$`)
)

// clamp reads a number and reduces huge values to a limit (X26).
func clamp(s string) int {
	s = strings.TrimLeft(s, "0")
	if len(s) > 6 {
		return 999999
	}
	n, _ := strconv.Atoi(s)
	return n
}

// readOne reads a qualifier of which only the first occurrence applies.
func readOne(r *reading, name, value string) {
	if !cleanValue(value) {
		r.spoil()
		return
	}
	lower := strings.ToLower(value)
	switch name {
	case "max-length":
		m := lengthValue.FindStringSubmatch(lower)
		if m == nil {
			r.spoil()
			return
		}
		n := clamp(m[1])
		if m[2] == "chars" {
			r.terms.chars = &n
		} else {
			r.terms.words = &n
		}
	case "must-use-resource":
		readMustUse(r, value)
	case "must-include-resource":
		readMustInclude(r, value)
	case "prohibited-context":
		if lower != "within-user-frame" {
			r.spoil()
		}
		r.terms.prohibited = []string{lower}
	case "required-context":
		switch lower {
		case "within-original-frame":
		case "within-user-frame":
			r.new()
		default:
			r.spoil()
		}
		r.terms.required = []string{lower}
	}
}

// readMustUse reads a URI or a selector of P1 2.5.3.2.
func readMustUse(r *reading, value string) {
	r.terms.mustUse = value
	rest, ours := cutFold(value, "the-acap:")
	if !ours {
		if !isURI(value) {
			r.spoil()
		}
		return
	}
	kind, arg, _ := strings.Cut(rest, ":")
	kind = strings.ToLower(kind)
	if kind == "extract" {
		sub, a, _ := strings.Cut(arg, ":")
		kind, arg = strings.ToLower(sub), a
		if kind == "text" { // P1 2.5.3.2 (I07): the-acap:extract:text: is not a selector
			kind = ""
		}
	} else if kind != "text" {
		kind = ""
	}
	switch kind {
	case "idlist", "classlist", "taglist":
		r.new() // a malformed value in a form that is new in version 1.1 counts as a feature of version 1.1
		r.bad = r.bad || slices.Contains(strings.Split(arg, ","), "")
	case "text":
		r.new()
		r.bad = r.bad || arg == ""
	case "id", "class", "meta":
		if arg == "" {
			r.spoil()
		}
	default:
		r.spoil()
	}
}

// readMustInclude reads a locator of P1 2.5.5.6. A URI without a known role cannot be interpreted
// (J11).
func readMustInclude(r *reading, value string) {
	r.terms.mustInclude = append(r.terms.mustInclude, value)
	if strings.EqualFold(value, "plus-terms") { // B02: plus-terms is a 1.1 feature; it prohibits in either version
		r.spoil()
		return
	}
	rest, ours := cutFold(value, "the-acap:")
	role, locator, found := strings.Cut(rest, ":")
	if !ours || !found || locator == "" {
		r.spoil()
		return
	}
	switch strings.ToLower(role) {
	case "extract", "credit", "link":
	case "license-link", "registration-link":
		r.new()
	default:
		r.spoil()
		return
	}
	for _, prefix := range []string{"id:", "class:", "meta:", "text:"} {
		if arg, ok := cutFold(locator, prefix); ok {
			if arg == "" {
				r.spoil()
			} else if prefix == "text:" {
				r.new()
			}
		}
	}
}

// readModifications combines the values. "any" overrides the others, except plus-terms, which
// cannot be interpreted. P1 2.5.5.5 (K01).
func readModifications(r *reading, values []string) {
	any := slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, "any") })
	for _, v := range values {
		v = strings.ToLower(v)
		switch v {
		case "plus-terms":
			r.bad = true
			r.new()
		case "any", "format", "style", "translation", "annotation":
		case "appearance", "content", "metadata", "structure":
			if !any {
				r.new()
			}
		default:
			if !any {
				r.spoil()
			}
		}
		if !slices.Contains(r.terms.mods, v) && (!any || v == "any") {
			r.terms.mods = append(r.terms.mods, v)
		}
	}
}

// isURI reports whether a value is a relative URI or an http or https URI.
func isURI(v string) bool {
	u, err := url.Parse(v)
	return v != "" && err == nil && (u.Scheme == "" || u.Scheme == "http" || u.Scheme == "https")
}

// isUsageRef reports whether a value is a general URI or one with a role of P1 2.5.6.1 (L04).
func isUsageRef(v string) bool {
	rest, ours := cutFold(v, "the-acap:")
	if !ours {
		return isURI(v)
	}
	role, locator, _ := strings.Cut(rest, ":")
	switch strings.ToLower(role) {
	case "link", "terms-link", "permission-link":
		for _, prefix := range []string{"id:", "class:", "meta:", "text:"} {
			if arg, ok := cutFold(locator, prefix); ok {
				return arg != ""
			}
		}
		return locator != ""
	}
	return false
}

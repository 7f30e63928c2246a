package second

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A qualifier is one name=value of a permission, the name in lower case.
type qualifier struct{ name, value string }

// terms are the qualifiers of one permission, read.
type terms struct {
	recrawled   bool
	days        []int
	dates       []time.Time // the first instant after each date (X03)
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

// A reading is what came of the qualifiers of one permission.
type reading struct {
	terms   terms
	bad     bool // it cannot be fully interpreted
	badOld  bool // it cannot be interpreted without its 1.1 features either (X86)
	feature bool // it has a feature of version 1.1
}

func (r *reading) spoil() { r.bad, r.badOld = true, true }

// new marks a 1.1 feature.
func (r *reading) new() { r.feature = true }

func isQualifier(name string) bool { return applies(name, "") }

// applies reports whether a qualifier belongs to a usage, by the annex of P1; for "" whether it
// exists. A location is a qualifier of META alone.
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

// readQualifiers splits the tokens behind a resource into qualifiers; blanks around the equals
// sign are allowed (A06). It returns false if a token is none.
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

// oneQualifier is a type, an equals sign and a value, which ends at a blank (P1 3).
var oneQualifier = regexp.MustCompile(`^([^ \t\r\n=]+)\s*=\s*(\S*)`)

// readTerms reads the qualifiers of a permission of a usage. page says that they stand in META.
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
		case !isQualifier(name), name == "location" && !page: // B11, M04: unknown qualifiers prohibit
			r.spoil()
		case !applies(name, usage): // G04: valid elsewhere, not here
			r.bad = true
			if newName(name) {
				r.new()
			} else {
				r.badOld = true
			}
		case name == "must-include-resource" && a.strict: // J08: strict shows every required resource
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
			for _, v := range values[name] { // P2 2.2.9.1: a URI, thus absolute
				if !strings.Contains(v, "://") || !isURI(v) {
					r.spoil()
				}
			}
		}
	}
	for _, q := range list {
		if !cleanValue(q.value) && readsAll(q.name) { // A04
			r.bad = true
			r.badOld = r.badOld || !newName(q.name)
		}
	}
	return r
}

// readFirst reads a qualifier of which only the first occurrence counts; the others are not read
// (G07). Without features of 1.1 the first of the others counts (X86).
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

// cleanValue reports whether a value has only the characters of a qualifier value: no quotation
// mark, no apostrophe (A04).
func cleanValue(s string) bool {
	return s != "" && !strings.ContainsAny(s, "\"'")
}

var (
	lengthValue = regexp.MustCompile(`^([0-9]+)-(chars|words)$`)
)

// clamp reads a number; huge ones are cut (X26).
func clamp(s string) int {
	s = strings.TrimLeft(s, "0")
	if len(s) > 6 {
		return 999999
	}
	n, _ := strconv.Atoi(s)
	return n
}

// readOne reads a qualifier of which only the first occurrence counts.
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
		if kind == "text" { // I07: the-acap:extract:text: is no selector
			kind = ""
		}
	} else if kind != "text" {
		kind = ""
	}
	switch kind {
	case "idlist", "classlist", "taglist":
		r.new() // a malformed value of a new form belongs to the feature
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

// readMustInclude reads a locator of P1 2.5.5.6. A bare URI has no known role and cannot be
// interpreted (J11).
func readMustInclude(r *reading, value string) {
	r.terms.mustInclude = append(r.terms.mustInclude, value)
	if strings.EqualFold(value, "plus-terms") { // B02: a 1.1 feature, and prohibited in either version
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

// readModifications combines the values: any hides the others; plus-terms cannot be interpreted,
// also beside any (K01).
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

// isURI reports whether a value is a relative URI or one that can be requested.
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

package acap

import (
	"fmt"
	"sort"
	"strings"
	"time"
)

// latest is the last time that RFC 3339 can express. Later time limits are shortened to it (P1
// 2.5.5.4, X26).
var latest = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// binds reports whether the qualifier of s with this name limits the usage type k. A qualifier in a
// permission of "present" limits a type based on "present" only if the qualifier can apply to that
// type (P1 2.5.5, F18, X44; P1 2.5.5.3, I09; P1 2.5.5.6, J07; P1 2.5.5.7, K04).
func (s *statement) binds(name string, k kind) bool {
	switch name {
	case "max-length":
		return snippets.has(k)
	case "must-use-resource":
		return k == kIndex || k == kPresent || derivable.has(k)
	// P1 2.5.5.5 (X28): a snippet and a thumbnail always modify what they show
	case "prohibited-modification":
		return presents.has(k) && k != kLink
	case "context":
		return wholes.has(k)
	}
	return true
}

// Limits returns the limits of a permitted usage under the facts f. For a refused usage it returns
// only the references that say where to ask for permission (P1 2.5.6.1, X38).
func (d Decision) Limits(f Facts) (l Limits) {
	for _, s := range d.bound() {
		s.limit(&l, d, f)
	}
	d.fields.caps.limit(&l, d)
	return l
}

// limit adds the limits that the statement s sets to l.
func (s *statement) limit(l *Limits, d Decision, f Facts) {
	r, k := s.limits, d.Usage.kind()
	if k == kOther {
		for _, ref := range r.usageRefs {
			l.UsageRef = appendNew(l.UsageRef, ref.Value)
		}
	}
	if !d.Allowed {
		return
	}
	if until, ok := s.until(k, f); ok {
		l.end(until)
	}
	l.UntilRecrawled = l.UntilRecrawled || r.recrawled
	if s.binds("max-length", k) {
		l.MaxChars, l.MaxWords = smaller(l.MaxChars, r.maxChars), smaller(l.MaxWords, r.maxWords)
	}
	if r.mustUse != nil && s.binds("must-use-resource", k) {
		l.MustUse = appendNew(l.MustUse, r.mustUse.Value)
	}
	for _, m := range r.mustInclude {
		if m.demandedOf(k) {
			l.MustInclude = appendNew(l.MustInclude, m.Value)
		}
	}
	if s.binds("prohibited-modification", k) {
		for _, m := range r.mods {
			l.ProhibitedModification = appendNew(l.ProhibitedModification, m)
		}
	}
	if s.binds("context", k) {
		for _, c := range r.prohibited {
			l.ProhibitedContext = appendNew(l.ProhibitedContext, c)
		}
		for _, c := range r.required {
			l.RequiredContext = appendNew(l.RequiredContext, c)
		}
	}
	for _, c := range r.targets {
		l.Target = appendNew(l.Target, c.text)
	}
	for _, loc := range r.locations {
		l.Location = appendNew(l.Location, loc.text)
	}
}

// limit adds the limits that conventional rules set to l.
func (c *restraint) limit(l *Limits, d Decision) {
	if c == nil || !d.Allowed {
		return
	}
	k := d.Usage.kind()
	if snippets.has(k) {
		l.MaxChars = smaller(l.MaxChars, c.maxChars)
	}
	if c.untilField != nil && endsByTag(k) {
		l.end(c.until)
	}
}

// bound returns the statements in force that have limits, in the order of appearance.
func (d Decision) bound() []*statement {
	var out []*statement
	for i := range d.fields.n {
		if s := d.fields.at(i); s.limits != nil {
			out = append(out, s)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].seq < out[j].seq })
	return out
}

func endsByTag(k kind) bool { return k == kIndex || presents.has(k) }

func (l *Limits) end(t time.Time) {
	t = t.UTC()
	if t.After(latest) {
		t = latest
	}
	if l.Until.IsZero() || t.Before(l.Until) {
		l.Until = t
	}
}

func smaller(a, b *int) *int {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// until returns the end of a statement's time limits (P1 2.5.3.1, X03). ok is false if it has none.
func (s *statement) until(k kind, f Facts) (t time.Time, ok bool) {
	r := s.limits
	if r.hasUntil {
		t, ok = r.until, true
	}
	if r.hasDays {
		end := f.first(k).UTC().AddDate(0, 0, int(r.days))
		if end.After(latest) {
			end = latest
		}
		if !ok || end.Before(t) {
			t, ok = end, true
		}
	}
	return t, ok
}

// first returns when a usage first happened. For presentation this is the earliest known date (P1
// 2.5.3.1, H04). Without a date it returns the time f.Now (P1 2.5.3.1, X04).
func (f Facts) first(k kind) time.Time {
	var t time.Time
	switch {
	case k == kIndex:
		t = f.FirstIndexed
	case k == kPreserve:
		t = f.FirstPreserved
	case presents.has(k):
		for _, at := range []time.Time{f.FirstCrawled, f.FirstIndexed, f.FirstPreserved, f.FirstPresented} {
			if !at.IsZero() && (t.IsZero() || at.Before(t)) {
				t = at
			}
		}
	}
	if t.IsZero() {
		return f.Now
	}
	return t
}

// At returns d, or a refusal if the facts f do not meet one of the limits of d: the clock, the
// history of crawls, or the reader (P1 2.4.6, F16; P1 2.5.3.1, H09).
func (d Decision) At(f Facts) Decision {
	if !d.Allowed {
		return d
	}
	k := d.Usage.kind()
	for i := range d.fields.n {
		s := d.fields.at(i)
		if s.limits == nil {
			continue
		}
		until, ok := s.until(k, f)
		if ok {
			f.note(until)
		}
		switch {
		case ok && (f.Now.IsZero() || !f.Now.Before(until)): // if the current time is unknown, no time limit is met
			return Decision{Usage: d.Usage, Reason: ByExpiry, Because: s.field,
				Note: "since " + until.UTC().Format(time.RFC3339)}
		case s.limits.recrawled && f.Recrawled:
			return Decision{Usage: d.Usage, Reason: ByExpiry, Because: s.field,
				Note: "the resource has been re-crawled"}
		}
	}
	if c := d.fields.caps; c != nil && c.untilField != nil && endsByTag(k) {
		f.note(c.until)
		if f.Now.IsZero() || !f.Now.Before(c.until) {
			return Decision{Usage: d.Usage, Reason: ByExpiry, Because: c.untilField,
				Note: "since " + c.until.Format(time.RFC3339)}
		}
	}
	for i := range d.fields.n {
		s := d.fields.at(i)
		if s.limits == nil || !presents.has(k) {
			continue
		}
		for _, c := range s.limits.targets { // P1 2.5.5.9 (K12): every target-condition must hold
			if !c.met(f.Target) {
				return Decision{Usage: d.Usage, Reason: ByTarget, Because: s.field,
					Note: "the reader does not meet " + c.text}
			}
		}
	}
	return d
}

// demandedOf reports whether a form of presentation must include the part r. An extract must be
// included only in forms that show text (P1 2.5.5.6, J07).
func (r *Required) demandedOf(k kind) bool {
	return presents.has(k) && (r.Role != "extract" || snippets.has(k) || wholes.has(k))
}

// MustUse returns the resources, or parts of the page, from which the forms of this usage must be
// made. Several fields may each require a different one (P1 2.5.3.2).
func (d Decision) MustUse() []*Required {
	var out []*Required
	k := d.Usage.kind()
	for _, s := range d.bound() {
		if s.limits.mustUse != nil && s.binds("must-use-resource", k) {
			out = appendRequired(out, s.limits.mustUse)
		}
	}
	return out
}

// MustInclude returns the resources, or parts of the page, that must be shown with the usage (P1
// 2.5.5.6).
func (d Decision) MustInclude() []*Required {
	var out []*Required
	k := d.Usage.kind()
	for _, s := range d.bound() {
		for _, m := range s.limits.mustInclude {
			if m.demandedOf(k) {
				out = appendRequired(out, m)
			}
		}
	}
	return out
}

// appendRequired appends r to list, unless list already contains r for the same field and another
// purpose (P1 2.3.3, X78). The resources that one field requires follow each other in list.
func appendRequired(list []*Required, r *Required) []*Required {
	for i := len(list) - 1; i >= 0 && list[i].Field == r.Field; i-- {
		if list[i].Value == r.Value {
			return list
		}
	}
	return append(list, r)
}

// UsageRefs returns the references in permissions of "other". The references say where to ask for
// other usages (P1 2.5.6.1). The crawler never fetches them (P1 2.5.6.1, L02).
func (d Decision) UsageRefs() []*Required {
	var out []*Required
	for _, s := range d.bound() {
		out = append(out, s.limits.usageRefs...)
	}
	return out
}

// Why returns a clause that names what decided: the file, line and text of a field, or a rule.
func (d Decision) Why() string {
	what, known := map[Reason]string{
		ByPermission: "permitted by", ByProhibition: "prohibited by", ByDefault: "nothing is said about it",
		ByOther:    "prohibited by",
		ByConflict: "permissions and prohibitions both match, and none is more specific; the prohibition decides:",
		ByFallback: "a field that is partly unsupported prohibits it:",
		ByExpiry:   "its time limit has passed:", ByLocation: "the page is not where its permission says:",
		ByTarget: "the reader does not meet a condition of",
		ByHeader: "restricted by", ByMeta: "restricted by", Unavailable: "its policy could not be read",
		Unfulfillable: "what it requires is not available:", ByAgreement: "an agreement is required by",
	}[d.Reason]
	if !known { // the reason comes from another vocabulary than ACAP
		what = map[bool]string{true: "permitted by", false: "prohibited by"}[d.Allowed]
	}
	if d.For != "" {
		what = string(d.For) + " is not allowed: " + what
	}
	parts := []string{what}
	if d.Because != nil {
		parts = append(parts, d.Because.String())
	}
	if d.Note != "" {
		parts = append(parts, fmt.Sprintf("(%s)", d.Note))
	}
	if d.Terms != "" {
		parts = append(parts, fmt.Sprintf("(the terms: %s)", d.Terms))
	}
	return strings.Join(parts, " ")
}

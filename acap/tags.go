package acap

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// restraint holds the limits that conventional rules set without prohibiting a usage.
type restraint struct {
	maxChars   *int // limit of max-snippet
	until      time.Time
	untilField *Field // the field with unavailable_after
	snippet    *Field
}

func (a *restraint) with(b *restraint) *restraint {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	c := *a
	c.shorten(b.maxChars, b.snippet)
	c.end(b.until, b.untilField)
	return &c
}

// limitsUsage reports whether the restraint contains a limit for the usage k.
func (a *restraint) limitsUsage(k kind) bool {
	return a.snippet != nil && snippets.has(k) || a.untilField != nil && endsByTag(k)
}

func (a *restraint) shorten(n *int, f *Field) {
	if n != nil && (a.maxChars == nil || *n < *a.maxChars) {
		a.maxChars, a.snippet = n, f
	}
}

func (a *restraint) end(t time.Time, f *Field) {
	if f != nil && (a.untilField == nil || t.Before(a.until)) {
		a.until, a.untilField = t, f
	}
}

// conventionalRules maps the known rules to the usages that they prohibit. Rules without usages
// have no effect.
var conventionalRules = map[string]kindSet{
	"noindex": setOf(kIndex), "nofollow": setOf(kFollow), "none": setOf(kIndex, kFollow),
	// REP 2 (N24): noarchive and nocache prohibit showing copies, but not storing them
	"nosnippet": snippets, "noarchive": setOf(kCurrentCopy, kOldCopy), "nocache": setOf(kCurrentCopy, kOldCopy),
	"all": 0, "index": 0, "follow": 0, "noodp": 0, "noimageindex": 0,
	// rules of the vocabulary noai
	NoAI: 0, NoImageAI: 0,
}

// The rules by which a page or an image refuses the training of models. The vocabulary noai reads
// them.
const (
	NoAI      = "noai"
	NoImageAI = "noimageai"
)

const (
	maxSnippet       = "max-snippet"
	unavailableAfter = "unavailable_after"
)

func knownRule(name string) bool {
	_, ok := conventionalRules[name]
	return ok || name == maxSnippet || name == unavailableAfter
}

// rule stores one conventional rule for the vocabularies, and reports problems with it.
func (n *narrowing) rule(field *Field, name, value string) {
	n.tagRules = append(n.tagRules, TagRule{field, name, value})
	_, known := conventionalRules[name]
	switch {
	case known:
	case name == maxSnippet:
		if _, _, ok := readMaxSnippet(value); !ok {
			n.report(field.at(value), "malformed-rule", Warning,
				"write max-snippet: and a number, 0 for no snippet, -1 for any length",
				"%q is not a number of characters: no snippet is shown", value)
		}
	case name == unavailableAfter:
		if _, err := readDate(value); err != nil { // REP 2 (X24): a date that cannot be parsed is treated as passed
			n.report(field.at(value), "malformed-rule", Error, "write a date such as 2027-01-31",
				"%q is not a date that can be read: it counts as passed", value)
		}
	default:
		names := ruleNames
		if strings.HasSuffix(name, "ai") {
			names = func() []string { return []string{NoAI, NoImageAI} }
		}
		n.report(field.at(name), "unknown-rule", Notice, n.near(name, names), "the rule %q has no effect", name)
	}
}

// readMaxSnippet reads the value of max-snippet. If limited is false, a snippet may have any
// length. If ok is false, the value is not a number of characters, and no snippet is permitted.
func readMaxSnippet(value string) (limit int, limited, ok bool) {
	limit, err := strconv.Atoi(value)
	switch {
	// P1 2.5.5.4 (X26): a number that is too large limits nothing
	case errors.Is(err, strconv.ErrRange) && value[0] != '-':
		return 0, false, true
	case err != nil || limit < -1:
		return 0, true, false
	}
	return limit, limit >= 0, true
}

// tagVocabulary is the vocabulary of conventional rules in META tags, X-Robots-Tag and Robots-Tag,
// such as noindex and max-snippet. The rules only restrict, and no permission wins against them (P2
// 2.1, N12; RTAG 3.1.1, N19).
type tagVocabulary struct{}

// tags holds the conventional rules of one page.
type tags struct {
	prohibited [kinds]*Field
	limits     *restraint
}

func (tagVocabulary) Name() string { return "tags" }

func (tagVocabulary) Key() string { return "tags" }

func (tagVocabulary) Files(*Site) []Needed { return nil }

func (tagVocabulary) Site(*Site) Preferences { return nil }

func (tagVocabulary) Page(p *Page, _ Preferences) Preferences {
	if len(p.Rules) == 0 {
		return nil
	}
	t := &tags{limits: &restraint{}}
	for i := range p.Rules {
		t.add(&p.Rules[i])
	}
	return t
}

func (t *tags) add(r *TagRule) {
	switch r.Name {
	case maxSnippet:
		limit, limited, _ := readMaxSnippet(r.Value)
		switch {
		case limited && limit == 0:
			t.prohibit(snippets, r.Field)
		case limited:
			t.limits.shorten(&limit, r.Field)
		}
	case unavailableAfter:
		end, err := readDate(r.Value)
		if err != nil { // REP 2 (X24): a date that cannot be parsed is treated as passed
			end = time.Unix(0, 0).UTC()
		}
		t.limits.end(end, r.Field)
	default:
		t.prohibit(conventionalRules[r.Name], r.Field)
	}
}

// prohibits returns the rule that prohibits a usage, or nil.
func (t *tags) prohibits(k kind) *Field {
	if k >= kinds {
		return nil
	}
	return t.prohibited[k]
}

// prohibit stores field as the prohibition of each usage in set, unless an earlier field prohibits
// that usage.
func (t *tags) prohibit(set kindSet, field *Field) {
	for k := range kinds {
		if set.has(k) && t.prohibited[k] == nil {
			t.prohibited[k] = field
		}
	}
}

func (t *tags) Usages() (list []Usage) {
	for k := range kinds {
		if t.prohibited[k] != nil || t.limits.limitsUsage(k) {
			list = append(list, k.usage())
		}
	}
	return list
}

// Opinion returns the first rule that prohibits the usage u. If there is none, it returns the
// limits of max-snippet and unavailable_after.
func (t *tags) Opinion(u Usage, _ Resource) Opinion {
	f := t.prohibits(u.anyKind())
	switch {
	case f == nil:
		return Opinion{limits: t.limits}
	case f.Source == Header:
		return Opinion{Verdict: Prohibits, Reason: ByHeader, Because: f}
	}
	return Opinion{Verdict: Prohibits, Reason: ByMeta, Because: f}
}

func ruleNames() []string {
	return []string{"noindex", "nofollow", "nosnippet", "noarchive", maxSnippet, unavailableAfter}
}

var dateLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05 MST",
	"2006-01-02 15:04", "2006-01-02",
	time.RFC1123, time.RFC850, time.RFC822, time.ANSIC, "2 Jan 2006 15:04:05 MST",
	"2 Jan 2006 15:04:05", "2 Jan 2006", "2-Jan-2006 15:04:05 MST", "2-Jan-2006", "02-Jan-06 15:04:05 MST",
	"January 2, 2006", "20060102"}

// zones maps the time zones of RFC 822 to their offsets, because time.Parse knows only UTC.
var zones = map[string]string{"EST": "-0500", "EDT": "-0400", "CST": "-0600", "CDT": "-0500", "MST": "-0700",
	"MDT": "-0600", "PST": "-0800",
	"PDT": "-0700", "CET": "+0100", "CEST": "+0200", "BST": "+0100", "GMT": "+0000", "UTC": "+0000", "UT": "+0000",
	"Z": "+0000"}

// readDate parses a date in each form that is in use, in any letter case (REP 2, X24). "@" followed
// by a number of seconds is a Date of RFC 9651.
func readDate(s string) (time.Time, error) {
	s = strings.ToUpper(strings.Join(strings.Fields(s), " "))
	if number, ok := strings.CutPrefix(s, "@"); ok {
		seconds, err := strconv.ParseInt(number, 10, 64)
		if err == nil && (seconds < -1<<40 || seconds > 1<<40) {
			err = strconv.ErrRange
		}
		return time.Unix(seconds, 0).UTC(), err
	}
	if i := strings.LastIndexByte(s, ' '); i >= 0 {
		if offset, ok := zones[s[i+1:]]; ok {
			s = s[:i+1] + offset
		}
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(strings.Replace(layout, "MST", "-0700", 1), s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, errors.New("no known form of date")
}

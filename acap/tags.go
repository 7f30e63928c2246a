package acap

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// restraint is what conventional rules limit without prohibiting.
type restraint struct {
	maxChars   *int // max-snippet
	until      time.Time
	untilField *Field // unavailable_after
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

// conventionalRules are the rules that prohibit, with the usages they prohibit; those without usages are known and say nothing.
var conventionalRules = map[string]kindSet{
	"noindex": setOf(kIndex), "nofollow": setOf(kFollow), "none": setOf(kIndex, kFollow),
	"nosnippet": snippets, "noarchive": setOf(kCurrentCopy, kOldCopy), "nocache": setOf(kCurrentCopy, kOldCopy), // N24
	"all": 0, "index": 0, "follow": 0, "noodp": 0, "noimageindex": 0,
}

const (
	maxSnippet       = "max-snippet"
	unavailableAfter = "unavailable_after"
)

func knownRule(name string) bool {
	_, ok := conventionalRules[name]
	return ok || name == maxSnippet || name == unavailableAfter
}

// rule adds one conventional rule.
func (n *narrowing) rule(field *Field, name, value string) {
	o := n.own
	if o.caps == nil {
		o.caps = &restraint{}
	}
	switch set, known := conventionalRules[name]; {
	case known:
		for k := range kinds {
			if set.has(k) && o.prohibited[k] == nil {
				o.prohibited[k] = field
			}
		}
	case name == maxSnippet:
		limit, err := strconv.Atoi(value)
		switch {
		case errors.Is(err, strconv.ErrRange) && value[0] != '-': // X26
		case err != nil || limit < -1:
			n.report(field.at(value), "malformed-rule", Warning, "write max-snippet: and a number, 0 for no snippet, -1 for any length", "%q is not a number of characters: no snippet is shown", value)
			fallthrough
		case limit == 0:
			n.rule(field, "nosnippet", "")
		case limit > 0:
			o.caps.shorten(&limit, field)
		}
	case name == unavailableAfter:
		t, err := readDate(value)
		if err != nil { // X24
			n.report(field.at(value), "malformed-rule", Error, "write a date such as 2027-01-31", "%q is not a date that can be read: it counts as passed", value)
			t = time.Unix(0, 0).UTC()
		}
		o.caps.end(t, field)
	default:
		n.report(field.at(name), "unknown-rule", Notice, n.near(name, ruleNames), "the rule %q has no effect", name)
	}
}

func ruleNames() []string {
	return []string{"noindex", "nofollow", "nosnippet", "noarchive", maxSnippet, unavailableAfter}
}

var dateLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05 MST", "2006-01-02 15:04", "2006-01-02",
	time.RFC1123, time.RFC850, time.RFC822, time.ANSIC, "2 Jan 2006 15:04:05 MST",
	"2 Jan 2006 15:04:05", "2 Jan 2006", "2-Jan-2006 15:04:05 MST", "2-Jan-2006", "02-Jan-06 15:04:05 MST", "January 2, 2006", "20060102"}

// zones are the names of RFC 822; time.Parse knows none but UTC.
var zones = map[string]string{"EST": "-0500", "EDT": "-0400", "CST": "-0600", "CDT": "-0500", "MST": "-0700", "MDT": "-0600", "PST": "-0800",
	"PDT": "-0700", "CET": "+0100", "CEST": "+0200", "BST": "+0100", "GMT": "+0000", "UTC": "+0000", "UT": "+0000", "Z": "+0000"}

// readDate reads the forms of date that are in use, in any case (X24); "@" and a number of seconds is the Date of RFC 9651.
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

package acap

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
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

func knownRule(name string) bool {
	_, ok := conventionalRules[name]
	return ok || name == "max-snippet" || name == "unavailable_after"
}

// maxHeader is how much of a robots header is read, in bytes; the member cut there is dropped (X25).
const maxHeader = 16 * 1024

// rules reads conventional rules separated by commas, or by blanks (N13), and adds them up.
func (n *narrowing) rules(field *Field, content string, reason Reason) {
	for _, part := range splitRules(content) {
		name, value, _ := strings.Cut(part, ":")
		n.rule(field, strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value))
	}
}

// splitRules separates rules; a date behind unavailable_after keeps its commas and blanks as far as it reaches.
func splitRules(content string) []string {
	var out []string
	for content != "" {
		content = strings.TrimLeft(content, ", \t\r\n")
		if rest, ok := cutFold(content, "unavailable_after"); ok {
			end := dateEnd(rest)
			out = append(out, content[:len(content)-len(rest)+end])
			content = rest[end:]
			continue
		}
		i := strings.IndexAny(content, ", \t\r\n")
		if i < 0 {
			i = len(content)
		}
		if i > 0 && content[i-1] == ':' { // "max-snippet: 20"
			j := len(content[i:]) - len(strings.TrimLeft(content[i:], " \t"))
			k := strings.IndexAny(content[i+j:], ", \t\r\n")
			if k < 0 {
				k = len(content) - i - j
			}
			out = append(out, content[:i]+content[i+j:i+j+k])
			content = content[i+j+k:]
			continue
		}
		if i > 0 {
			out = append(out, content[:i])
		}
		content = content[i:]
	}
	return out
}

// dateEnd finds where the value of unavailable_after ends: before the next word that is a rule.
func dateEnd(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] != ',' && s[i] != ' ' {
			continue
		}
		word := strings.TrimLeft(s[i:], ", \t")
		if j := strings.IndexAny(word, ",: \t;"); j >= 0 {
			word = word[:j]
		}
		if knownRule(strings.ToLower(word)) {
			return i
		}
	}
	return len(s)
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
	case name == "max-snippet":
		limit, err := strconv.Atoi(value)
		switch {
		case err != nil || limit < -1:
			n.expander.report(field, "malformed-rule", Warning, "write max-snippet:N", "%q is not a number of characters: no snippet is shown", value)
			fallthrough
		case limit == 0:
			n.rule(field, "nosnippet", "")
		case limit > 0:
			o.caps.shorten(&limit, field)
		}
	case name == "unavailable_after":
		t, err := readDate(value)
		if err != nil { // X24
			n.expander.report(field, "malformed-rule", Error, "write a date such as 2027-01-31", "%q is not a date that can be read: it counts as passed", value)
			t = time.Unix(0, 0).UTC()
		}
		o.caps.end(t, field)
	default:
		n.expander.report(field, "unknown-rule", Notice, nearest(name, []string{"noindex", "nofollow", "nosnippet", "noarchive"}), "the rule %q has no effect", name)
	}
}

var dateLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02",
	time.RFC1123, time.RFC1123Z, time.RFC850, time.RFC822, time.RFC822Z, time.ANSIC, "2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700",
	"2 Jan 2006 15:04:05", "2 Jan 2006", "2-Jan-2006 15:04:05 MST", "2-Jan-2006", "02-Jan-06 15:04:05 MST", "January 2, 2006", "20060102"}

// zones are the names of RFC 822; time.Parse knows none but UTC.
var zones = map[string]string{"EST": "-0500", "EDT": "-0400", "CST": "-0600", "CDT": "-0500", "MST": "-0700", "MDT": "-0600", "PST": "-0800",
	"PDT": "-0700", "CET": "+0100", "CEST": "+0200", "BST": "+0100", "GMT": "+0000", "UTC": "+0000", "UT": "+0000", "Z": "+0000"}

func readDate(s string) (time.Time, error) {
	s = strings.Join(strings.Fields(s), " ")
	if i := strings.LastIndexByte(s, ' '); i >= 0 {
		if offset, ok := zones[strings.ToUpper(s[i+1:])]; ok {
			s = s[:i+1] + offset
		}
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(strings.Replace(layout, "MST", "-0700", 1), s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("no known form of date")
}

// header reads one line of X-Robots-Tag or Robots-Tag. Every restriction that can be recognised is honoured, in whichever
// dialect it is written (N20, N22, X22).
func (n *narrowing) header(t *Tag) {
	value := t.Content
	if len(value) > maxHeader {
		value = value[:maxHeader]
		value = value[:max(0, strings.LastIndexByte(value, ','))]
		n.expander.report(n.field(t), "too-long", Warning, "", "only the first %d bytes of the header are read", maxHeader)
	}
	field := n.field(t)
	if strings.EqualFold(t.Name, "Robots-Tag") || strings.Contains(value, ";") {
		n.structured(field, value)
		return
	}
	n.legacy(field, value)
}

// legacy reads the grammar of X-Robots-Tag: rules for all, or behind "token:" for that crawler until the next token.
func (n *narrowing) legacy(field *Field, value string) {
	reached := true
	for value != "" {
		value = strings.TrimLeft(value, ", \t")
		name, rest, colon := strings.Cut(value, ":")
		name = strings.TrimSpace(name)
		if colon && !strings.ContainsAny(name, ", \t") && !knownRule(strings.ToLower(name)) && !strings.HasPrefix(strings.ToLower(name), "max-") {
			name = strings.Trim(name, "\"")
			reached = name == "*" || strings.EqualFold(name, "robots") || n.expander.crawler.addresses(name)
			value = rest
			continue
		}
		parts := splitRules(value)
		if len(parts) == 0 {
			return
		}
		if reached {
			n.rules(field, parts[0], ByHeader)
		}
		i := strings.Index(value, parts[0])
		if i < 0 { // a rule that was written with a blank behind its colon
			i = strings.IndexAny(value, ",")
			if i < 0 {
				return
			}
			value = value[i:]
			continue
		}
		value = value[i+len(parts[0]):]
	}
}

// structured reads a List of product tokens with rules as parameters (RTAG 3.1.1), member by member where the list as a whole
// is broken: restrictions only add up.
func (n *narrowing) structured(field *Field, value string) {
	list, err := httpsfv.UnmarshalList([]string{strings.ToLower(value)})
	if err != nil {
		n.expander.report(field, "malformed-header", Warning, "write *; noindex, ExampleBot; nosnippet", "the header is not a List of RFC 9651; its members are read one by one")
		n.salvage(field, value)
		return
	}
	for _, member := range list {
		item, ok := member.(httpsfv.Item)
		if !ok {
			continue
		}
		token := fmt.Sprint(item.Value)
		if knownRule(token) { // N20: a rule without a product token is a rule for all
			n.expander.report(field, "bare-rule", Notice, "write *; "+token, "the rule %q names no product token and holds for all", token)
			n.rule(field, token, "")
			token = "*"
		}
		if token != "*" && !n.expander.crawler.addresses(token) {
			continue
		}
		for _, name := range item.Params.Names() {
			v, _ := item.Params.Get(name)
			if v == false { // X23
				continue
			}
			text := fmt.Sprint(v)
			if v == true {
				text = ""
			}
			n.rule(field, name, text)
		}
	}
}

// salvage reads what it can of a broken list: members end at commas, parameters at semicolons, "token: rules" is the old grammar.
func (n *narrowing) salvage(field *Field, value string) {
	for _, member := range strings.Split(value, ",") {
		token, rules, found := strings.Cut(strings.TrimSpace(member), ";")
		token = strings.Trim(strings.TrimSpace(token), "\"")
		if !found {
			n.legacy(field, member)
			continue
		}
		if name, more, ok := strings.Cut(token, ":"); ok && !knownRule(strings.ToLower(name)) {
			token, rules = strings.TrimSpace(name), more+";"+rules
		}
		if fields := strings.Fields(token); len(fields) > 1 { // rules separated by blanks
			token, rules = fields[0], strings.Join(fields[1:], ";")+";"+rules
		}
		switch lower := strings.ToLower(token); {
		case knownRule(lower):
			n.rule(field, lower, "")
		case token != "*" && !n.expander.crawler.addresses(token):
			continue
		}
		for _, r := range strings.FieldsFunc(rules, func(c rune) bool { return c == ';' || c == ' ' || c == '\t' }) {
			name, v, _ := strings.Cut(r, "=")
			if v == "?0" {
				continue
			}
			n.rule(field, strings.ToLower(name), v)
		}
	}
}

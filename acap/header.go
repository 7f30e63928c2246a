package acap

import (
	"fmt"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// maxHeader is how many bytes of a robots header are read, over all its lines. A rule that is cut
// there is dropped (RTAG 3.1.1; X25: a crawler may limit what it reads).
const maxHeader = 16 * 1024

// RobotsHeader reports whether name is X-Robots-Tag or Robots-Tag, in any letter case.
func RobotsHeader(name string) bool {
	return strings.EqualFold(name, "X-Robots-Tag") || strings.EqualFold(name, "Robots-Tag")
}

// header reads one line of X-Robots-Tag or Robots-Tag. It obeys every restriction that it
// recognises, in both syntaxes (RTAG 3.1.1; N20, N22 and X22: a rule is valid in either syntax).
func (n *narrowing) header(t *Tag) {
	name, value, field := strings.ToLower(t.Name), t.Content, n.field(t)
	if left := maxHeader - n.spent[name]; len(value) > left {
		value = value[:max(0, left)]
		value = value[:max(0, strings.LastIndexByte(value, ','))]
		n.report(field, "too-long", Warning, "shorten the header",
			"only the first %d bytes of the header %s are read, up to a comma", maxHeader, t.Name)
	}
	if n.spent == nil {
		n.spent = map[string]int{}
	}
	n.spent[name] += len(t.Content) + len(", ")
	if name == "robots-tag" || strings.Contains(value, ";") {
		// RTAG 3.1.1 (X22): each of the two headers may use either syntax
		if n.structured(field, value) && name != "robots-tag" {
			n.report(field, "other-dialect", Notice, "write noindex, nosnippet",
				"the header is written as a Robots-Tag is, and read as one")
		}
		return
	}
	n.rules(field, value, true)
}

// structured reads a header value as a List of product tokens with rules as parameters (RTAG
// 3.1.1). It reports whether the list is well formed. It reads a malformed list word by word,
// because every restriction must be obeyed.
func (n *narrowing) structured(field *Field, value string) bool {
	list, err := httpsfv.UnmarshalList([]string{strings.ToLower(value)})
	if err == nil {
		err = wellFormed(list)
	}
	if err != nil {
		n.report(field, "malformed-header", Warning, "write *; noindex, ExampleBot; nosnippet",
			"the header is not a List of product tokens: what can be recognised in it counts")
		n.rules(field, value, true)
		return false
	}
	for _, member := range list {
		switch m := member.(type) {
		case httpsfv.Item:
			n.member(field, m.Params, m)
		case httpsfv.InnerList:
			n.report(field, "malformed-header", Warning, "write a member for each crawler",
				"the header holds an inner list; its rules count for each crawler in it")
			n.member(field, m.Params, m.Items...)
		}
	}
	return true
}

// member reads the rules of one member of a list, if one of the product tokens of the member names
// the crawler.
func (n *narrowing) member(field *Field, rules *httpsfv.Params, tokens ...httpsfv.Item) {
	reached := false
	for _, t := range tokens {
		token := fmt.Sprint(t.Value)
		// RTAG 3.1.1 (X22): a quoted token is read without its quotation marks
		if _, quoted := t.Value.(string); quoted {
			n.report(field.at(token), "quoted-token", Notice, "leave the quotation marks out",
				"the product token %q is in quotation marks; it is read without them", token)
		}
		if knownRule(token) { // RTAG 3.1.1 (N20): a rule without a product token is a rule for all crawlers
			n.report(field.at(token), "bare-rule", Notice, "write *; "+token,
				"the rule %q names no product token and holds for all", token)
			n.rule(field, token, "")
			reached = true
		}
		reached = reached || token == "*" || n.crawler.addresses(token)
	}
	if !reached {
		return
	}
	for _, name := range rules.Names() {
		switch v, _ := rules.Get(name); v := v.(type) {
		case bool: // RTAG 3.1.1 (X23): a rule with the value false, such as noindex=?0, has no effect
			if v {
				n.rule(field, name, "")
			}
		case time.Time:
			n.rule(field, name, v.Format(time.RFC3339))
		default:
			if conventionalRules[name] != 0 {
				n.report(field.at(name), "ignored-value", Notice, "leave the value out",
					"the rule %q takes no value; it holds all the same", name)
			}
			n.rule(field, name, fmt.Sprint(v))
		}
	}
}

// wellFormed returns an error if a member has the form "token:rule".
func wellFormed(list httpsfv.List) error {
	for _, member := range list {
		if item, ok := member.(httpsfv.Item); ok && strings.Contains(fmt.Sprint(item.Value), ":") {
			return fmt.Errorf("%v is not a product token", item.Value)
		}
	}
	return nil
}

// rules reads conventional rules in every syntax that is in use. Rules are separated by commas,
// blanks or semicolons (P2 2.1, N13: blanks separate, too), with ":" or "=" before a value. In a
// header, "token:" limits all rules up to the next token to the crawler with this token; "token;"
// does so only for the rules in the same list member.
func (n *narrowing) rules(field *Field, s string, header bool) {
	r := &ruleReader{narrowing: n, field: field, s: s, header: header, start: true, reached: true, behind: -1}
	for r.i < len(s) {
		if !r.separator() {
			r.word()
		}
	}
}

// ruleReader reads the rules of one META tag or header, one after the other.
type ruleReader struct {
	*narrowing
	field  *Field
	s      string
	header bool

	i       int  // the offset of the next byte of s
	start   bool // the next word begins a list member
	reached bool // the rules that follow address the crawler
	member  bool // reached applies only up to the next comma
	behind  int  // the offset of the end of the last rule; -1 before the first rule
}

// separator skips one separator. It returns false if a word follows.
func (r *ruleReader) separator() bool {
	c := r.s[r.i]
	if c != ',' && c != ';' && !isBlank(c) {
		return false
	}
	if c == ',' {
		r.start = true
		if r.member {
			r.reached, r.member = true, false
		}
	}
	r.i++
	return true
}

// word reads a word: a rule with its value, or the name of a crawler.
func (r *ruleReader) word() {
	word, end := ruleWord(r.s, r.i)
	if end == r.i { // skip a ":" or "=" without a word before it
		r.i++
		return
	}
	name := strings.ToLower(word)
	mark, after := markBehind(r.s, end)
	switch {
	case takesPart(name):
		r.rule(word, mark, end, after)
	case r.header && mark == ':':
		r.reached, r.member, r.i = r.names(name), false, after
	// RTAG 3.1.1 (X22): "token;" addresses a crawler in both headers
	case r.header && r.start && (mark == ';' || mark == 0 && (name == "*" || structuredMember(r.s[end:]))):
		r.reached, r.member, r.i = r.names(name), true, end
	default:
		if r.reached {
			r.narrowing.rule(r.field, name, "")
		}
		r.i = end
	}
	r.start = false
}

// takesPart reports whether a word is a rule, or begins with "max-" like the rule max-snippet.
func takesPart(name string) bool { return knownRule(name) || strings.HasPrefix(name, "max-") }

// names reports whether a word is the name of this crawler, or addresses all crawlers.
func (r *ruleReader) names(word string) bool {
	return word == "*" || word == "robots" || r.crawler.addresses(word)
}

// rule reads a rule with its value. The name of the rule ends at the offset end; mark is the
// character after the name; the rest of the text begins at the offset after.
func (r *ruleReader) rule(word string, mark byte, end, after int) {
	name, value, next := strings.ToLower(word), "", end
	switch {
	case name == unavailableAfter:
		value, next = ruleDate(r.s, end)
	case strings.HasPrefix(name, "max-") && (mark == ':' || mark == '='):
		value, next = ruleWord(r.s, skipBlanks(r.s, after))
	case strings.HasPrefix(r.s[after:], "?0"), strings.HasPrefix(r.s[after:], "?1"):
		value, next = ruleWord(r.s, after)
	}
	// RTAG 3.1.1 (X22): blanks separate rules
	if r.header && r.reached && r.behind >= 0 && strings.TrimSpace(r.s[r.behind:r.i]) == "" {
		r.report(r.field.at(word), "missing-comma", Notice, "write a comma before it",
			"the rule %q follows another one without a comma; both count", word)
	}
	r.behind, r.i = next, next
	if r.reached && value != "?0" { // RTAG 3.1.1 (X23): a rule with the value false, such as noindex=?0, has no effect
		r.narrowing.rule(r.field, name, value)
	}
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func skipBlanks(s string, i int) int {
	for i < len(s) && isBlank(s[i]) {
		i++
	}
	return i
}

// ruleWord returns the word at offset i, or the text between quotation marks, and the offset where
// it ends.
func ruleWord(s string, i int) (word string, end int) {
	if i < len(s) && s[i] == '"' {
		if n := strings.IndexByte(s[i+1:], '"'); n >= 0 {
			return s[i+1 : i+1+n], i + n + 2
		}
		return s[i+1:], len(s)
	}
	for end = i; end < len(s) && strings.IndexByte(",;:=", s[end]) < 0 && !isBlank(s[end]); end++ {
	}
	return strings.Trim(s[i:end], "\""), end
}

// markBehind returns the ";", ":" or "=" after a word, or 0 if there is none. after is the offset
// of the text that follows.
func markBehind(s string, end int) (mark byte, after int) {
	i := skipBlanks(s, end)
	if i < len(s) && strings.IndexByte(";:=", s[i]) >= 0 {
		return s[i], i + 1
	}
	return 0, end
}

// structuredMember reports whether the rest of the current list member contains a semicolon.
func structuredMember(s string) bool {
	i := strings.IndexAny(s, ",;")
	return i >= 0 && s[i] == ';'
}

// ruleDate returns the date after unavailable_after, and the offset where it ends. A date may
// contain blanks and commas. It ends at a semicolon, or before a word that begins another rule or
// addresses a crawler.
func ruleDate(s string, i int) (date string, end int) {
	i = skipBlanks(s, i)
	if i < len(s) && (s[i] == ':' || s[i] == '=') {
		i = skipBlanks(s, i+1)
	}
	if i < len(s) && s[i] == '"' {
		return ruleWord(s, i)
	}
	end = i
	for at := i; at < len(s) && s[at] != ';'; {
		next := at
		for next < len(s) && s[next] != ',' && s[next] != ';' && !isBlank(s[next]) {
			next++
		}
		if endsDate(s[i:at], s[at:next], s[next:]) {
			break
		}
		end = next
		for at = next; at < len(s) && (s[at] == ',' || isBlank(s[at])); at++ {
		}
	}
	return strings.Trim(s[i:end], ", \t\r\n"), end
}

// endsDate reports whether a word does not belong to the date before it. Such a word is a rule or
// "token:", or it follows a comma and may be the name of an unknown rule (REP 2, X91: the date ends
// at a comma before the name of a rule).
func endsDate(before, word, rest string) bool {
	name, _, addressee := strings.Cut(strings.ToLower(word), ":")
	if takesPart(name) || addressee && isName(name) {
		return true
	}
	if !strings.HasSuffix(strings.TrimRight(before, " \t\r\n"), ",") {
		return false
	}
	mark, _ := markBehind(rest, 0)
	return mark == ';' || namesRule(name)
}

// namesRule reports whether a word that follows a date and a comma may name a rule. Such a word
// begins with a letter, unlike a day or a year, and is not a time zone.
func namesRule(word string) bool {
	return word != "" && 'a' <= word[0] && word[0] <= 'z' && zones[strings.ToUpper(word)] == ""
}

package acap

import (
	"fmt"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// maxHeader is how much of a robots header is read, in bytes over all its lines; the member cut there is dropped (RTAG 3.1.1, X25).
const maxHeader = 16 * 1024

// header reads one line of X-Robots-Tag or Robots-Tag. Every restriction that can be recognised is honoured, in whichever
// dialect it is written (N20, N22, X22).
func (n *narrowing) header(t *Tag) {
	name, value, field := strings.ToLower(t.Name), t.Content, n.field(t)
	if left := maxHeader - n.spent[name]; len(value) > left {
		value = value[:max(0, left)]
		value = value[:max(0, strings.LastIndexByte(value, ','))]
		n.report(field, "too-long", Warning, "shorten the header", "only the first %d bytes of the header %s are read, up to a comma", maxHeader, t.Name)
	}
	if n.spent == nil {
		n.spent = map[string]int{}
	}
	n.spent[name] += len(t.Content) + len(", ")
	if name == "robots-tag" || strings.Contains(value, ";") {
		if n.structured(field, value) && name != "robots-tag" { // X22
			n.report(field, "other-dialect", Notice, "write noindex, nosnippet", "the header is written as a Robots-Tag is, and read as one")
		}
		return
	}
	n.rules(field, value, true)
}

// structured reads a List of product tokens with rules as parameters (RTAG 3.1.1). Where the list is broken, or is in the old
// grammar, it is read like that: restrictions only add up. It says whether it is whole.
func (n *narrowing) structured(field *Field, value string) bool {
	list, err := httpsfv.UnmarshalList([]string{strings.ToLower(value)})
	if err == nil {
		err = wellFormed(list)
	}
	if err != nil {
		n.report(field, "malformed-header", Warning, "write *; noindex, ExampleBot; nosnippet", "the header is not a List of product tokens: what can be recognised in it counts")
		n.rules(field, value, true)
		return false
	}
	for _, member := range list {
		switch m := member.(type) {
		case httpsfv.Item:
			n.member(field, m.Params, m)
		case httpsfv.InnerList:
			n.report(field, "malformed-header", Warning, "write a member for each crawler", "the header holds an inner list; its rules count for each crawler in it")
			n.member(field, m.Params, m.Items...)
		}
	}
	return true
}

// member takes the rules of one list member for the product tokens it names.
func (n *narrowing) member(field *Field, rules *httpsfv.Params, tokens ...httpsfv.Item) {
	reached := false
	for _, t := range tokens {
		token := fmt.Sprint(t.Value)
		if _, quoted := t.Value.(string); quoted { // X22
			n.report(field.at(token), "quoted-token", Notice, "leave the quotation marks out", "the product token %q stands in quotation marks; it is read without", token)
		}
		if knownRule(token) { // N20: a rule without a product token is a rule for all
			n.report(field.at(token), "bare-rule", Notice, "write *; "+token, "the rule %q names no product token and holds for all", token)
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
		case bool: // X23
			if v {
				n.rule(field, name, "")
			}
		case time.Time:
			n.rule(field, name, v.Format(time.RFC3339))
		default:
			if conventionalRules[name] != 0 {
				n.report(field.at(name), "ignored-value", Notice, "leave the value out", "the rule %q takes no value; it holds all the same", name)
			}
			n.rule(field, name, fmt.Sprint(v))
		}
	}
}

// wellFormed says whether no member is "token:rule".
func wellFormed(list httpsfv.List) error {
	for _, member := range list {
		if item, ok := member.(httpsfv.Item); ok && strings.Contains(fmt.Sprint(item.Value), ":") {
			return fmt.Errorf("%v is not a product token", item.Value)
		}
	}
	return nil
}

// rules reads conventional rules in every dialect at once: separated by commas, blanks (N13) or semicolons, with ":" or "=" before
// a value. In a header "token:" addresses all that follows up to the next token, and "token;" its own list member.
func (n *narrowing) rules(field *Field, s string, header bool) {
	reached, member := true, false // member: what reached says holds up to the next comma
	start := true                  // of a member
	behind := -1                   // the last rule
	for i := 0; i < len(s); {
		if s[i] == ',' || s[i] == ';' || isBlank(s[i]) {
			start = start || s[i] == ','
			if s[i] == ',' && member {
				reached, member = true, false
			}
			i++
			continue
		}
		word, end := ruleWord(s, i)
		if end == i { // a stray ":" or "="
			i++
			continue
		}
		name := strings.ToLower(word)
		sep, after := separator(s, end)
		begin := i
		i = end
		addressed := name == "*" || name == "robots" || n.crawler.addresses(name)
		switch {
		case knownRule(name) || strings.HasPrefix(name, "max-"):
			value := ""
			switch {
			case name == unavailableAfter:
				value, i = ruleDate(s, end)
			case strings.HasPrefix(name, "max-") && (sep == ':' || sep == '='):
				value, i = ruleWord(s, skipBlanks(s, after))
			case strings.HasPrefix(s[after:], "?0"), strings.HasPrefix(s[after:], "?1"):
				value, i = ruleWord(s, after)
			}
			if header && reached && behind >= 0 && strings.TrimSpace(s[behind:begin]) == "" { // X22
				n.report(field.at(word), "missing-comma", Notice, "write a comma before it", "the rule %q stands behind another without a comma; both hold", word)
			}
			behind = i
			if reached && value != "?0" { // X23
				n.rule(field, name, value)
			}
		case header && sep == ':':
			reached, member, i = addressed, false, after
		case header && start && (sep == ';' || sep == 0 && (name == "*" || structuredMember(s[end:]))): // X22
			reached, member = addressed, true
		default:
			if reached {
				n.rule(field, name, "")
			}
		}
		start = false
	}
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func skipBlanks(s string, i int) int {
	for i < len(s) && isBlank(s[i]) {
		i++
	}
	return i
}

// ruleWord reads a word, or the text between quotation marks, and gives where it ends.
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

// separator gives the mark behind a word, 0 for none, and where what follows it begins.
func separator(s string, end int) (mark byte, after int) {
	i := skipBlanks(s, end)
	if i < len(s) && strings.IndexByte(";:=", s[i]) >= 0 {
		return s[i], i + 1
	}
	return 0, end
}

// structuredMember reports whether the list member that goes on here holds a semicolon.
func structuredMember(s string) bool {
	i := strings.IndexAny(s, ",;")
	return i >= 0 && s[i] == ';'
}

// ruleDate reads a date behind unavailable_after, which may hold blanks and commas: up to the next
// word that is a rule or an addressee, to a comma with the name of a rule behind it, known or not
// (X91), or to a semicolon.
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
		word, _, addressee := strings.Cut(strings.ToLower(s[at:next]), ":")
		mark, _ := separator(s, next)
		listed := strings.HasSuffix(strings.TrimRight(s[i:at], " \t\r\n"), ",") // behind a comma
		if knownRule(word) || strings.HasPrefix(word, "max-") || addressee && isName(word) || listed &&
			(mark == ';' || namesRule(word)) {
			break
		}
		end = next
		for at = next; at < len(s) && (s[at] == ',' || isBlank(s[at])); at++ {
		}
	}
	return strings.Trim(s[i:end], ", \t\r\n"), end
}

// namesRule reports whether a word behind the comma after a date may name a rule: it begins with a
// letter, as no day and no year does, and is no time zone.
func namesRule(word string) bool {
	return word != "" && 'a' <= word[0] && word[0] <= 'z' && zones[strings.ToUpper(word)] == ""
}

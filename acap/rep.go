package acap

import (
	"strings"
	"time"
)

// rule is one Allow or Disallow line of a conventional group (RFC 9309 2.2.2).
type rule struct {
	field    *Field
	allow    bool
	exact    string // percent-normalised, in its own case; empty: matches nothing
	pieces   []string
	anchored bool
}

// newRule reads a rule. An empty value is no rule, a value without leading "/" or "*" matches nothing (X52): both give nil.
func newRule(f *Field, allow bool, value string) *rule {
	if value == "" || value[0] != '/' && value[0] != '*' {
		return nil
	}
	if i := strings.IndexByte(value, '$'); i >= 0 && i < len(value)-1 {
		end := strings.HasSuffix(value, "$")
		value = strings.TrimSuffix(value, "$")
		value = strings.ReplaceAll(value, "$", "%24") // only a final "$" is special
		if end {
			value += "$"
		}
	}
	r := &rule{field: f, allow: allow, exact: percentNormal(value, false)}
	r.pieces, r.anchored = compile(r.exact)
	return r
}

// names says whether a User-agent value means this crawler: its product token, alone or before a character that no product
// token holds (RFC 9309 2.2.1, C05).
func (c *Crawler) names(agent string) bool {
	for _, token := range c.Names {
		rest, ok := cutFold(agent, token)
		if ok && token != "" && (rest == "" || !nameChar(rest[0])) {
			return true
		}
	}
	return false
}

func nameChar(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_' || b == '.'
}

// governing merges the groups that name the crawler, or else those for "*" (RFC 9309 2.2.1, X67).
func governing(groups []*group, c *Crawler) (rules []*rule, delay time.Duration, named bool) {
	for _, want := range []bool{true, false} {
		found := false
		for _, gr := range groups {
			for _, a := range gr.agents {
				if want && c.names(a) || !want && (a == "*" || strings.HasPrefix(a, "* ")) {
					rules = append(rules, gr.rules...)
					delay = max(delay, gr.delay)
					found = true
					break
				}
			}
		}
		if found {
			return rules, delay, want
		}
	}
	return nil, 0, false
}

// judge gives the rule that decides path: the longest match, Allow on a tie (RFC 9309 2.2.2, O10). nil: no rule matches.
func judge(rules []*rule, path string) *rule {
	var best *rule
	for _, r := range rules {
		if best != nil && (len(r.exact) < len(best.exact) || len(r.exact) == len(best.exact) && !r.allow) {
			continue
		}
		if matchPieces(r.pieces, r.anchored, path) {
			best = r
		}
	}
	return best
}

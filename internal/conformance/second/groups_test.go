package second

import (
	"strings"
)

// group is a conventional group: its user agents and rules.
type group struct {
	agents []string
	rules  []rule
}

type rule struct {
	allow   bool
	pattern string // the pattern in normal form, with its letter case
	line    int
}

// readGroups reads the conventional layer as RFC 9309 reads the file without its ACAP lines (X79).
// Only a rule ends a list of user agents (X53).
func readGroups(lines []line) []group {
	var out []group
	open := false // the last line that matters was a User-agent line
	for _, l := range lines {
		switch l.name {
		case "user-agent":
			if !open {
				out = append(out, group{})
				open = true
			}
			g := &out[len(out)-1]
			g.agents = append(g.agents, strings.ToLower(l.value))
		case "allow", "disallow":
			open = false
			if len(out) == 0 || l.bare {
				continue
			}
			// RFC 9309 (X52, O10): other patterns match nothing
			if p := l.value; p != "" && (p[0] == '/' || p[0] == '*') {
				g := &out[len(out)-1]
				g.rules = append(g.rules, rule{l.name == "allow", normalPath(p), l.number})
			}
		}
	}
	return out
}

// namesUs reports whether a name addresses one of the tokens: the name is equal to the token, or to
// the token followed by a slash and any text. P1 2.3.1 (C05).
func namesUs(name string, tokens []string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, t := range tokens {
		t = strings.ToLower(t)
		if name == t || strings.HasPrefix(name, t+"/") {
			return true
		}
	}
	return false
}

// governing returns the rules of the groups that apply to this crawler: the groups of all tokens of
// this crawler, or if there are none, the groups of the asterisk (X67).
func governing(groups []group, tokens []string) (rules []rule, named bool) {
	var any []rule
	for _, g := range groups {
		ours, all := false, false
		for _, a := range g.agents {
			ours = ours || namesUs(a, tokens)
			all = all || a == "*"
		}
		if ours {
			rules, named = append(rules, g.rules...), true
		}
		if all {
			any = append(any, g.rules...)
		}
	}
	if named {
		return rules, true
	}
	return any, false
}

// conventional reports whether conventional rules allow a path: the longest matching rule decides,
// and Allow wins between equals (RFC 9309, O10). A rule has no effect if an ACAP field with the
// same pattern cancels it (P1 2.10.2, O04).
func conventional(rules []rule, named bool, path string, crawl []statement) (bool, rule) {
	best, allow := rule{}, true
	length := -1
	for _, r := range rules {
		if !matches(r.pattern, path) || cancelled(r, named, crawl) {
			continue
		}
		if n := len(r.pattern); n > length || n == length && r.allow {
			best, allow, length = r, r.allow, n
		}
	}
	return allow, best
}

// cancelled reports whether a conventional rule has no effect, because an ACAP field for crawl has
// the same pattern, the opposite meaning, and an addressee at least as specific (P1 2.10.2; O04,
// O07). If ACAP has both a permission and a prohibition with this pattern, the rule keeps its
// effect (X72, X85).
func cancelled(r rule, named bool, crawl []statement) bool {
	same, other := false, false
	for _, s := range crawl {
		if s.page || s.pattern.all || s.pattern.own != r.pattern {
			continue
		}
		if s.allow == r.allow {
			same = true
		} else if s.addressee == 2 || !named {
			other = true
		}
	}
	return other && !same
}

package second

import (
	"strings"
)

// A group is a conventional group: its user agents and rules.
type group struct {
	agents []string
	rules  []rule
}

type rule struct {
	allow   bool
	pattern string // normal form, own letter case
	line    int
}

// readGroups reads the conventional layer exactly as RFC 9309 reads the file without its ACAP
// lines (X79). Nothing but a rule splits a group (X53).
func readGroups(lines []line) []group {
	var out []group
	open := false // the last line of note was a User-agent line
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
			if p := l.value; p != "" && (p[0] == '/' || p[0] == '*') { // X52, O10: others match nothing
				g := &out[len(out)-1]
				g.rules = append(g.rules, rule{l.name == "allow", normalPath(p), l.number})
			}
		}
	}
	return out
}

// namesUs reports whether a name addresses one of the tokens: equal, or followed by a slash and
// anything (C05).
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

// governing returns the rules of the groups that govern this crawler: those of all its tokens,
// else those of the asterisk (X67).
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

// conventional returns whether conventional rules allow a path: the longest that matches, and
// Allow of two equal ones (O10). A rule that an ACAP field of the same pattern cancels does not
// count (O04).
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

// cancelled reports whether an ACAP field for crawl with the same pattern and the other polarity,
// at least as specific in its addressee, takes a conventional rule's effect (O04, O07). Both
// polarities, before any overriding, take nothing (X72, X85).
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

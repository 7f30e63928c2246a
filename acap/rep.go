package acap

import (
	"slices"
	"strings"
	"time"
)

// ruleLine is one Allow or Disallow line of a conventional group (RFC 9309 2.2.2) as it is written; it starts with "/" or "*".
type ruleLine struct {
	field *Field
	allow bool
	value string
}

// rule is a line of a group that governs the crawler.
type rule struct {
	ruleLine
	exact string // percent-normalised, in its own case
	shape
}

func (l ruleLine) read() rule {
	value := l.value
	if i := strings.IndexByte(value, '$'); i >= 0 && i < len(value)-1 {
		end := strings.HasSuffix(value, "$")
		value = strings.TrimSuffix(value, "$")
		value = strings.ReplaceAll(value, "$", "%24") // only a final "$" is special
		if end {
			value += "$"
		}
	}
	exact := percentNormal(value, false)
	return rule{ruleLine: l, exact: exact, shape: newShape(exact)}
}

func readAll(lines []ruleLine) []*rule {
	read, out := make([]rule, len(lines)), make([]*rule, len(lines))
	for i, l := range lines {
		read[i] = l.read()
		out[i] = &read[i]
	}
	return out
}

// agentToken is what counts of a User-agent value: its product token, or "*", before any character that no token holds (RFC 9309
// 2.2.1). A value that starts with none is a name as it is.
func agentToken(value string) string {
	end := 0
	if strings.HasPrefix(value, "*") && (len(value) == 1 || !nameChar(value[1])) {
		end = 1
	}
	for end < len(value) && value[0] != '*' && nameChar(value[end]) {
		end++
	}
	if end == 0 {
		return value
	}
	return value[:end]
}

// names says whether a User-agent value means this crawler (RFC 9309 2.2.1, C05). A token of ours that holds what no product token
// does is compared as it stands.
func (c *Crawler) names(agent string) bool {
	for _, token := range c.Names {
		if token == "" || len(agent) > len(token) && nameChar(agent[len(token)]) {
			continue
		}
		if _, ok := cutFold(agent, token); ok {
			return true
		}
	}
	return false
}

func nameChar(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_' || b == '.'
}

// governing merges the groups that name the crawler, or else those for "*" (RFC 9309 2.2.1, X67).
func governing(groups []*group, c *Crawler) (lines []ruleLine, delay time.Duration, named bool) {
	for _, want := range []bool{true, false} {
		found := false
		for _, gr := range groups {
			first := slices.IndexFunc(gr.agents, func(a string) bool { return want && c.names(a) || !want && agentToken(a) == "*" })
			if first < 0 {
				continue
			}
			if found {
				lines = append(lines, gr.rules...)
			} else {
				lines = gr.rules[:len(gr.rules):len(gr.rules)]
			}
			found = true
			for _, d := range gr.delays {
				if first < d.agents {
					delay = max(delay, d.pause)
				}
			}
		}
		if found {
			return lines, delay, want
		}
	}
	return nil, 0, false
}

// rules are the conventional rules that govern a crawler.
type rules struct {
	list  []*rule
	found *lookup // nil for a few
}

func newRules(list []*rule) rules {
	return rules{list, newLookup(len(list), func(i int) shape { return list[i].shape })}
}

// judge gives the rule that decides path: the longest match, Allow on a tie (RFC 9309 2.2.2, O10). nil: no rule matches.
func (rs *rules) judge(path string) (best *rule) {
	if rs.found != nil {
		var h hits
		if rs.found.find(path, &h); !h.full() {
			for _, id := range h.list[:h.n] {
				if r := rs.list[id]; r.beats(best) {
					best = r
				}
			}
			return best
		}
	}
	for _, r := range rs.list {
		if r.beats(best) && r.matches(path) {
			best = r
		}
	}
	return best
}

func (r *rule) beats(best *rule) bool {
	return best == nil || len(r.exact) > len(best.exact) || len(r.exact) == len(best.exact) && r.allow && !best.allow
}

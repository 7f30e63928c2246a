package acap

import "slices"

// Paths is a list of patterns that match paths as those of Allow and Disallow lines do (RFC 9309
// 2.2.3): a pattern matches the paths that begin with it, "*" matches any characters, and "$" at its
// end matches the end of a path. It is immutable and safe for concurrent use.
type Paths struct{ *rules }

// NewPaths returns the list of patterns, which must begin with "/" or "*".
func NewPaths(patterns []string) *Paths {
	lines := make([]ruleLine, len(patterns))
	for i, value := range patterns {
		lines[i].value = value
	}
	return &Paths{newRules(readAll(lines))}
}

// Patterns returns the patterns in the form in which they are compared: percent-normalised.
func (p *Paths) Patterns() []string {
	out := make([]string, len(p.list))
	for i, r := range p.list {
		out[i] = r.exact
	}
	return out
}

// Longest returns the indexes of the longest patterns that match r, in ascending order. The length
// of a pattern is its number of bytes after percent-encoding is normalised. It returns nil if no
// pattern matches.
func (p *Paths) Longest(r *Resource) (best []int) {
	length := 0
	p.matching(r, func(i int) bool {
		switch n := len(p.list[i].exact); {
		case best == nil || n > length:
			best, length = append(best[:0], i), n
		case n == length:
			best = append(best, i)
		}
		return true
	})
	return best
}

// ByLength returns the indexes of the patterns that match r, grouped by length, the longest first.
func (p *Paths) ByLength(r *Resource) (groups [][]int) {
	var found []int
	p.matching(r, func(i int) bool {
		found = append(found, i)
		return true
	})
	length := func(i int) int { return len(p.list[i].exact) }
	slices.SortStableFunc(found, func(a, b int) int { return length(b) - length(a) })
	for i, at := range found {
		if i == 0 || length(at) != length(found[i-1]) {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], at)
	}
	return groups
}

// First returns the index of the first pattern that matches r, or -1 if none does.
func (p *Paths) First(r *Resource) int {
	first := -1
	p.matching(r, func(i int) bool {
		first = i
		return false
	})
	return first
}

// matching calls visit with the index of each pattern that matches r, in ascending order, until
// visit returns false.
func (p *Paths) matching(r *Resource, visit func(i int) bool) {
	if p.found != nil {
		var h hits
		if p.found.find(r.rep, &h); !h.full() {
			for _, id := range h.list[:h.n] {
				if !visit(int(id)) {
					return
				}
			}
			return
		}
	}
	for i, rule := range p.list {
		if rule.matches(r.rep) && !visit(i) {
			return
		}
	}
}

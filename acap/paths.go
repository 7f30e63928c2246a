package acap

// Paths is a list of patterns that match paths as those of Allow and Disallow lines do (RFC 9309
// 2.2.3): a pattern matches the paths that begin with it, "*" matches any characters, and "$" at its
// end matches the end of a path. It is immutable and safe for concurrent use.
type Paths struct{ *rules }

// NewPaths returns the list of patterns. A pattern that begins with neither "/" nor "*" matches
// nothing.
func NewPaths(patterns []string) *Paths {
	lines := make([]ruleLine, len(patterns))
	for i, value := range patterns {
		lines[i].value = value
	}
	return &Paths{newRules(readAll(lines))}
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

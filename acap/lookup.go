package acap

import (
	"math/bits"
	"slices"
	"strings"
)

// few is the maximum number of patterns that are compared one by one. For more patterns, a lookup
// is built.
const few = 12

// maxHits is the maximum number of matching patterns that are stored, without an allocation. If
// more patterns match a path, all patterns are compared one by one.
const maxHits = 32

// hits holds the indexes of the patterns that match a path, in ascending order, at most maxHits.
type hits struct {
	n    int
	list [maxHits]int32
}

func (h *hits) add(id int32) {
	if h.n < maxHits {
		h.list[h.n] = id
	}
	h.n++
}

func (h *hits) full() bool { return h.n > maxHits }

// lookup finds the patterns that match a path without comparing all patterns. It finds each pattern
// by its rarest part: by the text before the first asterisk, in a tree of texts; or by a few bytes
// after an asterisk, in a table. It is immutable and safe for concurrent use.
type lookup struct {
	shapes []shape
	nodes  []node
	firsts []byte  // the first byte of the label of each node, in the order of nodes
	ids    []int32 // the indexes of patterns, grouped by node
	tables []table
}

// node is a node in the tree of texts. It holds the patterns that start with the labels of the
// nodes on the way from the root to this node.
type node struct {
	label        string
	child, after int32 // the children of the node are nodes[child:after]
	from, to     int32 // the patterns of the node are ids[from:to]
}

// newLookup returns a lookup for n patterns. It returns nil if n is at most few.
func newLookup(n int, shapeOf func(i int) shape) *lookup {
	if n <= few {
		return nil
	}
	l := &lookup{shapes: make([]shape, n), nodes: make([]node, 1, n), firsts: make([]byte, 1, n),
		ids: make([]int32, 0, n)}
	for i := range l.shapes {
		l.shapes[i] = shapeOf(i)
	}
	order := l.tabulate()
	slices.SortFunc(order, func(a, b int32) int {
		if c := strings.Compare(l.literal(a), l.literal(b)); c != 0 {
			return c
		}
		return int(a - b)
	})
	l.grow(0, order, 0)
	return l
}

func (l *lookup) literal(id int32) string { return l.shapes[id].pieces[0] }

// grow fills the node with the index at. The patterns of this node are in order; their first depth
// bytes are the same.
func (l *lookup) grow(at int32, order []int32, depth int) {
	if len(order) == 0 {
		return
	}
	first, last := l.literal(order[0]), l.literal(order[len(order)-1])
	end := depth
	// the texts are sorted: if the first and the last share a prefix, all share it
	for end < len(first) && end < len(last) && first[end] == last[end] {
		end++
	}
	n := node{label: first[depth:end], from: int32(len(l.ids))}
	for len(order) > 0 && len(l.literal(order[0])) == end {
		l.ids = append(l.ids, order[0])
		order = order[1:]
	}
	n.to = int32(len(l.ids))
	n.child = int32(len(l.nodes))
	for i, id := range order {
		if c := l.literal(id)[end]; i == 0 || c != l.firsts[len(l.firsts)-1] {
			l.nodes, l.firsts = append(l.nodes, node{}), append(l.firsts, c)
		}
	}
	n.after = int32(len(l.nodes))
	l.nodes[at] = n
	for child := n.child; child < n.after; child++ {
		k := 1
		for k < len(order) && l.literal(order[k])[end] == l.firsts[child] {
			k++
		}
		l.grow(child, order[:k], end)
		order = order[k:]
	}
}

// find adds the indexes of the patterns that match path to h.
func (l *lookup) find(path string, h *hits) {
	rest, n := path, &l.nodes[0]
	for strings.HasPrefix(rest, n.label) {
		rest = rest[len(n.label):]
		for _, id := range l.ids[n.from:n.to] {
			if l.shapes[id].endsIn(rest) {
				h.add(id)
			}
		}
		if rest == "" || h.full() {
			break
		}
		i := n.child
		for i < n.after && l.firsts[i] != rest[0] {
			i++
		}
		if i == n.after {
			break
		}
		n = &l.nodes[i]
	}
	if len(l.tables) > 0 {
		l.scan(path, h)
	}
	if !h.full() {
		h.sort()
	}
}

// scan looks up every second run of bytes of path in the tables. Each pattern has entries for two
// neighbouring runs, so scan finds one of the two.
func (l *lookup) scan(path string, h *hits) {
	for j := range l.tables {
		t := &l.tables[j]
		seen, mask, drop := t.seen, t.mask, t.drop
		if len(path) < t.width {
			continue
		}
		var run uint64
		for i := range t.width - 2 {
			run = run<<8 | uint64(path[i])
		}
		for i := t.width - 1; i < len(path); i += 2 {
			run = run<<16 | uint64(path[i-1])<<8 | uint64(path[i])
			bit := hashOf(run&mask) >> (drop & 63)
			if seen[bit>>6]>>(bit&63)&1 == 0 {
				continue
			}
			for _, id := range t.find(run & mask) {
				if l.shapes[id].matches(path) {
					h.add(id)
				}
			}
			if h.full() {
				return
			}
		}
	}
}

// sort sorts the hits and removes duplicates: a path may contain the same bytes twice.
func (h *hits) sort() {
	list := h.list[:h.n]
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && list[j] < list[j-1]; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	h.n = len(slices.Compact(list))
}

// table finds patterns by a run of consecutive bytes that each pattern contains.
type table struct {
	width int    // number of bytes of a run, at most 8
	mask  uint64 // bit mask for the low width bytes of a run
	// a bit set of the high bits of each run's hash; it excludes most runs of a path that are in no
	// pattern
	seen  []uint64
	drop  int    // how many low bits of a hash the bit set seen ignores
	slots []slot // one slot for each run, at the index of its hash or after that
	ids   []int32
}

type slot struct {
	run      uint64
	from, to int32
}

func (t *table) find(run uint64) []int32 {
	for i := t.slot(run); ; i = (i + 1) & (len(t.slots) - 1) {
		switch s := &t.slots[i]; {
		case s.to == 0:
			return nil
		case s.run == run:
			return t.ids[s.from:s.to]
		}
	}
}

// slot returns the index in slots at which the search for a run starts. It uses the middle bits of
// the hash, which vary more than the low ones.
func (t *table) slot(run uint64) int { return int(hashOf(run)>>24) & (len(t.slots) - 1) }

func hashOf(run uint64) uint64 { return run * 0x9e3779b97f4a7c15 }

// keyed is a pattern with the run of bytes by which a table finds it.
type keyed struct {
	run uint64
	id  int32
}

// newTable returns a table of runs with the same width. list must not be empty.
func newTable(width int, list []keyed) table {
	slices.SortFunc(list, func(a, b keyed) int {
		switch {
		case a.run < b.run:
			return -1
		case a.run > b.run:
			return 1
		}
		return int(a.id - b.id)
	})
	size := bits.Len(uint(2 * len(list)))
	seen := max(6, min(size+3, 17))
	t := table{width: width, mask: maskOf(width), seen: make([]uint64, 1<<(seen-6)), drop: 64 - seen,
		slots: make([]slot, 1<<size),
		ids:   make([]int32, 0, len(list))}
	for len(list) > 0 {
		run := list[0].run
		s := slot{run: run, from: int32(len(t.ids))}
		for len(list) > 0 && list[0].run == run {
			t.ids = append(t.ids, list[0].id)
			list = list[1:]
		}
		s.to = int32(len(t.ids))
		bit := hashOf(run) >> t.drop
		t.seen[bit>>6] |= 1 << (bit & 63)
		i := t.slot(run)
		for t.slots[i].to != 0 {
			i = (i + 1) & (len(t.slots) - 1)
		}
		t.slots[i] = s
	}
	return t
}

func maskOf(width int) uint64 { return ^uint64(0) >> (64 - 8*width) }

// widths are the lengths of the runs in tables.
var widths = [...]int{2, 4, 8}

// Limits for the search for the rarest run of a pattern.
const (
	maxPieces = 8
	maxPiece  = 64
)

// pairs calls visit for each two neighbouring runs of bytes after the first asterisk of a pattern.
// The runs have the greatest width for which the pattern contains two neighbouring runs.
func (s *shape) pairs(visit func(width int, first, second uint64)) {
	pieces := s.pieces[1:min(len(s.pieces), 1+maxPieces)]
	longest := 0
	for _, p := range pieces {
		longest = max(longest, len(p))
	}
	for i := len(widths) - 1; i >= 0; i-- {
		width := widths[i]
		if longest <= width {
			continue
		}
		for _, p := range pieces {
			var first, run uint64
			for j := range min(len(p), maxPiece) {
				first, run = run, run<<8|uint64(p[j])
				if j >= width {
					visit(width, first&maskOf(width), run&maskOf(width))
				}
			}
		}
		return
	}
}

// estimate estimates how many patterns contain a run. The estimate may be too high: it is the lower
// of two counts, which belong to two different hashes of the run.
type estimate struct {
	size   int // number of bits of a hash
	counts [2][]int32
}

func newEstimate(patterns int) *estimate {
	size := min(bits.Len(uint(8*patterns)), 18)
	return &estimate{size, [2][]int32{make([]int32, 1<<size), make([]int32, 1<<size)}}
}

func (e *estimate) at(run uint64) (first, second *int32) {
	h := hashOf(run)
	return &e.counts[0][h>>(64-e.size)], &e.counts[1][hashOf(h>>7)>>(64-e.size)]
}

func (e *estimate) add(run uint64) {
	first, second := e.at(run)
	*first++
	*second++
}

func (e *estimate) of(run uint64) int32 {
	first, second := e.at(run)
	return min(*first, *second)
}

// tabulate adds patterns to the tables if a run of the pattern is rarer than the text before its
// first asterisk. It returns the other patterns.
func (l *lookup) tabulate() (others []int32) {
	literals := map[string]int32{}
	most := int32(0)
	for i := range l.shapes {
		if s := &l.shapes[i]; len(s.pieces) > 1 {
			literals[s.pieces[0]]++
			most = max(most, literals[s.pieces[0]])
		}
	}
	if most <= few {
		for id := range l.shapes {
			others = append(others, int32(id))
		}
		return others
	}
	counts := newEstimate(len(l.shapes))
	for i := range l.shapes {
		l.shapes[i].pairs(func(_ int, first, second uint64) {
			counts.add(first)
			counts.add(second)
		})
	}
	var lists [9][]keyed
	for i := range l.shapes {
		s, id := &l.shapes[i], int32(i)
		best, width, pair := literals[s.pieces[0]], 0, [2]uint64{}
		if len(s.pieces) > 1 && best > few {
			s.pairs(func(w int, first, second uint64) {
				if n := max(counts.of(first), counts.of(second)); n < best {
					best, width, pair = n, w, [2]uint64{first, second}
				}
			})
		}
		if width == 0 {
			others = append(others, id)
			continue
		}
		lists[width] = append(lists[width], keyed{pair[0], id}, keyed{pair[1], id})
	}
	for width, list := range lists {
		if len(list) > 0 {
			l.tables = append(l.tables, newTable(width, list))
		}
	}
	return others
}

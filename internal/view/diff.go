package view

import "slices"

// edit is a run of items of two lists that are compared: the same in both, or removed and added.
type edit struct {
	same    int // number of equal items; if not 0, removed and added are 0
	removed int
	added   int
}

const (
	// mostPairs limits the table of pairs that are compared one by one.
	mostPairs = 250_000
	// deepest limits how often a part between anchors is divided again.
	deepest = 20
)

// diff compares two lists: it first takes the items that occur exactly once in both as anchors
// (patience diff), and in the parts between them it finds the longest common subsequence. A part of
// more than mostPairs pairs without anchors counts as replaced. Work is at most proportional to the
// length of the lists, times deepest and the square root of mostPairs; memory to the length and
// mostPairs.
func diff(a, b []string) []edit {
	var d differ
	d.compare(a, b, deepest)
	return d.edits
}

// differ collects the edits of diff.
type differ struct{ edits []edit }

// add appends an edit, joined with the last one if both are of the same sort.
func (d *differ) add(e edit) {
	if e == (edit{}) {
		return
	}
	if n := len(d.edits); n > 0 && (d.edits[n-1].same > 0) == (e.same > 0) {
		last := &d.edits[n-1]
		last.same, last.removed, last.added = last.same+e.same, last.removed+e.removed, last.added+e.added
		return
	}
	d.edits = append(d.edits, e)
}

func (d *differ) compare(a, b []string, depth int) {
	n := commonPrefix(a, b)
	d.add(edit{same: n})
	a, b = a[n:], b[n:]
	end := commonSuffix(a, b)
	inner, other := a[:len(a)-end], b[:len(b)-end]
	anchors := uniquePairs(inner, other)
	switch {
	case len(inner) == 0 || len(other) == 0:
		d.add(edit{removed: len(inner), added: len(other)})
	case len(anchors) > 0 && depth > 0:
		i, j := 0, 0
		for _, p := range anchors {
			d.compare(inner[i:p.i], other[j:p.j], depth-1)
			d.add(edit{same: 1})
			i, j = p.i+1, p.j+1
		}
		d.compare(inner[i:], other[j:], depth-1)
	case len(inner)*len(other) <= mostPairs:
		d.subsequence(inner, other)
	default:
		d.add(edit{removed: len(inner), added: len(other)})
	}
	d.add(edit{same: end})
}

func commonPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// pair is a place in each of two lists.
type pair struct{ i, j int }

// uniquePairs returns the places of items that occur exactly once in each list, as many as possible
// in the same order in both (a longest increasing subsequence, in time n log n).
func uniquePairs(a, b []string) []pair {
	type seen struct{ count, at int }
	there := map[string]seen{}
	for j, s := range b {
		there[s] = seen{there[s].count + 1, j}
	}
	here := map[string]int{}
	for _, s := range a {
		here[s]++
	}
	var pairs []pair
	for i, s := range a {
		if here[s] == 1 && there[s].count == 1 {
			pairs = append(pairs, pair{i, there[s].at})
		}
	}
	ends := []int{}                   // for each length, the pair with the smallest j that ends such a sequence
	before := make([]int, len(pairs)) // the pair before in the sequence, or -1
	for k, p := range pairs {
		at, _ := slices.BinarySearchFunc(ends, p.j, func(e, j int) int { return pairs[e].j - j })
		if before[k] = -1; at > 0 {
			before[k] = ends[at-1]
		}
		if at == len(ends) {
			ends = append(ends, k)
		} else {
			ends[at] = k
		}
	}
	if len(ends) == 0 {
		return nil
	}
	out := make([]pair, len(ends))
	for at, k := len(ends)-1, ends[len(ends)-1]; k >= 0; at, k = at-1, before[k] {
		out[at] = pairs[k]
	}
	return out
}

// subsequence compares two lists by their longest common subsequence.
func (d *differ) subsequence(a, b []string) {
	width := len(b) + 1
	most := make([]int32, (len(a)+1)*width) // the length for a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				most[i*width+j] = most[(i+1)*width+j+1] + 1
			} else {
				most[i*width+j] = max(most[(i+1)*width+j], most[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			d.add(edit{same: 1})
			i, j = i+1, j+1
		case most[(i+1)*width+j] >= most[i*width+j+1]:
			d.add(edit{removed: 1})
			i++
		default:
			d.add(edit{added: 1})
			j++
		}
	}
	d.add(edit{removed: len(a) - i, added: len(b) - j})
}

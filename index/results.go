package index

import (
	"math"
	"slices"
)

// result is a found document.
type result struct {
	score   float32
	segment uint32
	doc     uint32
}

// key combines a score and a document of one segment. The best result has the greatest key.
type key uint64

func keyOf(score float32, doc uint32) key {
	return key(math.Float32bits(score))<<32 | key(^doc) // scores are not negative, so their bits sort like the scores
}

func (k key) score() float32 { return math.Float32frombits(uint32(k >> 32)) }
func (k key) doc() uint32    { return ^uint32(k) }

// heap is a binary heap with the greatest key at the top.
type heap []key

func (h heap) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h heap) down(i int) {
	for {
		first := 2*i + 1
		if first >= len(h) {
			return
		}
		if next := first + 1; next < len(h) && h[next] > h[first] {
			first = next
		}
		if h[first] <= h[i] {
			return
		}
		h[i], h[first] = h[first], h[i]
		i = first
	}
}

// atOnce is the number of results of a segment that are sorted in one step: callers rarely read
// more.
const atOnce = 256

// bestOf returns a heap of the best documents. The keys of all others are less than worst, which is
// 0 if there are no others.
func bestOf(docs []uint32, scores []float32) (best heap, worst key) {
	if len(docs) <= atOnce {
		return behind(docs, scores, math.MaxUint64), 0
	}
	// While the best are being selected, the worst of them is at the top.
	best = make(heap, atOnce)
	for i, doc := range docs[:atOnce] {
		best[i] = ^keyOf(scores[doc], doc)
	}
	best.order()
	least := (^best[0]).score()
	for _, doc := range docs[atOnce:] {
		if score := scores[doc]; score > least {
			best[0] = ^keyOf(score, doc)
			best.down(0)
			least = (^best[0]).score()
		}
	}
	worst = ^best[0]
	for i := range best {
		best[i] = ^best[i]
	}
	best.order()
	return best, worst
}

// behind returns a heap of the documents whose keys are less than worst.
func behind(docs []uint32, scores []float32, worst key) heap {
	var out heap
	for _, doc := range docs {
		if k := keyOf(scores[doc], doc); k < worst {
			out = append(out, k)
		}
	}
	out.order()
	return out
}

// results are results of one segment: those in heap, which may be empty, and perhaps others.
type results struct {
	segment uint32
	heap    heap
	others  func() (results, error) // finds the other results; nil: there are none
	bound   key                     // no key of others is greater
}

// top returns the greatest key that r may contain.
func (r *results) top() key {
	if len(r.heap) > 0 {
		return r.heap[0]
	}
	return r.bound
}

// before reports whether the best result of r ranks before that of o. Documents with the same score
// are ordered by URL later. Unknown results rank before known ones with the same score, so that they
// are found before these are returned.
func (r *results) before(o *results) bool {
	a, b := r.top(), o.top()
	switch {
	case a>>32 != b>>32:
		return a > b
	case (len(r.heap) == 0) != (len(o.heap) == 0):
		return len(r.heap) == 0
	case r.segment == o.segment:
		return a > b
	}
	return r.segment < o.segment
}

// heaps are the results of all segments. A segment may have several entries, and entries may be
// empty.
type heaps []results

// countAbove returns the number of known results with keys greater than bound.
func (r heaps) countAbove(bound key) (n int) {
	for _, results := range r {
		for _, k := range results.heap {
			if k > bound {
				n++
			}
		}
	}
	return n
}

// best returns the index of the heap with the best result, -1 if none is left. It finds other
// results if they could be the best, and removes empty entries.
func (r *heaps) best() (int, error) {
	for len(*r) > 0 {
		best := 0
		for i := range *r {
			if (*r)[i].before(&(*r)[best]) {
				best = i
			}
		}
		top := &(*r)[best]
		if len(top.heap) > 0 {
			return best, nil
		}
		if top.others == nil {
			*r = slices.Delete(*r, best, best+1)
			continue
		}
		var err error
		if *top, err = top.others(); err != nil {
			return -1, err
		}
	}
	return -1, nil
}

// score returns the best score in heap i.
func (r heaps) score(i int) float32 { return r[i].heap[0].score() }

// pop removes and returns the best result of heap i.
func (r heaps) pop(i int) result {
	h := r[i].heap
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h[:last].down(0)
	r[i].heap = h[:last]
	return result{top.score(), r[i].segment, top.doc()}
}

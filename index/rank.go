package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
)

// How documents are ranked. A word counts by how few documents have it in any language and in any form that its analyser takes for the
// same, so that a word that is rare in one language brings none of its pages forward. In each part of a page it counts by how often it
// is there, less for each time, and by how long the part is (BM25).
const (
	saturation = 1.2  // how often a word must be there to count half, in a part of usual length
	lengthened = 0.75 // how much the length of a part matters, of 1

	window = 200    // the best so many are looked at for words that stand together
	near   = 8      // words apart from which two do not stand together
	page   = 10_000 // how many equal results are given at once
)

// counts are what parts of a page count for: how much a word in one does, and how many words one usually has. Words of headings are in
// the text too, and count twice in all.
var counts = map[part]count{title: {3, 8}, headings: {1, 40}, body: {1, 600}}

type count struct{ boost, length float64 }

func (p part) words() bool { return counts[p].boost > 0 }

// worth is what a word counts if it is there so often, at most the boost.
func (c count) worth(often, length float64) float64 {
	return c.boost * often / (often + saturation*(1-lengthened+lengthened*length/c.length))
}

// weigh sets the weights of clauses. A document has the words of one language only, and most words of a title are in the text too.
func (s *searching) weigh(segments []*segment) {
	for i := range s.asked {
		with := map[part]uint64{}
		for _, g := range segments {
			for _, f := range g.found[i] {
				with[f.field.part] += g.live(f.docs)
			}
		}
		n := 0.0
		for _, docs := range with {
			n = max(n, float64(docs))
		}
		s.asked[i].weight = math.Log1p((max(s.documents, n) - n + 0.5) / (n + 0.5))
	}
}

// score gives the documents that g has found.
func (g *segment) score(all []asked) (out results, err error) {
	if g.all.IsEmpty() {
		return nil, nil
	}
	scores := make([]float32, g.docs)
	for i, a := range all {
		if a.not || !a.words() {
			continue
		}
		for _, f := range g.found[i] {
			if err := f.score(g.all, a.weight, scores); err != nil {
				return nil, err
			}
		}
	}
	out = make(results, 0, g.all.GetCardinality())
	for docs := g.all.Iterator(); docs.HasNext(); {
		doc := docs.Next()
		out = append(out, result{scores[doc], g.number, doc})
	}
	return out, nil
}

func (f inField) score(docs *roaring.Bitmap, weight float64, scores []float32) error {
	part := counts[f.field.part]
	switch {
	case f.placed():
		for _, o := range f.places {
			scores[o.doc] += float32(weight * part.worth(float64(o.often), float64(o.length)))
		}
	case len(f.steps) > 1 || f.steps[0].prefix: // nothing tells how often they are there together, or too much
		once := float32(weight * part.worth(1, part.length))
		for both := roaring.And(f.docs, docs).Iterator(); both.HasNext(); {
			scores[both.Next()] += once
		}
	default:
		for _, l := range f.lists[0].lists {
			it, some := within(l, docs, false)
			for some {
				p, err := it.Next()
				if err != nil {
					return err
				}
				if p == nil {
					break
				}
				scores[p.Number()] += float32(weight * part.worth(float64(p.Frequency()), float64(lengthOf(p))))
			}
		}
	}
	return nil
}

// bring moves those of the best forward in which words that follow each other in the query stand together.
func (s *searching) bring(segments []*segment, out *results) error {
	var words []int
	for i, a := range s.asked {
		if !a.not && a.words() {
			words = append(words, i)
		}
	}
	if len(words) < 2 {
		return nil
	}
	best := make([]result, 0, window)
	for len(best) < window && len(*out) > 0 {
		best = append(best, out.pop())
	}
	in := map[uint32]*roaring.Bitmap{}
	for _, r := range best {
		if in[r.segment] == nil {
			in[r.segment] = roaring.New()
		}
		in[r.segment].Add(r.doc)
	}
	bonus := map[result]float32{}
	for number, docs := range in {
		for k := range words[1:] {
			if err := segments[number].together(s.asked, words[k], words[k+1], docs, bonus); err != nil {
				return err
			}
		}
	}
	for _, r := range best {
		out.push(result{r.score + bonus[result{0, r.segment, r.doc}], r.segment, r.doc})
	}
	return nil
}

// together adds to bonus what it is worth that clause b follows clause a in documents.
func (g *segment) together(all []asked, a, b int, docs *roaring.Bitmap, bonus map[result]float32) error {
	for _, fa := range g.found[a] {
		for _, fb := range g.found[b] {
			last := len(fa.steps) - 1
			if fa.field != fb.field || fa.field.bare || fa.steps[last].prefix || fb.steps[0].prefix {
				continue
			}
			both := roaring.And(docs, roaring.And(fa.docs, fb.docs))
			if both.IsEmpty() {
				continue
			}
			ca, cb := fa.lists[last].cursor(both), fb.lists[0].cursor(both)
			weight := min(all[a].weight, all[b].weight)
			for it := both.Iterator(); it.HasNext(); {
				doc := it.Next()
				as, length, err := ca.at(doc)
				if err != nil {
					return err
				}
				bs, _, err := cb.at(doc)
				if err != nil {
					return err
				}
				if n := meetings(as, bs); n > 0 {
					bonus[result{0, g.number, doc}] += float32(weight * counts[fa.field.part].worth(n, float64(length)))
				}
			}
		}
	}
	return nil
}

// meetings counts how often a word of b stands by one of a: whole where it follows, less where it is farther away or before it.
func meetings(as, bs []spot) (n float64) {
	i := 0
	for _, b := range bs {
		for i < len(as) && as[i].position < b.position {
			i++
		}
		best := 0.0
		if i > 0 && b.position-as[i-1].position <= near {
			d := float64(b.position - as[i-1].position)
			best = 1 / (d * d)
		}
		if i < len(as) && as[i].position > b.position && as[i].position-b.position < near {
			d := float64(as[i].position-b.position) + 1
			best = max(best, 1/(d*d))
		}
		n += best
	}
	return n
}

// result is a document found.
type result struct {
	score   float32
	segment uint32
	doc     uint32
}

// before tells which of two results comes first, as far as that can be told without their URLs.
func (r result) before(o result) bool {
	if r.score != o.score {
		return r.score > o.score
	}
	return r.segment < o.segment || r.segment == o.segment && r.doc < o.doc
}

// results is a heap of them, the best on top: few are ever asked for.
type results []result

func (h results) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h results) down(i int) {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].before(h[first]) {
				first = child
			}
		}
		if first == i {
			return
		}
		h[i], h[first] = h[first], h[i]
		i = first
	}
}

func (h *results) pop() result {
	old := *h
	top := old[0]
	old[0] = old[len(old)-1]
	*h = old[:len(old)-1]
	h.down(0)
	return top
}

func (h *results) push(r result) {
	*h = append(*h, r)
	for i := len(*h) - 1; i > 0 && (*h)[i].before((*h)[(i-1)/2]); i = (i - 1) / 2 {
		(*h)[i], (*h)[(i-1)/2] = (*h)[(i-1)/2], (*h)[i]
	}
}

// findings are the results of a query, with the view of the index that they are from.
type findings struct {
	view *scorch.IndexSnapshot
	heap results
}

// next gives the best of what is left and all that are equal to it, by URL; none at the end. Of very many equal ones, as a query gives
// that asks for no word, it gives a part at a time, in the order in which the index has them.
func (f *findings) next(dir string) (hits []Hit, err error) {
	defer guard(dir, &err)()
	var equal []result
	for len(f.heap) > 0 && len(equal) < page && (len(equal) == 0 || f.heap[0].score == equal[0].score) {
		equal = append(equal, f.heap.pop())
	}
	for _, r := range equal {
		id, err := f.view.Segments()[r.segment].DocID(uint64(r.doc))
		if err != nil {
			return nil, err
		}
		hits = append(hits, Hit{URL: string(id), Score: float64(r.score)})
	}
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Compare(a.URL, b.URL) })
	return hits, nil
}

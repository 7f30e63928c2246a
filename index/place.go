package index

import (
	"cmp"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

// placeRuns compares positions for clause i: in texts if texts is true, otherwise in titles and
// headings. It reports whether there was anything to compare.
func (g *shard) placeRuns(i int, texts bool) (compared bool, err error) {
	for j := range g.found[i] {
		f := &g.found[i][j]
		if !f.placed() || f.text() != texts {
			continue
		}
		compared = true
		if err := g.place(f); err != nil {
			return compared, err
		}
	}
	return compared, nil
}

// place reduces f.docs to documents that may still match and contain the steps of f next to each
// other.
func (g *shard) place(f *inField) error {
	f.docs = roaring.And(f.docs, g.all)
	cursors, order := g.through(f.lists, f.docs.GetCardinality()), f.rarest()
	var docs roaring.ManyIntIterator
	docs.Initialize(f.docs)
	var kept, starts []uint32
	var ahead [segment.LookAhead]uint32
	for filled := docs.NextMany(ahead[:]); filled > 0; filled = docs.NextMany(ahead[:]) {
		for _, doc := range ahead[:filled] {
			norm := uint64(0)
			for i, k := range order {
				spots, n, err := cursors[k].At(doc)
				if err != nil {
					return err
				}
				if norm = n; i == 0 {
					starts = f.starts(starts[:0], spots, k)
				} else {
					starts = f.followed(starts, spots, k)
				}
				if len(starts) == 0 {
					break
				}
			}
			if len(starts) > 0 {
				f.places = append(f.places, occurrences{doc, uint32(len(starts)), norm})
				kept = append(kept, doc)
			}
		}
	}
	f.docs = roaring.BitmapOf(kept...)
	return nil
}

// rarest returns the indexes of the steps that have terms, the step in the fewest documents first.
func (f *inField) rarest() []int {
	var order []int
	for k, p := range f.lists {
		if p.docs != nil {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(f.lists[a].docs.GetCardinality(), f.lists[b].docs.GetCardinality())
	})
	return order
}

// starts appends the positions where r would begin if step k is at spots.
func (r *run) starts(out []uint32, spots []segment.Spot, k int) []uint32 {
	for _, s := range spots {
		start := s.Position - uint32(k)
		again := len(out) > 0 && out[len(out)-1] == start
		if s.Position > uint32(k) && !again && (!r.exact || s.Form.Matches(r.steps[k].form, k == 0)) {
			out = append(out, start)
		}
	}
	return out
}

// followed keeps the starts for which step k is at one of spots.
func (r *run) followed(starts []uint32, spots []segment.Spot, k int) []uint32 {
	kept, next := starts[:0], 0
	for _, start := range starts {
		want := start + uint32(k)
		for next < len(spots) && spots[next].Position < want {
			next++
		}
		for i := next; i < len(spots) && spots[i].Position == want; i++ {
			if !r.exact || spots[i].Form.Matches(r.steps[k].form, k == 0) {
				kept = append(kept, start)
				break
			}
		}
	}
	return kept
}

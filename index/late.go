package index

import (
	"context"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// A phrase of common words may be in the texts of most documents, and comparing positions in texts
// takes longer than everything else. Documents that contain the phrase in their title or headings
// usually rank first. So these are found first, and the texts of the other documents are compared
// only if one of them can be among the results that the caller reads.

// enough is the number of results that rank before all other documents, from which the texts of
// these are not compared in advance.
const enough = 100

// lateClause returns the index of the clause for which texts may be compared late: the only clause
// that searches for words, if it is a run of several words. It returns -1 if there is none.
func (s *searching) lateClause() int {
	late := -1
	for i, a := range s.asked {
		switch {
		case !a.words():
		case a.not && slices.ContainsFunc(a.runs, run.placed):
			return -1
		case a.not:
		case late >= 0:
			return -1
		default:
			late = i
		}
	}
	if late < 0 || !slices.ContainsFunc(s.asked[late].runs, run.text) {
		return -1
	}
	fields := map[string]bool{}
	for _, r := range s.asked[late].runs {
		if fields[r.name] || r.formed() { // another spelling or the method boost adds to the score
			return -1
		}
		fields[r.name] = true
	}
	return late
}

// text reports whether r is searched for in the texts of pages, by comparing positions.
func (r run) text() bool { return r.placed() && r.field.part == body }

// postpone makes documents that can match clause i only by their text candidates, and removes them
// from g.all. The titles and headings have been compared.
func (g *shard) postpone(i int) {
	certain := roaring.New()
	for _, f := range g.found[i] {
		if !f.text() {
			certain.Or(f.docs)
		}
	}
	g.candidates = roaring.AndNot(g.all, certain)
	g.all.And(certain)
	for _, f := range g.found[i] {
		if f.text() {
			g.late = append(g.late, f)
		}
	}
}

// addLate adds the candidates of all segments that match. If there are enough results before them,
// it adds functions that find them.
func (s *searching) addLate(ctx context.Context, segments []*shard, out heaps) (heaps, error) {
	if s.late < 0 {
		return out, nil
	}
	bound := keyOf(float32(s.asked[s.late].weight*counts[body].boost), 0)
	before := 0
	for _, r := range out {
		for _, k := range r.heap {
			if k > bound {
				before++
			}
		}
	}
	segments = slices.DeleteFunc(slices.Clone(segments), func(g *shard) bool { return len(g.late) == 0 })
	if before >= enough {
		for _, g := range segments {
			out = append(out, results{segment: g.number, bound: bound, others: func() (found heap, err error) {
				g, err := g.matchLate(s)
				g.score(s, func(docs []uint32, scores []float32) { found = behind(docs, scores, math.MaxUint64) })
				return found, err
			}})
		}
		return out, nil
	}
	late := make(heaps, len(out))
	err := each(ctx, segments, func(g *shard) error {
		g, err := g.matchLate(s)
		late[g.number] = g.results(s)
		return err
	})
	return append(out, late...), err
}

// matchLate returns a shard of which only the candidates of g that match are found.
func (g *shard) matchLate(s *searching) (*shard, error) {
	late := &shard{number: g.number, docs: g.docs, found: slices.Clone(g.found), all: g.candidates}
	late.found[s.late] = g.late
	for i, a := range s.asked {
		if a.not {
			late.all.AndNot(late.with(i))
		}
	}
	_, err := late.placeRuns(s.late, true)
	late.all.And(late.with(s.late))
	return late, err
}

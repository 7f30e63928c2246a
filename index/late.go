package index

import (
	"context"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// A phrase of common words may be in the texts of most documents, and comparing positions in texts
// takes longer than everything else. Documents that contain the phrase in their title or headings
// usually rank first. So these are found first, and the texts of the other documents are compared
// only if one of them can be among the results that the caller reads.

// enough is a number of results. If at least so many rank before every document that only its text
// can match, these texts are compared only when the caller reads that far.
const enough = 100

// lateClause returns the index of the clause for which texts may be compared late: the only clause
// that searches for words, if matching it requires comparing positions in texts. It returns -1 if
// there is none, if a document found by its text could have a higher score than addLate assumes, or
// if positions must be compared for an excluded clause, too.
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
		if fields[r.name] || r.formed() { // another spelling, or the method boost, would add to the score
			return -1
		}
		fields[r.name] = true
	}
	return late
}

// text reports whether r is searched for in the texts of pages, by comparing positions.
func (r run) text() bool { return r.placed() && r.field.part == body }

// postpone moves documents that only their text can make match clause i from g.all to g.candidates.
// The caller has compared titles and headings.
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

// addLate adds the candidates that match to out. If enough results rank before them, it adds
// functions that find them later.
func (s *searching) addLate(ctx context.Context, segments []*shard, out heaps) (heaps, error) {
	segments = slices.DeleteFunc(slices.Clone(segments), func(g *shard) bool { return len(g.late) == 0 })
	if len(segments) == 0 {
		return out, nil
	}
	late := make(heaps, len(out))
	find := sync.OnceValue(func() error {
		return each(ctx, segments, func(g *shard) error { return g.matchLate(s, &late[g.number]) })
	})
	bound := keyOf(float32(s.asked[s.late].weight*counts[body].boost), 0)
	if out.countAbove(bound) < enough {
		err := find()
		return append(out, late...), err
	}
	for _, g := range segments {
		out = append(out, results{segment: g.number, bound: bound, others: func() (results, error) {
			err := find()
			return late[g.number], err
		}})
	}
	return out, nil
}

// matchLate compares the texts of the candidates of g, and sets found to the results of those that
// match. It changes g, so it must be called only once.
func (g *shard) matchLate(s *searching, found *results) error {
	late := &shard{number: g.number, docs: g.docs, found: slices.Clone(g.found), all: g.candidates}
	late.found[s.late] = g.late
	for i, a := range s.asked {
		if a.not {
			late.all.AndNot(late.with(i))
		}
	}
	if _, err := late.placeRuns(s.late, true); err != nil {
		return err
	}
	late.all.And(late.with(s.late))
	*found = late.results(s)
	return nil
}

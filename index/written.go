package index

import "github.com/RoaringBitmap/roaring/v2"

// An analyser gives several forms of a word the same term. If two pages contain the term equally
// often, the one with the form of the query ranks higher. Only the best results are examined for
// this, since forms are stored with positions, which are slow to read.

// written is the number of times that one of the best results contains a word as the query writes
// it.
type written struct {
	occurrences
	clause int
	part   part
}

// formed reports whether the field of r stores forms that distinguish the query's word from other
// words with the same term.
func (r run) formed() bool {
	return r.field.kept == placed && r.field.language != plain && len(r.steps) == 1 && len(r.steps[0].terms) == 1 &&
		!r.exact
}

// findWritten searches the best results of g for the words of a clause as the query writes them. It
// skips fields with a separate list for the word as written, because the score already includes
// that list.
func (g *shard) findWritten(clause int) error {
	for _, f := range g.found[clause] {
		if f.placed() { // words in dense script have only one form
			for _, o := range f.places {
				if g.best.Contains(o.doc) {
					g.written = append(g.written, written{o, clause, f.field.part})
				}
			}
			continue
		}
		if f.field.kept != placed || len(f.steps[0].terms) > 1 {
			continue
		}
		docs := roaring.And(g.best, f.docs)
		cursor := &g.through(f.lists, docs.GetCardinality())[0]
		for it := docs.Iterator(); it.HasNext(); {
			doc := it.Next()
			spots, norm, err := cursor.At(doc)
			if err != nil {
				return err
			}
			n := uint32(0)
			for _, spot := range spots {
				if f.field.language == plain || spot.Form.Matches(f.steps[0].form, true) {
					n++
				}
			}
			if n > 0 {
				g.written = append(g.written, written{occurrences{doc, n, norm}, clause, f.field.part})
			}
		}
	}
	return nil
}

// preferWritten raises the bonus of the best results that contain the words as the query writes
// them. The number of such documents in the whole index is estimated from their share of these
// results.
func (s *searching) preferWritten(in []*shard, clauses []int, best int) {
	for _, clause := range clauses {
		with := map[part]uint64{}
		for _, g := range in {
			for _, w := range g.written {
				if w.clause == clause {
					with[w.part]++
				}
			}
		}
		weight := s.rarity(s.asked[clause].with * most(with) / float64(best))
		for _, g := range in {
			for _, w := range g.written {
				if w.clause == clause {
					g.bonus[w.doc] += float32(weight * counts[w.part].boost * s.scales[w.part].worth(uint64(w.often),
						w.norm))
				}
			}
		}
	}
}

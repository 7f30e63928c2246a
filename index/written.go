package index

import "github.com/RoaringBitmap/roaring/v2"

// An analyser takes several forms of a word for the same. Of pages that have the word as often, that one is better which has it as the
// query writes it. Only the best results are looked at for it: the forms of words are kept with their positions, which take long to read.

// written tells how often one of the best results has a word as the query writes it.
type written struct {
	occurrences
	clause int
	part   part
}

// formed reports whether the field of r keeps forms that tell the query's word from others with the same term.
func (r run) formed() bool {
	return r.field.kept == placed && r.field.language != plain && len(r.steps) == 1 && len(r.steps[0].terms) == 1 && !r.exact
}

// findWritten looks for what a clause asks for, as the query writes it, in the best results of g. A field with a list for the word as it
// is written has counted it already.
func (g *segment) findWritten(clause int) error {
	for _, f := range g.found[clause] {
		if f.placed() { // in dense script words have one form
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
			spots, norm, err := cursor.at(doc)
			if err != nil {
				return err
			}
			n := uint32(0)
			for _, spot := range spots {
				if f.field.language == plain || spot.form.isWritten(f.steps[0].form, true) {
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

// preferWritten adds to the bonus of the best results, which are so many, what the words as the query writes them are worth. How many
// documents of the index have them so is taken from the share of the best.
func (s *searching) preferWritten(in []*segment, clauses []int, best int) {
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
					g.bonus[w.doc] += float32(weight * counts[w.part].boost * s.scales[w.part].worth(uint64(w.often), w.norm))
				}
			}
		}
	}
}

package index

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

// How documents are ranked. A word counts by how few documents have it in any language and in any
// form that its analyser takes for the same, so that a word that is rare in one language brings
// none of its pages forward. In each part of a page it counts by how often it is there, less for
// each time, and by how long the part is (BM25).
const (
	saturation = 1.2  // how often a word must be there to count half, in a part of usual length
	lengthened = 0.75 // how much the length of a part matters, of 1
	loose      = 0.1  // what a word with other marks than in the query counts, of 1

	// the best results that are examined for words next to each other, with all that equal the last
	window = 200
	widest = 4000 // at most so many are looked at
	near   = 8    // words from which on two are not near each other
	page   = 1000 // how many equal results are given at once
)

// counts are what parts of a page count for: how much a word in one does, and how many words one
// usually has. Words of headings are in the text too, and count twice in all.
var counts = map[part]count{title: {3, 8}, headings: {1, 40}, body: {1, 600}}

type count struct{ boost, length float64 }

// weigh sets the weights of the clauses. It takes the part of a page in which most documents have
// the words, since most words of a title are in the text too.
func (s *searching) weigh(segments []*shard) {
	for i := range s.asked {
		with, written := map[part]uint64{}, map[part]uint64{}
		for _, g := range segments {
			for _, f := range g.found[i] {
				with[f.field.part] += g.live(f.docs)
				if w := f.writtenList(); w != nil {
					written[f.field.part] += g.live(w.Docs)
				}
			}
		}
		a := &s.asked[i]
		a.with = most(with)
		a.weight, a.written = s.rarity(a.with), s.rarity(most(written))
	}
}

// most returns the greatest number of documents of any part.
func most(with map[part]uint64) (n float64) {
	for _, docs := range with {
		n = max(n, float64(docs))
	}
	return n
}

// rarity returns the weight of a word that so many documents have: the fewer, the greater.
func (s *searching) rarity(with float64) float64 {
	return math.Log1p((max(s.documents, with) - with + 0.5) / (with + 0.5))
}

// scale is what the length of a part contributes to worth, by the code of the length.
type scale [1 << segment.CodeBits]float64

func (c count) scale() *scale {
	var s scale
	for code := range s {
		s[code] = saturation * (1 - lengthened + lengthened*segment.LengthOf(uint64(code))/c.length)
	}
	return &s
}

// worth returns what a word counts, from 0 to 1, that a part has so often.
func (s *scale) worth(often, norm uint64) float64 {
	return float64(often) / (float64(often) + s[segment.CodeOf(norm)])
}

// results returns the documents of g that match.
func (g *shard) results(s *searching) results {
	out := results{segment: g.number}
	if g.all.IsEmpty() {
		return out
	}
	var worst key
	g.score(s, func(docs []uint32, scores []float32) { out.heap, worst = bestOf(docs, scores) })
	if worst > 0 {
		out.others = func() (all heap) {
			g.score(s, func(docs []uint32, scores []float32) { all = behind(docs, scores, worst) })
			return all
		}
	}
	return out
}

// room is memory for scores, which is reused.
type room struct {
	docs   []uint32  // that were found, in order
	scores []float32 // of all documents of a segment; 0 between its uses
	walk   segment.Walk
}

// score computes the scores of the documents of g that match, and passes them to use. They are
// valid until use returns.
func (g *shard) score(s *searching, use func(docs []uint32, scores []float32)) {
	r, ok := s.rooms.Get().(*room)
	if !ok {
		r = new(room)
	}
	n := int(g.all.GetCardinality())
	r.docs = slices.Grow(r.docs[:0], n)[:n]
	g.all.ToExistingArray(&r.docs)
	if int64(cap(r.scores)) < g.docs {
		r.scores = make([]float32, g.docs)
	}
	r.scores = r.scores[:g.docs]
	for i, a := range s.asked {
		if a.not || !a.words() {
			continue
		}
		for _, f := range g.found[i] {
			f.score(r, a, s.scales[f.field.part])
		}
	}
	use(r.docs, r.scores)
	clear(r.scores)
	r.walk = segment.Walk{}
	s.rooms.Put(r)
}

// score adds the scores of f. Other documents than those that match may get some too; they do not
// matter.
func (f inField) score(r *room, a asked, s *scale) {
	boost := counts[f.field.part].boost
	weight := a.weight * boost
	switch {
	case f.placed():
		for _, o := range f.places {
			r.scores[o.doc] += float32(weight * s.worth(uint64(o.often), o.norm))
		}
	case len(f.steps) > 1: // without positions
		length := segment.LengthCode(uint32(counts[f.field.part].length))
		once := float32(weight * s.worth(1, length) / float64(len(f.steps)))
		for docs := f.docs.Iterator(); docs.HasNext(); {
			r.scores[docs.Next()] += once
		}
	default:
		w := f.writtenList()
		if a.marked && f.steps[0].others {
			weight *= loose
		}
		for _, l := range f.lists[0].lists {
			r.add(l, weight, s)
		}
		if w != nil {
			r.add(w, a.written*boost, s)
		}
	}
}

// writtenList returns the list of the word as the query writes it, if the field has one besides
// those of its other terms.
func (f inField) writtenList() *segment.List {
	if len(f.steps) != 1 {
		return nil
	}
	return f.lists[0].written
}

// sparse is how many times longer than the number of documents wanted a list must be to be read
// only at these.
const sparse = 4

// add adds what a list counts to the scores.
func (r *room) add(l *segment.List, weight float64, s *scale) {
	w := &r.walk
	w.Begin(l, false)
	if sparse*uint64(len(r.docs)) >= l.Docs.GetCardinality() {
		for w.Fill() {
			docs, ratings := w.Rate()
			for i, doc := range docs {
				r.scores[doc] += float32(weight * s.worth(ratings[i].Often(), uint64(ratings[i].Code)))
			}
		}
		return
	}
	for wanted := r.docs; len(wanted) > 0 && w.To(wanted[0]); {
		if wanted = wanted[segment.CountBefore(wanted, w.Doc):]; len(wanted) > 0 && wanted[0] == w.Doc {
			w.Read()
			r.scores[w.Doc] += float32(weight * s.worth(w.Often, w.Norm))
			wanted = wanted[1:]
		}
	}
}

// bring moves results forward that have the words as the query writes them, and results in which
// words that follow each other in the query are next to each other.
func (s *searching) bring(ctx context.Context, segments []*shard, out *heaps) error {
	var words []int
	forms := false
	for i, a := range s.asked {
		if !a.not && a.words() {
			words = append(words, i)
			forms = forms || slices.ContainsFunc(a.runs, run.formed)
		}
	}
	if len(words) < 2 && !forms {
		return nil
	}
	best := out.takeBest()
	if len(best) == 0 {
		return nil
	}
	var in []*shard
	for _, r := range best {
		g := segments[r.segment]
		if g.best == nil {
			g.best, g.bonus = roaring.New(), map[uint32]float32{}
			in = append(in, g)
		}
		g.best.Add(r.doc)
	}
	if err := each(ctx, in, func(g *shard) error { return g.compare(s, words) }); err != nil {
		return err
	}
	s.preferWritten(in, words, len(best))
	for _, r := range best {
		g := segments[r.segment]
		g.brought = append(g.brought, keyOf(r.score+g.bonus[r.doc], r.doc))
	}
	for _, g := range in {
		g.brought.order()
		*out = append(*out, results{segment: g.number, heap: g.brought})
	}
	return nil
}

// takeBest removes and returns the best results: window of them and those that are equal to the
// last, at most widest.
func (r *heaps) takeBest() (best []result) {
	for len(*r) > 0 && len(best) < widest {
		i := r.best()
		if n := len(best); n >= window && r.score(i) != best[n-1].score {
			break
		}
		best = append(best, r.pop(i))
	}
	return best
}

// compare looks in the best results of g for the words of clauses as the query writes them, and for
// clauses whose words follow each other.
func (g *shard) compare(s *searching, clauses []int) error {
	for k, clause := range clauses {
		if err := g.findWritten(clause); err != nil {
			return err
		}
		if k+1 == len(clauses) {
			break
		}
		if err := g.together(s, clause, clauses[k+1]); err != nil {
			return err
		}
	}
	return nil
}

// together adds to the bonus of the best what it is worth that clause b follows clause a.
func (g *shard) together(s *searching, a, b int) error {
	for _, fa := range g.found[a] {
		for _, fb := range g.found[b] {
			last := len(fa.steps) - 1
			if fa.field != fb.field || fa.field.kept != placed {
				continue
			}
			both := roaring.And(roaring.And(g.best, fa.docs), fb.docs)
			if both.IsEmpty() {
				continue
			}
			c := g.through([]postings{fa.lists[last], fb.lists[0]}, both.GetCardinality())
			weight := min(s.asked[a].weight, s.asked[b].weight) * counts[fa.field.part].boost
			for it := both.Iterator(); it.HasNext(); {
				doc := it.Next()
				as, norm, err := c[0].At(doc)
				if err != nil {
					return err
				}
				bs, _, err := c[1].At(doc)
				if err != nil {
					return err
				}
				if n := meetings(as, bs); n > 0 {
					g.bonus[doc] += float32(weight * n / (n + s.scales[fa.field.part][segment.CodeOf(norm)]))
				}
			}
		}
	}
	return nil
}

// meetings counts how often a word of b is near one of a: 1 where it follows, less where it is
// farther away or before it.
func meetings(as, bs []segment.Spot) (n float64) {
	i := 0
	for _, b := range bs {
		for i < len(as) && as[i].Position < b.Position {
			i++
		}
		best := 0.0
		if i > 0 && b.Position-as[i-1].Position <= near {
			d := float64(b.Position - as[i-1].Position)
			best = 1 / (d * d)
		}
		if i < len(as) && as[i].Position > b.Position && as[i].Position-b.Position < near {
			d := float64(as[i].Position-b.Position) + 1
			best = max(best, 1/(d*d))
		}
		n += best
	}
	return n
}

// findings are the results of a query, and the view of the index that they are from.
type findings struct {
	view *scorch.IndexSnapshot
	left heaps
}

// next returns the best results that are left, all of one score, by URL; none at the end. If very
// many are equal, as for a query without words, it returns page of them at a time, in the order of
// the index.
func (f *findings) next(dir string) (hits []Hit, err error) {
	defer guard(dir, &err)()
	var equal []result
	for len(f.left) > 0 && len(equal) < page {
		best := f.left.best()
		if len(equal) > 0 && f.left.score(best) != equal[0].score {
			break
		}
		equal = append(equal, f.left.pop(best))
	}
	for _, r := range equal {
		id, err := f.view.Segments()[r.segment].DocID(uint64(r.doc))
		if err != nil {
			return nil, failure(dir, err)
		}
		hits = append(hits, Hit{URL: string(id), Score: float64(r.score)})
	}
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Compare(a.URL, b.URL) })
	return hits, nil
}

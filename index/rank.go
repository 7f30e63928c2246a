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

// Parameters of ranking. A word's weight depends on the number of documents that contain it in any
// language and in any form with the same term. So a word that is rare in one language does not rank
// the pages of that language higher. In each part of a page, the score depends on how often the
// word occurs, with decreasing effect, and on the length of the part (BM25).
const (
	saturation = 1.2  // number of occurrences that give half of the maximum score, in a part of usual length
	lengthened = 0.75 // influence of the length of a part, from 0 to 1
	loose      = 0.1  // factor for a word with other accents or marks than in the query, from 0 to 1

	// number of best results that are examined for words next to each other, and all with the same
	// score as the last
	window = 200
	widest = 4000 // maximum number of results examined
	near   = 8    // two words at this distance or more are not near each other
	page   = 1000 // maximum number of equal results that are returned at once
)

// counts are the weight of a word in each part of a page, and the usual number of words in it.
// Words of headings are also in the text, so each of them counts in both parts.
var counts = map[part]count{title: {3, 8}, headings: {1, 40}, body: {1, 600}}

type count struct{ boost, length float64 }

// weigh sets the weights of the clauses. For each part of a page, it counts the documents that have
// a word in this part, and uses the greatest of these numbers, since most words of a title are also
// in the text.
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

// most returns the greatest number in with, which maps each part of a page to a number of
// documents.
func most(with map[part]uint64) (n float64) {
	for _, docs := range with {
		n = max(n, float64(docs))
	}
	return n
}

// rarity returns the weight of a word. with is the number of documents that contain the word: fewer
// documents give more weight.
func (s *searching) rarity(with float64) float64 {
	return math.Log1p((max(s.documents, with) - with + 0.5) / (with + 0.5))
}

// scale maps the code of the length of a part of a page to the number that the function worth uses
// for this length.
type scale [1 << segment.CodeBits]float64

func (c count) scale() *scale {
	var s scale
	for code := range s {
		s[code] = saturation * (1 - lengthened + lengthened*segment.LengthOf(uint64(code))/c.length)
	}
	return &s
}

// worth returns the score, from 0 to 1, of a word in a part of a page. often is the number of
// occurrences, and norm contains the length of the part.
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
		out.bound = worst
		out.others = func() (all results, err error) {
			all.segment = g.number
			g.score(s, func(docs []uint32, scores []float32) { all.heap = behind(docs, scores, worst) })
			return all, nil
		}
	}
	return out
}

// room is reused memory for computing scores.
type room struct {
	docs   []uint32  // documents found, in order
	scores []float32 // scores by document of a segment; all 0 between uses
	walk   segment.Walk
}

// score computes the scores of the documents of g that match, and passes them to use. The slices
// are valid until use returns.
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

// score adds the scores of f to r. It may also change the scores of documents that do not match;
// such scores are ignored.
func (f inField) score(r *room, a asked, s *scale) {
	boost := counts[f.field.part].boost
	weight := a.weight * boost
	switch {
	case f.placed():
		for _, o := range f.places {
			r.scores[o.doc] += float32(weight * s.worth(uint64(o.often), o.norm))
		}
	case len(f.steps) > 1: // a run in a field without positions
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

// writtenList returns the list for the word as the query writes it, if the field has several lists
// for this word. Otherwise it returns nil.
func (f inField) writtenList() *segment.List {
	if len(f.steps) != 1 {
		return nil
	}
	return f.lists[0].written
}

// sparse is a ratio. If the length of a list, divided by the number of wanted documents, is greater
// than sparse, only the entries of these documents are read.
const sparse = 4

// add adds the scores of the entries in a list, multiplied by weight.
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

// boost raises results that contain the words as the query writes them, and results that contain
// words of the query next to each other in the same order.
func (s *searching) boost(ctx context.Context, segments []*shard, out *heaps) error {
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
	best, err := out.takeBest()
	if len(best) == 0 || err != nil {
		return err
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

// takeBest removes and returns the best results. Their number is the constant window. Further
// results with the same score as the last are included, up to the constant widest.
func (r *heaps) takeBest() (best []result, err error) {
	for len(best) < widest {
		i, err := r.best()
		if err != nil {
			return nil, err
		}
		if n := len(best); i < 0 || n >= window && r.score(i) != best[n-1].score {
			break
		}
		best = append(best, r.pop(i))
	}
	return best, nil
}

// compare searches the best results of g for the words of clauses as the query writes them, and for
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

// together adds a bonus to the best results in which the words of the clause with index b follow
// the words of the clause with index a.
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
				if n := adjacency(as, bs); n > 0 {
					g.bonus[doc] += float32(weight * n / (n + s.scales[fa.field.part][segment.CodeOf(norm)]))
				}
			}
		}
	}
	return nil
}

// adjacency rates how often a word at a position in bs is near a word at a position in as. A word
// in bs that directly follows a word in as gives 1. A word that is farther away, or before the
// other, gives less.
func adjacency(as, bs []segment.Spot) (n float64) {
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

// findings are the results of a query, and the view of the index from which they were read.
type findings struct {
	view *scorch.IndexSnapshot
	left heaps
}

// next returns the best remaining results, all with the same score, ordered by URL. At the end it
// returns none. If more results than the constant page have the same score, as for a query without
// words, next returns that number at a time, in the order of the index.
func (f *findings) next(dir string) (hits []Hit, err error) {
	defer guard(dir, &err)()
	var equal []result
	for len(equal) < page {
		best, err := f.left.best()
		if err != nil {
			return nil, failure(dir, err)
		}
		if best < 0 || len(equal) > 0 && f.left.score(best) != equal[0].score {
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

package index

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

// searching answers one query. In each segment it finds sets of documents, then compares positions
// if necessary, then computes scores.
type searching struct {
	asked     []asked
	documents float64 // number of documents in the index
	scales    map[part]*scale
	rooms     *sync.Pool // reused memory of type *room
	late      int        // index of the clause whose texts are compared late (late.go); -1: none
}

func (s *searching) run(ctx context.Context, view *scorch.IndexSnapshot) (heaps, error) {
	segments, err := segmentsOf(view)
	if err != nil {
		return nil, err
	}
	// start with the largest segments, so that no processor waits for another at the end
	largest := slices.Clone(segments)
	slices.SortFunc(largest, func(a, b *shard) int { return cmp.Compare(b.docs, a.docs) })
	if err := each(ctx, largest, func(g *shard) error { return g.look(s.asked) }); err != nil {
		return nil, err
	}
	s.weigh(segments)
	s.late = s.lateClause()
	out := make(heaps, len(segments))
	err = each(ctx, largest, func(g *shard) (err error) {
		if err = g.match(s); err == nil {
			out[g.number] = g.results(s)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if out, err = s.addLate(ctx, largest, out); err != nil {
		return nil, err
	}
	if err := s.boost(ctx, segments, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// segmentsOf returns the segments of a view.
func segmentsOf(view *scorch.IndexSnapshot) ([]*shard, error) {
	out := make([]*shard, len(view.Segments()))
	for i, held := range view.Segments() {
		written, ok := held.Segment().(segment.Readable)
		if !ok {
			return nil, fmt.Errorf("a segment of another kind, %T", held.Segment())
		}
		out[i] = &shard{number: uint32(i), docs: held.FullSize(), held: written, deleted: held.Deleted(),
			dictionaries: map[string]*segment.Dictionary{}}
	}
	return out, nil
}

// each calls do for every segment, in as many goroutines as there are processors, and returns one
// of the errors.
func each(ctx context.Context, segments []*shard, do func(*shard) error) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	errs := make([]error, min(runtime.GOMAXPROCS(0), len(segments)))
	for w := range errs {
		workers.Go(func() {
			defer guarded(&errs[w], func(err error) error { return err })()
			for i := next.Add(1) - 1; i < int64(len(segments)) && errs[w] == nil; i = next.Add(1) - 1 {
				if errs[w] = ctx.Err(); errs[w] == nil {
					errs[w] = do(segments[i])
				}
			}
		})
	}
	workers.Wait()
	return cmp.Or(append(errs, ctx.Err())...)
}

// shard is a segment of the index and the state of one query in it.
type shard struct {
	number  uint32
	docs    int64
	held    segment.Readable
	deleted *roaring.Bitmap // deleted documents; nil: none

	dictionaries map[string]*segment.Dictionary // by field; nil: no document has the field
	found        [][]inField                    // for each clause, its matches in the fields that it searches
	all          *roaring.Bitmap                // documents that match all clauses
	late         []inField                      // matches of the late clause in texts, positions not compared
	// documents that match if one of these texts does, and no excluded clause
	candidates *roaring.Bitmap
	// the best results, which may get a bonus; nil: none
	best    *roaring.Bitmap
	bonus   map[uint32]float32
	written []written
	brought heap             // the best results with their bonus
	cursors []segment.Cursor // cursors whose memory is used again
}

// inField holds the documents of a segment that contain a run of words, or a label, in one field.
type inField struct {
	run
	lists  []postings      // postings of each step
	docs   *roaring.Bitmap // documents that contain all steps, including deleted ones
	places []occurrences   // occurrences in each document of docs, in the same order; nil if positions were not read
}

// postings are the lists of documents for one step of a run.
type postings struct {
	lists   []*segment.List
	written *segment.List   // the list for the word as the query writes it; nil if the step has only one term
	docs    *roaring.Bitmap // documents in any of the lists, which must not be changed; nil: any word matches
}

// occurrences is the number of times a document contains a run, and the norm of its field.
type occurrences struct {
	doc, often uint32
	norm       uint64
}

// look finds the lists of documents for all clauses.
func (g *shard) look(all []asked) error {
	g.found = make([][]inField, len(all))
	for i, a := range all {
		var err error
		switch a.kind {
		case site:
			err = g.label(i, hostField, a.text)
		case lang:
			err = g.label(i, languageField, a.text)
		case mime:
			err = g.label(i, typeField, a.text)
		case before:
			err = g.days(i, "", a.text)
		case after:
			err = g.days(i, a.text, "")
		default:
			for _, r := range a.runs {
				if err = g.words(i, r); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *shard) label(clause int, name, value string) error {
	return g.words(clause, run{field: field{part: part(name)}, name: name, steps: []step{{terms: []string{value}}}})
}

// days finds the documents that were fetched in a period. from is the first day of the period, and
// to is the first day after the period. An empty string means no limit.
func (g *shard) days(clause int, from, to string) error {
	d, err := segment.DictionaryOf(g.held, dayField)
	if err != nil || d == nil {
		return err
	}
	docs := roaring.New()
	err = d.Each(from, to, func(_ string, l *segment.List) error {
		docs.Or(l.Docs)
		return nil
	})
	if err != nil {
		return err
	}
	g.found[clause] = append(g.found[clause], inField{docs: docs})
	return nil
}

// dictionary returns the dictionary of a field, nil if no document has the field.
func (g *shard) dictionary(field string) (*segment.Dictionary, error) {
	if d, known := g.dictionaries[field]; known {
		return d, nil
	}
	d, err := segment.DictionaryOf(g.held, field)
	if err == nil {
		g.dictionaries[field] = d
	}
	return d, err
}

func (g *shard) words(clause int, r run) error {
	dictionary, err := g.dictionary(r.name)
	if err != nil || dictionary == nil {
		return err
	}
	f := inField{run: r, lists: make([]postings, len(r.steps))}
	for k, s := range r.steps {
		if len(s.terms) == 0 {
			continue
		}
		p := &f.lists[k]
		if *p, err = postingsOf(dictionary, s.terms); err != nil {
			return err
		}
		if f.docs == nil {
			f.docs = p.docs
		} else {
			f.docs = roaring.And(f.docs, p.docs)
		}
		if f.docs.IsEmpty() {
			return nil
		}
	}
	g.found[clause] = append(g.found[clause], f)
	return nil
}

// has reports whether the segment contains a document with that URL that is not deleted.
func (g *shard) has(url string) (bool, error) {
	d, err := segment.DictionaryOf(g.held, segment.IDField)
	if err != nil || d == nil {
		return false, err
	}
	l, err := d.List(url)
	if err != nil || l == nil {
		return false, err
	}
	return g.live(l.Docs) > 0, nil
}

// postingsOf returns the postings of terms.
func postingsOf(d *segment.Dictionary, terms []string) (p postings, err error) {
	for _, t := range terms {
		l, err := d.List(t)
		if err != nil {
			return p, err
		}
		if l != nil {
			p.lists = append(p.lists, l)
		}
		if p.written = nil; len(terms) > 1 {
			p.written = l
		}
	}
	switch len(p.lists) {
	case 0:
		p.docs = roaring.New()
	case 1:
		p.docs = p.lists[0].Docs
	default:
		p.docs = roaring.New()
		for _, l := range p.lists {
			p.docs.Or(l.Docs)
		}
	}
	return p, nil
}

// live returns the number of documents in a set that are not deleted.
func (g *shard) live(docs *roaring.Bitmap) uint64 {
	n := docs.GetCardinality()
	if g.deleted != nil {
		n -= docs.AndCardinality(g.deleted)
	}
	return n
}

// through returns cursors at the beginning of lists. wanted is the approximate number of documents
// for which the caller will use the cursors. They are valid until the next call.
func (g *shard) through(lists []postings, wanted uint64) []segment.Cursor {
	for len(g.cursors) < len(lists) {
		g.cursors = append(g.cursors, segment.Cursor{})
	}
	for k, p := range lists {
		g.cursors[k].Begin(p.lists, wanted)
	}
	return g.cursors[:len(lists)]
}

// match sets g.all to the documents that match all clauses. Documents that only their text can make
// match are in g.candidates instead.
func (g *shard) match(s *searching) error {
	for i, a := range s.asked {
		switch {
		case a.not:
			continue
		case g.all == nil:
			g.all = g.with(i)
		default:
			g.all.And(g.with(i))
		}
		if g.all.IsEmpty() {
			return nil
		}
	}
	if g.deleted != nil {
		g.all.AndNot(g.deleted)
	}
	for _, not := range []bool{false, true} {
		for i, a := range s.asked {
			if a.not != not {
				continue
			}
			short, err := g.placeRuns(i, false)
			if err != nil {
				return err
			}
			if i == s.late {
				g.postpone(i)
			}
			long, err := g.placeRuns(i, true)
			switch {
			case err != nil:
				return err
			case not:
				g.all.AndNot(g.with(i))
			case short || long:
				g.all.And(g.with(i))
			}
		}
	}
	return nil
}

// with returns the documents that match clause i in any field.
func (g *shard) with(i int) *roaring.Bitmap {
	sets := make([]*roaring.Bitmap, len(g.found[i]))
	for j, f := range g.found[i] {
		sets[j] = f.docs
	}
	return roaring.FastOr(sets...)
}

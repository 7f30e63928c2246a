package index

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

// searching answers one query, segment by segment: sets of documents first, then positions where they matter, then scores.
type searching struct {
	dir       string
	asked     []asked
	documents float64 // of the index
}

func (s *searching) run(ctx context.Context, view *scorch.IndexSnapshot) (results, error) {
	segments := make([]*segment, len(view.Segments()))
	for i, held := range view.Segments() {
		segments[i] = &segment{number: uint32(i), docs: held.FullSize(), held: held.Segment(), deleted: held.Deleted()}
	}
	if err := each(ctx, s.dir, segments, func(g *segment) error { return g.look(s.asked) }); err != nil {
		return nil, err
	}
	s.weigh(segments)
	found := make([]results, len(segments))
	err := each(ctx, s.dir, segments, func(g *segment) (err error) {
		if err = g.match(s.asked); err == nil {
			found[g.number], err = g.score(s.asked)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := slices.Concat(found...)
	out.order()
	if err := s.bring(segments, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// each calls do for every segment, as many at once as there are processors.
func each(ctx context.Context, dir string, segments []*segment, do func(*segment) error) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	errs := make([]error, min(runtime.GOMAXPROCS(0), len(segments)))
	for w := range errs {
		workers.Go(func() {
			defer guard(dir, &errs[w])()
			for i := next.Add(1) - 1; i < int64(len(segments)) && errs[w] == nil; i = next.Add(1) - 1 {
				if errs[w] = ctx.Err(); errs[w] == nil {
					errs[w] = do(segments[i])
				}
			}
		})
	}
	workers.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// segment is a segment of the index under one query.
type segment struct {
	number  uint32
	docs    int64
	held    segmentapi.Segment
	deleted *roaring.Bitmap // nil: none

	found [][]inField     // of each clause, by the fields it is looked for in
	all   *roaring.Bitmap // that meet all clauses
}

// inField is what was found of a run, or of a label.
type inField struct {
	run
	lists  []postings      // of each step
	docs   *roaring.Bitmap // that have all steps, deleted ones too
	places []occurrences   // where positions were looked at: in docs, in their order
}

// postings are the lists of one step. Of beginnings there may be thousands: they are read only where positions count.
type postings struct {
	lists []*zap.PostingsList
	docs  *roaring.Bitmap // of any list; nil where any word can stand
}

// occurrences tells how often a run was found in a document, and how many words its field has.
type occurrences struct {
	doc           uint32
	often, length uint32
}

// look finds the lists of all that is asked.
func (g *segment) look(all []asked) error {
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

func (g *segment) label(clause int, name, value string) error {
	return g.words(clause, run{field: field{part: part(name), bare: true}, steps: []step{{terms: []string{value}}}})
}

// days finds documents fetched on from or later, and before to.
func (g *segment) days(clause int, from, to string) error {
	dictionary, err := g.held.Dictionary(dayField)
	if err != nil {
		return err
	}
	p, err := between(dictionary, bound(from), bound(to), false)
	if err != nil {
		return err
	}
	g.found[clause] = append(g.found[clause], inField{docs: p.docs})
	return nil
}

func bound(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

func (g *segment) words(clause int, r run) error {
	name := r.field.name()
	if !r.field.part.words() {
		name = string(r.field.part)
	}
	dictionary, err := g.held.Dictionary(name)
	if err != nil {
		return err
	}
	if dictionary.Cardinality() == 0 {
		return nil
	}
	f := inField{run: r, lists: make([]postings, len(r.steps))}
	for k, s := range r.steps {
		if len(s.terms) == 0 {
			continue
		}
		p := &f.lists[k]
		if s.prefix {
			*p, err = between(dictionary, []byte(s.terms[0]), behind(s.terms[0]), len(r.steps) > 1)
		} else {
			*p, err = lists(dictionary, s.terms)
		}
		if err != nil {
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

// behind is the first of all terms behind those that begin with s.
func behind(s string) []byte {
	end := []byte(s)
	end[len(end)-1]++ // UTF-8 ends below 0xFF
	return end
}

func lists(dictionary segmentapi.TermDictionary, terms []string) (p postings, err error) {
	p.docs = roaring.New()
	for _, t := range terms {
		l, err := p.add(dictionary, []byte(t), nil)
		if err != nil {
			return p, err
		}
		if l != nil {
			p.lists = append(p.lists, l)
		}
	}
	return p, nil
}

// between gives the lists of the terms from from on and before to, or only their documents.
func between(dictionary segmentapi.TermDictionary, from, to []byte, whole bool) (p postings, err error) {
	d, ok := dictionary.(*zap.Dictionary)
	if !ok {
		return p, fmt.Errorf("a dictionary of another kind, %T", dictionary)
	}
	p.docs = roaring.New()
	var list *zap.PostingsList
	for terms := d.AutomatonIteratorOmitCount(nil, from, to); ; {
		entry, err := terms.Next()
		if err != nil || entry == nil {
			return p, err
		}
		if list, err = p.add(dictionary, []byte(entry.Term), list); err != nil {
			return p, err
		}
		if whole && list != nil {
			p.lists = append(p.lists, list)
			list = nil
		}
	}
}

// add adds the documents of a term and gives its list, for which it may take old; nil if it has none.
func (p *postings) add(dictionary segmentapi.TermDictionary, term []byte, old *zap.PostingsList) (*zap.PostingsList, error) {
	var from segmentapi.PostingsList
	if old != nil {
		from = old
	}
	list, err := dictionary.PostingsList(term, nil, from)
	if err != nil {
		return nil, err
	}
	l, ok := list.(*zap.PostingsList)
	if !ok {
		return nil, fmt.Errorf("a list of another kind, %T", list)
	}
	if l.Count() == 0 {
		return nil, nil
	}
	l.OrInto(p.docs)
	return l, nil
}

// live counts the documents of a set that are not deleted.
func (g *segment) live(docs *roaring.Bitmap) uint64 {
	n := docs.GetCardinality()
	if g.deleted != nil {
		n -= docs.AndCardinality(g.deleted)
	}
	return n
}

// match leaves in g.all the documents that meet all clauses.
func (g *segment) match(all []asked) error {
	for i, a := range all {
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
		for i, a := range all {
			if a.not != not {
				continue
			}
			placed := false
			for j := range g.found[i] {
				if g.found[i][j].placed() {
					placed = true
					if err := g.place(&g.found[i][j]); err != nil {
						return err
					}
				}
			}
			switch {
			case not:
				g.all.AndNot(g.with(i))
			case placed:
				g.all.And(g.with(i))
			}
		}
	}
	return nil
}

// with gives the documents in which clause i was found, in any field.
func (g *segment) with(i int) *roaring.Bitmap {
	sets := make([]*roaring.Bitmap, len(g.found[i]))
	for j, f := range g.found[i] {
		sets[j] = f.docs
	}
	return roaring.FastOr(sets...)
}

// place looks for the steps of f side by side, in the documents that are still in question.
func (g *segment) place(f *inField) error {
	f.docs = roaring.And(f.docs, g.all)
	cursors := make([]*cursor, len(f.lists))
	for k, p := range f.lists {
		if p.docs != nil {
			cursors[k] = p.cursor(f.docs)
		}
	}
	places := make([][]spot, len(f.lists))
	var kept []uint32
	for docs := f.docs.Iterator(); docs.HasNext(); {
		doc := docs.Next()
		length := uint32(0)
		for k := range cursors {
			if cursors[k] == nil {
				continue
			}
			var err error
			if places[k], length, err = cursors[k].at(doc); err != nil {
				return err
			}
		}
		if n := f.count(places); n > 0 {
			f.places = append(f.places, occurrences{doc, n, length})
			kept = append(kept, doc)
		}
	}
	f.docs = roaring.BitmapOf(kept...)
	return nil
}

// count tells how often the steps of r are side by side.
func (r run) count(places [][]spot) (n uint32) {
	var from [64]int // where to look on in each list
	next := from[:]
	if len(places) > len(next) {
		next = make([]int, len(places))
	}
	for i, p := range places[0] {
		if i > 0 && p.position == places[0][i-1].position && !r.exact || r.exact && !p.form.isWritten(r.steps[0].form, true) {
			continue
		}
		whole := true
		for k := 1; k < len(places) && whole; k++ {
			if len(r.steps[k].terms) == 0 {
				continue
			}
			want := p.position + uint32(k)
			for next[k] < len(places[k]) && places[k][next[k]].position < want {
				next[k]++
			}
			whole = next[k] < len(places[k]) && places[k][next[k]].position == want && (!r.exact || places[k][next[k]].form.isWritten(r.steps[k].form, false))
		}
		if whole {
			n++
		}
	}
	return n
}

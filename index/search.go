package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

// Hit is a document that matches a query. Scores are comparable only between hits of one query.
type Hit struct {
	URL   string
	Score float64
}

// Hits yields the documents that match all clauses of a query, best first. Up to a thousand
// documents with the same score are ordered by URL; if there are more, as for a query without
// words, each thousand is ordered separately. The results come from the state of the index at the
// start; parts of the query may be evaluated during the iteration. The iteration ends after an
// error, or when ctx has ended and something is left to evaluate; an error that wraps ErrQuery says
// what is wrong with the query.
func (ix *Index) Hits(ctx context.Context, query string) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		f, err := ix.find(ctx, query)
		if err != nil {
			yield(Hit{}, err)
			return
		}
		defer f.view.Close()
		for {
			hits, err := f.next(ix.dir)
			if err != nil {
				yield(Hit{}, err)
				return
			}
			if len(hits) == 0 {
				return
			}
			for _, h := range hits {
				if !yield(h, nil) {
					return
				}
			}
		}
	}
}

// find evaluates a query. The caller must close the view of the result.
func (ix *Index) find(ctx context.Context, query string) (f *findings, err error) {
	defer guard(ix.dir, &err)()
	clauses, err := parse(query)
	if err != nil {
		return nil, err
	}
	view, err := ix.view()
	if err != nil {
		return nil, err
	}
	defer func() {
		if f == nil {
			view.Close()
		}
	}()
	fields, err := inUse(view)
	if err != nil {
		return nil, failure(ix.dir, err)
	}
	documents, err := view.DocCount()
	if err != nil {
		return nil, failure(ix.dir, err)
	}
	s := searching{asked: ix.asked(clauses, fields), documents: float64(documents), scales: map[part]*scale{},
		rooms: &ix.rooms}
	for p, c := range counts {
		s.scales[p] = c.scale()
	}
	found, err := s.run(ctx, view)
	if err != nil {
		return nil, failure(ix.dir, err)
	}
	return &findings{view: view, left: found}, nil
}

// view returns the current state of the index. The caller must close it. It remains valid when the
// index is closed.
func (ix *Index) view() (*scorch.IndexSnapshot, error) {
	held, release, err := ix.use()
	if err != nil {
		return nil, err
	}
	defer release()
	view, err := snapshotOf(held)
	if err != nil {
		return nil, failure(ix.dir, err)
	}
	return view, nil
}

func snapshotOf(held store) (*scorch.IndexSnapshot, error) {
	view, err := held.Reader()
	if err != nil {
		return nil, err
	}
	snapshot, ok := view.(*scorch.IndexSnapshot)
	if !ok {
		return nil, errors.Join(fmt.Errorf("index of another kind, %T", view), view.Close())
	}
	return snapshot, nil
}

// inUse returns the fields of words that at least one document has: a few for each language.
func inUse(view *scorch.IndexSnapshot) ([]field, error) {
	names, err := view.Fields()
	if err != nil {
		return nil, err
	}
	slices.Sort(names) // scores must not depend on the order of the fields
	var out []field
	for _, name := range names {
		if f, ok := fieldNamed(name); ok {
			out = append(out, f)
		}
	}
	return out, nil
}

// asked is a clause, and what to search for in each field.
type asked struct {
	clause
	runs    []run   // for words and phrases: for each field one run, or one for each spelling
	with    float64 // number of documents that contain the words
	weight  float64 // weight of the words; greater if fewer documents contain them
	written float64 // weight of a word as the query writes it, in fields with a separate term for that
	marked  bool    // the query has accents or other marks, so words with different marks get a lower score
}

// words reports whether c searches for words, not for a label.
func (c clause) words() bool { return c.kind == word || c.kind == phrase }

// run is what is searched for in one field: steps next to each other, such as the words of a
// phrase, the characters and breaks of a run of dense script, or the parts of a hyphenated word. In
// a field without positions, a document matches if it contains all steps; phrases are not searched
// there.
type run struct {
	field field
	name  string // name of the field
	steps []step
	exact bool // words must be written as in the query
}

// step is one position of a run. A step without terms matches any word, because words that are too
// long are not indexed.
type step struct {
	terms  []string     // alternatives; if there are several, the last is the word as it is written
	form   segment.Form // form of the word that is required if the run is exact
	others bool         // all terms except the last belong to other words with a similar spelling
}

// placed reports whether matching r requires comparing positions.
func (r run) placed() bool { return r.field.kept == placed && (r.exact || len(r.steps) > 1) }

func (ix *Index) asked(clauses []clause, fields []field) []asked {
	out := make([]asked, len(clauses))
	marked := slices.ContainsFunc(clauses, func(c clause) bool { return c.words() && hasMarks(c.text) })
	for i, c := range clauses {
		out[i].clause, out[i].marked = c, marked
		if !c.words() {
			continue
		}
		read := map[string][][]token{}
		for _, f := range fields {
			analyser, ok := ix.analysers[f.language]
			if !ok {
				continue // the field was made by a later version of this program
			}
			if _, ok := read[f.language]; !ok {
				for _, text := range spellings(c.text) {
					read[f.language] = append(read[f.language], analyser.query(text))
				}
			}
			for _, tokens := range read[f.language] {
				if r, ok := runOf(f, tokens, c.kind == phrase); ok {
					out[i].runs = append(out[i].runs, r)
				}
			}
		}
	}
	return out
}

// runOf returns the run of tokens in f. It returns false for a phrase if f does not store the order
// or the spelling of words.
func runOf(f field, tokens []token, exact bool) (run, bool) {
	if len(tokens) == 0 {
		return run{}, false
	}
	r := run{field: f, name: f.name(), exact: exact && f.language != plain}
	first := tokens[0].position
	r.steps = make([]step, tokens[len(tokens)-1].position-first+1)
	for _, t := range tokens {
		if t.isBreak() && f.kept != placed {
			continue
		}
		s := &r.steps[t.position-first]
		s.terms, s.form, s.others = append(s.terms, t.terms...), t.form, t.others
	}
	single := len(tokens) == 1 && tokens[0].kind != analysis.AlphaNumeric
	if single {
		r.exact = false // a character's term is the character as it is written
	}
	if f.kept != placed && exact && (len(tokens) > 1 || r.exact) {
		return run{}, false
	}
	return r, true
}

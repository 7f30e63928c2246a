package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/search/query"
	"golang.org/x/text/unicode/norm"
)

// titleBoost is how much more a word counts in a title.
const titleBoost = 3

// Hit is a document that a query has found. Scores compare the hits of one query.
type Hit struct {
	URL   string
	Score float64
}

// Search finds the documents that meet all clauses of the query, best first, equal ones by URL: size of them from the
// from-th on (0 is the first), and how many there are in all. An error that wraps ErrQuery tells what is wrong with the query.
func (ix *Index) Search(ctx context.Context, text string, from, size int) (hits []Hit, total uint64, err error) {
	defer guard(ix.dir, &err)()
	if from < 0 || size < 0 {
		return nil, 0, fmt.Errorf("index: hits %d to %d cannot be given; both numbers start at 0", from, from+size)
	}
	clauses, err := parse(text)
	if err != nil {
		return nil, 0, err
	}
	held, release, err := ix.use()
	if err != nil {
		return nil, 0, err
	}
	defer release()
	fields, err := inUse(held)
	if err != nil {
		return nil, 0, err
	}
	request := bleve.NewSearchRequestOptions(ix.query(clauses, fields), size, from, false)
	request.SortBy([]string{"-_score", "_id"})
	result, err := held.SearchInContext(ctx, request)
	if err != nil {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return nil, 0, err
		}
		return nil, 0, fmt.Errorf("index %s cannot be searched: %w", ix.dir, err)
	}
	for _, h := range result.Hits {
		hits = append(hits, Hit{URL: h.ID, Score: h.Score})
	}
	return hits, result.Total, nil
}

// inUse lists the fields of words that any document fills: one pair for each language met.
func inUse(held bleve.Index) ([]field, error) {
	view, err := reader(held)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	names, err := view.Fields()
	if err != nil {
		return nil, err
	}
	slices.Sort(names) // scores must not hang on the order
	var out []field
	for _, name := range names {
		if f, ok := fieldNamed(name); ok {
			out = append(out, f)
		}
	}
	return out, nil
}

// query joins clauses: all that ask must be met, none that excludes.
func (ix *Index) query(clauses []clause, fields []field) query.Query {
	whole := bleve.NewBooleanQuery()
	for _, c := range clauses {
		var q query.Query
		switch c.kind {
		case site:
			q = label(hostField, c.text)
		case lang:
			q = label(languageField, c.text)
		case before:
			q = days("", c.text)
		case after:
			q = days(c.text, "")
		default:
			q = ix.words(c, fields)
		}
		if c.not {
			whole.AddMustNot(q)
		} else {
			whole.AddMust(q)
		}
	}
	return whole
}

func label(name, value string) query.Query {
	q := bleve.NewTermQuery(value)
	q.SetField(name)
	q.SetBoost(0)
	return q
}

// days matches documents fetched on from or later, and before to.
func days(from, to string) query.Query {
	yes, no := true, false
	q := bleve.NewTermRangeInclusiveQuery(from, to, &yes, &no)
	q.SetField(dayField)
	q.SetBoost(0)
	return q
}

// words looks for a word or phrase in every field in use, as the field's own analyser reads it. A document fills the
// fields of one language only, so the clauses of a query still meet in one.
func (ix *Index) words(c clause, fields []field) query.Query {
	read := map[string]analysis.TokenStream{}
	any := bleve.NewDisjunctionQuery()
	for _, f := range fields {
		analyser, ok := ix.analysers[f.language]
		if !ok {
			continue // of a later version of this program
		}
		tokens, ok := read[f.language]
		if !ok {
			tokens = analyser.Analyze(norm.NFKC.Bytes([]byte(c.text)))
			read[f.language] = tokens
		}
		if q := in(f, tokens, c.kind == phrase); q != nil {
			any.AddQuery(q)
		}
	}
	if len(any.Disjuncts) == 0 {
		return bleve.NewMatchNoneQuery()
	}
	return any
}

// in looks for tokens side by side in f: the words of a phrase, the pairs of a run, the parts of a hyphened word. A field
// without positions can only tell that all are there, which will do for a word, not for a phrase.
func in(f field, tokens analysis.TokenStream, exact bool) query.Query {
	if len(tokens) == 0 {
		return nil
	}
	tokens, beginning := ending(tokens)
	if f.bare && exact && (len(tokens) > 1 || len(tokens) == 1 && beginning != "") {
		return nil
	}
	var parts []query.Query
	if f.bare || len(tokens) == 1 {
		for _, t := range tokens {
			parts = append(parts, term(f, string(t.Term)))
		}
	} else if len(tokens) > 1 {
		first := tokens[0].Position
		slots := make([][]string, tokens[len(tokens)-1].Position-first+1)
		for _, t := range tokens {
			slots[t.Position-first] = append(slots[t.Position-first], string(t.Term))
		}
		q := query.NewMultiPhraseQuery(slots, f.name())
		q.SetBoost(f.boost())
		parts = append(parts, q)
	}
	if beginning != "" {
		q := bleve.NewPrefixQuery(beginning)
		q.SetField(f.name())
		q.SetBoost(f.boost())
		parts = append(parts, q)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return bleve.NewConjunctionQuery(parts...)
}

// ending takes the last single character of dense script off tokens. After a pair it says nothing new, since the run of
// the text may go on where the query ends; else it is the beginning of some pair, or single there too.
func ending(tokens analysis.TokenStream) (rest analysis.TokenStream, beginning string) {
	last := len(tokens) - 1
	if tokens[last].Type != analysis.Single {
		return tokens, ""
	}
	if last > 0 && tokens[last-1].Type == analysis.Double && tokens[last-1].Position == tokens[last].Position-1 &&
		strings.HasSuffix(string(tokens[last-1].Term), string(tokens[last].Term)) {
		return tokens[:last], ""
	}
	return tokens[:last], string(tokens[last].Term)
}

func term(f field, text string) query.Query {
	q := bleve.NewTermQuery(text)
	q.SetField(f.name())
	q.SetBoost(f.boost())
	return q
}

func (f field) boost() float64 {
	if f.title {
		return titleBoost
	}
	return 1
}

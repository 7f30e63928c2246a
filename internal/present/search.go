package present

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/terms"
)

// ErrQuery is wrapped by the errors of Search for queries that cannot be understood.
var ErrQuery = index.ErrQuery

// Query is a reader's search query.
type Query struct {
	Text        string
	Skip, Limit int // Skip is the number of results to skip, Limit the greatest number to return

	Why bool // also list the pages and parts left out, and why; for operators, not for readers
	// For restricts the results to pages for which all these usages are allowed.
	For []acap.Usage
	// Details sets the fields of Result that explain it, and Found.Partial.
	Details bool
	// Further is the greatest number of hits examined after the last result to return, only to count further
	// results; 0: 1,000, below 0: none.
	Further int
}

// Found is the answer to a query.
type Found struct {
	Results []Result
	Count   int  // number of results that may be shown, including those before Skip
	More    bool // there may be more results than Count

	// Partial counts the results in Results that are shown without a part, by part and reason; set
	// only if Query.Details is set.
	Partial []Partial

	// Hurried reports that some results have no title and no snippet, because reading the copies took too
	// long. It is never set for a reader who is not Public.
	Hurried bool

	// Absent is the number of nodes of a cluster that did not answer, so that results may be missing.
	Absent int
}

// Partial is a number of results that are shown without one of their parts.
type Partial struct {
	Usage   acap.Usage // the usage that would show the part
	Reason  acap.Reason
	Results int
}

// Result is one found page, prepared for showing.
type Result struct {
	URL  string `json:"url"`
	Link bool   `json:"link"` // URL may be shown as a link; false: show it as plain text (X61)
	// if set, the link must have this target instead of URL (P1 2.5.5.3)
	Href       string           `json:"href,omitempty"`
	Title      string           `json:"title,omitempty"`
	TitleMarks [][2]int         `json:"title_marks,omitempty"` // words of the query in Title, as in Snippet.Marks
	Snippet    *snippet.Snippet `json:"snippet,omitempty"`
	// Include lists credits and links that must be shown next to the result and are not part of
	// Snippet.Include.
	Include []snippet.Include `json:"include,omitempty"`
	// Also lists the addresses of other pages that would look the same as this result. Only
	// addresses that may be shown as links are listed.
	Also      []string  `json:"also,omitempty"`
	Thumbnail *Size     `json:"thumbnail,omitempty"` // size of the thumbnail; nil: none may be shown
	Fetched   time.Time `json:"fetched,omitzero"`
	LeftOut   []LeftOut `json:"left_out,omitempty"` // set only if Query.Why is set

	Details *Details `json:"-"` // set only if Query.Details is set
	Score   float64  `json:"-"` // rank among the results of this query, from one index; the best has the greatest
	Same    string   `json:"-"` // see Terms.Same; "": the result is not compared with others
}

// Shown reports whether anything of the page may be shown. Results of which nothing may be shown
// are returned only if Query.Why is set.
func (r Result) Shown() bool { return r.Link || r.Snippet != nil }

// LeftOut explains why a page is not shown in one way.
type LeftOut struct {
	Usage  acap.Usage  `json:"usage"`
	Reason acap.Reason `json:"reason"`
	Why    string      `json:"why"` // the explanation, one sentence
	Clause string      `json:"-"`   // the part of Why that names the deciding line
}

const (
	beyond = 1000 // Query.Further, unless it is set
	costly = 20   // a hit whose copy must be read counts as this number of hits
	twins  = 8    // greatest number of pages with the same text that are compared with one another

	mostMaking = 2 * time.Second // time to read and parse copies in one search of the public

	looks    = 200_000 // greatest number of hits examined in one search
	mostAlso = 10      // greatest number of addresses in Result.Also
	mostWhy  = 100     // greatest number of left-out pages listed, unless Query.Limit is greater
)

// Search returns the results of q, best first. It skips pages that may no longer be indexed or
// shown (F25). If several pages would look the same, it returns only the first of them.
func (p *Presenter) Search(ctx context.Context, q Query, who Reader) (Found, error) {
	s := search{Presenter: p, query: q, who: who, wanted: map[string]snippet.Wanted{}, alike: map[string][]*candidate{}}
	if q.Limit <= 0 {
		return s.found, nil
	}
	for hit, err := range p.library.Search(ctx, q.Text) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Found{}, err
		}
		if more, err := s.examine(ctx, hit); err != nil {
			return Found{}, err
		} else if !more {
			break
		}
	}
	// Hits that the reader may not see must not count: their number would tell what they contain.
	s.found.More = s.found.More || s.unknown && s.seen
	var shown []string
	for _, r := range s.found.Results {
		if r.Shown() {
			shown = append(append(shown, r.URL), r.Also...)
			s.found.CountPartial(r)
		}
	}
	if err := p.shown(ctx, shown...); err != nil {
		return Found{}, err
	}
	return s.found, nil
}

// wanted says what a snippet of a page in the given language should highlight for query.
func (p *Presenter) wanted(query, language string) snippet.Wanted {
	return snippet.Wanted{Query: query, Match: p.library.Matcher(query, language), Length: p.Length,
		Room: new(snippet.Room)}
}

// languageOf returns the language whose rules the index used for the words of the page r. pg is the
// stored copy of the page, or nil. If pg is nil, the result is "" unless the language is certain.
func languageOf(r archive.Resource, pg *page.Page) string {
	if r.Language == "" && pg != nil {
		return pg.LikelyLanguage()
	}
	return r.Language
}

// search is the state of one running search.
type search struct {
	*Presenter
	query  Query
	wanted map[string]snippet.Wanted // keyed by language; each value caches the words it has already matched
	who    Reader
	found  Found
	behind int // visible hits after the last result to return
	looked int // cost of all examined hits
	// number of hits after the last result to return whose copies were read to find out whether they are visible
	unsure  int
	unknown bool // there are further such hits
	seen    bool // one of them is visible

	making time.Duration // time in which copies were read and parsed
	listed int           // number of left-out pages that were listed
	// candidates by the value of terms.Same: all results so far, including those skipped or only
	// counted
	alike map[string][]*candidate
}

// examine examines the next hit. It reports whether the search needs another hit.
func (s *search) examine(ctx context.Context, hit index.Hit) (more bool, err error) {
	full := s.found.Count >= s.query.Skip+s.query.Limit
	if s.looked++; s.looked > looks {
		s.found.More = true
		return false, nil
	}
	c, err := s.candidate(ctx, hit.URL)
	if err != nil {
		return false, err
	}
	skipped := s.found.Count < s.query.Skip
	shows := c.shows()
	further := max(cmp.Or(s.query.Further, beyond), 0)
	unsure := shows && full && !c.surely()
	if unsure {
		if s.unsure++; s.unsure > further/costly {
			s.unknown = true
			return true, nil
		}
	}
	if shows && (!skipped && !full || !c.surely()) {
		if shows, err = s.make(ctx, c); err != nil {
			return false, err
		}
	}
	if shows && full {
		s.seen = s.seen || unsure
		if s.behind++; s.behind > further {
			s.found.More = true
			return false, nil
		}
	}
	if !shows {
		if !full && !skipped {
			s.explain(hit, c)
		}
		return true, nil
	}
	if folded, err := s.foldIntoOther(ctx, c); err != nil || folded {
		return err == nil, err
	}
	if s.found.Count++; !skipped && !full {
		c.at = len(s.found.Results)
		s.found.Results = append(s.found.Results, *c.result)
		s.found.Results[c.at].Score, s.found.Results[c.at].Same = hit.Score, c.same
	}
	return true, nil
}

// explain adds to the results an entry that says why a page is left out. It does so only if
// Query.Why is set.
func (s *search) explain(hit index.Hit, c *candidate) {
	if !s.query.Why || c.resource.URL == "" || s.listed >= max(mostWhy, s.query.Limit) {
		return
	}
	s.listed++
	if c.result == nil {
		c.result = &Result{LeftOut: c.whyNot(Result{})}
	}
	s.found.Results = append(s.found.Results, Result{URL: hit.URL, LeftOut: c.result.LeftOut, Score: hit.Score})
}

// foldIntoOther reports whether an earlier result looks the same as c. If there is no such result,
// foldIntoOther stores c for comparison with later hits.
func (s *search) foldIntoOther(ctx context.Context, c *candidate) (bool, error) {
	if c.same == "" {
		return false, nil
	}
	group := s.alike[c.same]
	for _, other := range group {
		if folded, err := s.fold(ctx, other, c); err != nil || folded {
			return folded, err
		}
	}
	if len(group) < twins {
		s.alike[c.same] = append(group, c)
	}
	return false, nil
}

// fold reports whether the result other looks the same as c. If the results look the same, fold
// adds the address of c to Result.Also of other.
func (s *search) fold(ctx context.Context, other, c *candidate) (bool, error) {
	for _, one := range []*candidate{other, c} {
		if ok, err := s.make(ctx, one); !ok || err != nil {
			return false, err
		}
	}
	if !sameShown(*other.result, *c.result) {
		return false, nil
	}
	if other.at >= 0 {
		s.found.Results[other.at].addAlso(*c.result)
	}
	return true, nil
}

// addAlso adds the addresses of other to r.Also.
func (r *Result) addAlso(other Result) {
	addresses := other.Also
	if other.Link && other.Href == "" {
		addresses = append([]string{other.URL}, addresses...)
	}
	for _, a := range addresses {
		if len(r.Also) < mostAlso && a != r.URL && !slices.Contains(r.Also, a) {
			r.Also = append(r.Also, a)
		}
	}
}

// sameShown reports whether two results look the same to a reader, apart from address and time.
func sameShown(a, b Result) bool {
	for _, r := range []*Result{&a, &b} {
		r.URL, r.Fetched, r.Also, r.LeftOut, r.Details, r.Score, r.Same = "", time.Time{}, nil, nil, nil, 0, ""
	}
	return reflect.DeepEqual(a, b)
}

// Fold returns the results of several searches, best first, as one search returns them: of the results that look the
// same, only the first. It keeps all results that show nothing.
func Fold(list []Result) (folded []Result) {
	alike := map[string][]int{} // indexes of folded by Result.Same
	for _, r := range list {
		group := alike[r.Same]
		if i := slices.IndexFunc(group, func(i int) bool { return sameShown(folded[i], r) }); i >= 0 {
			folded[group[i]].addAlso(r)
			continue
		}
		if r.Same != "" && r.Shown() && len(group) < twins {
			alike[r.Same] = append(group, len(folded))
		}
		folded = append(folded, r)
	}
	return folded
}

// resultOf returns the result for a page with the terms t. ok is false if nothing may be shown.
func resultOf(t *terms.Terms, wanted snippet.Wanted) (res Result, ok bool) {
	link, ok := t.Link()
	res.Link, res.Href = ok, link.Href
	if s, ok := snippetOf(t, acap.PresentSnippet, wanted); ok {
		// copy the list, so that an empty list is written to JSON as [] and not as null
		s.Include = append([]snippet.Include{}, s.Include...)
		res.Snippet = &s
	}
	if !res.Link && res.Snippet == nil { // F25: if neither link nor snippet may be shown, the page is left out
		return res, false
	}
	var by acap.Usage
	if res.Title = link.Text; !link.Made {
		res.Title, by = t.Title()
	}
	res.Title = snippet.Plain(res.Title)
	if by != "" && marked(t.Decide(by)) {
		res.TitleMarks = wanted.Marks(res.Title)
	}
	var beside []snippet.Include // parts that are already shown with the snippet
	if res.Snippet != nil {
		beside = res.Snippet.Include
	}
	for _, u := range []acap.Usage{acap.PresentLink, by} {
		if u == "" {
			continue
		}
		for _, in := range t.Included(u) {
			if !slices.Contains(beside, in) && !slices.Contains(res.Include, in) {
				res.Include = append(res.Include, in)
			}
		}
	}
	return res, true
}

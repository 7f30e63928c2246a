package present

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Result is one page found, as it may be shown.
type Result struct {
	URL     string            `json:"url"`
	Link    bool              `json:"link"` // the address may be shown as a link; else as plain text (X61)
	Title   string            `json:"title,omitempty"`
	Snippet *snippet.Snippet  `json:"snippet,omitempty"`
	Include []snippet.Include `json:"include,omitempty"` // credits and links that must stand beside it and are not with the snippet
	Fetched time.Time         `json:"fetched"`
}

// Search gives up to limit results, best first, leaving out the first skip that may be shown. Pages that may no longer be indexed
// or shown are passed over (F25).
func (p *Presenter) Search(ctx context.Context, query string, skip, limit int, who Reader) ([]Result, error) {
	out, err := p.find(ctx, query, skip, limit, who)
	if err != nil {
		return nil, err
	}
	for _, r := range out {
		if err := p.shown(ctx, r.URL); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *Presenter) find(ctx context.Context, query string, skip, limit int, who Reader) ([]Result, error) {
	if limit <= 0 {
		return nil, nil
	}
	var out []Result
	for h, err := range p.index.Hits(ctx, query) {
		if err != nil {
			return nil, err
		}
		res, ok, err := p.result(ctx, h.URL, query, who)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if out = append(out, res); len(out) == limit {
			break
		}
	}
	return out, nil
}

// result is how a page found may be shown; false if it may not be. What can be told without the copy is asked first: many pages may
// have to be passed over.
func (p *Presenter) result(ctx context.Context, address, query string, who Reader) (Result, bool, error) {
	r, known, err := p.archive.Resource(address)
	if err != nil || !known || !r.Indexed { // the index has not heard yet that the page is gone
		return Result{}, false, err
	}
	facts := p.facts(r, who, false)
	t, down, err := p.terms(ctx, r, nil, facts)
	switch {
	case err != nil:
		return Result{}, false, ctx.Err() // no policy, no presentation
	case down != nil || !t.Findable():
		return Result{}, false, nil
	}
	if r.Current != 0 {
		if !t.May(acap.PresentLink) && !t.May(acap.PresentSnippet) {
			return Result{}, false, nil
		}
		pg, err := p.page(r.Current)
		if errors.Is(err, archive.ErrNotHeld) { // erased meanwhile
			return Result{}, false, nil
		}
		if err != nil {
			return Result{}, false, err
		}
		if t, _, err = p.terms(ctx, r, pg, facts); err != nil {
			return Result{}, false, ctx.Err()
		}
	}
	res, ok := resultOf(t, query)
	res.URL, res.Fetched = r.URL, r.LastCrawled
	return res, ok, nil
}

// resultOf is what t lets a reader see of a page found.
func resultOf(t *terms.Terms, query string) (res Result, ok bool) {
	res.Link = t.Decide(acap.PresentLink).Allowed
	if s, ok := snippetOf(t, acap.PresentSnippet, snippet.Wanted{Query: query}); ok {
		s.Include = append([]snippet.Include{}, s.Include...) // an empty list, not null
		res.Snippet = &s
	}
	if !res.Link && res.Snippet == nil { // F25
		return res, false
	}
	var by acap.Usage
	res.Title, by = t.Title()
	var beside []snippet.Include // of the snippet: they are shown with it
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

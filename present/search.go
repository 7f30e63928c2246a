package present

import (
	"context"
	"errors"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Result is one page found, as it may be shown.
type Result struct {
	URL     string            `json:"url"`
	Link    bool              `json:"link"` // the address may be shown as a link; else as plain text (X61)
	Title   string            `json:"title,omitempty"`
	Snippet *snippet.Snippet  `json:"snippet,omitempty"`
	Include []snippet.Include `json:"include,omitempty"` // credits and links that must stand beside it where there is no snippet
	Fetched time.Time         `json:"fetched"`
}

// hitPage is how many hits are asked of the index at once.
const hitPage = 50

// Search gives up to limit results, best first, leaving out the first skip that may be shown. Pages that may no longer be indexed
// or shown are passed over (F25).
func (p *Presenter) Search(ctx context.Context, query string, skip, limit int, who Reader) ([]Result, error) {
	var out []Result
	for from := 0; len(out) < limit; from += hitPage {
		hits, _, err := p.index.Search(ctx, query, from, hitPage)
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
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
				return out, nil
			}
		}
		if len(hits) < hitPage {
			return out, nil
		}
	}
	return out, nil
}

func (p *Presenter) result(ctx context.Context, address, query string, who Reader) (Result, bool, error) {
	r, known, err := p.archive.Resource(address)
	if err != nil || !known {
		return Result{}, false, err
	}
	var pg *page.Page
	if r.Current != 0 {
		if pg, err = p.page(r.Current); err != nil && !errors.Is(err, archive.ErrNotHeld) {
			return Result{}, false, err
		}
	}
	t, err := p.terms(ctx, r, pg, p.facts(r, who, false))
	if err != nil {
		return Result{}, false, nil // no policy, no presentation
	}
	if pg != nil {
		if _, ok := t.Text(); !ok {
			return Result{}, false, nil
		}
	} else if !t.Decide(acap.Index).Allowed && !t.Policy().Marked() {
		return Result{}, false, nil
	}
	res := Result{URL: r.URL, Fetched: r.LastCrawled, Link: t.Decide(acap.PresentLink).Allowed}
	if s, ok := p.snippet(t, r, pg, query); ok {
		res.Snippet = &s
	}
	if !res.Link && res.Snippet == nil { // F25
		return Result{}, false, nil
	}
	if t.Decide(acap.Present).Allowed || t.Decide(acap.PresentSnippet).Allowed {
		res.Title = r.Title
	}
	if res.Snippet == nil {
		res.Include = t.Included(acap.PresentLink)
	}
	return res, true, p.shown(ctx, r)
}

// snippet is cut from the copy held, or from the excerpt kept where none may be.
func (p *Presenter) snippet(t *terms.Terms, r archive.Resource, pg *page.Page, query string) (snippet.Snippet, bool) {
	if pg != nil {
		return t.Snippet(acap.PresentSnippet, query)
	}
	d := t.Decide(acap.PresentSnippet)
	if !d.Allowed || r.Excerpt == "" || len(d.MustUse()) > 0 || len(d.MustInclude()) > 0 { // what it requires is no longer at hand
		return snippet.Snippet{}, false
	}
	limits := d.Limits(t.Facts())
	return snippet.Build(r.Excerpt, snippet.Rules{MaxChars: limits.MaxChars, MaxWords: limits.MaxWords, Query: query})
}

package present

import (
	"context"
	"errors"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/terms"
)

// candidate is a hit of the index that may become a result.
type candidate struct {
	resource archive.Resource
	facts    acap.Facts
	// terms without the copy; nil if no policy is available, and again nil once the result is made
	terms   *terms.Terms
	same    string   // the value of terms.Same; "" means that the page cannot be compared with others
	refused *LeftOut // why nothing of the page may be shown in any presentation
	result  *Result  // the result; nil until it is made
	at      int      // index in Found.Results; -1: not there
}

// candidate returns what is known of the page at address, which the index found, without reading
// the copy of the page, because a search may have to skip many hits. If the page was erased but is
// still in the index, the resource of the candidate has no URL.
func (s *search) candidate(ctx context.Context, address string) (*candidate, error) {
	c := &candidate{at: -1}
	r, known, err := s.library.Page(ctx, address)
	if err != nil || !known || !r.Indexed {
		return c, err
	}
	c.resource, c.facts = r, s.facts(r, s.who, false)
	t, down, err := s.terms(ctx, r, nil, c.facts)
	switch {
	case err != nil: // if there is no policy, nothing is shown
		c.refuse(acap.Decision{Usage: acap.Present, Reason: acap.Unavailable, Note: err.Error()})
		return c, ctx.Err()
	case down != nil: // P05: a page under a take-down is hidden
		c.refuse(acap.Decision{Usage: acap.Present, Reason: acap.ByProhibition, Because: down})
	case !t.Findable():
		d := t.Decide(acap.Index)
		if d.Allowed {
			d = d.Refuse(acap.Unfulfillable, "its index entry was made from data that may no longer be used")
		}
		c.refuse(d)
	default:
		c.requireUses(t, s.query.For)
	}
	c.terms, c.same = t, t.Same()
	return c, nil
}

func (c *candidate) refuse(d acap.Decision) { c.refused = leftOut(d, c.resource.URL) }

// requireUses refuses c if one of the usages is not allowed.
func (c *candidate) requireUses(t *terms.Terms, uses []acap.Usage) {
	for _, u := range uses {
		if d := t.Decide(u); !d.Allowed {
			c.refuse(d)
			return
		}
	}
}

func leftOut(d acap.Decision, address string) *LeftOut {
	return &LeftOut{Usage: d.Usage, Reason: d.Reason, Why: snippet.Plain(d.Err(address).Error()),
		Clause: snippet.Plain(d.Why())}
}

// shows reports whether anything of the page might be shown. It decides without the copy; the copy
// may contain further restrictions.
func (c *candidate) shows() bool {
	return c.resource.URL != "" && c.refused == nil && (c.terms.May(acap.PresentLink) ||
		c.terms.May(acap.PresentSnippet))
}

// surely reports whether the link to the page may be shown, whatever the copy of the page contains.
func (c *candidate) surely() bool {
	d := c.terms.Decide(acap.PresentLink)
	return d.Allowed && len(d.MustUse()) == 0 && len(d.MustInclude()) == 0
}

// make makes the result of c. It returns false if nothing of the page may be shown.
func (s *search) make(ctx context.Context, c *candidate) (ok bool, err error) {
	if c.result != nil {
		return c.result.Shown(), nil
	}
	s.looked += costly
	if s.who.Public && s.making >= mostMaking && c.resource.Current != 0 {
		return s.makeWithoutCopy(c), nil
	}
	defer func(start time.Time) { s.making += s.now().Sub(start) }(s.now())
	var capture archive.Capture
	language := c.resource.Language
	if c.resource.Current != 0 {
		held, pg, err := s.page(ctx, c.resource.Current)
		if errors.Is(err, archive.ErrNotHeld) { // the copy was erased during the search
			c.resource.URL = ""
			return false, nil
		}
		if err != nil {
			return false, err
		}
		t, _, err := s.terms(ctx, c.resource, pg, c.facts)
		if err != nil {
			return false, ctx.Err()
		}
		c.terms, capture, language = t, held, languageOf(c.resource, pg)
		if c.requireUses(t, s.query.For); c.refused != nil {
			c.result, c.terms = &Result{LeftOut: c.whyNot(Result{})}, nil
			return false, nil
		}
	}
	if _, known := s.wanted[language]; !known {
		s.wanted[language] = s.Presenter.wanted(s.query.Text, language)
	}
	res, ok := resultOf(c.terms, s.wanted[language])
	res.URL, res.Fetched = c.resource.URL, c.resource.LastCrawled
	if ok {
		if res.Thumbnail, err = s.size(ctx, c.resource, capture.Version, c.terms); err != nil {
			return false, err
		}
		if s.query.Details {
			s.describe(c, &res, capture, language)
		}
	}
	if s.query.Why {
		res.LeftOut = c.whyNot(res)
	}
	c.result, c.terms = &res, nil
	return ok, nil
}

// makeWithoutCopy makes the result of c if there is no time to read its copy: a link, if that is permitted whatever the
// copy contains.
func (s *search) makeWithoutCopy(c *candidate) (ok bool) {
	s.found.Hurried = true
	c.result = &Result{URL: c.resource.URL, Fetched: c.resource.LastCrawled, Link: c.surely()}
	c.terms = nil
	return c.result.Link
}

// whyNot returns, for each part of the page that res does not show, why this part may not be shown.
func (c *candidate) whyNot(res Result) (list []LeftOut) {
	if c.refused != nil {
		return []LeftOut{*c.refused}
	}
	for _, u := range []struct {
		usage acap.Usage
		shown bool
	}{{acap.PresentLink, res.Link}, {acap.PresentSnippet, res.Snippet != nil}, {acap.Present, res.Title != ""}} {
		if d := c.decision(u.usage); !u.shown && !d.Allowed {
			list = append(list, *leftOut(d, c.resource.URL))
		}
	}
	return list
}

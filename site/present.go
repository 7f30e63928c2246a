package site

import (
	"context"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/present"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Presenter returns the presenter of what the site holds. It judges by the policies that were read
// last.
func (s *Site) Presenter() *present.Presenter {
	p := present.New(present.Stored(s.archive, s.index), s.lastPolicies())
	p.Length = s.cfg.SnippetLength
	return p
}

// Search searches what the site holds, and returns what may be shown to who: as many results as
// q.Limit says; 0: 10.
func (s *Site) Search(ctx context.Context, q present.Query, who present.Reader) (present.Found, error) {
	if q.Limit == 0 {
		q.Limit = 10
	}
	return s.Presenter().Search(ctx, q, who)
}

// Captures calls fn for every capture that may be listed, with the decision whether it may be kept
// today and the facts that this was decided under.
func (s *Site) Captures(ctx context.Context, reader acap.Target,
	fn func(archive.Capture, acap.Decision, acap.Facts) error) error {
	return s.archive.EachCapture(func(c archive.Capture) error {
		if terms.TakenDown(ctx, s.lastPolicies(), c.URL) != nil { // P04: it is invisible before it is erased
			return ctx.Err()
		}
		d, f, err := s.decidePreserve(ctx, c, reader)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		return fn(c, d, f)
	})
}

// decidePreserve decides by today's policy whether a capture may be kept.
func (s *Site) decidePreserve(ctx context.Context, c archive.Capture, reader acap.Target) (acap.Decision, acap.Facts,
	error) {
	res, _, err := s.archive.Resource(c.URL)
	if err != nil {
		return acap.Decision{}, acap.Facts{}, err
	}
	f := acap.Facts{Now: time.Now().UTC(), FirstCrawled: res.FirstCrawled, FirstIndexed: res.FirstIndexed,
		FirstPreserved: res.FirstPreserved, FirstPresented: res.FirstPresented, Recrawled: !c.Current, Target: reader}
	u, err := url.Parse(c.URL)
	if err != nil {
		return acap.Decision{}, f, err
	}
	origin, err := s.lastPolicies().Policy(ctx, u)
	if err != nil {
		return acap.Decision{Usage: acap.Preserve, Reason: acap.Unavailable}, f, nil
	}
	return terms.Held(ctx, origin, u, res.Own, nil, terms.Sources{}, f).Decide(acap.Preserve), f, nil
}

package site

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Presenter returns a presenter of the stored pages. It decides by the policies as they were last
// read.
func (s *Site) Presenter() *present.Presenter {
	p := present.New(present.Stored(s.archive, s.index), s.shownPolicies())
	p.Length = s.cfg.SnippetLength
	return p
}

// Search searches the stored pages and returns what may be shown to the given reader. It returns at
// most q.Limit results; if q.Limit is 0, at most 10.
func (s *Site) Search(ctx context.Context, q present.Query, who present.Reader) (present.Found, error) {
	if q.Limit == 0 {
		q.Limit = 10
	}
	return s.Presenter().Search(ctx, q, who)
}

// Captures calls fn for every capture that may be listed and on which all usages of the crawler's For
// are allowed. It passes the decision whether the capture may be preserved now, and the facts used for
// this decision.
func (s *Site) Captures(ctx context.Context, reader acap.Target,
	fn func(archive.Capture, acap.Decision, acap.Facts) error) error {
	return s.archive.EachCapture(func(c archive.Capture) error {
		// P04: a page under a take-down is hidden even before it is erased
		if s.hidesURL(c.URL) || terms.TakenDown(ctx, s.shownPolicies(), c.URL) != nil {
			return ctx.Err()
		}
		t, f, err := s.termsOf(ctx, c, reader)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		d := acap.Decision{Usage: acap.Preserve, Reason: acap.Unavailable} // if there is no policy
		if t != nil {
			d = t.Decide(acap.Preserve)
		}
		if d.For != "" || t == nil && len(s.who.For) > 0 {
			return nil
		}
		return fn(c, d, f)
	})
}

// Totals returns counts and sizes of the whole archive. It includes what may not be shown to readers, and
// reads every capture. If the policy of a capture could not be read, all newer usages count as
// prohibited.
func (s *Site) Totals(ctx context.Context) (out present.Totals, err error) {
	if out.Stats, err = s.archive.Stats(); err != nil {
		return out, err
	}
	out.Verdicts = map[acap.Usage]present.VerdictCounts{}
	for _, u := range acap.NewerUsages() {
		out.Verdicts[u] = present.VerdictCounts{}
	}
	err = s.archive.EachCapture(func(c archive.Capture) error {
		t, _, err := s.termsOf(ctx, c, acap.Target{})
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		for u, n := range out.Verdicts {
			d := acap.Decision{Usage: u, Reason: acap.Unavailable}
			if t != nil {
				d = t.Decide(u)
			}
			n.Add(d)
			out.Verdicts[u] = n
		}
		return nil
	})
	return out, err
}

// termsOf returns the current terms of a capture, and the facts for decisions on it. The terms are nil
// if the policy was never read.
func (s *Site) termsOf(ctx context.Context, c archive.Capture, reader acap.Target) (*terms.Terms, acap.Facts,
	error) {
	res, _, err := s.archive.Resource(c.URL)
	if err != nil {
		return nil, acap.Facts{}, err
	}
	f := res.Facts()
	f.Now, f.Recrawled, f.Target = time.Now().UTC(), !c.Current, reader
	own := res.Own
	if !c.Current {
		f.Fetched, own = c.Fetched, terms.Earlier(res.Own, c.Own)
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, f, err
	}
	policies := s.shownPolicies()
	origin, err := policies.Policy(ctx, u)
	if err != nil {
		return nil, f, nil
	}
	return terms.Held(ctx, origin, u, own, nil, terms.Sources{Policies: policies}, f), f, nil
}

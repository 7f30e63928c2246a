package terms

import (
	"context"
	"net/url"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
)

// Hop gives the terms of an answer that led to the page, by the policy of its own origin and by its own header; nil where that policy
// cannot be read.
func (t *Terms) Hop(hop page.Hop) *Terms {
	if t.sources.Policies == nil {
		return nil
	}
	pg := page.New([]page.Hop{hop})
	origin, err := t.sources.Policies.Policy(t.ctx, pg.URL())
	if err != nil {
		return nil
	}
	return Held(t.ctx, origin, pg.URL(), pg.Own(), nil, t.sources, acap.Facts{Now: t.facts.Now, FirstCrawled: hop.Start, FirstPreserved: hop.Start})
}

// Reached answers for an address and for the page that it led to. Where redirects led elsewhere the page is held under its own
// address, on the terms of its own origin (X66), and what the address asked for says still counts: both must permit.
type Reached struct {
	*Terms
	asked *Terms // nil: the page is at the address asked for
}

// Reach gives the terms of u, for which origin is the policy, and of the page pg that it led to; pg is nil where there is none.
func Reach(ctx context.Context, origin *acap.Policy, u *url.URL, pg *page.Page, s Sources, f acap.Facts) (*Reached, error) {
	if pg == nil || acap.NewResource(pg.URL()).URL == acap.NewResource(u).URL {
		return &Reached{Terms: Of(ctx, origin, u, pg, s, f)}, nil
	}
	final, err := s.Policies.Policy(ctx, pg.URL())
	if err != nil {
		return nil, err
	}
	asked := Of(ctx, origin, u, nil, s, f)
	if at := pg.URL(); at.Scheme == u.Scheme && at.Host == u.Host { // another origin's page says nothing of this one's resources
		asked = Held(ctx, origin, u, pg.Own(), nil, s, f)
	}
	return &Reached{Terms: Of(ctx, final, pg.URL(), pg, s, f), asked: asked}, nil
}

// Decide permits what both permit.
func (r *Reached) Decide(u acap.Usage) acap.Decision {
	if r.asked != nil {
		if d := r.asked.Decide(u); !d.Allowed {
			return d
		}
	}
	return r.Terms.Decide(u)
}

// Open reports whether the address asked for lets u be made of the page at all.
func (r *Reached) Open(u acap.Usage) bool { return r.asked == nil || r.asked.Decide(u).Allowed }

// For gives the same under another policy of the page's origin, that of one purpose for instance.
func (r *Reached) For(p *acap.Policy) *Reached {
	return &Reached{Terms: r.Terms.For(p), asked: r.asked}
}

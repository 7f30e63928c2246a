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
	return &Reached{Terms: Of(ctx, final, pg.URL(), pg, s, f), asked: askedFor(ctx, origin, u, pg.URL(), pg.Own(), s, f)}, nil
}

// ReachHeld gives the terms of u, for which origin is the policy, and of what is held of the page at, to which it led: own, pg and k are
// as for Held and Keeping.
func ReachHeld(ctx context.Context, origin *acap.Policy, u, at *url.URL, own acap.Own, pg *page.Page, k Kept, s Sources, f acap.Facts) (*Reached, error) {
	if acap.NewResource(at).URL == acap.NewResource(u).URL {
		return &Reached{Terms: Held(ctx, origin, u, own, pg, s, f).Keeping(k)}, nil
	}
	final, err := s.Policies.Policy(ctx, at)
	if err != nil {
		return nil, err
	}
	return &Reached{Terms: Held(ctx, final, at, own, pg, s, f).Keeping(k), asked: askedFor(ctx, origin, u, at, own, s, f)}, nil
}

// askedFor gives the terms of u where it led to a page at another address. Another origin's page says nothing of this one's resources.
func askedFor(ctx context.Context, origin *acap.Policy, u, at *url.URL, own acap.Own, s Sources, f acap.Facts) *Terms {
	if at.Scheme == u.Scheme && at.Host == u.Host {
		return Held(ctx, origin, u, own, nil, s, f)
	}
	return Of(ctx, origin, u, nil, s, f)
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

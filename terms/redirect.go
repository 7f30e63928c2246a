package terms

import (
	"context"
	"net/url"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
)

// TakenDownAt reports whether an address that led to the page is taken down by the policy of its
// own origin.
func (t *Terms) TakenDownAt(address string) bool {
	return t.sources.Policies != nil && TakenDown(t.ctx, t.sources.Policies, address) != nil
}

// Reached answers for an address and for the page that it led to. Where redirects led elsewhere the
// page is held under its own address, on the terms of its own origin (X66), and what is said of the
// addresses on the way still counts: all must permit.
type Reached struct {
	*Terms
	way []*Terms // of the address asked for and of those that it led to before the page; nil: the page is there
}

// Reach gives the terms of u, for which origin is the policy, and of the page pg that it led to; pg
// is nil where there is none.
func Reach(ctx context.Context, origin *acap.Policy, u *url.URL, pg *page.Page, s Sources, f acap.Facts) (*Reached,
	error) {
	if pg == nil || acap.NewResource(pg.URL()).URL == acap.NewResource(u).URL {
		return &Reached{Terms: Of(ctx, origin, u, pg, s, f)}, nil
	}
	way := []string{u.String()}
	for _, hop := range pg.Hops()[:len(pg.Hops())-1] {
		way = append(way, hop.URL)
	}
	return reached(ctx, append(way, pg.URL().String()), pg.Own(), s, f, func(final *acap.Policy, at *url.URL) *Terms {
		return Of(ctx, final, at, pg, s, f)
	})
}

// ReachHeld gives the terms of the addresses of way, each of which led to the next, and of what is
// held of the page at the last: own, pg and k are as for Held and Keeping.
func ReachHeld(ctx context.Context, way []string, own acap.Own, pg *page.Page, k Kept, s Sources,
	f acap.Facts) (*Reached, error) {
	return reached(ctx, way, own, s, f, func(final *acap.Policy, at *url.URL) *Terms {
		return Held(ctx, final, at, own, pg, s, f).Keeping(k)
	})
}

// reached gives the terms of way; those of its end are of what is there.
func reached(ctx context.Context, way []string, own acap.Own, s Sources, f acap.Facts, end func(*acap.Policy,
	*url.URL) *Terms) (*Reached, error) {
	at, err := url.Parse(way[len(way)-1])
	if err != nil {
		return nil, err
	}
	final, err := s.Policies.Policy(ctx, at)
	if err != nil {
		return nil, err
	}
	r, known := &Reached{Terms: end(final, at)}, []string{acap.NewResource(at).URL}
	for _, address := range way[:len(way)-1] {
		u, err := url.Parse(address)
		if err != nil {
			return nil, err
		}
		one := acap.NewResource(u).URL
		if slices.Contains(known, one) {
			continue
		}
		known = append(known, one)
		origin, err := s.Policies.Policy(ctx, u)
		if err != nil {
			return nil, err
		}
		r.way = append(r.way, ledBy(ctx, origin, u, at, own, s, f))
	}
	return r, nil
}

// ledBy gives the terms of u where it led to a page at another address. Another origin's page says
// nothing of this one's resources.
func ledBy(ctx context.Context, origin *acap.Policy, u, at *url.URL, own acap.Own, s Sources, f acap.Facts) *Terms {
	if at.Scheme == u.Scheme && at.Host == u.Host {
		return Held(ctx, origin, u, own, nil, s, f)
	}
	return Of(ctx, origin, u, nil, s, f)
}

// Decide permits what all permit.
func (r *Reached) Decide(u acap.Usage) acap.Decision {
	_, d := r.By(u)
	return d
}

// By gives the terms that decide about u, and how: those of the first address that does not permit
// it, else those of the page.
func (r *Reached) By(u acap.Usage) (*Terms, acap.Decision) {
	for _, t := range r.way {
		if d := t.Decide(u); !d.Allowed {
			return t, d
		}
	}
	return r.Terms, r.Terms.Decide(u)
}

// Open reports whether the addresses on the way let u be made of the page at all.
func (r *Reached) Open(u acap.Usage) bool {
	return !slices.ContainsFunc(r.way, func(t *Terms) bool { return !t.Decide(u).Allowed })
}

// For gives the same under another policy of the page's origin, that of one purpose for instance.
func (r *Reached) For(p *acap.Policy) *Reached {
	return &Reached{Terms: r.Terms.For(p), way: r.way}
}

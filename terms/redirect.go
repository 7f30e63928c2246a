package terms

import (
	"context"
	"net/url"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
)

// TakenDownAt reports whether the policy for address contains a take-down request for address. The
// address must be one that redirects to the page.
func (t *Terms) TakenDownAt(address string) bool {
	return t.sources.Policies != nil && TakenDown(t.ctx, t.sources.Policies, address) != nil
}

// Reached combines the terms of a requested address and of the page that it redirects to. The page
// is stored under its final address, by the policy of the origin of that address (X66). All
// addresses of the redirect chain must permit a usage.
type Reached struct {
	*Terms
	way []*Terms // terms of the requested address and of the redirects before the page; nil if there was no redirect
}

// Reach returns the terms of a requested address and of the page that it redirects to. u is the
// requested address, and origin is the policy of its origin. pg is the page; nil if no page was
// received.
func Reach(ctx context.Context, origin *acap.Policy, u *url.URL, pg *page.Page, s Sources, f acap.Facts) (*Reached,
	error) {
	if pg == nil || acap.NewResource(pg.URL()).URL == acap.NewResource(u).URL {
		return &Reached{Terms: Of(ctx, origin, u, pg, s, f)}, nil
	}
	way := []string{u.String()}
	for _, hop := range pg.Hops()[:len(pg.Hops())-1] {
		way = append(way, hop.URL)
	}
	return reachTerms(ctx, append(way, pg.URL().String()), pg.Own, s, f,
		func(final *acap.Policy, at *url.URL) *Terms {
			return Of(ctx, final, at, pg, s, f)
		})
}

// ReachHeld returns the terms of a redirect chain and of the stored page at its end. way lists the
// addresses of the chain in order. The parameters own and pg mean the same as for Held, and k means
// the same as for Keeping.
func ReachHeld(ctx context.Context, way []string, own acap.Own, pg *page.Page, k Kept, s Sources,
	f acap.Facts) (*Reached, error) {
	return reachTerms(ctx, way, func() acap.Own { return own }, s, f, func(final *acap.Policy, at *url.URL) *Terms {
		return Held(ctx, final, at, own, pg, s, f).Keeping(k)
	})
}

// reachTerms builds the terms of the redirect chain in way. It calls end for the terms of the last
// address.
func reachTerms(ctx context.Context, way []string, own func() acap.Own, s Sources, f acap.Facts,
	end func(*acap.Policy, *url.URL) *Terms) (*Reached, error) {
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
		r.way = append(r.way, termsOfHop(ctx, origin, u, at, own(), s, f))
	}
	return r, nil
}

// termsOfHop returns the terms of u, an address that redirects to a page at the address at. If the
// page belongs to another origin, the statements in the page do not apply to u.
func termsOfHop(ctx context.Context, origin *acap.Policy, u, at *url.URL, own acap.Own, s Sources,
	f acap.Facts) *Terms {
	if at.Scheme == u.Scheme && at.Host == u.Host {
		return Held(ctx, origin, u, own, nil, s, f)
	}
	return Of(ctx, origin, u, nil, s, f)
}

// Decide permits u only if all addresses of the chain permit it.
func (r *Reached) Decide(u acap.Usage) acap.Decision {
	_, d := r.By(u)
	return d
}

// By returns the decision about u and the terms that make this decision. These are the terms of the
// first address in the chain that does not permit u; if all permit u, the terms of the page.
//
// A permission that requires a part or a credit of a redirecting address permits u only if the same
// field decides about the page: a redirect has no parts, and only what the page requires is shown.
func (r *Reached) By(u acap.Usage) (*Terms, acap.Decision) {
	page := r.Terms.Decide(u)
	for _, t := range r.way {
		d := t.Decide(u)
		if d.Allowed && len(d.MustUse())+len(d.MustInclude()) > 0 && !sameField(d, page) {
			d = d.Refuse(acap.Unfulfillable, "a redirect has no parts")
		}
		if !d.Allowed {
			return t, d
		}
	}
	return r.Terms, page
}

// Open reports whether the policies of all redirecting addresses permit u. It ignores the policy of
// the page itself.
func (r *Reached) Open(u acap.Usage) bool {
	t, _ := r.By(u)
	return t == r.Terms
}

// sameField reports whether the same field made both decisions.
func sameField(a, b acap.Decision) bool {
	return a.Because != nil && b.Because != nil && a.Because.URL == b.Because.URL && a.Because.Line == b.Because.Line &&
		a.Because.Text == b.Because.Text
}

// For returns a copy of r with p as the policy of the page's origin. For instance, p may be the
// policy for one purpose.
func (r *Reached) For(p *acap.Policy) *Reached {
	return &Reached{Terms: r.Terms.For(p), way: r.way}
}

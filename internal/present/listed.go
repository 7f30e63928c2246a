package present

import (
	"context"
	"errors"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Linkable returns the redirect chain from rawurl to its page, if something of the page is stored and a link to it may
// be shown to the reader. Otherwise, also if a policy cannot be read or a take-down is in force, it returns nil.
func (p *Presenter) Linkable(ctx context.Context, rawurl string, who Reader) (way []string, err error) {
	way, r, known, err := p.lookUp(ctx, rawurl, who)
	if err != nil || !known {
		return nil, err
	}
	l, err := p.link(ctx, way, r, who)
	if err != nil || !l.open || l.down != nil {
		return nil, ctx.Err()
	}
	return way, nil
}

// Listed reports whether the reader may see a link to rawurl, which may be an address that is not
// archived. It reads no copy: if the permission depends on the elements of the copy, Listed returns
// false. P1 2.6.1 (P05): a page under a take-down is not listed. until is when the permission ends;
// zero: it has no end.
func (p *Presenter) Listed(ctx context.Context, rawurl string, who Reader) (listed bool, until time.Time, err error) {
	way, r, _, err := p.lookUp(ctx, rawurl, who)
	if err != nil {
		return false, until, err
	}
	l, err := p.linkTo(ctx, way, r, nil, who)
	if err != nil || !l.open || l.down != nil || len(l.MustUse())+len(l.MustInclude()) > 0 {
		return false, until, ctx.Err() // without a policy nothing is shown
	}
	return true, l.Limits(l.facts).Until, nil
}

// Refuses reports whether the policy that was read last, or a take-down, refuses the reader a link to rawurl or all its
// copies, whether something of it is archived or not. It reads no copy: what depends on the elements of a copy is not
// refused. unknown reports that nothing can be shown because there is no policy, which is not a refusal.
func (p *Presenter) Refuses(ctx context.Context, rawurl string, who Reader) (refuses, unknown bool, err error) {
	way, r, _, err := p.lookUp(ctx, rawurl, who)
	if err != nil {
		return false, false, err
	}
	r.URL = way[len(way)-1]
	l, err := p.linkTo(ctx, way, r, nil, who)
	switch {
	case err != nil || l.Reason == acap.Unavailable:
		return false, true, ctx.Err()
	case l.down != nil, !l.open && l.Reason != acap.Unfulfillable:
		return true, false, nil
	}
	d, all, err := p.closed(ctx, way, r, who, copies)
	return all && d.Reason != acap.Unavailable, all && d.Reason == acap.Unavailable, err
}

// link is the decision on a link to the page at the end of a redirect chain.
type link struct {
	acap.Decision             // by the terms of the page
	open          bool        // page and chain permit the link; a take-down does not prohibit it
	down          *acap.Field // the take-down in force, or nil
	facts         acap.Facts
}

// link decides on a link to the page r at the end of way. It reads the current copy only if the decision depends on
// the elements of the page. The error is that of a policy that could not be read, or of the archive.
func (p *Presenter) link(ctx context.Context, way []string, r archive.Resource, who Reader) (link, error) {
	l, err := p.linkTo(ctx, way, r, nil, who)
	if err != nil || l.Reason != acap.Unfulfillable || r.Current == 0 {
		return l, err
	}
	_, pg, err := p.page(ctx, r.Current)
	switch {
	case errors.Is(err, archive.ErrNotHeld): // erased since r was read
		return l, nil
	case err != nil:
		return l, err
	}
	return p.linkTo(ctx, way, r, pg, who)
}

// linkTo is like link, by the current copy of the page; nil: by its stored statements.
func (p *Presenter) linkTo(ctx context.Context, way []string, r archive.Resource, pg *page.Page, who Reader) (l link,
	err error) {
	r.URL = way[len(way)-1]
	l.facts = p.facts(r, who, false)
	t, down, err := p.terms(ctx, r, pg, l.facts)
	if err != nil {
		return l, err
	}
	l.Decision, l.down = t.Decide(acap.PresentLink), down
	l.open = l.Allowed
	for _, address := range way[:len(way)-1] {
		if l.down == nil {
			l.down = terms.TakenDown(ctx, p.policies, address)
		}
	}
	if len(way) > 1 && l.open {
		from := terms.Sources{Policies: p.policies}
		reached, err := terms.ReachHeld(ctx, way, r.Own, nil, terms.Kept{}, from, l.facts)
		if err != nil {
			return l, err
		}
		l.open = reached.Open(acap.PresentLink)
	}
	return l, nil
}

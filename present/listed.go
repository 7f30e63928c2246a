package present

import (
	"context"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Linkable reports whether something of rawurl is stored, and a link to its page may be shown to the
// reader. If a policy cannot be read, or if a take-down is in force, it may not.
func (p *Presenter) Linkable(ctx context.Context, rawurl string, who Reader) (bool, error) {
	way, r, known, err := p.lookUp(ctx, rawurl)
	if err != nil || !known {
		return false, err
	}
	l, err := p.link(ctx, way, r, who)
	if err != nil {
		return false, ctx.Err()
	}
	return l.open && l.down == nil, nil
}

// Listed reports whether the reader may see a link to rawurl, which may be an address that is not
// archived. It reads no copy: if the permission depends on the elements of the copy, Listed returns
// false. P1 2.6.1 (P05): a page under a take-down is not listed. until is when the permission ends;
// zero: it has no end.
func (p *Presenter) Listed(ctx context.Context, rawurl string, who Reader) (listed bool, until time.Time, err error) {
	way, r, _, err := p.lookUp(ctx, rawurl)
	if err != nil {
		return false, until, err
	}
	l, err := p.link(ctx, way, r, who)
	if err != nil || !l.open || l.down != nil || len(l.MustUse())+len(l.MustInclude()) > 0 {
		return false, until, ctx.Err() // without a policy nothing is shown
	}
	return true, l.Limits(l.facts).Until, nil
}

// link is the decision on a link to the page at the end of a redirect chain.
type link struct {
	acap.Decision             // by the terms of the page
	open          bool        // page and chain permit the link; a take-down does not prohibit it
	down          *acap.Field // the take-down in force, or nil
	facts         acap.Facts
}

// link decides on a link to the page r at the end of way. The error is that of a policy that could not be read.
func (p *Presenter) link(ctx context.Context, way []string, r archive.Resource, who Reader) (l link, err error) {
	r.URL = way[len(way)-1]
	l.facts = p.facts(r, who, false)
	t, down, err := p.terms(ctx, r, nil, l.facts)
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

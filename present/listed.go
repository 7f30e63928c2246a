package present

import (
	"context"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Listed reports whether the reader may see a link to rawurl, which may be an address that is not
// archived. It reads no copy: if the permission depends on the elements of the copy, Listed returns
// false. P1 2.6.1 (P05): a page under a take-down is not listed. until is when the permission ends;
// zero: it has no end.
func (p *Presenter) Listed(ctx context.Context, rawurl string, who Reader) (listed bool, until time.Time, err error) {
	way, r, _, err := p.lookUp(ctx, rawurl)
	if err != nil {
		return false, until, err
	}
	down, open, err := p.linkable(ctx, way, r, who)
	if err != nil || down != nil || !open { // without a policy nothing is shown
		return false, until, ctx.Err()
	}
	r.URL = way[len(way)-1]
	facts := p.facts(r, who, false)
	t, _, err := p.terms(ctx, r, nil, facts)
	if err != nil {
		return false, until, ctx.Err()
	}
	d := t.Decide(acap.PresentLink)
	if len(d.MustUse()) > 0 || len(d.MustInclude()) > 0 {
		return false, until, nil
	}
	return true, d.Limits(facts).Until, nil
}

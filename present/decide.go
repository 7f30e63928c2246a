package present

import (
	"context"
	"errors"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
)

// Decide says how each usage of what is held of rawurl stands for a reader now. The error is ErrNotHeld where nothing is known of it.
func (p *Presenter) Decide(ctx context.Context, rawurl string, who Reader, usages ...acap.Usage) ([]acap.Decision, error) {
	r, known, err := p.archive.Resource(rawurl)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, ErrNotHeld
	}
	var pg *page.Page
	if r.Current != 0 {
		if pg, err = p.page(r.Current); err != nil && !errors.Is(err, archive.ErrNotHeld) {
			return nil, err
		}
	}
	t, _, err := p.terms(ctx, r, pg, p.facts(r, who, false))
	if err != nil {
		return nil, err
	}
	out := make([]acap.Decision, len(usages))
	for i, u := range usages {
		out[i] = t.Decide(u)
	}
	return out, nil
}

package present

import (
	"context"
	"errors"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Decide returns the decisions on usages for one reader, at this moment. The decisions are about
// the stored data of rawurl and about the redirects to its page (X66). The error is ErrNotHeld if
// nothing is stored about rawurl.
func (p *Presenter) Decide(ctx context.Context, rawurl string, who Reader, usages ...acap.Usage) ([]acap.Decision,
	error) {
	v, err := p.find(ctx, rawurl, Which{}, who, form{current: acap.Present})
	refused, barred := errors.AsType[*acap.Refused](err)
	if err != nil && !barred {
		return nil, err
	}
	out := make([]acap.Decision, len(usages))
	for i, u := range usages {
		switch {
		case barred:
			out[i] = refused.Decision
			out[i].Usage = u
		case v.way != nil && !v.way.Open(u):
			out[i] = v.way.Decide(u)
		default:
			out[i] = v.Decide(u)
		}
	}
	return out, nil
}

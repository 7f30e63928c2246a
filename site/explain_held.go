package site

import (
	"context"
	"fmt"
	"net/url"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Crawler returns the crawler that fills the data directory.
func (s *Site) Crawler() acap.Crawler { return s.who }

// Explain answers q by the policies as they were last read. It makes no request. It decides by the
// stored page if q has no page and a link to the stored page may be shown to the reader who, otherwise
// by the address alone. The error wraps explain.ErrNeverRead if the policy of the origin was never read.
func (s *Site) Explain(ctx context.Context, q explain.Question, who present.Reader) (*explain.Explanation, error) {
	policies := s.policy.For(q.Crawler)
	q.Past = explain.Past{}
	if q.Page == nil {
		at, err := address.Normal(q.URL.String())
		if err != nil {
			return nil, err
		}
		way, err := s.Presenter().Linkable(ctx, at, who)
		if err != nil {
			return nil, err
		}
		if way != nil {
			if q.Past, err = heldAt(s.archive, way); err != nil {
				return nil, err
			}
			q.Past = withThen(q.Past, policies)
		}
	}
	e, err := explain.Of(ctx, q, explain.Sources{Origins: lastOrigins{policies, s.ledger}})
	if err == nil && who.Public {
		err = s.hideRequests(ctx, e, who)
	}
	return e, err
}

// hideRequests removes the take-downs that were not requested in robots.txt, unless the reader may know that the page
// was archived: such requests are not public.
func (s *Site) hideRequests(ctx context.Context, e *explain.Explanation, who present.Reader) error {
	down := terms.TakeDown(e.Origin.Policy, e.URL)
	if down == nil || down.Source != acap.Request {
		return nil
	}
	at, err := address.Normal(e.URL.String())
	if err != nil {
		return err
	}
	state, err := s.Presenter().State(ctx, at, acap.Decision{Usage: acap.Present}, who)
	if err != nil || state.Availability == present.Erased {
		return err
	}
	held, known := s.policy.For(e.Crawler).Held(e.URL)
	if known {
		o := *e.Origin
		o.Policy, e.Origin = held.Policy, &o
	}
	return nil
}

// lastOrigins are the origins with the policies that were read last, and with the take-downs in force.
// It makes no request.
type lastOrigins struct {
	policies *policy.Authority
	ledger   *actions.Ledger
}

// Origin implements explain.Origins.
func (l lastOrigins) Origin(_ context.Context, u *url.URL) (*policy.Origin, error) {
	held, known := l.policies.Held(u)
	if !known {
		return nil, fmt.Errorf("%s: %w", u.Host, explain.ErrNeverRead)
	}
	bound, err := l.ledger.Bind(held.Key, held.Policy)
	o := *held
	o.Policy = bound
	return &o, err
}

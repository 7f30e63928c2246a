package present

import (
	"context"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Lead is how a reader is shown an original, which is fetched from its publisher's site then (P1
// 2.5.5.1.1).
type Lead struct {
	URL     string            `json:"url"`
	Framed  bool              `json:"framed"` // within a frame of this service; else the reader is led there (X69)
	Include []snippet.Include `json:"include,omitempty"`
	Limits  acap.Limits       `json:"limits"`
}

// Original says where a reader is led who is to see the original of rawurl. They are led there
// without a frame, unless it must be shown within one, or who is to be shown it so. The error is
// ErrNotHeld where it is not known what the page says of itself, and an *acap.Refused where it may
// not be shown.
func (p *Presenter) Original(ctx context.Context, rawurl string, who Reader) (Lead, error) {
	v, err := p.version(ctx, rawurl, Which{}, who, form{current: acap.PresentOriginal})
	if err != nil {
		return Lead{}, err
	}
	if v.resource.Own.URL == "" {
		return Lead{}, ErrNotHeld
	}
	d := v.Decide(acap.PresentOriginal)
	lead := Lead{URL: v.resource.URL, Framed: who.Framed}
	led := d.Within(v.context(who, true))
	if framed := d.Within(acap.UserFrame); !led.Allowed && framed.Allowed {
		led, lead.Framed = framed, true
	}
	if !led.Allowed {
		return Lead{}, v.refuse(led)
	}
	lead.Include, lead.Limits = v.Included(acap.PresentOriginal), led.Limits(v.facts)
	return lead, p.shown(ctx, v.resource.URL)
}

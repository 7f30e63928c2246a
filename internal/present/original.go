package present

import (
	"context"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Lead tells the caller how to show an original page, which the reader's browser then fetches from
// the publisher's site (P1 2.5.5.1.1).
type Lead struct {
	URL string `json:"url"`
	// show the page in a frame of this service; if false, link to the page (X69)
	Framed  bool              `json:"framed"`
	Include []snippet.Include `json:"include,omitempty"`
	Limits  acap.Limits       `json:"limits"`
}

// Original returns how to show the original of rawurl to a reader. The original is shown in a frame
// if the policy requires a frame or who.Framed is set, otherwise with a link. The error is
// ErrNotHeld if the statements in the page are not stored, and an *acap.Refused if the original may
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

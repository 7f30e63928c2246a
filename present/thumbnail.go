package present

import (
	"context"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/thumbnail"
)

// Thumbnail is a small picture of what is held, as it may be shown.
type Thumbnail struct {
	URL     string            `json:"url"`
	Version int               `json:"version"`
	Fetched time.Time         `json:"fetched"`
	Current bool              `json:"current"`
	MIME    string            `json:"mime"`
	Width   int               `json:"width"`
	Height  int               `json:"height"`
	Body    []byte            `json:"body_base64"`
	Include []snippet.Include `json:"include,omitempty"`
	Limits  acap.Limits       `json:"limits"`
}

// Thumbnail gives a picture of what is held of rawurl; which is as for Copy. The error is ErrNotHeld where nothing is held, an
// *acap.Refused where it may not be shown, and wraps thumbnail.ErrNone where it may and none can be made.
func (p *Presenter) Thumbnail(ctx context.Context, rawurl string, which Which, who Reader) (Thumbnail, error) {
	v, err := p.version(ctx, rawurl, which, who, form{current: acap.PresentThumbnail, old: acap.PresentOldThumbnail})
	if err != nil {
		return Thumbnail{}, err
	}
	c := v.capture
	if c.ID == 0 {
		return Thumbnail{}, ErrNotHeld
	}
	if d := v.Decide(acap.Preserve); !d.Allowed {
		return Thumbnail{}, v.refuse(d)
	}
	of, d := v.Picture(v.usage)
	if !d.Allowed {
		return Thumbnail{}, v.refuse(d)
	}
	img, err := thumbnail.Make(of.Body, thumbnail.Options{Turns: p.turns})
	if err != nil {
		return Thumbnail{}, err
	}
	out := Thumbnail{URL: c.URL, Version: c.Version, Fetched: c.Fetched, Current: c.Current, MIME: img.MIME, Width: img.Width, Height: img.Height,
		Body: img.Body, Include: v.Included(v.usage), Limits: d.Limits(v.facts)}
	return out, p.shown(ctx, v.resource.URL)
}

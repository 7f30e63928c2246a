package present

import (
	"context"
	"fmt"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/terms"
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
	final, err := p.archive.Resolve(rawurl)
	if err != nil {
		return Thumbnail{}, err
	}
	r, _, err := p.archive.Resource(final)
	if err != nil {
		return Thumbnail{}, err
	}
	c, found, err := p.capture(r, which)
	if err != nil {
		return Thumbnail{}, err
	}
	if !found {
		return Thumbnail{}, fmt.Errorf("%s: %w", rawurl, ErrNotHeld)
	}
	usage := acap.PresentThumbnail
	if !c.Current {
		usage = acap.PresentOldThumbnail
	}
	body, err := p.archive.Body(c.ID)
	if err != nil {
		return Thumbnail{}, err
	}
	pg := c.Page(body)
	if !c.Current {
		r.Own = terms.Earlier(r.Own, pg.Own())
	}
	facts := p.facts(r, who, !c.Current)
	t, down, err := p.terms(ctx, r, pg, facts)
	switch {
	case err != nil && ctx.Err() == nil:
		return Thumbnail{}, acap.Decision{Usage: usage, Reason: acap.Unavailable, Note: err.Error()}.Err(rawurl)
	case err != nil:
		return Thumbnail{}, err
	case down != nil: // P05
		return Thumbnail{}, acap.Decision{Usage: usage, Reason: acap.ByProhibition, Because: down}.Err(rawurl)
	}
	if d := t.Decide(acap.Preserve); !d.Allowed {
		return Thumbnail{}, d.Err(rawurl)
	}
	of, d := t.Picture(usage)
	if !d.Allowed {
		return Thumbnail{}, d.Err(rawurl)
	}
	img, err := thumbnail.Make(of.Body, thumbnail.Options{Turns: p.turns})
	if err != nil {
		return Thumbnail{}, err
	}
	out := Thumbnail{URL: c.URL, Version: c.Version, Fetched: c.Fetched, Current: c.Current, MIME: img.MIME, Width: img.Width, Height: img.Height,
		Body: img.Body, Include: t.Included(usage), Limits: d.Limits(facts)}
	return out, p.shown(ctx, r.URL)
}

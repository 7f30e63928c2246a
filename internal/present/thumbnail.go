package present

import (
	"context"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/thumbnail"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Thumbnail is a small picture of a stored page, prepared for showing.
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

// Thumbnail returns a thumbnail of the version of rawurl that the parameter which selects, by the
// same rules as Copy. The error is ErrNotHeld if nothing is stored, and an *acap.Refused if no
// thumbnail may be shown to the reader. It wraps thumbnail.ErrNone if no thumbnail can be made.
func (p *Presenter) Thumbnail(ctx context.Context, rawurl string, which Which, who Reader) (Thumbnail, error) {
	v, err := p.version(ctx, rawurl, which, who, form{current: acap.PresentThumbnail, old: acap.PresentOldThumbnail,
		instead: p.pictured})
	if err != nil {
		return Thumbnail{}, err
	}
	r, c := v.resource, v.capture
	out := Thumbnail{URL: r.URL, Version: c.Version, Fetched: c.Fetched, Current: c.Current}
	if c.ID == 0 {
		out.Fetched, out.Current = r.LastCrawled, true
	} else if d := v.Decide(acap.Preserve); !d.Allowed {
		return Thumbnail{}, v.refuse(d)
	}
	of, d := v.Picture(v.usage)
	if !d.Allowed {
		return Thumbnail{}, v.refuse(d)
	}
	img, err := p.picture(ctx, v, of, d)
	if err != nil {
		return Thumbnail{}, err
	}
	out.MIME, out.Width, out.Height, out.Body = img.MIME, img.Width, img.Height, img.Body
	out.Include, out.Limits = v.Included(v.usage), d.Limits(v.facts)
	return out, p.shown(ctx, r.URL)
}

// Size is the size of a thumbnail in pixels.
type Size struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// size returns the size of the thumbnail of the current version of r; nil if there is no thumbnail
// or if the terms t do not permit to show one. size does not decode the image, so a damaged image
// also has a size.
func (p *Presenter) size(ctx context.Context, r archive.Resource, version int, t *terms.Terms) (*Size, error) {
	held, found, err := p.library.Thumbnail(ctx, r.URL, version)
	if err != nil {
		return nil, err
	}
	size := Size{held.Width, held.Height}
	if !found {
		if t.Page() == nil {
			return nil, nil
		}
		if size.Width, size.Height, err = thumbnail.Measure(t.Page().Last().Body, thumbnail.Options{}); err != nil {
			return nil, nil // the page is not an image; most pages are not
		}
	}
	of, d := t.Picture(acap.PresentThumbnail)
	if !d.Allowed || held.Other != of.Other() || version != 0 && !t.Decide(acap.Preserve).Allowed {
		return nil, nil
	}
	return &size, nil
}

// pictured reports whether a thumbnail of r is stored that does not belong to a copy.
func (p *Presenter) pictured(ctx context.Context, r archive.Resource) (bool, error) {
	_, held, err := p.library.Thumbnail(ctx, r.URL, 0)
	return held, err
}

// picture returns a thumbnail of the version v that may be shown: the stored thumbnail if there is
// one, otherwise a thumbnail made from the copy.
func (p *Presenter) picture(ctx context.Context, v *version, of terms.Picture, d acap.Decision) (thumbnail.Image,
	error) {
	held, found, err := p.library.Thumbnail(ctx, v.resource.URL, v.capture.Version)
	switch {
	case err != nil:
		return thumbnail.Image{}, err
	case found && held.Other == of.Other():
		return thumbnail.Image{MIME: held.MIME, Width: held.Width, Height: held.Height, Body: held.Body}, nil
	case of.Body == nil: // the policy requires another image, and no thumbnail of that image is stored
		return thumbnail.Image{}, v.refuse(d.Refuse(acap.Unfulfillable,
			"no thumbnail of it is available until the page is crawled again"))
	}
	return thumbnail.Make(of.Body, thumbnail.Options{Turns: p.turns})
}

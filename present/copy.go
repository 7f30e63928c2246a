package present

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Copy is a preserved copy as it may be shown.
type Copy struct {
	URL     string            `json:"url"`
	Version int               `json:"version"`
	Fetched time.Time         `json:"fetched"`
	Current bool              `json:"current"`
	Status  int               `json:"status"`
	Header  http.Header       `json:"header"`
	Body    []byte            `json:"body_base64"`
	Cut     bool              `json:"cut"` // elements that may not be shown are cut out (N28)
	Include []snippet.Include `json:"include,omitempty"`
	Limits  acap.Limits       `json:"limits"`
}

// Which names a version: the current one, the latest at a time, or by number.
type Which struct {
	At      time.Time
	Version int
}

// Copy gives a copy held of rawurl. The error is ErrNotHeld where there is none, and an *acap.Refused where it may not be shown.
func (p *Presenter) Copy(ctx context.Context, rawurl string, which Which, who Reader) (Copy, error) {
	final, err := p.archive.Resolve(rawurl)
	if err != nil {
		return Copy{}, err
	}
	r, known, err := p.archive.Resource(final)
	if err != nil {
		return Copy{}, err
	}
	c, found, err := p.capture(r, which)
	if err != nil {
		return Copy{}, err
	}
	if !known || !found {
		return Copy{}, fmt.Errorf("%s: %w", rawurl, ErrNotHeld)
	}
	body, err := p.archive.Body(c.ID)
	if err != nil {
		return Copy{}, err
	}
	pg := c.Page(body)
	facts := p.facts(r, who, !c.Current)
	t, err := p.terms(ctx, r, pg, facts)
	if err != nil {
		return Copy{}, err
	}
	if d := t.Decide(acap.Preserve); !d.Allowed {
		return Copy{}, d.Err(rawurl)
	}
	usage := acap.PresentCurrentCopy
	if !c.Current {
		usage = acap.PresentOldCopy
	}
	d := t.Decide(usage)
	if !d.Allowed {
		return Copy{}, d.Err(rawurl)
	}
	out := Copy{URL: c.URL, Version: c.Version, Fetched: c.Fetched, Current: c.Current, Status: c.Status, Header: c.Header, Limits: d.Limits(facts)}
	if out.Body, out.Cut, _ = t.Copy(usage); out.Cut {
		for _, m := range []string{"any", "content", "structure"} { // cutting changes both
			if slices.Contains(out.Limits.ProhibitedModification, m) {
				return Copy{}, d.Refuse(acap.ByProhibition, "parts of the page may not be shown, and it may not be shown without them").Err(rawurl)
			}
		}
	}
	if slices.Contains(out.Limits.RequiredContext, "within-user-frame") { // P1 2.5.5.8: bare bytes stand in no frame
		return Copy{}, d.Refuse(acap.Unfulfillable, "it may be shown within a frame of this service only").Err(rawurl)
	}
	out.Include = t.Included(usage)
	return out, p.shown(ctx, r)
}

func (p *Presenter) capture(r archive.Resource, w Which) (archive.Capture, bool, error) {
	switch {
	case r.URL == "":
		return archive.Capture{}, false, nil
	case w.Version != 0:
		return p.archive.CaptureVersion(r.URL, w.Version)
	case !w.At.IsZero():
		return p.archive.CaptureAt(r.URL, w.At)
	case r.Current == 0:
		return archive.Capture{}, false, nil
	}
	c, err := p.archive.Capture(r.Current)
	return c, err == nil, err
}

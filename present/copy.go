package present

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/terms"
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

// Copy gives a copy held of rawurl: the current one where which names none, else the latest. The error is ErrNotHeld where there is
// none, and an *acap.Refused where it may not be shown.
func (p *Presenter) Copy(ctx context.Context, rawurl string, which Which, who Reader) (Copy, error) {
	final, err := p.archive.Resolve(rawurl)
	if err != nil {
		return Copy{}, err
	}
	r, _, err := p.archive.Resource(final)
	if err != nil {
		return Copy{}, err
	}
	c, found, err := p.capture(r, which)
	if err != nil {
		return Copy{}, err
	}
	if !found {
		return Copy{}, fmt.Errorf("%s: %w", rawurl, ErrNotHeld)
	}
	usage := acap.PresentCurrentCopy
	if !c.Current {
		usage = acap.PresentOldCopy
	}
	body, err := p.archive.Body(c.ID)
	if err != nil {
		return Copy{}, err
	}
	pg := c.Page(body)
	if !c.Current {
		r.Own = terms.Earlier(r.Own, pg.Own())
	}
	facts := p.facts(r, who, !c.Current)
	t, down, err := p.terms(ctx, r, pg, facts)
	if err != nil {
		if ctx.Err() == nil {
			err = acap.Decision{Usage: usage, Reason: acap.Unavailable, Note: err.Error()}.Err(rawurl)
		}
		return Copy{}, err
	}
	if down != nil { // P05: until the request has been executed
		return Copy{}, acap.Decision{Usage: usage, Reason: acap.ByProhibition, Because: down}.Err(rawurl)
	}
	if d := t.Decide(acap.Preserve); !d.Allowed {
		return Copy{}, d.Err(rawurl)
	}
	d := t.Decide(usage)
	if !d.Allowed {
		return Copy{}, d.Err(rawurl)
	}
	out := Copy{URL: c.URL, Version: c.Version, Fetched: c.Fetched, Current: c.Current, Status: c.Status, Header: decoded(c.Header), Limits: d.Limits(facts)}
	if out.Body, out.Cut, found = t.Copy(usage); !found { // N28
		return Copy{}, d.Refuse(acap.ByProhibition, "a part that may not be shown cannot be cut out").Err(rawurl)
	}
	if out.Cut {
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
	return out, p.shown(ctx, r.URL)
}

// decoded is the header for a body whose coding is undone.
func decoded(h http.Header) http.Header {
	if h.Get("Content-Encoding") == "" {
		return h
	}
	h = h.Clone()
	h.Del("Content-Encoding")
	h.Del("Content-Length")
	return h
}

func (p *Presenter) capture(r archive.Resource, w Which) (c archive.Capture, found bool, err error) {
	switch {
	case r.URL == "":
		return c, false, nil
	case w.Version != 0:
		return p.archive.CaptureVersion(r.URL, w.Version)
	case !w.At.IsZero():
		return p.archive.CaptureAt(r.URL, w.At)
	case r.Current == 0: // the last crawl obtained none
		list, err := p.archive.Captures(r.URL)
		if err != nil || len(list) == 0 {
			return c, false, err
		}
		return list[len(list)-1], true, nil
	}
	c, err = p.archive.Capture(r.Current)
	if errors.Is(err, archive.ErrNotHeld) {
		return c, false, nil
	}
	return c, err == nil, err
}

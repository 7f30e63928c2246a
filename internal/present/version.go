package present

import (
	"context"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Which selects a stored version: by number, the latest at a time, or by default the current one.
type Which struct {
	At      time.Time
	Version int
}

// form is a way to present a page. It has one usage for the current version of the page and another
// usage for earlier versions.
type form struct {
	current acap.Usage
	old     acap.Usage // "": the usage current decides for all versions
	// reports whether data stored instead of a copy can be presented; nil: no such data can be
	// presented
	instead func(context.Context, archive.Resource) (bool, error)
}

// version is the version of a page that a reader requested, with its current terms.
type version struct {
	*terms.Terms
	way      *terms.Reached // terms of the redirect chain to the page; nil if there is none
	asked    string         // the requested address
	usage    acap.Usage
	resource archive.Resource
	capture  archive.Capture // the stored copy; zero if no copy of that version is stored
	facts    acap.Facts
	sent     bool   // show the page as sent, not the document that its scripts made
	language string // the language as returned by languageOf
}

// version returns the version of rawurl that the parameter which selects. If the parameter is zero,
// the result may also be a page of which only an excerpt or thumbnail is stored. The error is
// ErrNotHeld if nothing is stored. It is an *acap.Refused in three cases: a take-down of the page
// or of a redirect to it is in force (P05), a policy cannot be read, or an address of the redirect
// chain prohibits the usage (X66).
func (p *Presenter) version(ctx context.Context, rawurl string, which Which, who Reader, f form) (*version, error) {
	v, err := p.find(ctx, rawurl, which, who, f)
	if err == nil && v.way != nil && !v.way.Open(v.usage) {
		return nil, v.refuse(v.way.Decide(v.usage))
	}
	return v, err
}

// find does the same as version, but does not check whether the addresses of the redirect chain
// permit the usage.
func (p *Presenter) find(ctx context.Context, rawurl string, which Which, who Reader, f form) (*version, error) {
	way, r, known, err := p.lookUp(ctx, rawurl, who)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, ErrNotHeld
	}
	c, pg, err := p.obtain(ctx, r, which, f)
	if err != nil {
		return nil, err
	}
	return p.underTerms(ctx, way, r, c, pg, who, f)
}

// lookUp returns the redirect chain from rawurl that the reader may know, and the record of the page at its end.
func (p *Presenter) lookUp(ctx context.Context, rawurl string, who Reader) (way []string, r archive.Resource,
	known bool, err error) {
	if way, err = p.library.Way(ctx, rawurl); err != nil {
		return nil, r, false, err
	}
	r, known, err = p.library.Page(ctx, way[len(way)-1])
	if err != nil || len(way) == 1 || !who.Public {
		return way, r, known, err
	}
	if l, err := p.link(ctx, way, r, who); err != nil || l.open || l.Reason == acap.Unavailable {
		return way, r, known, ctx.Err()
	}
	r, known, err = p.library.Page(ctx, rawurl)
	return way[:1], r, known, err
}

// underTerms returns the copy c of the page r, with today's terms. pg is the copy as a page, or nil. If c
// has an ID and pg is nil, the terms are those of the stored statements of c. way is the redirect chain to r. The
// errors are those of version, without a prohibition in the chain.
func (p *Presenter) underTerms(ctx context.Context, way []string, r archive.Resource, c archive.Capture, pg *page.Page,
	who Reader, f form) (*version, error) {
	v := &version{asked: way[0], usage: f.current, capture: c}
	old := c.ID != 0 && !c.Current
	if old {
		own := c.Own
		if pg != nil {
			own = pg.Own()
		}
		v.usage, r.Own = f.old, terms.Earlier(r.Own, own)
		r.Own.Then = &c.Own // the stored page does not contain its licence documents
	}
	v.resource, v.facts, v.language = r, p.facts(r, who, old), languageOf(r, pg)
	if old {
		v.facts.Fetched = c.Fetched
	}
	t, down, err := p.terms(ctx, r, pg, v.facts)
	if v.Terms = t; t != nil && who.Framed {
		t.In(acap.UserFrame)
	}
	for i := 0; err == nil && down == nil && i < len(way)-1; i++ {
		down = terms.TakenDown(ctx, p.policies, way[i])
	}
	if err == nil && down == nil && len(way) > 1 {
		v.way, err = terms.ReachHeld(ctx, way, r.Own, nil, terms.Kept{}, terms.Sources{Policies: p.policies}, v.facts)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, v.refuse(acap.Decision{Usage: v.usage, Reason: acap.Unavailable, Note: err.Error()})
	case down != nil:
		return nil, v.refuse(acap.Decision{Usage: v.usage, Reason: acap.ByProhibition, Because: down})
	}
	return v, nil
}

func (v *version) refuse(d acap.Decision) error { return d.Err(v.asked) }

// context returns the context in which the version is shown to the reader. whole reports that the
// whole page is shown. Only a whole HTML page is shown within the frame of its own site.
func (v *version) context(who Reader, whole bool) acap.Context {
	mime := v.resource.MIME
	if v.capture.ID != 0 {
		mime = v.capture.MIME
	}
	switch {
	case who.Framed:
		return acap.UserFrame
	case whole && (mime == "text/html" || mime == "application/xhtml+xml"):
		return acap.OriginalFrame
	}
	return acap.NoFrame
}

// obtain returns the copy to show, and the same copy as a page. Both results are zero if an excerpt
// or thumbnail is shown instead. The error is ErrNotHeld if nothing is stored.
func (p *Presenter) obtain(ctx context.Context, r archive.Resource, which Which, f form) (c archive.Capture,
	pg *page.Page, err error) {
	instead := f.old == ""
	if f.instead != nil && r.Current == 0 && which == (Which{}) {
		if instead, err = f.instead(ctx, r); err != nil {
			return c, nil, err
		}
	}
	if instead && r.Current == 0 {
		return c, nil, nil
	}
	c, pg, found, err := p.chooseVersion(ctx, r, which)
	switch {
	case err != nil:
		return c, nil, err
	case !found && !instead:
		return c, nil, ErrNotHeld
	case !found:
		return c, nil, nil
	}
	return c, pg, nil
}

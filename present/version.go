package present

import (
	"context"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Which names a version: the current one, the latest at a time, or by number.
type Which struct {
	At      time.Time
	Version int
}

// form is by which usages the current version and an earlier one are shown in the same way.
type form struct {
	current acap.Usage
	old     acap.Usage // "" where it has nothing to do with versions
	// whether something kept in the place of a copy can be shown so; nil: nothing can
	instead func(context.Context, archive.Resource) (bool, error)
}

// version is what a reader asked for, and the terms on which it may be shown now.
type version struct {
	*terms.Terms
	way      *terms.Reached // of the addresses that led to it too; nil where none did
	asked    string         // the address
	usage    acap.Usage
	resource archive.Resource
	capture  archive.Capture // zero where no copy is held of that version
	facts    acap.Facts
	language string // see languageOf
}

// version finds the version of rawurl that which names. Where it names none it may be one of which
// something is kept in the place of a copy. The error is ErrNotHeld where there is nothing, and an
// *acap.Refused where nothing of it may be shown: while a take-down of it, or of an address that
// leads to it, stands (P05), while a policy that would tell cannot be read, and where an address
// that led to it does not permit that it be shown so (X66).
func (p *Presenter) version(ctx context.Context, rawurl string, which Which, who Reader, f form) (*version, error) {
	v, err := p.find(ctx, rawurl, which, who, f)
	if err == nil && v.way != nil && !v.way.Open(v.usage) {
		return nil, v.refuse(v.way.Decide(v.usage))
	}
	return v, err
}

// find is version, whatever the addresses that led there permit.
func (p *Presenter) find(ctx context.Context, rawurl string, which Which, who Reader, f form) (*version, error) {
	way, err := p.library.Way(ctx, rawurl)
	if err != nil {
		return nil, err
	}
	r, known, err := p.library.Page(ctx, way[len(way)-1])
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
	v := &version{asked: rawurl, usage: f.current, capture: c}
	old := pg != nil && !c.Current
	if old {
		v.usage, r.Own = f.old, terms.Earlier(r.Own, pg.Own())
	}
	v.resource, v.facts, v.language = r, p.facts(r, who, old), languageOf(r, pg)
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

// context is what stands around the version where it is shown. Only a page that is whole brings
// with it what stands around it at home.
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

// obtain gives the copy to be shown, with its page; neither where something else stands for it. The
// error is ErrNotHeld where there is nothing.
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
	c, body, found, err := p.chooseVersion(ctx, r, which)
	switch {
	case err != nil:
		return c, nil, err
	case !found && !instead:
		return c, nil, ErrNotHeld
	case !found:
		return c, nil, nil
	}
	return c, c.Page(body), nil
}

package present

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
)

// Version is a stored version of a page that a reader may see. URL is the page, to which the requested
// address may redirect.
type Version struct {
	Entry
	Current  bool
	Decision acap.Decision // the permission to show the copy
	Limits   acap.Limits
	// Rewritable reports that the terms permit changing links in the copy. If false, the copy is only
	// shown as it was sent.
	Rewritable bool
	// Linked reports that the terms permit a link to the original page, as the page's address (X61).
	Linked bool
	// Location is the target of an archived redirect, as it was sent.
	Location string

	id uint64
}

// everyChange is the set of all modifications. A copy of which any modification is prohibited is shown
// as it was sent.
const everyChange = acap.FormatChange | acap.StyleChange | acap.AppearanceChange | acap.TranslationChange |
	acap.ContentChange | acap.AnnotationChange | acap.MetadataChange | acap.StructureChange

// Versions returns the copies of rawurl that may be shown to the reader, oldest first. They
// include archived redirects. If no copy of rawurl itself may be shown, Versions returns the
// copies of the page to which rawurl redirects. If the list is empty, the state says why.
func (p *Presenter) Versions(ctx context.Context, rawurl string, who Reader) ([]Version, State, error) {
	return p.versions(ctx, rawurl, who, p.listVersions)
}

// lister lists copies of the page at the end of way that may be shown to the reader, oldest first. refused is the
// refusal of a copy that may not be shown.
type lister func(ctx context.Context, way []string, who Reader) (list []Version, refused acap.Decision, err error)

// versions calls list for rawurl itself, and if the result is empty, for the page to which rawurl
// redirects.
func (p *Presenter) versions(ctx context.Context, rawurl string, who Reader, list lister) ([]Version, State, error) {
	way, _, _, err := p.lookUp(ctx, rawurl, who)
	if err != nil {
		return nil, State{}, err
	}
	found, refused, err := list(ctx, way[:1], who)
	if err == nil && len(found) == 0 && len(way) > 1 {
		var latest acap.Decision
		if found, latest, err = list(ctx, way, who); latest.Usage != "" {
			refused = latest
		}
	}
	if err != nil || len(found) > 0 {
		return found, State{Availability: Showable}, err
	}
	state, err := p.State(ctx, rawurl, refused, who)
	return nil, state, err
}

// listVersions returns the copies of the page at the end of way that may be shown. refused is the refusal
// of the latest copy that may not be shown.
func (p *Presenter) listVersions(ctx context.Context, way []string, who Reader) (list []Version, refused acap.Decision,
	err error) {
	at := way[len(way)-1]
	r, known, err := p.library.Page(ctx, at)
	if err != nil || !known {
		return nil, refused, err
	}
	if d, all, err := p.closed(ctx, way, r, who, copies); err != nil || all {
		return nil, d, err
	}
	captures, err := p.library.Versions(ctx, at)
	if err != nil {
		return nil, refused, err
	}
	for _, c := range captures {
		v, d, err := p.mayShow(ctx, way, r, c, who)
		switch {
		case errors.Is(err, archive.ErrNotHeld): // erased since the list was read
		case err != nil:
			return nil, refused, err
		case d.Allowed:
			list = append(list, describe(v, c, d))
		default:
			refused = d
		}
	}
	slices.SortStableFunc(list, func(a, b Version) int { return a.Fetched.Compare(b.Fetched) })
	return list, refused, nil
}

func describe(v *version, c archive.Capture, d acap.Decision) Version {
	out := Version{Entry: NewEntry(c, v.Decide(acap.Preserve), v.facts), Current: c.Current, Decision: d,
		Limits: d.Limits(v.facts), Rewritable: d.Changing(everyChange, "links are changed").Allowed,
		Linked: v.linked(), id: c.ID}
	if c.Redirect() {
		out.Location = c.Header.Get("Location")
	}
	return out
}

// linked reports whether the address of the page may be a link, without anything that must be shown with it or
// instead of it.
func (v *version) linked() bool {
	d := v.Decide(acap.PresentLink)
	return d.Allowed && len(d.MustUse())+len(d.MustInclude()) == 0 && (v.way == nil || v.way.Open(acap.PresentLink))
}

// mayShow decides whether the copy c of the page r at the end of way may be shown. It reads the body of c
// only if the decision depends on the elements of the page. The error is archive.ErrNotHeld if the copy
// no longer exists.
func (p *Presenter) mayShow(ctx context.Context, way []string, r archive.Resource, c archive.Capture, who Reader) (
	v *version, d acap.Decision, err error) {
	v, err = p.permitted(ctx, way, r, c, nil, who)
	if err == nil && !c.Redirect() && dependsOnBody(v) {
		var pg *page.Page
		if c, pg, err = p.page(ctx, c.ID); err == nil {
			v, err = p.permitted(ctx, way, r, c, pg, who)
		}
	}
	if refused, ok := errors.AsType[*acap.Refused](err); ok {
		return nil, refused.Decision, nil
	}
	if err != nil {
		return nil, d, err
	}
	d, _, _ = v.decideCopy(who)
	if d.Allowed && c.Redirect() { // no redirect is the current version, so the permission of a current copy counts too
		if current := v.Decide(acap.PresentCurrentCopy); !current.Allowed {
			d = current
		}
	}
	return v, d, nil
}

// permitted returns the copy c with its terms. The error is an *acap.Refused if the redirect chain does not
// permit showing it.
func (p *Presenter) permitted(ctx context.Context, way []string, r archive.Resource, c archive.Capture, pg *page.Page,
	who Reader) (*version, error) {
	v, err := p.underTerms(ctx, way, r, c, pg, who, copies)
	if err == nil && v.way != nil && !v.way.Open(v.usage) {
		return nil, v.refuse(v.way.Decide(v.usage))
	}
	return v, err
}

// dependsOnBody reports whether the decision to show v depends on the elements of the page: some
// of them may not be shown, or something must be shown with the page that is not a literal text
// and that only the page may contain.
func dependsOnBody(v *version) bool {
	d := v.Decide(v.usage)
	_, barred := v.FirstBarred(v.usage)
	quoted := slices.ContainsFunc(d.MustInclude(), func(r *acap.Required) bool { return !r.IsText })
	return d.Reason == acap.Unfulfillable || d.Allowed && (barred || quoted || len(d.MustUse()) > 0)
}

// Open returns a version that Versions returned for rawurl. It decides again; the errors are those of Copy.
func (p *Presenter) Open(ctx context.Context, rawurl string, chosen Version, who Reader) (Copy, error) {
	way, _, _, err := p.lookUp(ctx, rawurl, who)
	if err != nil {
		return Copy{}, err
	}
	if chosen.URL == rawurl {
		way = way[:1]
	}
	r, known, err := p.library.Page(ctx, chosen.URL)
	if err != nil {
		return Copy{}, err
	}
	c, pg, err := p.page(ctx, chosen.id)
	if errors.Is(err, archive.ErrNotHeld) || err == nil && (!known || way[len(way)-1] != c.URL) {
		return Copy{}, ErrNotHeld
	}
	if err != nil {
		return Copy{}, err
	}
	if c.Redirect() {
		return p.openRedirect(ctx, way, r, c, who)
	}
	v, err := p.permitted(ctx, way, r, c, pg, who)
	if err != nil {
		return Copy{}, err
	}
	return p.showCopy(ctx, v, who)
}

// openRedirect returns an archived redirect, without its body.
func (p *Presenter) openRedirect(ctx context.Context, way []string, r archive.Resource, c archive.Capture, who Reader) (
	Copy, error) {
	v, d, err := p.mayShow(ctx, way, r, c, who)
	if err == nil {
		err = d.Err(way[0])
	}
	if err != nil {
		return Copy{}, err
	}
	return Copy{URL: c.URL, Version: c.Version, Fetched: c.Fetched, Status: c.Status,
		Header: http.Header{"Location": {c.Header.Get("Location")}}, Limits: d.Limits(v.facts)}, nil
}

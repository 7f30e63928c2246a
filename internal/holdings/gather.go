package holdings

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// sweepPlan says what a sweep must do to one page.
type sweepPlan struct {
	plan
	known archive.Resource // the archive record of the page at the time of the plan
	// required resources that may not be used for the page now; the page is crawled again when they
	// may be used
	awaits []string

	next    *time.Time // the next time limit, see acap.Facts
	witness *witness   // the policies that were used; nil: they have no versions
}

// heldPage is what the archive holds of a page.
type heldPage struct {
	archive.Resource
	captures []archive.Capture
	pictured map[int]bool // as in evidence
	// the page is not in the archive yet, so that no body can be read
	unwritten bool
}

// gatherer collects the evidence about what is stored for one page.
type gatherer struct {
	*Holdings
	ctx      context.Context
	resource heldPage
	url      *url.URL
	origin   *acap.Policy
	sources  terms.Sources
	facts    acap.Facts
}

// factsNow returns the facts from the archive record r of a page, with the current time.
func (h *Holdings) factsNow(r archive.Resource) acap.Facts {
	f := r.Facts()
	f.Now = h.o.Now().UTC()
	return f
}

// planSweep decides what to do with everything stored for a page. It reads a body only if elements
// of the page have their own rules, or if the index entry must be made again.
func (h *Holdings) planSweep(ctx context.Context, r archive.Resource, o SweepOptions) (d sweepPlan, err error) {
	h.checked.Add(1)
	held := heldPage{Resource: r}
	if held.captures, err = h.archive.Captures(r.URL); err == nil {
		held.pictured, err = h.archive.Pictured(r.URL)
	}
	if err != nil {
		return sweepPlan{known: r}, err
	}
	return h.planHeld(ctx, held, o)
}

// planHeld decides what to do with a page, as planSweep does.
func (h *Holdings) planHeld(ctx context.Context, held heldPage, o SweepOptions) (sweepPlan, error) {
	d := sweepPlan{known: held.Resource, next: &time.Time{}}
	u, err := url.Parse(held.URL)
	if err != nil {
		return d, err
	}
	if h.o.Version != nil {
		d.witness = &witness{Policies: o.Policies, version: h.o.Version, used: map[string]archive.PolicyVersion{}}
		o.Policies = d.witness
	}
	j := gatherer{Holdings: h, ctx: ctx, resource: held, url: u, sources: terms.Sources{Policies: o.Policies},
		facts: held.Facts()}
	j.facts.Now, j.facts.Next = o.AsOf, d.next
	e, err := j.gatherHeld()
	if err != nil {
		return d, err
	}
	for {
		d.plan = decide(e)
		if held.unwritten && d.need != nothing && d.need != needRest {
			return d, nil
		}
		switch d.need {
		case nothing:
			j.recordAwaited(&d)
			return d, nil
		case needEntry:
			err = j.remakeEntry(e, d.bare)
		case needPicture:
			err = j.savePicture(e)
		case needRest:
			j.checkRest(e, &d.plan)
		}
		if err != nil {
			return d, err
		}
	}
}

// gatherHeld collects what is stored for the page, and what the policy says about it.
func (j *gatherer) gatherHeld() (e *evidence, err error) {
	r := j.resource
	e = &evidence{url: r.URL, facts: j.facts, noPreserve: j.o.NoPreserve, record: described(r.Resource),
		indexed: r.Indexed, current: r.Current,
		recorded: !r.FirstIndexed.IsZero() || !r.FirstPreserved.IsZero()}
	captures := r.captures
	e.pictured = r.pictured
	for _, c := range captures {
		e.copies = append(e.copies, copyEvidence{Capture: c})
	}
	if len(captures) == 0 && !r.Indexed && len(e.pictured) == 0 && !e.record {
		return e, nil
	}
	if j.origin, err = j.sources.Policies.Policy(j.ctx, j.url); err != nil {
		e.unread = true
		return e, j.ctx.Err()
	}
	if e.takenDown = terms.TakeDown(j.origin, j.url); e.takenDown != nil {
		return e, nil
	}
	if e.barred, err = j.barredSource(); err != nil || e.barred != nil {
		return e, err
	}
	for i, c := range captures {
		if e.copies[i].permit, err = j.capture(c); err != nil {
			return e, err
		}
	}
	e.kept = r.Kept
	if r.Indexed {
		e.entry = j.terms(nil).Keeping(e.kept).EntryState()
	}
	return e, nil
}

// barredSource returns why something may not be used from which scripts made the page, or nil.
func (j *gatherer) barredSource() (*ground, error) {
	// P1 2.6 (P04): what scripts made of a resource that is taken down cannot be separated from the page
	source, down := firstTakenDown(j.ctx, j.sources.Policies, j.resource.Kept.Of[terms.Scripts])
	if down != nil {
		g := byTakeDown(down).of(source)
		return &g, nil
	}
	for _, source := range j.resource.Kept.Of[terms.Data] {
		if g, err := j.barredData(source); err != nil || g != nil {
			return g, err
		}
	}
	return nil, nil
}

// barredData returns why the data at the address source, which scripts used for the page, may not be used: by
// today's policy and by what the data said at the last crawl. It returns nil if the data may be used, or if the
// policy cannot be read (X63).
func (j *gatherer) barredData(source string) (*ground, error) {
	u, err := url.Parse(source)
	if err != nil {
		return nil, nil
	}
	origin, err := j.sources.Policies.Policy(j.ctx, u)
	if err != nil {
		return nil, j.ctx.Err()
	}
	known, _, err := j.archive.Resource(source)
	if err != nil {
		return nil, err
	}
	facts := known.Facts()
	facts.Now, facts.Next = j.facts.Now, j.facts.Next
	d := terms.Held(j.ctx, origin, u, known.Own, nil, j.sources, facts).RefusedText()
	if d == nil || d.Reason == acap.Unavailable {
		return nil, nil
	}
	g := grounds(*d).of(source)
	return &g, nil
}

// terms returns the terms of the stored page; pg is its copy, or nil.
func (j *gatherer) terms(pg *page.Page) *terms.Terms {
	return terms.Held(j.ctx, j.origin, j.url, j.resource.Own, pg, j.sources, j.facts)
}

// recordAwaited records in d those required resources that may not be used for the page now (P05).
func (j *gatherer) recordAwaited(d *sweepPlan) {
	if len(d.swept) == 0 || d.barred || d.swept[0].What == SweptRecord {
		return
	}
	for _, names := range j.resource.Kept.Requires() {
		if slices.ContainsFunc(names, func(name string) bool {
			return terms.CheckUsable(j.ctx, j.sources.Policies,
				name) != nil
		}) {
			d.awaits = append(d.awaits, names[0])
		}
	}
}

// described reports whether r, the record of a page, contains more than dates and counts.
func described(r archive.Resource) bool {
	return !r.Kept.Empty() || r.Language+r.MIME+r.ETag+r.LastModified+r.Own.URL != ""
}

// capture decides whether one stored copy may be kept. For time limits, an older version is treated
// as crawled again (H05). Prohibitions in an older version on its elements still apply.
func (j *gatherer) capture(c archive.Capture) (acap.Decision, error) {
	return j.permit(c, j.captureTerms(c))
}

// permit returns the decision of capture. t are the terms of c, without its body.
func (j *gatherer) permit(c archive.Capture, t *terms.Terms) (acap.Decision, error) {
	permit := t.Preserving(j.o.NoArchive)
	if !permit.Allowed {
		return permit, nil
	}
	part, barred := t.FirstBarred(acap.Preserve)
	if !barred {
		return permit, nil
	}
	whole := false
	err := j.read(c, func(pg *page.Page) {
		facts, own := j.stated(c)
		held := terms.Held(j.ctx, j.origin, j.url, own, pg, j.sources, facts).HoldingCopy(j.o.NoArchive)
		whole = held.Preserve.Allowed && !held.Cut
	})
	if err != nil || whole { // the prohibited part was already cut out when the copy was stored
		return permit, err
	}
	// P2 2.2.5 (N28): a prohibited part that cannot be cut out makes the whole page prohibited
	return part.Refuse(acap.ByProhibition, "a part of the copy"), nil
}

// stated returns the facts for decisions on a capture, and the statements of its page.
func (j *gatherer) stated(c archive.Capture) (acap.Facts, acap.Own) {
	facts, own := j.facts, j.resource.Own
	if facts.Recrawled = superseded(c, j.resource.Resource); !c.Current {
		facts.Fetched = c.Fetched
		if own = c.Own; facts.Recrawled {
			own = terms.Earlier(j.resource.Own, c.Own)
		}
	}
	return facts, own
}

// captureTerms returns the terms of a capture, without its body.
func (j *gatherer) captureTerms(c archive.Capture) *terms.Terms {
	facts, own := j.stated(c)
	return terms.Held(j.ctx, j.origin, j.url, own, nil, j.sources, facts)
}

// errUnwritten means that a page cannot be decided before it is in the archive.
var errUnwritten = errors.New("its copy is not stored yet")

// read waits for memory and calls fn with the page of a stored copy.
func (j *gatherer) read(c archive.Capture, fn func(*page.Page)) error {
	if j.resource.unwritten {
		return errUnwritten
	}
	release, err := j.o.Budget.Room(j.ctx, page.WeightOf(c.Bytes+c.RenderedBytes, c.MIME))
	if err != nil {
		return err
	}
	defer release()
	body, rendered, err := j.archive.Documents(c.ID)
	if err != nil {
		return err
	}
	fn(c.Page(body, rendered))
	return nil
}

// remakeEntry makes the index entry again from the current copy, and the data stored with the
// entry. bare means that the copy will be erased. It makes no entry if the page may not be indexed.
// It also makes none if the entry would need another resource, because no other resource can be
// fetched here.
func (j *gatherer) remakeEntry(e *evidence, bare bool) error {
	c, err := j.archive.Capture(j.resource.Current)
	if err != nil {
		return err
	}
	made, kept := remadeEntry{part: j.terms(nil).Keeping(e.kept).BarredPart(acap.Index)}, e.kept
	err = j.read(c, func(pg *page.Page) {
		t := j.terms(pg).Keeping(kept)
		content, ok := t.Text()
		if made.unread = t.Unread(); !ok {
			return
		}
		if bare {
			kept = t.Keep(false, content)
		}
		made.kept = &kept
		if made.other = content.Other; made.other || content.Empty() {
			return
		}
		t.Entry(&kept, content)
		made.document, _ = document(pg, content, j.resource.Language, c.Fetched, !bare)
	})
	e.remade = &made
	return err
}

// savePicture finds the thumbnail of the current copy, which will be erased. If no thumbnail is
// stored, savePicture makes one from the copy if possible. decidePictures checks later whether the
// thumbnail may stay.
func (j *gatherer) savePicture(e *evidence) error {
	at := slices.IndexFunc(e.copies, func(c copyEvidence) bool { return c.ID == e.current })
	c := e.copies[at].Capture
	saved := savedPicture{}
	p, held, err := j.archive.Picture(c.URL, c.Version)
	if held {
		saved.Picture = &p
	} else if err == nil {
		err = j.read(c, func(pg *page.Page) {
			saved.Picture, _ = j.picture(j.terms(pg).Keeping(e.kept), false)
		})
	}
	e.saved = &saved
	return err
}

// checkRest finds out which data stored to present the page may stay, given the changes that p
// makes.
func (j *gatherer) checkRest(e *evidence, p *plan) {
	rest := restEvidence{fits: p.stored(e)}
	kept := rest.fits
	for _, source := range kept.Sources() {
		if down := terms.TakenDown(j.ctx, j.sources.Policies, source); down != nil {
			w := withdrawal{line: down}
			rest.fits, _, w.entry = rest.fits.Without(source)
			rest.withdrawn = append(rest.withdrawn, w)
		}
	}
	rest.fits, rest.because = j.terms(nil).Fit(rest.fits)
	if len(rest.withdrawn)+len(rest.because) > 0 {
		kept = rest.fits
	}
	pictured := p.pictured(e)
	for _, version := range slices.Sorted(maps.Keys(pictured)) {
		if p.drops(version) {
			continue
		}
		s := j.checkPicture(e, kept, version, pictured[version])
		if !s.Fits && s.Other {
			kept = kept.WithoutPicture()
		}
		rest.pictures = append(rest.pictures, s)
	}
	e.rest = &rest
}

// checkPicture checks whether the thumbnail of a version may stay.
func (j *gatherer) checkPicture(e *evidence, kept terms.Kept, version int, other bool) terms.PictureState {
	s := terms.PictureState{Version: version, Other: other}
	usage, facts := acap.PresentThumbnail, j.facts
	if slices.ContainsFunc(e.copies, func(c copyEvidence) bool { return c.Version == version && !c.Current }) {
		usage, facts.Recrawled = acap.PresentOldThumbnail, true
	}
	t := terms.Held(j.ctx, j.origin, j.url, j.resource.Own, nil, j.sources, facts)
	s.Permit, s.Fits = t.FitsPicture(usage, kept, other)
	return s
}

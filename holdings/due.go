package holdings

import (
	"context"
	"net/url"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// due is what a sweep has to do to one page.
type due struct {
	known    archive.Resource // as it was judged
	held     bool             // there was something to judge
	unjudged bool             // no policy could be read that would say what may be held
	swept    []Swept          // what goes or is made anew
	whole    bool             // nothing is left: what is known of the page goes too
	forget   bool             // the index entry goes
	document *index.Document  // the index entry made anew; nil: it stays as it is, or goes
	kept     *terms.Kept      // what is kept beside it from now on; nil: as before
	pictured map[int]bool     // versions of which a thumbnail is held, and whether it was made of another resource
	barred   bool             // the page itself is taken down
	awaits   []string         // what it was made of, and may not be any more: it comes back with that
	saved    *archive.Picture // the thumbnail of a copy that goes, which may stay in its place; nil: none is to be put there
}

// judging is one page under judgement.
type judging struct {
	*Holdings
	ctx      context.Context
	resource archive.Resource
	url      *url.URL
	origin   *acap.Policy
	sources  terms.Sources
	facts    acap.Facts
}

// due judges all that is held of a page. Bodies are read only where elements have rules of their own, or where the index entry must be
// made anew.
func (h *Holdings) due(ctx context.Context, r archive.Resource, o SweepOptions) (due, error) {
	d := due{known: r}
	captures, err := h.archive.Captures(r.URL)
	if err != nil {
		return d, err
	}
	if d.pictured, err = h.archive.Pictured(r.URL); err != nil {
		return d, err
	}
	d.held = len(captures) > 0 || r.Indexed || len(d.pictured) > 0 || described(r)
	if !d.held {
		return d, nil
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return d, err
	}
	j := judging{Holdings: h, ctx: ctx, resource: r, url: u, sources: terms.Sources{Policies: o.Policies},
		facts: acap.Facts{Now: o.AsOf, FirstCrawled: r.FirstCrawled, FirstIndexed: r.FirstIndexed, FirstPreserved: r.FirstPreserved,
			FirstPresented: r.FirstPresented}}
	if j.origin, err = o.Policies.Policy(ctx, u); err != nil {
		d.unjudged = true
		return d, ctx.Err()
	}
	if down := terms.TakeDown(j.origin, u); down != nil {
		d.all(captures, byTakeDown(down))
		d.barred = true
		return d, nil
	}
	if len(captures) == 0 && !r.Indexed && len(d.pictured) == 0 {
		if !r.FirstIndexed.IsZero() || !r.FirstPreserved.IsZero() {
			d.all(nil, ground{reason: archive.ReasonNothingLeft, why: "nothing else is left of the page"})
		}
		return d, nil
	}
	if err := j.copies(&d, captures); err != nil {
		return d, err
	}
	if err := j.save(&d, captures); err != nil {
		return d, err
	}
	gone, redirects := len(d.swept), redirectsLeft(captures, d.swept)
	if r.Indexed {
		if err := j.entry(&d); err != nil {
			return d, err
		}
	}
	bare, left := gone == len(captures)-redirects && (!r.Indexed || d.forget), redirects > 0
	if _, instead := d.pictured[0]; instead && d.kept != nil { // which was made anew
		kept := d.kept.WithPicture(terms.Recall(r.Title, r.Excerpt))
		d.kept = &kept
	}
	if !bare || len(d.pictured) > 0 {
		j.beside(&d)
		left = j.pictures(&d, captures) || left
	}
	if bare && left {
		d.strip()
	}
	d.whole = len(d.swept) > 0 && bare && !left
	j.lost(&d)
	return d, nil
}

// lost notes of which required resources the page may not be made now (P05).
func (j *judging) lost(d *due) {
	if len(d.swept) == 0 {
		return
	}
	for _, names := range terms.Recall(j.resource.Title, j.resource.Excerpt).Requires() {
		if slices.ContainsFunc(names, func(name string) bool { return terms.Standing(j.ctx, j.sources.Policies, name) != nil }) {
			d.awaits = append(d.awaits, names[0])
		}
	}
}

// keeps is what is kept beside copies and index entry, as far as it has been judged.
func (d *due) keeps() terms.Kept {
	if d.kept != nil {
		return *d.kept
	}
	return terms.Recall(d.known.Title, d.known.Excerpt)
}

// strip takes away what is kept to be shown beside a copy or an index entry: a thumbnail alone is left.
func (d *due) strip() {
	kept := d.keeps()
	if kept.Title == "" && len(kept.Texts) == 0 {
		return
	}
	kept.Title, kept.Texts = "", nil
	d.kept = &kept
	d.swept = append(d.swept, Swept{URL: d.known.URL, What: SweptExcerpt, Why: "neither a copy nor an index entry is left"})
}

// described reports whether anything is known of a page but dates and counts.
func described(r archive.Resource) bool {
	return r.Title+r.Excerpt+r.Language+r.MIME+r.ETag+r.LastModified+r.Own.URL != ""
}

// all lets everything of a page go for one reason.
func (d *due) all(captures []archive.Capture, g ground) {
	r := d.known
	for _, c := range captures {
		d.swept = append(d.swept, Swept{URL: r.URL, What: SweptCopy, Version: c.Version, Reason: g.reason, Why: g.why,
			Line: g.line, capture: c.ID})
	}
	if r.Indexed {
		d.swept = append(d.swept, Swept{URL: r.URL, What: SweptEntry, Reason: g.reason, Why: g.why, Line: g.line})
	}
	if len(d.swept) == 0 && len(d.pictured) > 0 {
		d.swept = append(d.swept, Swept{URL: r.URL, What: SweptPicture, Reason: g.reason, Why: g.why, Line: g.line})
	}
	if len(d.swept) == 0 && described(r) {
		d.swept = append(d.swept, Swept{URL: r.URL, What: SweptRecord, Reason: g.reason, Why: g.why, Line: g.line})
	}
	for i := range d.swept {
		d.swept[i].TakenDown = g.reason == archive.ReasonTakenDown
	}
	d.whole, d.forget = true, r.Indexed
}

// copies adds the copies that may no longer be kept.
func (j *judging) copies(d *due, captures []archive.Capture) error {
	for _, c := range captures {
		permit, err := j.capture(c)
		switch {
		case err != nil:
			return err
		case permit.Allowed:
		case permit.Reason == acap.Unavailable:
			d.unjudged = true
		default:
			g := grounds(permit)
			d.swept = append(d.swept, Swept{URL: c.URL, What: SweptCopy, Version: c.Version, Reason: g.reason,
				Why: g.why, Line: g.line, capture: c.ID})
		}
	}
	return nil
}

// capture decides about one copy. A version that a later crawl has replaced has been re-crawled (H05), and what it prohibits of its own
// elements still counts.
func (j *judging) capture(c archive.Capture) (acap.Decision, error) {
	facts, own := j.facts, j.resource.Own
	if facts.Recrawled = superseded(c, j.resource); !c.Current {
		old, err := j.said(c)
		if err != nil {
			return acap.Decision{}, err
		}
		if facts.Recrawled {
			old = terms.Earlier(own, old)
		}
		own = old
	}
	t := terms.Held(j.ctx, j.origin, j.url, own, nil, j.sources, facts)
	permit := j.keeping(t)
	if !permit.Allowed {
		return permit, nil
	}
	part, barred := t.Barred(acap.Preserve)
	if !barred {
		return permit, nil
	}
	whole := false
	err := j.read(c, func(pg *page.Page) {
		_, cut, ok := terms.Held(j.ctx, j.origin, j.url, own, pg, j.sources, facts).Copy(acap.Preserve)
		whole = ok && !cut
	})
	if err != nil || whole { // it was cut before it was kept
		return permit, err
	}
	return part.Refuse(acap.ByProhibition, "a part of the copy"), nil // N28
}

// read calls fn with the page that a copy holds, when there is room for it.
func (j *judging) read(c archive.Capture, fn func(*page.Page)) error {
	release, err := j.o.Budget.Room(j.ctx, page.WeightOf(c.Bytes, c.MIME))
	if err != nil {
		return err
	}
	defer release()
	body, err := j.archive.Body(c.ID)
	if err != nil {
		return err
	}
	fn(c.Page(body))
	return nil
}

// said gives what a copy says of itself; one that was kept before that was noted is read.
func (j *judging) said(c archive.Capture) (own acap.Own, err error) {
	if c.Own.URL != "" || c.MIME != "text/html" && c.MIME != "application/xhtml+xml" {
		return c.Own, nil
	}
	err = j.read(c, func(pg *page.Page) { own = pg.Own() })
	return own, err
}

// entry judges the index entry. What was made otherwise than it may be now is made anew from the copy, and so is an entry whose copy
// goes: its words must not keep their order.
func (j *judging) entry(d *due) error {
	r := j.resource
	kept := terms.Recall(r.Title, r.Excerpt)
	t := terms.Held(j.ctx, j.origin, j.url, r.Own, nil, j.sources, j.facts).Keeping(kept)
	permit := t.Decide(acap.Index)
	if permit.Reason == acap.Unavailable {
		d.unjudged = true
		return nil
	}
	bare := false // its copy goes
	for _, s := range d.swept {
		bare = bare || s.capture == r.Current && r.Current != 0
	}
	findable := t.Findable()
	if t.Stands() && !bare {
		return nil
	}
	other, unread := false, t.Unread()
	if r.Current != 0 && (bare || !unread) {
		var err error
		if other, unread, err = j.renew(d, kept, bare); err != nil {
			return err
		}
	}
	switch {
	case d.document == nil && unread && !bare: // what must be shown with it is of an origin whose policy cannot be read
		d.unjudged, d.kept = true, nil
	case d.document != nil:
		g := grounds(permit)
		if bare {
			g = ground{why: "its copy goes"}
		}
		d.swept = append(d.swept, Swept{URL: r.URL, What: SweptEntry, Anew: true, Reason: g.reason, Why: g.why,
			Line: g.line})
	case findable && (!bare || other):
	default:
		if part, barred := t.Barred(acap.Index); permit.Allowed && barred {
			permit = part
		}
		if permit.Allowed {
			permit = permit.Refuse(acap.ByProhibition, "it cannot be made again without its copy")
		}
		g := grounds(permit)
		d.forget, d.kept = true, nil
		d.swept = append(d.swept, Swept{URL: r.URL, What: SweptEntry, Reason: g.reason, Why: g.why, Line: g.line})
	}
	return nil
}

// renew makes the index entry of the current copy anew, and what is kept beside it; bare says that the copy goes. It makes none where
// the page may not be indexed, and none of another resource (other), which is not at hand. Unread says that the
// policy of that could not be read.
func (j *judging) renew(d *due, kept terms.Kept, bare bool) (other, unread bool, err error) {
	c, err := j.archive.Capture(j.resource.Current)
	if err != nil {
		return false, false, err
	}
	err = j.read(c, func(pg *page.Page) {
		t := terms.Held(j.ctx, j.origin, j.url, j.resource.Own, pg, j.sources, j.facts).Keeping(kept)
		content, ok := t.Text()
		if unread = t.Unread(); !ok {
			return
		}
		if bare {
			kept = t.Keep(false, content)
		}
		d.kept = &kept
		if other = content.Other; other || content.Empty() {
			return
		}
		t.Entry(&kept, content)
		d.document, _ = document(pg, content, j.resource.Language, c.Fetched, !bare)
	})
	return other, unread, err
}

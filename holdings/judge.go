package holdings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/coding"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/memory"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// judged is what is to become of a page.
type judged struct {
	Receipt
	plan
	deposit    archive.Deposit
	document   *index.Document   // nil: nothing of it may be found
	wait       bool              // the document cannot be made again from what the archive keeps
	renews     uint64            // the capture that a 304 confirms; 0: the deposit is received
	before     string            // digest of what was stored before, of which something was carried over
	depicted   bool              // so was the thumbnail
	withoutOld terms.Kept        // what is stored to present the page without that
	parts      []terms.Part      // other resources that were asked for
	emptied    bool              // something was held of the page once, and nothing was stored of it now
	from       *archive.Resource // what was known when it was judged, from the copy held; nil: it was received
}

// assess judges what was received of a page, of which known is known, under the policy of its
// origin. After a 304 that is the copy held.
func (h *Holdings) assess(ctx context.Context, origin *acap.Policy, pg *page.Page,
	known archive.Resource) (g judged, err error) {
	u, was := pg.URL(), copied{}
	confirmed := pg.Last().Status == http.StatusNotModified
	if confirmed {
		var ok bool
		if was, ok = h.current(u.String()); ok { // the room is given back when the lease of the visit ends
			err = memory.Of(ctx).Hold(ctx, page.WeightOf(was.Bytes, was.MIME))
		}
		if err != nil || !ok || !h.complete(&was) || !confirms(pg.Last().Header, was.Header) {
			g.Absent = true
			return g, err
		}
		pg = was.page(pg.Hops())
	}
	facts := h.factsNow(known)
	g = h.judge(terms.Of(ctx, origin, u, pg, h.sources, facts), pg, terms.TakeDown(origin, u), known, true)
	g.Cuts = cuts(pg, g.Cuts)
	g.deposit.Cuts = g.Cuts
	if !confirmed {
		g.Unchanged, g.Since, err = h.same(known, &g)
	} else if !g.renew(was) {
		g = judged{Receipt: Receipt{Absent: true}}
	}
	return g, err
}

// cuts lists what is missing of a page, and of its index entry.
func cuts(pg *page.Page, entry []string) (list []string) {
	if last := pg.Last(); last.Truncated {
		list = append(list, fmt.Sprintf("only the first %d bytes of its body were received", len(last.Body)))
	}
	return slices.Concat(list, pg.Cuts(), entry)
}

// same reports whether the copy of g is the one that is held already, and since when that is held.
func (h *Holdings) same(known archive.Resource, g *judged) (same bool, since time.Time, err error) {
	if !g.Stored || known.Current == 0 {
		return false, time.Time{}, nil
	}
	c, err := h.archive.Capture(known.Current)
	if errors.Is(err, archive.ErrNotHeld) { // it went meanwhile
		return false, time.Time{}, nil
	}
	return err == nil && c.Digest == archive.Digest(g.deposit.Body), c.Fetched, err
}

// drawnAlready reports whether the drawing held, of which old tells, is of what g would keep.
func (h *Holdings) drawnAlready(known archive.Resource, old terms.Kept, g *judged) bool {
	if old.Drawing == nil || g.deposit.Cut { // what was cut out may be in it
		return false
	}
	same, _, err := h.same(known, g)
	return err == nil && same
}

// judge returns what is to become of a page, of which known is known, by its terms; down is the
// take-down request in force for it, or nil. A page that was not received just now, but is judged
// from its copy, is not drawn.
func (h *Holdings) judge(t *terms.Terms, pg *page.Page, down *acap.Field, known archive.Resource,
	received bool) (g judged) {
	old := known.Kept
	o := terms.HoldingOptions{NoArchive: h.o.NoArchive, NoIndex: h.o.NoIndex}
	if known.Indexed {
		o.Entry = &old
	}
	holding := t.Holding(o)
	g.plan = decide(&evidence{facts: t.Facts(), noPreserve: h.o.NoPreserve, noIndex: h.o.NoIndex, takenDown: down,
		received: &holding,
		indexed:  known.Indexed})
	g.report(&holding, down)
	g.Decide = t.Decide
	if h.o.Requisites {
		g.Requisites = t.Requisites()
	}
	g.deposit = archive.Deposit{Resource: archive.Resource{URL: pg.URL().String(), Status: pg.Last().Status},
		Fetched: pg.Last().Start.UTC()}
	if pg.Last().Start.IsZero() {
		g.deposit.Fetched = t.Facts().Now
	}
	if down != nil {
		return g
	}
	g.describe(t, pg)
	g.deposit.Hops = hopsOf(t, pg)
	g.deposit.Policy = h.version(pg.URL())
	g.deposit.Index, g.deposit.Stays = g.Indexed, g.entry.action == toKeep
	g.deposit.Replace = g.earlier.recrawled
	if g.Stored {
		g.deposit.Body, g.deposit.Cut = holding.Body, holding.Cut
		if last := pg.Last(); !holding.Cut {
			g.deposit.Wire, g.deposit.Undone, g.deposit.Encoding = last.Wire, last.Undone,
				coding.Join(coding.Of(last.Header))
		}
	}
	note := h.makePicture(&g, t, known, old, received)
	g.parts = t.Parts()
	if !g.Stored && !g.Indexed && g.deposit.Picture == nil {
		return g
	}
	g.keepBeside(t, holding.Content, known, old, note)
	g.parts = t.Parts()
	if g.entry.action == toStore {
		g.enter(pg, holding)
	}
	return g
}

// report fills the receipt with what was decided of a page.
func (g *judged) report(holding *terms.Holding, down *acap.Field) {
	g.Links, g.TakenDown = holding.Links, down
	g.Discarded = !holding.Crawl.Allowed
	g.Stored, g.Indexed = g.copy.held(), g.plan.entry.held()
	g.Textless = holding.Textual && holding.Content.Empty()
	if !holding.Open {
		g.Refused = append(g.Refused, holding.Follow)
	}
	if !holding.Preserve.Allowed {
		g.Refused = append(g.Refused, holding.Preserve)
	}
	if holding.Index.Usage != "" {
		g.Refused = append(g.Refused, holding.Index)
	}
}

// makePicture gives the deposit the thumbnail that has to be held because no copy gives it: one
// made now, else the one held if it may stay, else a drawing of the page. It returns what notes of
// what the thumbnail was made, or nil.
func (h *Holdings) makePicture(g *judged, t *terms.Terms, known archive.Resource, old terms.Kept,
	received bool) (note func(*terms.Kept)) {
	var of terms.Picture
	if g.deposit.Picture, of = h.picture(t, g.Stored); g.deposit.Picture != nil {
		if !g.deposit.Picture.Other {
			return nil
		}
		return func(k *terms.Kept) { k.SetPicture(of.From, of.Of) }
	}
	if !h.o.NoPreserve && t.KeepsPicture(old, !received || h.drawnAlready(known, old, g)) {
		g.deposit.Picture = h.depicted(known)
		g.depicted = g.deposit.Picture != nil
	}
	if g.depicted || !received {
		return nil
	}
	var scene *terms.Scene
	if g.deposit.Picture, scene, g.Undrawn = h.draw(t); scene == nil {
		return nil
	}
	return scene.Note
}

// keepBeside notes in the deposit what is stored to present the page, with what was stored of
// resources that cannot be had now. note, which may be nil, adds of what the thumbnail was made.
func (g *judged) keepBeside(t *terms.Terms, content terms.Content, known archive.Resource, old terms.Kept,
	note func(*terms.Kept)) {
	kept := t.Keep(g.Stored, content) // a copy that nobody may search for may be shown all the same (X09)
	if note != nil {
		note(&kept)
	}
	alone := !g.Stored && !g.Indexed
	if alone {
		kept.Title, kept.Texts = "", nil
	}
	g.withoutOld = kept.Clone()
	if g.depicted {
		kept = kept.WithPicture(old)
	}
	if !alone && t.Carry(&kept, old) || g.depicted {
		g.before = known.Kept.Digest()
	}
	g.deposit.Resource.Kept = kept
}

// enter makes the index entry of a page.
func (g *judged) enter(pg *page.Page, holding terms.Holding) {
	content := holding.Content
	whole := g.Stored && !holding.Cut && !content.Other
	g.wait = !whole
	var cut string
	g.document, cut = document(pg, content, cmp.Or(content.Language, pg.Language()), g.deposit.Fetched, whole)
	if cut != "" {
		g.Cuts = append(g.Cuts, cut)
	}
}

// renew lets g confirm the copy that a 304 spoke of, where that may stay. It reports whether g can
// stand: not where the copy would have to be cut now.
func (g *judged) renew(c copied) bool {
	g.Unchanged, g.Since = true, c.Fetched
	if !g.Stored {
		return true
	}
	if archive.Digest(g.deposit.Body) != c.Digest {
		return false
	}
	g.renews = c.ID
	if g.document != nil {
		g.document.Fetched = c.Fetched // as it is made again from the copy
	}
	return true
}

// stands reports whether the index entry of an unchanged page is what g would make of it: it is of
// the same source, and no part of the page has rules of its own.
func (g *judged) stands(known archive.Resource) bool {
	return known.Indexed && !g.wait && known.Kept.Digest() == g.deposit.Resource.Kept.Digest() &&
		len(g.deposit.Resource.Own.Marks) == 0
}

// version is that of the policy in force for u; zero where it is unknown.
func (h *Holdings) version(u *url.URL) archive.PolicyVersion {
	if h.o.Version == nil {
		return archive.PolicyVersion{}
	}
	return h.o.Version(u)
}

// describe adds what is known of a page and how it was obtained.
func (g *judged) describe(t *terms.Terms, pg *page.Page) {
	d, last := &g.deposit, pg.Last()
	d.Truncated, d.Address, d.Header, d.Sent, d.Head = last.Truncated, last.Address, last.Header, last.Sent, last.Head
	d.Resource = archive.Resource{URL: d.Resource.URL, Status: last.Status, Own: pg.Own(), MIME: pg.MIME(),
		ETag: last.Header.Get("ETag"), LastModified: last.Header.Get("Last-Modified")}
	if g.Stored || g.Indexed { // to guess a language costs as much as to read the page
		d.Resource.Language = pg.Language()
	}
	if g.Stored {
		d.Decided = decided(t, pg.URL())
	}
}

// hopsOf returns what is stored with a page about the redirects to it; nothing about an address
// that is taken down (P04).
func hopsOf(t *terms.Terms, pg *page.Page) (kept []archive.Via) {
	for _, hop := range pg.Hops()[:len(pg.Hops())-1] {
		if !t.TakenDownAt(hop.URL) {
			kept = append(kept, archive.Via{URL: hop.URL, Method: hop.Method, Proto: hop.Proto, Status: hop.Status,
				Start: hop.Start, Took: hop.Took})
		}
	}
	return kept
}

// decided names for each usage the field that decides about u.
func decided(t *terms.Terms, u *url.URL) map[acap.Usage]string {
	lines, r := map[acap.Usage]string{}, acap.NewResource(u)
	for _, usage := range acap.Usages() {
		if why := t.Policy().Decide(usage, r); why.Because != nil {
			lines[usage] = why.Because.String()
		}
	}
	return lines
}

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
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/coding"
	"github.com/acapcrawl/acapcrawl/internal/memory"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// assessment is the decision about a page, with everything that will be written to archive and
// index.
type assessment struct {
	Receipt
	plan
	deposit    archive.Deposit
	document   *index.Document // the new index entry; nil: the page may not be searchable
	wait       bool            // the document cannot be made again from the archive
	renews     uint64          // ID of the capture that a 304 response confirms; 0: a new capture is stored
	before     string          // digest of the data stored earlier, if some of that data was copied; otherwise ""
	depicted   bool            // the thumbnail was copied from the data stored earlier
	withoutOld terms.Kept      // the data to present the page, without the data that was copied
	parts      []terms.Part    // other resources that were requested for the decision
	emptied    bool            // nothing of the page is stored any more, although something was stored before
	// if the page is checked again from its copy, its archive record; nil: the page was received
	from *archive.Resource

	unknown bool // the archive knew nothing about the page
}

// assessReceived decides about a received page. origin is the policy of the page's origin, and
// known is the archive record of the page. After a 304 response it decides about the stored copy.
func (h *Holdings) assessReceived(ctx context.Context, origin *acap.Policy, pg *page.Page,
	known archive.Resource) (g assessment, err error) {
	u, was := pg.URL(), copied{}
	confirmed := pg.Last().Status == http.StatusNotModified
	if confirmed {
		var ok bool
		if was, ok = h.current(u.String()); ok { // this memory is given back when the lease of the visit ends
			err = memory.Of(ctx).Hold(ctx, page.WeightOf(was.Bytes+was.RenderedBytes, was.MIME))
		}
		if err != nil || !ok || !h.readBody(&was) || !confirms(pg.Last().Header, was.Header) {
			g.Absent = true
			return g, err
		}
		pg = was.page(pg.Hops())
	}
	facts := h.factsNow(known)
	g = h.assessPage(terms.Of(ctx, origin, u, pg, h.sources, facts), pg, terms.TakeDown(origin, u), known, true)
	g.Cuts = cuts(pg, g.Cuts)
	g.deposit.Cuts = g.Cuts
	if !confirmed {
		g.Unchanged, g.Since, err = h.sameCopy(known, &g)
	} else if !g.confirmCopy(was) {
		g = assessment{Receipt: Receipt{Absent: true}}
	}
	return g, err
}

// cuts lists what is missing from the page pg because it was too large, and then the items of
// entry, which say what is missing from its index entry.
func cuts(pg *page.Page, entry []string) (list []string) {
	if last := pg.Last(); last.Truncated {
		list = append(list, fmt.Sprintf("only the first %d bytes of its body were received", len(last.Body)))
	}
	return slices.Concat(list, pg.Cuts(), entry)
}

// sameCopy reports whether the copy of g equals the copy already stored, and when the stored copy
// was received.
func (h *Holdings) sameCopy(known archive.Resource, g *assessment) (same bool, since time.Time, err error) {
	if !g.Stored || known.Current == 0 {
		return false, time.Time{}, nil
	}
	c, err := h.archive.Capture(known.Current)
	if errors.Is(err, archive.ErrNotHeld) { // the copy was erased after the page was requested
		return false, time.Time{}, nil
	}
	return err == nil && g.equals(c), c.Fetched, err
}

// equals reports whether the copy that g would store equals the stored copy c.
func (g *assessment) equals(c archive.Capture) bool {
	rendered := ""
	if g.deposit.Rendered != nil {
		rendered = archive.Digest(g.deposit.Rendered)
	}
	return c.Digest == archive.Digest(g.deposit.Body) && c.Rendered == rendered
}

// drawingUnchanged reports whether the stored drawing, described by old, shows the same copy that g
// would store.
func (h *Holdings) drawingUnchanged(known archive.Resource, old terms.Kept, g *assessment) bool {
	if old.Drawing == nil || g.deposit.Cut { // the drawing may show a part that would be cut out of the copy now
		return false
	}
	same, _, err := h.sameCopy(known, g)
	return err == nil && same
}

// assessPage returns the decision about a page by its terms. known is the archive record of the
// page; down is the take-down request in force for the page, or nil. received is false if the page
// is checked again from its copy: then no thumbnail is drawn.
func (h *Holdings) assessPage(t *terms.Terms, pg *page.Page, down *acap.Field, known archive.Resource,
	received bool) (g assessment) {
	old := known.Kept
	g.unknown = known.FirstCrawled.IsZero()
	o := terms.HoldingOptions{NoArchive: h.o.NoArchive, NoIndex: h.o.NoIndex}
	if known.Indexed {
		o.Entry = &old
	}
	holding := t.Holding(o)
	g.plan = decide(&evidence{facts: t.Facts(), noPreserve: h.o.NoPreserve, noIndex: h.o.NoIndex, takenDown: down,
		received: &holding,
		indexed:  known.Indexed})
	g.fillReceipt(&holding, down)
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
		g.deposit.Body, g.deposit.Rendered, g.deposit.Cut = holding.Body, holding.Rendered, holding.Cut
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
	g.setKept(t, holding.Content, known, old, note)
	g.parts = t.Parts()
	if g.entry.action == toStore {
		g.makeEntry(pg, holding)
	}
	return g
}

// fillReceipt fills in the receipt in g from the decision about a page.
func (g *assessment) fillReceipt(holding *terms.Holding, down *acap.Field) {
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

// makePicture sets the deposit's thumbnail if it must be stored because it cannot be made from a
// copy. It uses a new thumbnail if one can be made, otherwise the stored thumbnail if it may stay,
// otherwise a drawing of the page. The returned function records what the thumbnail was made from;
// it may be nil.
func (h *Holdings) makePicture(g *assessment, t *terms.Terms, known archive.Resource, old terms.Kept,
	received bool) (note func(*terms.Kept)) {
	var of terms.Picture
	if g.deposit.Picture, of = h.picture(t, g.Stored); g.deposit.Picture != nil {
		if !g.deposit.Picture.Other {
			return nil
		}
		return func(k *terms.Kept) { k.SetPicture(of.From, of.Of) }
	}
	if !h.o.NoPreserve && t.KeepsPicture(old, !received || h.drawingUnchanged(known, old, g)) {
		g.deposit.Picture = h.storedPicture(known)
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

// setKept sets in the deposit the data to present the page. This includes data stored earlier from
// resources that cannot be fetched now. note, which may be nil, records what the thumbnail was made
// from.
func (g *assessment) setKept(t *terms.Terms, content terms.Content, known archive.Resource, old terms.Kept,
	note func(*terms.Kept)) {
	kept := t.Keep(g.Stored, content) // X09: a copy may be shown even if the page may not be indexed
	if note != nil {
		note(&kept)
	}
	alone := !g.Stored && !g.Indexed
	if alone {
		kept.Title, kept.Texts = "", nil
	}
	kept.AddMade(old.Of[terms.Data], old.Of[terms.Scripts])
	g.withoutOld = kept.Clone()
	if g.depicted {
		kept = kept.WithPicture(old)
	}
	if !alone && t.CopyUnavailable(&kept, old) || g.depicted {
		g.before = known.Kept.Digest()
	}
	g.deposit.Resource.Kept = kept
}

// makeEntry makes the index entry of a page.
func (g *assessment) makeEntry(pg *page.Page, holding terms.Holding) {
	content := holding.Content
	whole := g.Stored && !holding.Cut && !content.Other
	g.wait = !whole
	var cut string
	g.document, cut = document(pg, content, cmp.Or(content.Language, pg.Language()), g.deposit.Fetched, whole)
	if cut != "" {
		g.Cuts = append(g.Cuts, cut)
	}
}

// confirmCopy makes g confirm the copy c, which a 304 response is about, if c may stay unchanged.
// It returns false if the copy would have to be cut now, so that the page must be fetched again.
func (g *assessment) confirmCopy(c copied) bool {
	g.Unchanged, g.Since = true, c.Fetched
	if !g.Stored {
		return true
	}
	if !g.equals(c.Capture) {
		return false
	}
	g.renews = c.ID
	if g.document != nil {
		g.document.Fetched = c.Fetched // use the same date as for an entry that is made again from the copy
	}
	return true
}

// entryUnchanged reports whether g would make the same index entry again for an unchanged page:
// this is true if the sources of the entry are the same and no part of the page has its own rules.
func (g *assessment) entryUnchanged(known archive.Resource) bool {
	return known.Indexed && !g.wait && known.Kept.Digest() == g.deposit.Resource.Kept.Digest() &&
		len(g.deposit.Resource.Own.Marks) == 0
}

// version returns the version of the policy in force for u; the zero value if unknown.
func (h *Holdings) version(u *url.URL) archive.PolicyVersion {
	if h.o.Version == nil {
		return archive.PolicyVersion{}
	}
	return h.o.Version(u)
}

// describe sets what is known about a page and how it was obtained.
func (g *assessment) describe(t *terms.Terms, pg *page.Page) {
	d, last := &g.deposit, pg.Last()
	d.Truncated, d.Address, d.Header, d.Sent, d.Head = last.Truncated, last.Address, last.Header, last.Sent, last.Head
	d.Resource = archive.Resource{URL: d.Resource.URL, Status: last.Status, Own: pg.Own(), MIME: pg.MIME(),
		ETag: last.Header.Get("ETag"), LastModified: last.Header.Get("Last-Modified")}
	if g.Stored || g.Indexed { // only then, because guessing a language takes as long as parsing the page
		d.Resource.Language = pg.Language()
	}
	if g.Stored {
		d.Decided = decided(t, pg.URL())
	}
}

// hopsOf returns what is stored with a page about the redirects to it. It leaves out addresses that
// are taken down (P04).
func hopsOf(t *terms.Terms, pg *page.Page) (kept []archive.Via) {
	for _, hop := range pg.Hops()[:len(pg.Hops())-1] {
		if !t.TakenDownAt(hop.URL) {
			kept = append(kept, archive.Via{URL: hop.URL, Method: hop.Method, Proto: hop.Proto, Status: hop.Status,
				Start: hop.Start, Took: hop.Took})
		}
	}
	return kept
}

// decided returns, for each usage of u, the policy line that decides about the usage.
func decided(t *terms.Terms, u *url.URL) map[acap.Usage]string {
	lines, r := map[acap.Usage]string{}, acap.NewResource(u)
	for _, usage := range acap.Usages() {
		if why := t.Policy().Decide(usage, r); why.Because != nil {
			lines[usage] = why.Because.String()
		}
	}
	return lines
}

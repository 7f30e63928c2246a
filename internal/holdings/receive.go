package holdings

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Receipt is the result of receiving a page.
type Receipt struct {
	Stored, Indexed bool

	Links []string // absolute URLs of the links that may be followed
	// URLs of images, style sheets and other resources needed to show the page, if they may be
	// followed; nil unless Options.Requisites is set
	Requisites []string
	Parts      []string // other resources that the page requires
	// other required resources that should be requested again soon, because they failed or because
	// a newer answer may exist
	Missing []string
	Cuts    []string // what was too large to be stored, read or indexed; each item is a clause

	Textless  bool      // the page may be indexed, but has no text
	Undrawn   error     // why no thumbnail was made although the policy permits one
	Unchanged bool      // the copy equals the copy stored before
	Since     time.Time // if Unchanged is set, when the earlier copy was received
	Absent    bool      // a 304 response came for a page that is not stored: request it again without a condition

	Refused   []acap.Decision // the decisions that refuse follow, index or preserve
	Discarded bool            // X01: the page itself prohibits crawl, so nothing of the page is used
	TakenDown *acap.Field     // the take-down request in force for the page (P1 2.6, P04); nil if none

	// Decide returns the decision about any usage of the page, including its required resources;
	// nil if the page was not checked.
	Decide func(acap.Usage) acap.Decision
}

// Receive stores what may be stored of a page. The result is durable when it returns. Only a 2xx
// response other than 206 is stored as a page; redirects are stored as captures of their own addresses. Only 404
// and 410 erase the page: another failure does not mean that it is gone (H05). An answer that asks for
// a licence is a page that prohibits crawl (RSL 3.4). A 304 response
// confirms the archived copy. The copy is then checked against today's policy and the new headers,
// and no new capture is made (see archive.Renew).
func (h *Holdings) Receive(ctx context.Context, pg *page.Page) (Receipt, error) {
	last, u := pg.Last(), pg.URL()
	known, _, err := h.archive.Resource(u.String())
	if err != nil {
		return Receipt{}, err
	}
	origin, err := h.sources.Policies.Policy(ctx, u)
	if err != nil {
		return Receipt{}, err
	}
	gone := last.Status == http.StatusNotFound || last.Status == http.StatusGone
	switch {
	case gone:
		return Receipt{}, errors.Join(h.endPages(ctx, pg.Hops()), h.endParts(ctx, pg), h.keepRedirects(ctx, pg.Hops()))
	case !last.OK() && last.Status != http.StatusNotModified && !asksForLicence(origin, pg):
		return Receipt{}, h.keepRedirects(ctx, pg.Hops())
	// X02: the policy may have changed since the request; a page that may not be crawled is not
	// read
	case !origin.Decide(acap.Crawl, acap.NewResource(u)).Allowed:
		return Receipt{Discarded: true}, nil
	}
	if err := h.eraseMadeOf(ctx, origin, pg); err != nil {
		return Receipt{}, err
	}
	g, err := h.assessReceived(ctx, origin, pg, known)
	if err != nil || g.Absent {
		return g.Receipt, err
	}
	earlier := pg.Hops()[:len(pg.Hops())-1]
	// erase what is stored at these addresses from the time before they redirected
	if err := h.endPages(ctx, earlier); err != nil {
		return g.Receipt, err
	}
	if g.TakenDown == nil {
		if err := h.keepRedirects(ctx, earlier); err != nil {
			return g.Receipt, err
		}
		if g.deposit.Aliases, err = h.aliases(ctx, earlier); err != nil {
			return g.Receipt, err
		}
	}
	switch err := h.writePage(ctx, &g); {
	case g.renews != 0 && errors.Is(err, archive.ErrNotHeld): // the copy was erased after the decision
		return Receipt{Absent: true}, nil
	case err != nil:
		return g.Receipt, err
	}
	return h.recheckReceived(ctx, origin, u, g.Receipt)
}

// asksForLicence reports whether an answer asks for a licence and origin obeys that.
func asksForLicence(origin *acap.Policy, pg *page.Page) bool {
	line, _ := page.LicenceChallenge(pg.Last().Status, pg.Last().Header)
	return line > 0 && !origin.Narrow(pg.Own()).Decide(acap.Crawl, acap.NewResource(pg.URL())).Allowed
}

// recheckReceived checks a page again if its policy changed while it was received.
func (h *Holdings) recheckReceived(ctx context.Context, judged *acap.Policy, u *url.URL, r Receipt) (Receipt, error) {
	origin, err := h.sources.Policies.Policy(ctx, u)
	if err != nil || !r.Stored && !r.Indexed {
		return r, err
	}
	d, down, err := h.recheck(ctx, u.String(), u, judged, origin, SweepOptions{})
	if r.TakenDown = down; down != nil {
		r.Stored, r.Indexed = false, false
		return r, err
	}
	for _, s := range d.swept {
		r.Stored = r.Stored && (s.capture == 0 || s.capture != d.known.Current)
	}
	r.Indexed = r.Indexed && !d.forget
	return r, err
}

// recheck checks what is stored at an address again if the policy of its origin has changed; judged
// is the policy used for the decision. A concurrent sweep by the new policy may have missed the
// page. recheck returns what was erased, or the take-down request that caused everything to be
// erased.
func (h *Holdings) recheck(ctx context.Context, address string, u *url.URL, judged, origin *acap.Policy,
	o SweepOptions) (d sweepPlan, down *acap.Field, err error) {
	if origin == judged {
		return d, nil, nil
	}
	if down = terms.TakeDown(origin, u); down != nil {
		_, err = h.Erase(ctx, address, takenDown, down.String())
		return d, down, err
	}
	known, _, err := h.archive.Resource(address)
	if err != nil {
		return d, nil, err
	}
	d, err = h.sweepPage(ctx, known, h.withDefaults(o))
	return d, nil, err
}

const takenDown = "taken down at the publisher's request"

// writePage writes to archive and index what was decided about a page. When it returns, the changes
// are durable.
func (h *Holdings) writePage(ctx context.Context, g *assessment) error {
	address := g.deposit.Resource.URL
	if g.unknown {
		if err := h.limitNew(ctx, g); err != nil {
			return err
		}
	}
	wait := g.wait || g.document != nil && len(g.document.Text) > largeText
	written, err := h.applyChange(ctx, address, change{doc: g.document, url: address, wait: wait},
		func(known archive.Resource) (bool, error) {
			return h.writeDeposit(ctx, g, known)
		})
	if err != nil {
		return err
	}
	err = errors.Join(written(), h.noteParts(ctx, g), h.withdrawTakenDown(ctx, g.deposit.Resource.Kept.Sources()),
		h.eraseTakenDownHops(ctx, h.o.Known, g.deposit.Hops))
	if err == nil && g.emptied {
		err = h.sweepIfBare(ctx, address)
	}
	return err
}

// writeDeposit writes the assessment g of a page to the archive; known is the current record of the
// page. indexed reports whether the index must change too.
func (h *Holdings) writeDeposit(ctx context.Context, g *assessment, known archive.Resource) (indexed bool, err error) {
	address := g.deposit.Resource.URL
	if g.from != nil && moved(known, *g.from) {
		return false, errMoved
	}
	g.dropStaleKept(known)
	g.emptied = !g.Stored && !g.Indexed && g.deposit.Picture == nil && (!known.FirstIndexed.IsZero() ||
		!known.FirstPreserved.IsZero())
	if g.earlier.action == toDrop {
		if err := h.drop(ctx, address, g.earlier.ground.tombstone()); err != nil {
			return false, err
		}
	}
	if g.renews != 0 {
		fresh := g.document != nil && !g.entryUnchanged(known)
		return fresh || known.Indexed && !g.Indexed, h.archive.Renew(ctx, g.renews, g.deposit, fresh)
	}
	if again, err := h.justReceived(known, g); err != nil || again {
		return false, errors.Join(err, h.archive.Lead(ctx, g.deposit.Aliases, address))
	}
	_, err = h.archive.Receive(ctx, g.deposit)
	return g.document != nil || known.Indexed && !g.deposit.Stays, err
}

// dropStaleKept removes from the deposit data that was copied from data stored earlier, if the
// earlier data has been erased or changed since it was copied.
func (g *assessment) dropStaleKept(known archive.Resource) {
	d := &g.deposit
	if (g.before == "" || g.before == known.Kept.Digest()) && (!d.Stays || known.Indexed) {
		return
	}
	g.Indexed = g.Indexed && !d.Stays
	d.Index, d.Stays = g.Indexed, false
	if d.Resource.Kept = g.withoutOld; g.depicted {
		d.Picture = nil
	}
}

// eraseTakenDownHops erases the data stored for those redirecting addresses in hops that have been
// taken down since they were requested.
func (h *Holdings) eraseTakenDownHops(ctx context.Context, policies terms.Policies, hops []archive.Via) error {
	var failed []error
	for _, hop := range hops {
		if down := terms.TakenDown(ctx, policies, hop.URL); down != nil {
			_, err := h.Erase(ctx, hop.URL, takenDown, down.String())
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// firstTakenDown returns the first of some resources that is taken down, with the request for it. It ignores
// resources whose policy is not known. If there is no such resource, down is nil.
func firstTakenDown(ctx context.Context, policies terms.Policies, sources []string) (source string,
	down *acap.Field) {
	for _, source := range sources {
		if down := terms.TakenDown(ctx, policies, source); down != nil {
			return source, down
		}
	}
	return "", nil
}

// withdrawTakenDown removes data made from those resources in sources that have been taken down
// since they were fetched.
func (h *Holdings) withdrawTakenDown(ctx context.Context, sources []string) error {
	var failed []error
	for _, source := range sources {
		if down := terms.TakenDown(ctx, h.o.Known, source); down != nil {
			_, err := h.withdraw(ctx, source, byTakeDown(down), true)
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// simultaneous is the time within which identical responses for a page are treated as one response.
const simultaneous = time.Minute

// justReceived reports whether this run has just received the same page. This happens because
// several redirects can reach it at the same time.
func (h *Holdings) justReceived(known archive.Resource, g *assessment) (bool, error) {
	if known.LastCrawled.Before(h.opened) || g.deposit.Fetched.Sub(known.LastCrawled).Abs() > simultaneous ||
		known.Indexed != g.Indexed {
		return false, nil
	}
	same, _, err := h.sameCopy(known, g)
	return same, err
}

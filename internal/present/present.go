package present

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Presenter shows stored pages to readers. It is safe for concurrent use.
type Presenter struct {
	Length int // snippet length in characters if the publisher sets none; 0: the default

	library  Library
	policies terms.Policies
	now      func() time.Time
	turns    chan struct{} // semaphore that permits to decode only one image at a time
}

// New returns a Presenter for library. policies must answer without a network request. If policies
// returns an error, the Presenter shows nothing.
func New(library Library, policies terms.Policies) *Presenter {
	return &Presenter{library: library, policies: policies, now: time.Now, turns: make(chan struct{}, 1)}
}

// Reader describes the person to whom something is shown, how it is shown, and when.
type Reader struct {
	Target acap.Target
	Framed bool // shown in a frame, page or screen of the caller (P1 2.5.5.7)
	// Public says that the reader must not learn which pages are archived if no link to them may be shown. A
	// redirect to such a page is treated like a redirect to a page that was never archived.
	Public bool
	AsOf   time.Time // the time used to check time limits; zero: now
}

// ErrNotHeld means that nothing is stored for a URL, or not the data that the caller requested.
var ErrNotHeld = errors.New("nothing of it is archived")

// ErrBodies means that the store of copies fails now.
var ErrBodies = archive.ErrBodies

// facts returns the facts for the decision whether r may be presented to the reader. old is set if
// r is an earlier version of the page.
func (p *Presenter) facts(r archive.Resource, who Reader, old bool) acap.Facts {
	now := who.AsOf
	if now.IsZero() {
		now = p.now()
	}
	f := r.Facts()
	f.Now, f.Recrawled, f.Target = now.UTC(), old, who.Target
	return f
}

// terms returns the current terms of the stored page r for a reader. pg is the stored copy as a
// page, or nil. down is the take-down request in force against r, or nil. terms makes no network
// request, because the resources that r requires were stored with r.
func (p *Presenter) terms(ctx context.Context, r archive.Resource, pg *page.Page, f acap.Facts) (t *terms.Terms,
	down *acap.Field, err error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, nil, err
	}
	origin, err := p.policies.Policy(ctx, u)
	if err != nil {
		return nil, nil, err
	}
	t = terms.Held(ctx, origin, u, r.Own, pg, terms.Sources{Policies: p.policies}, f).Keeping(r.Kept)
	return t, terms.TakeDown(origin, u), nil
}

// page returns the record of a capture, and its copy as a page.
func (p *Presenter) page(ctx context.Context, id uint64) (archive.Capture, *page.Page, error) {
	c, body, rendered, err := p.library.Copy(ctx, id)
	if err != nil {
		return c, nil, err
	}
	return c, c.Page(body, rendered), nil
}

// shown records the time of the first presentation of each address. Time limits on present count
// from that time at the latest (H04). All addresses are recorded in one call, because a disk write
// takes as long for one address as for many.
func (p *Presenter) shown(ctx context.Context, addresses ...string) error {
	var first []string
	for _, address := range addresses {
		r, known, err := p.library.Page(ctx, address)
		if err != nil {
			return err
		}
		if known && r.FirstPresented.IsZero() {
			first = append(first, address)
		}
	}
	if len(first) == 0 {
		return nil
	}
	return p.library.NotePresented(ctx, first, p.now().UTC())
}

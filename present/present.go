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

// Presenter shows what is held. It is safe for concurrent use.
type Presenter struct {
	Length int // of a snippet, in characters, where its publisher sets none; 0: the usual

	library  Library
	policies terms.Policies
	now      func() time.Time
	turns    chan struct{} // images are decoded one at a time
}

// New returns a Presenter of what library holds. policies must answer without a request; an error
// of theirs means that nothing may be shown.
func New(library Library, policies terms.Policies) *Presenter {
	return &Presenter{library: library, policies: policies, now: time.Now, turns: make(chan struct{}, 1)}
}

// Reader is who is shown something, and when.
type Reader struct {
	Target acap.Target
	Framed bool      // within a frame, page or screen of whoever asks (P1 2.5.5.7)
	AsOf   time.Time // moves the clock for time limits; zero: now
}

// ErrNotHeld means that nothing is held of a URL.
var ErrNotHeld = errors.New("nothing is held of it")

// facts are what a reader is shown r under; old says that it is not the current version.
func (p *Presenter) facts(r archive.Resource, who Reader, old bool) acap.Facts {
	now := who.AsOf
	if now.IsZero() {
		now = p.now()
	}
	return acap.Facts{Now: now.UTC(), FirstCrawled: r.FirstCrawled, FirstIndexed: r.FirstIndexed,
		FirstPreserved: r.FirstPreserved,
		FirstPresented: r.FirstPresented, Recrawled: old, Target: who.Target}
}

// terms gives the terms of what is held of r now; pg may be nil. Nothing is fetched to show
// something: what r requires was kept with it. down is the take-down request that stands against
// it.
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

// page returns the copy of a capture, and its version.
func (p *Presenter) page(ctx context.Context, id uint64) (*page.Page, int, error) {
	c, body, err := p.library.Copy(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	return c.Page(body), c.Version, nil
}

// shown notes the first presentation of pages: time limits of present count from it at the latest
// (H04). They are noted together, since a write to disk takes as long for one as for many.
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

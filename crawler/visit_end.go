package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/page"
)

// endWithoutPage ends a visit in which the handler received no page.
func (r *run) endWithoutPage(p *pageVisit) error {
	err := r.scheduleRevisit(p.lease, &p.end, p.trace.Hops, false)
	// record that these redirects now point to a page that is taken down
	if p.end.down != nil && len(p.trace.Hops) > 0 {
		err = errors.Join(err, r.reportRedirects(p.ctx, p.trace.Hops, p.end.Led))
	}
	if err != nil {
		return r.stopOnError(p.lease, err)
	}
	return r.done(p.lease, p.end, Receipt{})
}

// condition returns the conditional header fields for an address from the handler, or nil if the
// handler has none.
func (r *run) condition(address string) http.Header {
	if c, ok := r.handler.(Conditioner); ok {
		return c.Condition(address)
	}
	return nil
}

// canonical returns the canonical address that pg names, if that is another address of the same
// host. known reports whether that was fetched before.
func (r *run) canonical(pg *page.Page) (to string, known bool, err error) {
	if !r.o.Canonical || pg.Last().Status != http.StatusOK {
		return "", false, nil
	}
	u, err := link(pg.Canonical(), r.o.Drop)
	if err != nil || u.Host != pg.URL().Host || u.String() == pg.URL().String() {
		return "", false, nil
	}
	rec, found, err := r.queue.Get(u.String())
	return u.String(), found && rec.State == Fetched && rec.Status == http.StatusOK && rec.TakenDown == "", err
}

// scheduleRevisit sets in e when an address is revisited.
func (r *run) scheduleRevisit(l *Lease, e *outcome, hops []gate.Hop, unchanged bool) error {
	// a required resource is revisited even if it was refused, since its policy may change and
	// pages wait for the resource
	_, _, part := partOf(l.URL)
	if r.o.Recrawl.Min <= 0 || e.State == Queued || !part && e.State != Fetched && e.State != Failed {
		return nil
	}
	rec, _, err := r.queue.Get(l.URL)
	if err != nil {
		return err
	}
	now := time.Now()
	page := e.Status/100 == 2 || e.Status == http.StatusNotModified
	gone := e.Status == http.StatusNotFound || e.Status == http.StatusGone
	switch {
	case e.State != Fetched || !page && !gone: // this outcome says nothing about how often the page changes
		e.Interval = max(rec.Interval, r.o.Recrawl.Min)
		e.Again = now.Add(e.Interval)
	case gone && !part:
		e.Interval, e.Again = r.o.Recrawl.Max, now.Add(r.o.Recrawl.Max)
	default:
		e.Interval, e.Again = r.o.Recrawl.next(rec.Interval, unchanged, hops[len(hops)-1].Header, now)
	}
	return nil
}

// endRedirected ends the visit of an address that redirects to a page which was received before, or
// names such a page as its canonical address.
func (r *run) endRedirected(p *pageVisit) error {
	p.end.Final = p.known
	err := errors.Join(r.reportRedirects(p.ctx, p.trace.Hops, p.known),
		r.scheduleRevisit(p.lease, &p.end, p.trace.Hops, true))
	if err != nil {
		return r.stopOnError(p.lease, err)
	}
	return r.done(p.lease, p.end, Receipt{})
}

// reportRedirects calls the handler, if it is a Leader, with the hops and with the address to which
// these hops redirect.
func (r *run) reportRedirects(ctx context.Context, hops []gate.Hop, to string) error {
	leader, ok := r.handler.(Leader)
	if !ok {
		return nil
	}
	return leader.Lead(context.WithoutCancel(ctx), hops, to)
}

// returnLease leaves an address queued for the next run. It ends this run, unless the queue has
// lost the lease.
func (r *run) returnLease(l *Lease) error {
	if !l.lost() {
		r.stop() // must come before Return, or another worker would lease the address again
	}
	return r.queue.Return(l, nil)
}

// ErrLater is an error of a Handler that cannot store a page now, for a reason that says nothing about the page. The
// visit is repeated, and the run continues.
var ErrLater = errors.New("the visit is repeated later")

// stopOnError leaves an address queued for the next run, because its page could not be stored, and
// ends this run. But if only something that the page needs could not be requested at this moment,
// because of a lease, it postpones the visit, and the run continues.
func (r *run) stopOnError(l *Lease, err error) error {
	switch {
	case broken(err): // a panic concerns only this page, so the run continues
		return err
	case errors.Is(err, ErrLost): // another machine visits the page, or this one when it has its lease again
		return r.queue.Return(l, nil)
	case errors.Is(err, ErrLater), errors.Is(err, gate.ErrPaused), errors.Is(err, gate.ErrForeign):
		o := outcome{End: End{State: Failed, Why: fmt.Sprintf("%s could not be stored: %v", l.URL, err)}}
		o.retry(l.Tries+1, time.Now())
		return r.done(l, o, Receipt{})
	}
	r.stop() // must come before Return, or another worker would lease the address again
	return errors.Join(fmt.Errorf("%s could not be stored: %w", l.URL, err), r.queue.Return(l, nil))
}

// broken reports whether err is a *defect.Error: a panic that was caught.
func broken(err error) bool {
	_, is := errors.AsType[*defect.Error](err)
	return is
}

// abandon ends the visit of an address after a panic. The run continues with other addresses.
func (r *run) abandon(l *Lease, because *defect.Error) error {
	o := outcome{End: End{State: Failed, Why: because.Error()}, broken: because}
	if _, _, part := partOf(l.URL); part {
		r.skip(Skip{URL: l.URL, State: o.State, Why: o.Why, When: time.Now(), Defect: because})
		return r.queue.Done(l, o.End)
	}
	return r.done(l, o, Receipt{})
}

// done ends the lease of a page with its outcome, counts the outcome and reports it.
func (r *run) done(l *Lease, o outcome, receipt Receipt) error {
	again := o.State == Fetched && r.again(l, &o.End)
	o.TakenDown = o.down != nil
	if err := r.queue.Done(l, o.End); err != nil {
		return err
	}
	r.tally.end(o, receipt, again)
	if d := receipt.NeedsLicence; d != nil && l.Depth == 0 {
		r.noteUnlicensed(l.URL, d)
	}
	if o.State != Fetched && o.State != Queued {
		r.skip(Skip{URL: l.URL, State: o.State, Why: o.Why, When: time.Now(), Final: o.final(), Decision: o.decision,
			TakeDown: o.down, Defect: o.broken})
	}
	return nil
}

// noteUnlicensed records that nothing is kept of a seed because of d.
func (r *run) noteUnlicensed(seed string, d *acap.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unlicensed == nil {
		r.unlicensed = map[string]string{}
	}
	r.unlicensed[seed] = d.AboutFor().Err(seed).Error()
}

// again reports whether another visit of this run counts the same page. A page can be reached by a
// redirect and at its own address at the same time; only one visit counts it.
func (r *run) again(l *Lease, e *End) bool {
	page := cmp.Or(e.Final, l.URL)
	direct := page == l.URL
	r.mu.Lock()
	_, counted := r.reached[page]
	switch {
	case counted || direct:
		r.mu.Unlock()
		return counted
	// r.mu is held here: later, the visit of that page calls this method too, and counts the page
	case r.visiting[page]:
		r.mu.Unlock()
		return true
	}
	if r.reached == nil {
		r.reached = map[string]struct{}{}
	}
	r.reached[page] = struct{}{}
	r.mu.Unlock()
	return r.received(page) // called without r.mu, because the queue may call skip, which locks it
}

// size returns the number of bytes of all bodies, as sent.
func size(hops []gate.Hop) (n int64) {
	for _, h := range hops {
		n += int64(len(h.Wire))
	}
	return n
}

// holds reports whether a visit of l follows a redirect to u at once: whether u is in the scope of
// this run's seeds, the patterns admit it, and no other machine keeps the pace of its host.
func (r *run) holds(l *Lease, u *url.URL) bool {
	b := r.bounds.Load()
	if !b.own.holds(u) {
		return false
	}
	if r.o.Together != nil {
		host, err := address.Host(u.String())
		if err != nil || !r.o.Together(l.Host, host) {
			return false
		}
	}
	ok, _ := b.reach.wanted.admits(u)
	return ok
}

func (r *run) pause(ctx context.Context, u *url.URL) (time.Duration, error) {
	if r.o.Pause == nil {
		return 0, nil
	}
	d, err := r.o.Pause(ctx, u)
	return min(max(d, 0), gate.MaxCrawlDelay), err
}

// skip counts an address that was not fetched and calls Options.Skipped.
func (r *run) skip(s Skip) {
	r.tally.skip(s.State)
	if r.o.Skipped == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.Skipped(s)
}

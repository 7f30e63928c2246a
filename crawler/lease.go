package crawler

import (
	"context"
	"time"
)

// Next leases the first address of the next host that is due. See Queue.
func (f *Frontier) Next(ctx context.Context) (*Lease, error) {
	for {
		f.mu.Lock()
		if err := ctx.Err(); err != nil { // asked under the lock: what is released after the end is not leased again
			f.mu.Unlock()
			f.signal()
			return nil, err
		}
		l, pause, err := f.pick(f.now())
		f.mu.Unlock()
		if l != nil || err != nil {
			f.signal() // there may be more for another
			return l, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-f.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// signal makes one who waits in Next look again.
func (f *Frontier) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Return ends a lease as if it had not been given. p is what was learned of its host in between
// (robots.txt), nil for nothing.
func (f *Frontier) Return(l *Lease, p *Pace) error {
	h := l.host
	f.mu.Lock()
	f.putBack(l)
	if p == nil {
		f.offerHost(h)
		f.mu.Unlock()
		f.signal()
		return nil
	}
	h.asks, h.met = p.Delay, true
	f.holdUntil(h, p.Asked.Add(f.gap(h)))
	c := &change{touch: h.touch()}
	f.offerHost(h)
	f.mu.Unlock()
	err := f.send(c)
	f.signal()
	return err
}

// Done ends a lease with the outcome of its visit. It does not wait for the disk, unless there are
// many links: a crash before the commit repeats the visit.
func (f *Frontier) Done(l *Lease, e End) error {
	h := l.host
	e.Offers = f.fresh(e.Offers)
	if e.State == Queued {
		e.Retry = later(e.Retry, f.now().Add(f.o.Backoff<<l.Tries))
	}
	f.mu.Lock()
	f.giveBack(l)
	h.asks, h.met = e.Delay, true
	if f.adaptive() {
		f.heed(h, &e)
	}
	if !e.Asked.IsZero() {
		f.holdUntil(h, e.Asked.Add(f.gap(h)))
		h.failures = 0
	}
	if e.Trouble {
		h.failures = l.failures + 1
		f.holdUntil(h, e.Rest)
		h.due = later(h.due, f.now().Add(f.backoff(h.failures)))
	}
	c := &change{lease: l, end: e, offers: e.Offers, touch: h.touch()}
	f.offerHost(h)
	f.mu.Unlock()
	err := f.sendDone(c)
	f.signal()
	return err
}

// manyOffers is a number of links. The visit of a page with more links waits until they are
// written, so that they do not collect in memory.
const manyOffers = 2000

// sendDone hands the end of a visit to the writer, and waits for its commit where it leads to many
// addresses.
func (f *Frontier) sendDone(c *change) error {
	if len(c.offers) > manyOffers {
		return f.wait(c)
	}
	return f.send(c)
}

// holdUntil keeps h, which asks for it, from being due before t.
func (f *Frontier) holdUntil(h *host, t time.Time) {
	h.held, h.due = later(h.held, t), later(h.due, t)
}

// giveBack ends a lease in the schedule; if nothing was asked of the host since, it is due as it
// was before.
func (f *Frontier) giveBack(l *Lease) {
	l.host.busy--
	f.leases--
	if l.host.due.Equal(l.after) {
		l.host.due = l.before
	}
}

// putBack ends a lease whose address keeps its place in the queue, before what was read ahead.
func (f *Frontier) putBack(l *Lease) {
	f.giveBack(l)
	delete(l.host.taken, l.URL)
	l.host.items, l.host.dry = nil, false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

package crawler

import (
	"context"
	"errors"
	"time"
)

// Next leases the first address of the next host that is due; see Queue.Next.
func (f *Frontier) Next(ctx context.Context) (*Lease, error) {
	for {
		f.mu.Lock()
		// checked while f.mu is held, so that an address returned after the end of ctx is not
		// leased again
		if err := ctx.Err(); err != nil {
			f.mu.Unlock()
			f.signal()
			return nil, err
		}
		l, pause, err := f.pick(f.now())
		f.mu.Unlock()
		if l != nil || err != nil {
			f.signal() // another waiting goroutine may find an address too
			if l != nil && l.announced != nil {
				if ready, err := f.announce(ctx, l); err != nil {
					return nil, err
				} else if !ready {
					continue
				}
			}
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

// announce makes the next due time of the host of l durable before its request is made, so that the
// next owner of its partition does not request the host too early. ready is false if l has ended
// meanwhile.
func (f *Frontier) announce(ctx context.Context, l *Lease) (ready bool, err error) {
	if err := f.send(l.announced); err != nil {
		return false, err
	}
	select {
	case err = <-l.announced.done:
	case <-ctx.Done(): // the journal may wait for other machines
		_ = f.Return(l, nil) // if the lease is lost, nothing is left to be done
		return false, ctx.Err()
	}
	switch {
	case errors.Is(err, ErrLost) || err == nil && l.lost():
		return false, nil
	case err != nil:
		return false, err
	case !f.o.Journal.Until().After(f.now()): // the commit took too long
		_ = f.Return(l, nil)
		return false, nil
	}
	return true, nil
}

// signal wakes one of the goroutines that wait in Next.
func (f *Frontier) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Return ends a lease; its address stays in its place in the queue. p is what robots.txt said about
// the host since the lease began, or nil.
func (f *Frontier) Return(l *Lease, p *Pace) error {
	h := l.host
	f.mu.Lock()
	if h.part != nil && h.part.over {
		f.mu.Unlock()
		return ErrLost
	}
	f.putBack(l)
	if p == nil {
		f.offerHost(h)
		f.mu.Unlock()
		f.signal()
		return nil
	}
	f.pacing().learn(&h.times, *p)
	c := &change{part: h.part, touch: h.touch()}
	f.offerHost(h)
	f.mu.Unlock()
	err := f.send(c)
	f.signal()
	return err
}

// Done ends a lease with the outcome of its visit. It does not wait for the disk, unless the page
// has many links. If the process crashes before the commit, the next run repeats the visit.
func (f *Frontier) Done(l *Lease, e End) error {
	h := l.host
	e.Offers = f.fresh(e.Offers)
	if e.State == Queued {
		e.Retry = later(e.Retry, f.now().Add(f.o.Backoff<<l.Tries))
	}
	f.mu.Lock()
	if h.part != nil && h.part.over {
		f.mu.Unlock()
		return ErrLost
	}
	f.giveBack(l)
	f.pacing().end(&h.times, &e, l.failures, f.now())
	c := &change{part: h.part, lease: l, end: e, offers: e.Offers, touch: h.touch()}
	f.offerHost(h)
	f.mu.Unlock()
	err := f.sendDone(c)
	f.signal()
	return err
}

// manyOffers is a number of links. If a page has more links, Done waits until they are written, so
// that they do not pile up in memory.
const manyOffers = 2000

// sendDone sends the end of a visit to the writer. It waits for the commit if the page has more
// than manyOffers links.
func (f *Frontier) sendDone(c *change) error {
	if len(c.offers) > manyOffers {
		return f.wait(c)
	}
	return f.send(c)
}

// giveBack returns the host of l to the schedule when the lease l ends. If no request was made to
// the host since the lease began, its due time is again what it was before the lease.
func (f *Frontier) giveBack(l *Lease) {
	l.host.busy--
	f.leases--
	if p := l.host.part; p != nil {
		if p.leases--; p.leases == 0 {
			select {
			case p.drained <- struct{}{}: // wakes Release
			default:
			}
		}
	}
	l.host.giveBack(l.before, l.after)
}

// putBack ends a lease and leaves the address at its place in the queue. It drops the addresses of
// the host that were read ahead, because they come after that place.
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

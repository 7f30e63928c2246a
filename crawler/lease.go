package crawler

import (
	"context"
	"errors"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/defect"
)

// ErrIdle is returned by Next when nothing is left that is due within the patience of the frontier.
var ErrIdle = errors.New("nothing is due")

// Lease is the right to visit one address. It is given back with Done or Release, once.
type Lease struct {
	URL   string // in normal form
	Depth int
	Tries int           // visits that failed before
	Met   bool          // the pause that the host asks for is known
	Pause time.Duration // that pause, as far as it is known

	host          *host
	asked         bool   // for by a re-crawl
	from          uint64 // the number of the seed from which it was found
	failures      int
	before, after time.Time // when the host was due before and after this lease was given
	deferred      []offer   // of the resource that it visits, made since; guarded by Frontier.mu
}

// Next leases the first address of the next host that is due. It waits for one, and returns ErrIdle when there is none
// left, or none that is due within the patience of the frontier and none leased that could lead to more.
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

// Release gives a lease back as if it had not been taken.
func (f *Frontier) Release(l *Lease) {
	f.mu.Lock()
	f.putBack(l)
	f.offerHost(l.host)
	f.mu.Unlock()
	f.signal()
}

// Postpone gives a lease back as if it had not been taken, after something else was asked of its host (robots.txt):
// the host asks for pauses of delay, and the next begins at asked.
func (f *Frontier) Postpone(l *Lease, asked time.Time, delay time.Duration) error {
	h := l.host
	f.mu.Lock()
	f.putBack(l)
	h.asks, h.met = delay, true
	f.holdUntil(h, asked.Add(f.gap(h)))
	c := &change{touch: h.touch()}
	f.offerHost(h)
	f.mu.Unlock()
	err := f.send(c)
	f.signal()
	return err
}

// End is how a visit ended.
type End struct {
	State  State     // Queued: to be tried again, not before Retry
	Status int       // HTTP status of the last answer, 0 without one
	Why    string    // the sentence that decided, for all but Fetched
	Final  string    // where redirects led, in normal form; "" for the address itself
	Led    string    // the redirect hop that was refused, in normal form; "" for the address itself
	Retry  time.Time // for Queued

	Asked   time.Time     // start of the last request to the host of the lease, zero: none was made
	Delay   time.Duration // the pause that the host asks for
	Trouble bool          // the host does not answer, or asks to be left alone
	Rest    time.Time     // until when, if it says so
	Took    time.Duration // the last request to the host of the lease took this long

	Again    time.Time     // when the address is due to be visited again; zero: never
	Interval time.Duration // between this visit and that

	offers   []offer
	decision acap.Decision // that refused, where one did
	down     *acap.Field   // the take-down that stands: it was refused for it, or nothing of it is held
	broken   *defect.Error // the panic that ended the visit
	report   func(Record)
}

// Done gives a lease back with the outcome of its visit and the links found. It does not wait for the disk: a crash
// before the commit repeats the visit. An error means that the frontier cannot be used any more.
func (f *Frontier) Done(l *Lease, e End) error {
	h := l.host
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
	c := &change{lease: l, end: e, offers: e.offers, report: e.report, touch: h.touch()}
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

// giveBack ends a lease in the schedule; if nothing was asked of the host since, it is due as it was before.
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

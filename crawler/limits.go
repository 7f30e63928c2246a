package crawler

import (
	"context"

	"github.com/acapcrawl/acapcrawl/gate"
)

// enter waits for a place among the requests under way; false where the run is over, or has reached
// a limit meanwhile.
func (r *run) enter(ctx context.Context) bool {
	select {
	case r.requests <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	if r.limited() || r.cramped() {
		<-r.requests
		return false
	}
	return true
}

// cramped reports whether the disk has no room for another visit. It then ends the run.
func (r *run) cramped() bool {
	if r.o.Room == nil {
		return false
	}
	err := r.o.Room(r.pending.Load() + int64(len(r.requests))*r.tally.mean())
	if err == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = err
	r.stop()
	return true
}

// awaitStored counts the bytes of a body as pending until the function that it returns is called.
func (r *run) awaitStored(hops []gate.Hop) (done func()) {
	if len(hops) == 0 {
		return func() {}
	}
	n := int64(len(hops[len(hops)-1].Body))
	r.pending.Add(n)
	return func() { r.pending.Add(-n) }
}

// leave counts the requests of a visit, and gives their place to another, unless they reach a limit
// of the run.
func (r *run) leave(l *Lease, page bool, hops []gate.Hop) {
	r.tally.sent(l.Host, page, len(hops), size(hops))
	if r.limited() {
		r.stop()
	}
	<-r.requests
}

// limited reports whether a limit of the run is reached, so that no more visits are begun.
func (r *run) limited() bool { return r.tally.reached(r.o.MaxPages, r.o.MaxBytes) }

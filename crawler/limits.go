package crawler

import (
	"context"

	"github.com/acapcrawl/acapcrawl/gate"
)

// enter waits for a free request slot. It returns false if ctx has ended or a limit of the run is
// reached.
func (r *run) enter(ctx context.Context) bool {
	select {
	case r.requests <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	if r.limited() || r.diskFull() {
		<-r.requests
		return false
	}
	return true
}

// diskFull reports whether the disk has no room for another visit. If so, it ends the run.
func (r *run) diskFull() bool {
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

// awaitStored counts the bytes of the last body as pending until the caller calls done.
func (r *run) awaitStored(hops []gate.Hop) (done func()) {
	if len(hops) == 0 {
		return func() {}
	}
	n := int64(len(hops[len(hops)-1].Body))
	r.pending.Add(n)
	return func() { r.pending.Add(-n) }
}

// leave counts the requests of a visit and frees its request slot. If a limit of the run is
// reached, it ends the run.
func (r *run) leave(l *Lease, page bool, hops []gate.Hop) {
	r.tally.sent(l.Host, page, len(hops), size(hops))
	if r.limited() {
		r.stop()
	}
	<-r.requests
}

// limited reports whether a limit of the run is reached, so that no more visits start.
func (r *run) limited() bool { return r.tally.reached(&r.o) }

package archive

import (
	"context"
	"errors"
	"math"
	"time"
)

// If the file outgrows its mapping, bbolt maps the file again, and before that waits until all read
// transactions have ended. A compaction reads for a long time, and opens its next read transaction
// before it closes the last one. If the writer waited for the compaction, the two would wait for
// each other for ever.

// mapStep is the largest power of two that bbolt maps. Above it, bbolt maps multiples of mapStep.
const mapStep = 1 << 30

// Estimates of how much a transaction may add to the file: a fixed number of bytes, a multiple of
// the size of its jobs, and a list of free pages.
const (
	leastRoom = 64 << 20
	roomTimes = 4
	freeShare = 256 // the list of free pages is at most this fraction of the file
)

// beginWait is how long a compaction waits until the writer opens its read transaction. If a write
// needs more room than estimated, the write waits for the compaction, and the compaction fails
// after beginWait.
const beginWait = time.Minute

// errRoom ends a compaction that blocks the writer.
var errRoom = errors.New("the file had to grow more than expected, try again")

// compaction is a running compaction that reads the file.
type compaction struct {
	stop context.CancelCauseFunc
	over chan struct{} // closed when the compaction no longer reads the file
}

// mapAhead returns how many bytes to map for a file with the given size. If the address space is
// too small for a larger mapping, it returns 0, and then only the file itself is mapped.
func (a *Archive) mapAhead(size int64) int64 {
	if size > math.MaxInt-a.ahead {
		return 0
	}
	return size + a.ahead
}

// makeRoom is called by the writer before it writes a group of jobs. If the file could outgrow its
// mapping, makeRoom first ends a running compaction.
func (a *Archive) makeRoom(size int64, group []*job) {
	if a.underway == nil {
		return
	}
	need := size + leastRoom + size/freeShare
	for _, j := range group {
		need += roomTimes * int64(j.size)
	}
	if need < max(a.mapped, leastMapped(size)) {
		return
	}
	a.underway.stop(errRoom)
	<-a.underway.over
	a.underway = nil
}

// leastMapped returns how many bytes bbolt maps at least for a file with the given size.
func leastMapped(size int64) int64 {
	if size > mapStep {
		return (size + mapStep - 1) / mapStep * mapStep
	}
	n := int64(1 << 15)
	for n < size {
		n *= 2
	}
	return n
}

// whileOpen returns a context that ends with ctx, or with the cause ErrClosed when the archive is
// closed. The caller must call release.
func (a *Archive) whileOpen(ctx context.Context) (_ context.Context, release func()) {
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-a.quit:
			stop(ErrClosed)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { stop(nil) }
}

// ended returns ErrClosed if work failed because the archive was closed. ctx must be the context
// that whileOpen has returned for the work. For other errors, ended returns err.
func ended(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), ErrClosed) {
		return ErrClosed
	}
	return err
}

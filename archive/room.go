package archive

import (
	"context"
	"errors"
	"math"
	"time"
)

// bbolt maps the file anew where it outgrows what is mapped, and waits until no transaction reads
// it. A compaction reads for long, and begins to read again before it has ended: the writer must
// not wait for it, or both wait for ever.

// mapStep is how bbolt maps: a power of two up to it, then multiples of it.
const mapStep = 1 << 30

// What a transaction may add to the file: what its jobs hold, several times over, and a list of
// free pages.
const (
	leastRoom = 64 << 20
	roomTimes = 4
	freeShare = 256 // of the file
)

// beginWait bounds how long a compaction waits for the writer to let it read. A write that needs
// more room than was foreseen waits for the compaction, which then gives up.
const beginWait = time.Minute

// errRoom ends a compaction that is in the way of the writer.
var errRoom = errors.New("the file had to grow beyond what was foreseen, try again")

// compaction is the part of a compaction in which it reads.
type compaction struct {
	stop context.CancelCauseFunc
	over chan struct{} // closed when it reads no more
}

// mapAhead gives how much of a file of a size is to be mapped. 0 is what it has, where more has no
// addresses.
func (a *Archive) mapAhead(size int64) int64 {
	if size > math.MaxInt-a.ahead {
		return 0
	}
	return size + a.ahead
}

// makeRoom is called by the writer before a group is written. Where a file of a size could outgrow
// with it what is mapped, a compaction under way is ended first.
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

// leastMapped is what bbolt has mapped at least of a file of a size.
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

// whileOpen gives a ctx that ends with ctx, and with the archive, by ErrClosed. release must be
// called.
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

// ended gives ErrClosed for an error of work whose ctx, of whileOpen, ended since the archive was
// closed.
func ended(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), ErrClosed) {
		return ErrClosed
	}
	return err
}

package archive

import (
	"context"
	"errors"
)

// enter records that a reader begins, and returns the current era. When the reader ends,
// it must call leave with this era.
func (a *Archive) enter() (era uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return 0, a.broken
	}
	a.reading[a.era]++
	return a.era, nil
}

// leave records the end of a reader that began in the given era.
func (a *Archive) leave(era uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reading[era]--; a.reading[era] > 0 {
		return
	}
	delete(a.reading, era)
	if era < a.era {
		select {
		case a.left <- struct{}{}:
		default: // awaitReaders has not received the last value yet
		}
	}
}

// awaitReaders waits until all readers have ended that began before the call. Only one goroutine at
// a time may call it.
func (a *Archive) awaitReaders(ctx context.Context) error {
	a.mu.Lock()
	a.era++
	before := a.era
	a.mu.Unlock()
	for a.readingBefore(before) {
		select {
		case <-a.left:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (a *Archive) readingBefore(era uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for began := range a.reading {
		if began < era {
			return true
		}
	}
	return false
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

package holdings

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"sync"

	"github.com/acapcrawl/acapcrawl/internal/defect"
)

// maxPending is the greatest number of origins in the queue for a new check. If there are more,
// everything that is due is checked again.
const maxPending = 1 << 14

// task names what must be checked again. This is what is due of an origin, or all pages that
// require a certain resource. The field part is the address of the resource.
type task struct{ origin, part string }

// background runs tasks in a background goroutine, one at a time. The goroutine ends when nothing
// is left to do.
type background struct {
	mu      sync.Mutex
	pending map[task]bool
	all     bool          // everything that is due must be checked again
	running chan struct{} // closed when nothing is left to do; nil if nothing is running
	failed  error         // the first error

	ctx  context.Context // context that ends when Holdings are closed
	stop context.CancelFunc
}

// Rejudge starts a background check of what is stored for an origin and is due because its policy
// has changed since the last check (H11: today's policy counts), or because the page has changed.
// If origin is "", the check covers everything that is due, because time limits may have passed. It
// then also completes the work for required resources that have changed. Rejudge returns at once.
// Options.Swept receives what is erased. A check that failed or was interrupted by Close starts
// again at the next call for the same origin, even in another process. Close returns the first
// error.
func (h *Holdings) Rejudge(origin string) { h.background.add(h, task{origin: origin}) }

// add queues a task, and starts the goroutine if none is running.
func (b *background) add(h *Holdings, t task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ctx.Err() != nil:
		return
	case t == (task{}) || t.part == "" && len(b.pending) >= maxPending:
		b.all = true
		maps.DeleteFunc(b.pending, func(t task, _ bool) bool { return t.part == "" })
	case t.part != "" && len(b.pending) >= maxPending:
		// a task that is not queued is not lost: the record of the resource stays pending for the
		// next run
	default:
		b.pending[t] = true
	}
	if b.running == nil {
		b.running = make(chan struct{})
		go h.rejudgeAll()
	}
}

// AwaitRejudged waits until nothing is left to be checked again, or ctx ends.
func (h *Holdings) AwaitRejudged(ctx context.Context) {
	b := &h.background
	b.mu.Lock()
	running := b.running
	b.mu.Unlock()
	if running == nil {
		return
	}
	select {
	case <-running:
	case <-ctx.Done():
	}
}

// stopAndWait stops the running task, waits for it, and returns the first error.
func (b *background) stopAndWait() error {
	b.mu.Lock()
	b.stop()
	running := b.running
	b.mu.Unlock()
	if running != nil {
		<-running
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// nextTask returns the next task; the check of everything comes last. more is false if no task is
// left; the goroutine must then end.
func (b *background) nextTask() (t task, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() == nil {
		if t, more = b.popPending(); more {
			return t, true
		}
		if b.all {
			b.all = false
			return task{}, true
		}
	}
	close(b.running)
	b.running = nil
	return task{}, false
}

// popPending removes a task from the queue and returns it. waits is false if the queue is empty.
// The caller must hold mu.
func (b *background) popPending() (t task, waits bool) {
	for t := range b.pending {
		delete(b.pending, t)
		return t, true
	}
	return task{}, false
}

func (b *background) recordError(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil && b.ctx.Err() == nil {
		b.failed = err
	}
}

func (h *Holdings) rejudgeAll() {
	b := &h.background
	for {
		t, more := b.nextTask()
		switch {
		case !more:
			return
		case t != (task{}):
			h.rejudge(t)
		default:
			h.rejudgeEverything()
		}
	}
}

func (h *Holdings) rejudgeEverything() {
	b := &h.background
	if h.sources.Fetcher != nil {
		parts, err := h.archive.PendingParts()
		if err != nil {
			b.recordError(err)
		}
		for _, part := range parts {
			if err := h.startRemaking(b.ctx, part); err != nil {
				b.recordError(err)
			}
		}
	}
	if _, err := h.sweep(b.ctx, SweepOptions{}, h.o.Swept, h.rejudgeWaiting); err != nil {
		b.recordError(err)
	}
}

// rejudgeWaiting runs the waiting tasks. It is called between two batches of a check of everything
// stored.
func (h *Holdings) rejudgeWaiting() {
	b := &h.background
	for b.ctx.Err() == nil {
		b.mu.Lock()
		t, waits := b.popPending()
		b.mu.Unlock()
		if !waits {
			return
		}
		h.rejudge(t)
	}
}

func (h *Holdings) rejudge(t task) {
	b := &h.background
	var panicked error
	defer func() {
		if panicked != nil {
			b.recordError(panicked)
		}
	}()
	defer defect.Catch(&panicked, t.part+t.origin, h.o.Defect)
	if t.part != "" {
		if err := h.remakeAll(b.ctx, t.part); err != nil {
			b.recordError(fmt.Errorf("the pages that require %s could not be checked again: %w", t.part, err))
		}
		return
	}
	if err := h.rejudgeOrigin(b.ctx, t.origin); err != nil {
		b.recordError(fmt.Errorf("the stored pages of %s could not be checked again: %w", t.origin, err))
	}
}

// rejudgeOrigin checks what is stored for an origin and has changed since the last check, or all of
// it if the policy has changed.
func (h *Holdings) rejudgeOrigin(ctx context.Context, origin string) error {
	u, err := url.Parse(origin + "/")
	if err != nil || h.o.Version == nil || h.o.Version(u).Since.IsZero() {
		return err
	}
	_, err = h.Sweep(ctx, SweepOptions{Origin: origin}, h.o.Swept)
	return err
}

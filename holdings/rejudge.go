package holdings

import (
	"context"
	"fmt"
	"net/url"
	"sync"
)

// maxPending bounds the origins that wait to be judged again; with more of them everything is.
const maxPending = 1 << 14

// background is what is judged again beside other work, one task at a time. No goroutine is left when nothing is to be done.
type background struct {
	mu      sync.Mutex
	pending map[string]bool // origins
	all     bool            // everything is to be judged
	running chan struct{}   // closed when nothing is left to do; nil: nothing is
	failed  error           // the first

	ctx  context.Context // ends with Close
	stop context.CancelFunc
}

// Rejudge has what is held of an origin judged again in the background, where its policy is not of the version under which that was
// done last (H11); with "" everything that is held, since time goes by too. It returns at once. Options.Swept is told what goes.
// What Close cuts short, and what fails, is begun again when the origin is next named, also by another process. Close tells the first
// error.
func (h *Holdings) Rejudge(origin string) {
	b := &h.background
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return
	}
	if origin == "" || len(b.pending) >= maxPending {
		b.all = true
		clear(b.pending)
	} else {
		b.pending[origin] = true
	}
	if b.running == nil {
		b.running = make(chan struct{})
		go h.rejudgeAll()
	}
}

// AwaitRejudged waits until nothing is left to be judged again, or ctx ends.
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

// end stops what is under way, waits for it, and gives the first error.
func (b *background) end() error {
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

// take gives what is to be done next, origins first; false where that is nothing, and then nobody is running any more.
func (b *background) take() (origin string, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() == nil {
		if origin, more = b.next(); more {
			return origin, true
		}
		if b.all {
			b.all = false
			return "", true
		}
	}
	close(b.running)
	b.running = nil
	return "", false
}

// next takes an origin that waits; mu is held.
func (b *background) next() (origin string, waits bool) {
	for origin := range b.pending {
		delete(b.pending, origin)
		return origin, true
	}
	return "", false
}

func (b *background) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil && b.ctx.Err() == nil {
		b.failed = err
	}
}

func (h *Holdings) rejudgeAll() {
	b := &h.background
	for {
		origin, more := b.take()
		if !more {
			return
		}
		if origin != "" {
			h.rejudge(origin)
		} else if _, err := h.sweep(b.ctx, SweepOptions{}, h.o.Swept, h.rejudgeWaiting); err != nil {
			b.fail(err)
		}
	}
}

// rejudgeWaiting judges the origins that wait, between two batches of everything.
func (h *Holdings) rejudgeWaiting() {
	b := &h.background
	for b.ctx.Err() == nil {
		b.mu.Lock()
		origin, waits := b.next()
		b.mu.Unlock()
		if !waits {
			return
		}
		h.rejudge(origin)
	}
}

func (h *Holdings) rejudge(origin string) {
	if err := h.rejudgeOrigin(h.background.ctx, origin); err != nil {
		h.background.fail(fmt.Errorf("what is held of %s could not be judged again: %w", origin, err))
	}
}

// rejudgeOrigin judges what is held of an origin, unless that was done under the version of its policy that is in force.
func (h *Holdings) rejudgeOrigin(ctx context.Context, origin string) error {
	u, err := url.Parse(origin + "/")
	if err != nil || h.o.Version == nil {
		return err
	}
	version := h.o.Version(u)
	if version.Since.IsZero() {
		return nil
	}
	since, err := h.archive.Judged(origin)
	if err != nil || since.Equal(version.Since) {
		return err
	}
	counts, err := h.Sweep(ctx, SweepOptions{Origin: origin}, h.o.Swept)
	if err != nil || counts.Pages == 0 {
		return err
	}
	return h.archive.SetJudged(ctx, origin, version.Since)
}

package holdings

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"sync"

	"github.com/acapcrawl/acapcrawl/defect"
)

// maxPending bounds the origins that wait to be judged again; with more of them everything is.
const maxPending = 1 << 14

// task is what has to be judged again: what is held of an origin, or the pages that require another
// resource.
type task struct{ origin, part string }

// background is what is judged again beside other work, one task at a time. No goroutine is left
// when nothing is to be done.
type background struct {
	mu      sync.Mutex
	pending map[task]bool
	all     bool          // everything is to be judged
	running chan struct{} // closed when nothing is left to do; nil: nothing is
	failed  error         // the first

	ctx  context.Context // ends with Close
	stop context.CancelFunc
}

// Rejudge has what is held of an origin judged again in the background, where its policy is not of
// the version under which that was done last (H11); with "" everything that is held, since time
// goes by too, and what is left to be done for required resources that have changed. It returns at
// once. Options.Swept is told what goes. What Close cuts short, and what fails, is begun again when
// the origin is next named, also by another process. Close tells the first error.
func (h *Holdings) Rejudge(origin string) { h.background.add(h, task{origin: origin}) }

// add puts a task down, and begins where nothing is being done.
func (b *background) add(h *Holdings, t task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ctx.Err() != nil:
		return
	case t == (task{}) || t.part == "" && len(b.pending) >= maxPending:
		b.all = true
		maps.DeleteFunc(b.pending, func(t task, _ bool) bool { return t.part == "" })
	case t.part != "" && len(b.pending) >= maxPending: // it is found pending by the next run
	default:
		b.pending[t] = true
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

// take gives what is to be done next, everything last; false where that is nothing, and then nobody
// is running any more.
func (b *background) take() (t task, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() == nil {
		if t, more = b.next(); more {
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

// next takes a task that waits; mu is held.
func (b *background) next() (t task, waits bool) {
	for t := range b.pending {
		delete(b.pending, t)
		return t, true
	}
	return task{}, false
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
		t, more := b.take()
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
			b.fail(err)
		}
		for _, part := range parts {
			if err := h.resume(b.ctx, part); err != nil {
				b.fail(err)
			}
		}
	}
	if _, err := h.sweep(b.ctx, SweepOptions{}, h.o.Swept, h.rejudgeWaiting); err != nil {
		b.fail(err)
	}
}

// rejudgeWaiting does the tasks that wait, between two batches of everything.
func (h *Holdings) rejudgeWaiting() {
	b := &h.background
	for b.ctx.Err() == nil {
		b.mu.Lock()
		t, waits := b.next()
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
			b.fail(panicked)
		}
	}()
	defer defect.Catch(&panicked, t.part+t.origin, h.o.Defect)
	if t.part != "" {
		if err := h.remakeAll(b.ctx, t.part); err != nil {
			b.fail(fmt.Errorf("the pages that require %s could not be judged again: %w", t.part, err))
		}
		return
	}
	if err := h.rejudgeOrigin(b.ctx, t.origin); err != nil {
		b.fail(fmt.Errorf("what is held of %s could not be judged again: %w", t.origin, err))
	}
}

// rejudgeOrigin judges what is held of an origin, unless that was done under the version of its
// policy that is in force.
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

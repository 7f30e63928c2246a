package holdings

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
)

const (
	groupSize = 512             // documents written to the index at once: a small segment costs more for each of them
	groupWait = 5 * time.Second // how long a document waits for company when nobody waits for it
	ahead     = 128             // documents that wait while a group is written
)

// change is one document for the index, or a URL to forget.
type change struct {
	doc  *index.Document // nil: forget url
	url  string          // "": nothing changes, but who sent it hears when all that came before is written
	wait bool            // somebody waits until the index has it, or has forgotten it
	done chan error      // set with wait
}

// size returns how many bytes of the disk the index may take for c: up to twice the length of the
// text, until its segments are merged.
func (c *change) size() int64 {
	if c.doc == nil {
		return 0
	}
	return 2 * int64(len(c.doc.Text)+len(c.doc.Title))
}

// indexer writes to the index from one goroutine, in the order of arrival, in groups.
type indexer struct {
	index   Index
	archive *archive.Archive
	changes chan change
	stopped chan struct{}

	unwritten atomic.Int64 // bytes of the documents that the index has not got yet

	mu      sync.Mutex
	failed  error // the first failure; later changes are refused, intents remain
	closed  bool
	senders sync.WaitGroup
}

func startIndexer(ix Index, a *archive.Archive) *indexer {
	w := &indexer{index: ix, archive: a, changes: make(chan change, ahead), stopped: make(chan struct{})}
	go w.run()
	return w
}

// send hands a change over. The function returned waits for the index where c asks for that. Once
// the archive has a page, no context cuts this short; the loop always drains.
func (w *indexer) send(c change) (func() error, error) {
	w.mu.Lock()
	if w.failed != nil || w.closed {
		err := w.failed
		w.mu.Unlock()
		if err == nil {
			err = index.ErrClosed
		}
		return nil, err
	}
	w.senders.Add(1)
	w.mu.Unlock()
	w.unwritten.Add(c.size())
	if !c.wait && c.doc != nil {
		w.changes <- c
		w.senders.Done()
		return func() error { return nil }, nil
	}
	c.wait, c.done = true, make(chan error, 1)
	w.changes <- c
	w.senders.Done()
	return func() error { return <-c.done }, nil
}

// drain returns when the index has all that was sent before.
func (w *indexer) drain() error {
	written, err := w.send(change{wait: true})
	if err != nil {
		return err
	}
	return written()
}

func (w *indexer) close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		w.mu.Unlock()
		w.senders.Wait()
		close(w.changes)
	} else {
		w.mu.Unlock()
	}
	<-w.stopped
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

func (w *indexer) run() {
	defer close(w.stopped)
	for first := range w.changes {
		group := w.gather(first)
		err := w.write(group)
		for _, c := range group {
			w.unwritten.Add(-c.size())
		}
		if err != nil {
			w.mu.Lock()
			if w.failed == nil {
				w.failed = fmt.Errorf("the index cannot be written: %w", err)
			}
			w.mu.Unlock()
		}
		for _, c := range group {
			if c.wait {
				c.done <- err
			}
		}
	}
}

// gather collects a group: until it is full, or nothing more has come for a while; at once where
// somebody waits.
func (w *indexer) gather(first change) []change {
	group := []change{first}
	waiting := first.wait
	timer := time.NewTimer(groupWait)
	defer timer.Stop()
	for len(group) < groupSize {
		if waiting {
			select {
			case c, ok := <-w.changes:
				if !ok {
					return group
				}
				group = append(group, c)
				continue
			default:
				return group
			}
		}
		select {
		case c, ok := <-w.changes:
			if !ok {
				return group
			}
			group = append(group, c)
			waiting = waiting || c.wait
		case <-timer.C:
			return group
		}
	}
	return group
}

// write brings the index up to a group; of several changes of one URL the last counts.
func (w *indexer) write(group []change) error {
	last := make(map[string]int, len(group))
	for i, c := range group {
		last[c.url] = i
	}
	var docs []index.Document
	var gone, all []string
	for i, c := range group {
		if c.url == "" {
			continue
		}
		all = append(all, c.url)
		switch {
		case last[c.url] != i:
		case c.doc != nil:
			docs = append(docs, *c.doc)
		default:
			gone = append(gone, c.url)
		}
	}
	if len(gone) > 0 {
		if err := w.index.Delete(gone...); err != nil {
			return err
		}
	}
	if len(docs) > 0 {
		if err := w.index.Put(docs...); err != nil {
			return err
		}
	}
	w.archive.Done(all...)
	return w.flush(group)
}

// flush makes it durable that the index has the documents that cannot be made again: else a crash
// would leave their intents, and Open would forget them.
func (w *indexer) flush(group []change) error {
	for _, c := range group {
		if c.wait && c.doc != nil {
			return w.archive.Update(context.Background(), c.url, func(*archive.Resource) {})
		}
	}
	return nil
}

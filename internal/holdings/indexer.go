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
	// greatest number of documents, and of bytes of their texts, written to the index at once: an
	// index of small segments costs more per document
	groupSize  = 4096
	groupBytes = 12 << 20
	groupWait  = 5 * time.Second // how long a change waits for other changes, if no sender waits for its result
	ahead      = 256             // greatest number of changes in the queue while a group is written
)

// change is a document to index, or a URL to delete from the index.
type change struct {
	doc *index.Document // the document to index; nil means to delete url
	// the URL to delete; "" deletes nothing, and the sender learns when all earlier changes are
	// written
	url  string
	wait bool       // the sender waits until the change is written
	done chan error // receives the result of the write; set if wait is set
}

// text returns the length of the text to index.
func (c *change) text() int64 {
	if c.doc == nil {
		return 0
	}
	return int64(len(c.doc.Text) + len(c.doc.Title))
}

// size returns how many bytes of disk the index may need for c: up to twice the length of the text,
// until segments are merged.
func (c *change) size() int64 { return 2 * c.text() }

// indexer writes changes to the index in groups, from one goroutine, in the order of arrival.
type indexer struct {
	index   Index
	archive *archive.Archive
	changes chan change
	stopped chan struct{}

	unwritten atomic.Int64 // bytes of disk that the index will need for documents not yet in the index

	mu      sync.Mutex
	failed  error // the first failure; after it, changes are refused and their intents stay in the archive
	closed  bool
	senders sync.WaitGroup
}

func startIndexer(ix Index, a *archive.Archive) *indexer {
	w := &indexer{index: ix, archive: a, changes: make(chan change, ahead), stopped: make(chan struct{})}
	go w.run()
	return w
}

// send queues a change. The returned function waits until c is written, if c.wait is set. No
// context can cancel this wait, because the archive already has the page, and the queue is always
// emptied.
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

// drain waits until the index contains everything that was sent before.
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

// gather collects a group of changes. It returns when the group is full, or when no change has
// arrived for some time. If a sender waits for its change, gather returns without delay.
func (w *indexer) gather(first change) []change {
	group, bytes := []change{first}, first.text()
	waiting := first.wait
	timer := time.NewTimer(groupWait)
	defer timer.Stop()
	for len(group) < groupSize && bytes < groupBytes {
		if waiting {
			select {
			case c, ok := <-w.changes:
				if !ok {
					return group
				}
				group, bytes = append(group, c), bytes+c.text()
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
			group, bytes = append(group, c), bytes+c.text()
			waiting = waiting || c.wait
		case <-timer.C:
			return group
		}
	}
	return group
}

// write applies a group to the index; of several changes of one URL only the last is applied.
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

// flush makes the archive's record durable that the index has those documents of group that cannot
// be made again from a copy. Otherwise a crash would leave their intents, and Open would delete
// them from the index.
func (w *indexer) flush(group []change) error {
	for _, c := range group {
		if c.wait && c.doc != nil {
			return w.archive.Update(context.Background(), c.url, func(*archive.Resource) {})
		}
	}
	return nil
}

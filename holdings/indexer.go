package holdings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/terms"
)

const (
	groupSize = 512             // documents written to the index at once
	groupWait = 2 * time.Second // how long a document waits for company when nobody waits for it
)

// change is one document for the index, or a URL to forget.
type change struct {
	doc  *index.Document
	url  string
	done chan error // nil: nobody waits
}

// indexer writes to the index from one goroutine, in the order of arrival, in groups.
type indexer struct {
	index   *index.Index
	archive *archive.Archive
	changes chan change
	stopped chan struct{}

	mu      sync.Mutex
	failed  error // the first failure; later changes are refused, intents remain
	closed  bool
	senders sync.WaitGroup
}

func startIndexer(ix *index.Index, a *archive.Archive) *indexer {
	w := &indexer{index: ix, archive: a, changes: make(chan change, groupSize), stopped: make(chan struct{})}
	go w.run()
	return w
}

// put writes a document; with wait it returns when the index has it.
func (w *indexer) put(ctx context.Context, doc index.Document, wait bool) error {
	return w.send(ctx, change{doc: &doc, url: doc.URL}, wait)
}

// remove forgets a URL and returns when it can no longer be found.
func (w *indexer) remove(ctx context.Context, url string) error {
	return w.send(ctx, change{url: url}, true)
}

func (w *indexer) send(ctx context.Context, c change, wait bool) error {
	w.mu.Lock()
	if w.failed != nil || w.closed {
		err := w.failed
		w.mu.Unlock()
		if err == nil {
			err = index.ErrClosed
		}
		return err
	}
	w.senders.Add(1)
	w.mu.Unlock()
	if wait {
		c.done = make(chan error, 1)
	}
	w.changes <- c // the loop always drains; the archive already has the page, so ctx does not cut this short
	w.senders.Done()
	if !wait {
		return nil
	}
	return <-c.done
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
		if err != nil {
			w.mu.Lock()
			if w.failed == nil {
				w.failed = fmt.Errorf("the index cannot be written: %w", err)
			}
			w.mu.Unlock()
		}
		for _, c := range group {
			if c.done != nil {
				c.done <- err
			}
		}
	}
}

// gather collects a group: until it is full, or nothing more has come for a while; at once where somebody waits.
func (w *indexer) gather(first change) []change {
	group := []change{first}
	waiting := first.done != nil
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
			waiting = waiting || c.done != nil
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
	return nil
}

// recover makes the index agree with the archive for every URL whose change a crash cut short, and for all of them where the index
// is new. What can be read again is indexed again under the policy last known; what cannot is forgotten, and its page, never
// acknowledged, is fetched again.
func (h *Holdings) recover(ctx context.Context, ix *index.Index) error {
	urls, err := h.unsettled(ix)
	if err != nil {
		return err
	}
	for group := range slices.Chunk(urls, groupSize/2) {
		if err := h.settle(ctx, ix, group); err != nil {
			return err
		}
	}
	return nil
}

func (h *Holdings) unsettled(ix *index.Index) ([]string, error) {
	n, err := ix.Count()
	if err != nil || n > 0 {
		urls, err2 := h.archive.Intents()
		return urls, errors.Join(err, err2)
	}
	urls, err := h.archive.Intents()
	if err != nil {
		return nil, err
	}
	err = h.archive.Each(func(r archive.Resource) error {
		if r.Indexed {
			urls = append(urls, r.URL)
		}
		return nil
	})
	slices.Sort(urls)
	return slices.Compact(urls), err
}

// settle brings the index up to date for a group of URLs.
func (h *Holdings) settle(ctx context.Context, ix *index.Index, urls []string) error {
	var docs []index.Document
	var gone []string
	for _, address := range urls {
		if err := ctx.Err(); err != nil {
			return err
		}
		doc, err := h.rebuild(ctx, address)
		if err != nil {
			return err
		}
		if doc != nil {
			docs = append(docs, *doc)
		} else {
			gone = append(gone, address)
		}
	}
	if len(docs) > 0 {
		if err := ix.Put(docs...); err != nil {
			return err
		}
	}
	if len(gone) > 0 {
		if err := ix.Delete(gone...); err != nil {
			return err
		}
	}
	for _, address := range gone {
		if err := h.archive.Update(ctx, address, func(r *archive.Resource) { r.Indexed = false }); err != nil {
			return err
		}
	}
	h.archive.Done(urls...)
	return nil
}

// rebuild makes a document from the current copy; nil where there is none or it may not be indexed.
func (h *Holdings) rebuild(ctx context.Context, address string) (*index.Document, error) {
	r, known, err := h.archive.Resource(address)
	if err != nil || !known || !r.Indexed || r.Current == 0 {
		return nil, err
	}
	c, err := h.archive.Capture(r.Current)
	if err != nil {
		return nil, err
	}
	body, err := h.archive.Body(r.Current)
	if err != nil {
		return nil, err
	}
	pg := c.Page(body)
	origin, err := h.o.Known.Policy(ctx, pg.URL())
	if err != nil {
		return nil, err
	}
	t := terms.Held(ctx, origin, pg.URL(), r.Own, pg, terms.Sources{Policies: h.o.Known, Fetcher: h.sources.Fetcher}, acap.Facts{Now: h.o.Now(), FirstCrawled: r.FirstCrawled,
		FirstIndexed: r.FirstIndexed, FirstPreserved: r.FirstPreserved, FirstPresented: r.FirstPresented})
	content, ok := t.Text()
	if !ok {
		return nil, nil
	}
	return &index.Document{URL: address, Title: content.Title, Text: content.Text, Language: r.Language, Host: pg.URL().Host,
		Fetched: c.Fetched, Positions: true}, nil
}

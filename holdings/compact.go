package holdings

import (
	"context"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
)

// CompactStats says what a compaction did, in bytes of files.
type CompactStats struct {
	Before  int64                `json:"before"`
	After   int64                `json:"after"`
	Archive archive.CompactStats `json:"archive"`
	Index   IndexStats           `json:"index"`
}

// IndexStats is the part of the index in it.
type IndexStats struct {
	Before int64 `json:"before"`
	After  int64 `json:"after"`
}

// Compact writes archive and index anew. After it no byte of what had been erased when it began, and no word that only that had, is in
// any of their files. Both are used meanwhile. progress, which may be nil, is told of bytes of the archive.
func (h *Holdings) Compact(ctx context.Context, progress func(done, total int64)) (s CompactStats, err error) {
	s.Archive, err = h.archive.Compact(ctx, progress, func(ctx context.Context) (err error) {
		if err := h.indexed(); err != nil {
			return err
		}
		ix := h.indexer.index
		if s.Index.Before, err = ix.Bytes(); err != nil {
			return err
		}
		if err := ix.Compact(ctx); err != nil {
			return err
		}
		s.Index.After, err = ix.Bytes()
		return err
	})
	s.Before, s.After = s.Archive.Before+s.Index.Before, s.Archive.After+s.Index.After
	return s, err
}

// indexed waits until the index has, and has forgotten, what the archive was told of before.
func (h *Holdings) indexed() error {
	for i := range h.locks { // whoever has told the archive and not yet the index holds one
		pass(&h.locks[i])
	}
	return h.indexer.drain()
}

func pass(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

// Upkeep compacts by itself, until ctx ends: it begins when half of the time within has passed since the first erasure that was not
// followed by a compaction, in this process or an earlier one. 0 is never. told hears of each one, and of errors; after one it tries
// again when as much time has passed.
func (h *Holdings) Upkeep(ctx context.Context, within time.Duration, told func(CompactStats, error)) {
	if within <= 0 {
		return
	}
	var failed time.Time
	for {
		due, err := h.archive.Uncompacted()
		if err != nil {
			told(CompactStats{}, err)
			return
		}
		if due.IsZero() {
			select {
			case <-h.archive.Erased():
				continue
			case <-ctx.Done():
				return
			}
		}
		if due.Before(failed) {
			due = failed
		}
		timer := time.NewTimer(due.Add(within / 2).Sub(h.o.Now()))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		s, err := h.Compact(ctx, nil)
		if ctx.Err() != nil {
			return
		}
		if told(s, err); err != nil {
			failed = h.o.Now()
		}
	}
}

// Settle compacts now where Upkeep would later: a process that ends calls it, since nobody may be there when the time has come. It
// reports whether there was anything to do.
func (h *Holdings) Settle(ctx context.Context, within time.Duration) (s CompactStats, done bool, err error) {
	since, err := h.archive.Uncompacted()
	if err != nil || within <= 0 || since.IsZero() {
		return s, false, err
	}
	s, err = h.Compact(ctx, nil)
	return s, err == nil, err
}

// Receipt says what was erased of a URL and what is left of it, in the archive and in the index.
func (h *Holdings) Receipt(address string) (archive.Receipt, error) {
	r, err := h.archive.Receipt(address)
	if err != nil {
		return r, err
	}
	known, _, err := h.archive.Resource(address)
	if err != nil || known.Indexed { // which the archive tells
		return r, err
	}
	found, err := h.indexer.index.Has(address)
	if found {
		r.Left = append(r.Left, archive.Problem{Where: "the index", What: "still finds it"})
	}
	return r, err
}

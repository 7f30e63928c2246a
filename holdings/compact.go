package holdings

import (
	"context"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
)

// CompactStats says what a compaction did, in bytes of files.
type CompactStats struct {
	Began   time.Time            `json:"-"` // of what was erased before, no file holds a trace
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

// Compact writes archive and index anew. After it no byte of what had been erased when it began,
// and no word that only that had, is in any of their files. Both are used meanwhile. progress,
// which may be nil, is told of bytes of the archive.
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
	s.Began = s.Archive.Began
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

// Within says how soon no file is to hold a trace of what was erased. A compaction begins at half
// of the time.
type Within struct {
	Asked time.Duration // where a publisher asked for it (P1 2.6.1); 0: at once
	Other time.Duration // 0: never by itself
}

// due is when a compaction is to begin after erasures of which the first was then, and the first
// that was asked for; zero for never.
func (w Within) due(since, asked time.Time) (at time.Time) {
	if !since.IsZero() && w.Other > 0 {
		at = since.Add(w.Other / 2)
	}
	if soon := asked.Add(w.Asked / 2); !asked.IsZero() && (at.IsZero() || soon.Before(at)) {
		at = soon
	}
	return at
}

// again is how long one that failed is not tried again.
func (w Within) again() time.Duration {
	wait := max(w.Asked/2, time.Minute)
	if w.Other > 0 {
		wait = min(wait, w.Other/2)
	}
	return wait
}

// Upkeep compacts by itself, until ctx ends, after erasures in this process or an earlier one. What
// is erased while it does shares the next compaction, and between two lies at least as long as the
// last one took. told hears of each one, and of errors; after one it tries again within a minute,
// or half of a longer time.
func (h *Holdings) Upkeep(ctx context.Context, w Within, told func(CompactStats, error)) {
	var rest time.Time // no compaction begins before
	for {
		since, asked, err := h.archive.Uncompacted()
		if err != nil {
			told(CompactStats{}, err)
			return
		}
		if !h.await(ctx, w.due(since, asked), rest) {
			if ctx.Err() != nil {
				return
			}
			continue
		}
		began := h.o.Now()
		s, err := h.Compact(ctx, nil)
		if ctx.Err() != nil {
			return
		}
		rest = h.o.Now()
		if err != nil {
			rest = rest.Add(w.again())
		} else {
			rest = rest.Add(rest.Sub(began))
		}
		told(s, err)
	}
}

// await waits until due, but not less than until rest; a zero due never comes. It reports false
// where something was erased meanwhile, or ctx has ended.
func (h *Holdings) await(ctx context.Context, due, rest time.Time) bool {
	var come <-chan time.Time
	if !due.IsZero() {
		if due.Before(rest) {
			due = rest
		}
		timer := time.NewTimer(due.Sub(h.o.Now()))
		defer timer.Stop()
		come = timer.C
	}
	select {
	case <-come:
		return true
	case <-h.archive.Erased():
	case <-ctx.Done():
	}
	return false
}

// Settle compacts now where Upkeep would begin to before next; zero: ever. A process that ends
// calls it, which knows that the next one comes then, or that nobody may come. It reports whether
// there was anything to do.
func (h *Holdings) Settle(ctx context.Context, w Within, next time.Time) (s CompactStats, done bool, err error) {
	since, asked, err := h.archive.Uncompacted()
	due := w.due(since, asked)
	if err != nil || due.IsZero() || !next.IsZero() && due.After(next) {
		return s, false, err
	}
	s, err = h.Compact(ctx, nil)
	return s, err == nil, err
}

// Compacted gives the time at which the last compaction began that was completed, whoever made it;
// zero where none was. Of what was erased before, no file holds a trace.
func (h *Holdings) Compacted() (began time.Time, err error) { return h.archive.Compacted() }

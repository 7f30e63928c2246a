package holdings

import (
	"context"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
)

// CompactStats is the result of a compaction. Sizes are in bytes of files.
type CompactStats struct {
	Began   time.Time            `json:"-"` // no file contains data that was erased before this time
	Before  int64                `json:"before"`
	After   int64                `json:"after"`
	Archive archive.CompactStats `json:"archive"`
	Index   IndexStats           `json:"index"`
}

// IndexStats is the part of CompactStats about the index, in bytes of files.
type IndexStats struct {
	Before int64 `json:"before"`
	After  int64 `json:"after"`
}

// Compact removes erased data from the files of archive and index. Afterwards no file contains data
// erased before the compaction began, or a word that occurred only in such data. Archive and index
// can be used while Compact runs. It calls progress, which may be nil, with numbers of bytes of the
// archive.
func (h *Holdings) Compact(ctx context.Context, progress func(done, total int64)) (s CompactStats, err error) {
	s.Archive, err = h.archive.Compact(ctx, progress, func(ctx context.Context) (err error) {
		if err := h.awaitIndexed(); err != nil {
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

// awaitIndexed waits until the index contains all earlier changes of the archive.
func (h *Holdings) awaitIndexed() error {
	// a goroutine that has written to the archive and not yet to the index holds one of these locks
	for i := range h.locks {
		lockOnce(&h.locks[i])
	}
	return h.indexer.drain()
}

func lockOnce(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

// Within says how soon erased data must leave all files. Upkeep begins a compaction when half of
// this time has passed.
type Within struct {
	Asked time.Duration // for erasures that a publisher requested (P1 2.6.1: take-down); 0 means at once
	Other time.Duration // for all other erasures; 0 means that such erasures start no compaction
}

// due returns when to compact. since and asked are the times of the oldest erasure and of the
// oldest requested erasure; the zero time means never.
func (w Within) due(since, asked time.Time) (at time.Time) {
	if !since.IsZero() && w.Other > 0 {
		at = since.Add(w.Other / 2)
	}
	if soon := asked.Add(w.Asked / 2); !asked.IsZero() && (at.IsZero() || soon.Before(at)) {
		at = soon
	}
	return at
}

// retryDelay returns how long to wait after a compaction that failed.
func (w Within) retryDelay() time.Duration {
	wait := max(w.Asked/2, time.Minute)
	if w.Other > 0 {
		wait = min(wait, w.Other/2)
	}
	return wait
}

// Upkeep compacts after erasures, in this process or an earlier one, until ctx ends. Data erased
// during a compaction waits for the next one. After a compaction, Upkeep waits at least as long as
// the compaction took. After an error Upkeep waits for half of w.Asked or a minute, whichever is
// longer, but at most half of w.Other if w.Other is set. Upkeep calls told after each compaction
// and each error.
func (h *Holdings) Upkeep(ctx context.Context, w Within, told func(CompactStats, error)) {
	var rest time.Time // no compaction begins before this time
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
			rest = rest.Add(w.retryDelay())
		} else {
			rest = rest.Add(rest.Sub(began))
		}
		told(s, err)
	}
}

// await waits until the later of the times due and rest. If due is zero, it waits without limit. It
// returns false if something was erased meanwhile, or if ctx has ended.
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

// Settle compacts now if Upkeep would begin a compaction before next, the expected start of the
// next process. If next is zero, no other process is expected. A process calls Settle before it
// ends. done reports whether a compaction was completed.
func (h *Holdings) Settle(ctx context.Context, w Within, next time.Time) (s CompactStats, done bool, err error) {
	since, asked, err := h.archive.Uncompacted()
	due := w.due(since, asked)
	if err != nil || due.IsZero() || !next.IsZero() && due.After(next) {
		return s, false, err
	}
	s, err = h.Compact(ctx, nil)
	return s, err == nil, err
}

// Compacted returns when the last completed compaction by any process began. The result is zero if
// there was none. No file contains data that was erased before that time.
func (h *Holdings) Compacted() (began time.Time, err error) { return h.archive.Compacted() }

package holdings

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/acapcrawl/acapcrawl/archive"
)

// Backup copies archive and index in the state of one instant, so that the two copies agree. It
// copies archive.db, keys.db and the files below bodies/ and index/. held describes the contents of
// the copy. Other goroutines may read and write during the copying; writes are blocked only while
// the snapshot is taken. Before that, Backup compacts, because a copy must not contain
// erased data, and index files contain the words of erased pages until compaction. Later erasures,
// by time limit or at a publisher's request, do not change the copy.
func (h *Holdings) Backup(ctx context.Context, create archive.Create) (held archive.Stats, err error) {
	if since, _, err := h.archive.Uncompacted(); err != nil {
		return held, err
	} else if !since.IsZero() {
		if _, err := h.Compact(ctx, nil); err != nil {
			return held, err
		}
	}
	for i := range h.locks {
		h.locks[i].Lock()
	}
	resume := sync.OnceFunc(func() {
		for i := range h.locks {
			h.locks[i].Unlock()
		}
	})
	defer resume()
	if err := h.indexer.drain(); err != nil {
		return held, err
	}
	// pages may have been erased meanwhile
	if since, _, err := h.archive.Uncompacted(); err != nil {
		return held, err
	} else if !since.IsZero() {
		if err := h.indexer.index.Compact(ctx); err != nil {
			return held, err
		}
	}
	snapshot, err := h.indexer.index.Snapshot()
	if err != nil {
		return held, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	if held, err = h.archive.Backup(ctx, resume, create); err != nil {
		return held, err
	}
	return held, snapshot.Copy(ctx, func(name string, size int64) (io.Writer, error) {
		return create("index/"+name, size)
	})
}

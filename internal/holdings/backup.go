package holdings

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/acapcrawl/acapcrawl/archive"
)

// compactions is the number of compactions of a backup during which others may write.
const compactions = 3

// Backup copies archive and index in the state of one instant, so that the two copies agree. It
// copies archive.db, keys.db and the files below bodies/ and index/. held describes the contents of
// the copy. Backup first compacts, because index files contain the words of erased pages until then.
// Other goroutines may read and write meanwhile. Writes are blocked only while the snapshot is taken
// and, if pages were erased during each of several compactions, during a last one of the index.
// Later erasures, by time limit or at a publisher's request, do not change the copy.
func (h *Holdings) Backup(ctx context.Context, create archive.Create) (held archive.Stats, err error) {
	resume, err := h.pause(ctx)
	if err != nil {
		return held, err
	}
	defer resume()
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

// pause blocks writes at a time when the files of the index contain no words of erased pages. The
// caller must call resume.
func (h *Holdings) pause(ctx context.Context) (resume func(), err error) {
	for left := compactions; ; left-- {
		for i := range h.locks {
			h.locks[i].Lock()
		}
		resume = sync.OnceFunc(func() {
			for i := range h.locks {
				h.locks[i].Unlock()
			}
		})
		clean, err := h.clean()
		if err == nil && !clean && left == 0 {
			clean, err = true, h.indexer.index.Compact(ctx)
		}
		if clean && err == nil {
			return resume, nil
		}
		resume()
		if err == nil {
			_, err = h.Compact(ctx, nil)
		}
		if err != nil {
			return nil, err
		}
	}
}

// clean reports whether nothing was erased since the last compaction.
func (h *Holdings) clean() (bool, error) {
	if err := h.indexer.drain(); err != nil {
		return false, err
	}
	since, _, err := h.archive.Uncompacted()
	return since.IsZero(), err
}

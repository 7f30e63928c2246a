package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	bleveindex "github.com/blevesearch/bleve_index_api"

	"github.com/acapcrawl/acapcrawl/index/segment"
	"github.com/acapcrawl/acapcrawl/internal/disk"
)

// Errors about an index as a whole, for use with errors.Is.
var (
	ErrLocked  = errors.New("in use by another process")
	ErrCorrupt = segment.ErrCorrupt
	ErrClosed  = errors.New("the index is closed")
)

const (
	lockWait   = "1s"                 // long enough for a process that is ending to release its lock
	batchDocs  = segment.MaxDocuments // maximum number of documents in one batch
	batchBytes = 16 << 20             // maximum bytes of text in one batch; a larger document is a batch by itself
	versionKey = "version"
	workers    = 4 // number of goroutines that analyse documents
)

// Version is the version of the storage format of documents and of their terms. If another version
// made an index, the caller must put all documents again: until then queries may miss some of them.
const Version = "7"

// Index is an open index directory.
type Index struct {
	dir       string
	analysers map[string]*analyser
	rooms     sync.Pool // reused memory of type *room

	// channel on which the running compaction receives errors of merges; nil: none is running
	merging    atomic.Pointer[chan error]
	compacting sync.Mutex // held by the running Compact

	mu   sync.RWMutex // locked for reading during each use of held
	held store        // nil when closed

	queue *bleveindex.AnalysisQueue // goroutines that analyse documents
}

// store is what this package uses of a *scorch.Scorch, the index of bleve without its query language.
// Tests replace it.
type store interface {
	bleveindex.Index
	ForceMerge(ctx context.Context, plan *mergeplan.MergePlanOptions) error
	CopyReader() bleveindex.CopyReader
}

// use prevents the index from being closed until release is called.
func (ix *Index) use() (held store, release func(), err error) {
	ix.mu.RLock()
	if ix.held == nil {
		ix.mu.RUnlock()
		return nil, nil, ErrClosed
	}
	return ix.held, ix.mu.RUnlock, nil
}

// MadeBy returns the version of the format of the stored documents. If they have several versions,
// it returns the oldest.
func (ix *Index) MadeBy() (version string, err error) {
	defer guard(ix.dir, &err)()
	view, err := ix.view()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	value, err := view.GetInternal([]byte(versionKey))
	if value == nil {
		return "1", err
	}
	return string(value), err
}

// SetMadeBy records that all documents are stored in the format of that version.
func (ix *Index) SetMadeBy(version string) error {
	return ix.write(func(held store) error {
		return ix.writeError("written", held.SetInternal([]byte(versionKey), []byte(version)))
	})
}

// Close waits for running calls and closes the index; a second Close does nothing.
func (ix *Index) Close() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.held == nil {
		return nil
	}
	held := ix.held
	ix.held = nil
	defer ix.queue.Close()
	return held.Close()
}

// Put stores docs and replaces documents with the same URL; if docs contains a URL twice, the last
// document with this URL is stored. When Put returns nil, the documents are on disk. After an error
// some of them may be stored, and the caller must put all of them again.
func (ix *Index) Put(docs ...Document) error {
	return ix.write(func(held store) error {
		for len(docs) > 0 {
			batch, bytes, n := bleveindex.NewBatch(), 0, 0
			for ; n < len(docs) && n < batchDocs && (n == 0 || bytes+len(docs[n].Text) <= batchBytes); n++ {
				if docs[n].URL == "" {
					return errors.New("index: a document without URL cannot be kept")
				}
				batch.Update(ix.document(docs[n]))
				bytes += len(docs[n].Text)
			}
			if err := held.Batch(batch); err != nil {
				return ix.writeError("written", err)
			}
			docs = docs[n:]
		}
		return nil
	})
}

// Delete removes documents; it ignores a URL that is not in the index. When it returns, no query
// finds the documents. After Compact, the files contain no data of these documents.
func (ix *Index) Delete(urls ...string) error {
	return ix.write(func(held store) error {
		for group := range slices.Chunk(urls, batchDocs) {
			batch := bleveindex.NewBatch()
			for _, u := range group {
				batch.Delete(u)
			}
			if err := held.Batch(batch); err != nil {
				return ix.writeError("written", err)
			}
		}
		return nil
	})
}

// write calls fn, which changes the index. If the disk is full or a merge failed, write opens the
// index again: otherwise bleve would retry the failed batch or merge before any other.
func (ix *Index) write(fn func(held store) error) (err error) {
	defer guard(ix.dir, &err)()
	held, release, err := ix.use()
	if err != nil {
		return err
	}
	err = func() error {
		defer release()
		return fn(held)
	}()
	var merging mergeError
	if !disk.Full(err) && !errors.As(err, &merging) {
		return err
	}
	if failed := ix.reopen(held); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

// reopen opens the index again, unless another call has already replaced held. If that fails, the
// index is closed.
func (ix *Index) reopen(held store) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.held != held {
		return nil
	}
	ix.held = nil
	if err := held.Close(); err != nil {
		ix.queue.Close()
		return failure(ix.dir, err)
	}
	if err := ix.open(); err != nil {
		return failure(ix.dir, err)
	}
	return nil
}

// writeError converts an error that bleve returned for a change of the index. For a nil error it
// returns nil. task is the failed task in the message: "written" or "compacted". If the disk is
// full, bleve returns only the text of the system's error; writeError returns an error that
// disk.Full recognises.
func (ix *Index) writeError(task string, err error) error {
	if err == nil {
		return nil
	}
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		if strings.HasSuffix(err.Error(), full.Error()) {
			err = full
		}
	}
	return fmt.Errorf("index %s cannot be %s: %w", ix.dir, task, err)
}

// Has reports whether the index contains a document with that URL.
func (ix *Index) Has(url string) (found bool, err error) {
	defer guard(ix.dir, &err)()
	view, err := ix.view()
	if err != nil {
		return false, err
	}
	defer view.Close()
	all, err := segmentsOf(view)
	for i := 0; i < len(all) && err == nil && !found; i++ {
		found, err = all[i].has(url)
	}
	if err != nil {
		return false, failure(ix.dir, err)
	}
	return found, nil
}

// Count returns the number of documents.
func (ix *Index) Count() (n uint64, err error) {
	defer guard(ix.dir, &err)()
	view, err := ix.view()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	if n, err = view.DocCount(); err != nil {
		return 0, failure(ix.dir, err)
	}
	return n, nil
}

// URLs yields the URLs of the documents in the index at the time of the call, in no particular
// order. It ends after an error. The index may be changed during the iteration.
func (ix *Index) URLs() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		view, ids, err := ix.all()
		if err != nil {
			yield("", err)
			return
		}
		defer view.Close()
		defer ids.Close()
		for {
			u, err := nextURL(ix.dir, view, ids)
			if err != nil {
				yield("", err)
				return
			}
			if u == filler {
				continue
			}
			if u == "" || !yield(u, nil) {
				return
			}
		}
	}
}

// all opens a view of all documents. The view remains valid when the index is closed.
func (ix *Index) all() (view bleveindex.IndexReader, ids bleveindex.DocIDReader, err error) {
	defer guard(ix.dir, &err)()
	now, err := ix.view()
	if err != nil {
		return nil, nil, err
	}
	ids, err = now.DocIDReaderAll()
	if err != nil {
		now.Close()
		return nil, nil, failure(ix.dir, err)
	}
	return now, ids, nil
}

// nextURL returns the next URL, "" at the end.
func nextURL(dir string, view bleveindex.IndexReader, ids bleveindex.DocIDReader) (u string, err error) {
	defer guard(dir, &err)()
	id, err := ids.Next()
	if err == nil && id != nil {
		u, err = view.ExternalID(id)
	}
	if err != nil {
		return "", failure(dir, err)
	}
	return u, nil
}

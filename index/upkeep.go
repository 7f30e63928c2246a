package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	bleveindex "github.com/blevesearch/bleve_index_api"
)

// filler is the URL of a document that Compact adds temporarily. No query finds it.
const filler = "compact:"

// How long Compact waits until the files of old segments are removed. Running searches and
// iterations may still read these files.
const (
	goneWithin = time.Minute
	goneCheck  = 10 * time.Millisecond
)

// Compact rewrites each segment that contains a deleted document: afterwards no file contains a
// term or URL of a deleted document. The cost depends on the size of these segments, not of the
// index. The index may be used during the call. Count may be one too high during the call, and
// after an error until the next Compact.
func (ix *Index) Compact(ctx context.Context) error {
	ix.compacting.Lock()
	defer ix.compacting.Unlock()
	return ix.write(func(held store) error { return ix.compact(ctx, held) })
}

func (ix *Index) compact(ctx context.Context, held store) error {
	// bleve does not rewrite a single segment, even with deletions, but it does if there are two.
	batch := bleveindex.NewBatch()
	batch.Update(document.NewDocument(filler))
	if err := held.Batch(batch); err != nil {
		return ix.writeError("compacted", err)
	}
	failed := ix.rewrite(ctx, held)
	if err := held.Delete(filler); err != nil && failed == nil {
		failed = err
	}
	if failed != nil {
		return ix.writeError("compacted", failed)
	}
	return ix.awaitRemoval(ctx, held)
}

// mergeError is the error of a merge that bleve repeats until it succeeds or the index is closed.
type mergeError struct{ error }

func (e mergeError) Unwrap() error { return e.error }

// rewrite rewrites each segment with deletions without the deleted documents. If any merge fails
// during the call, it returns a mergeError, and the caller must open the index again: bleve repeats
// the failed merge and starts no other.
func (ix *Index) rewrite(ctx context.Context, held store) error {
	failed := make(chan error, 1)
	ix.merging.Store(&failed)
	defer ix.merging.Store(nil)
	// With one segment for each task and an allowed number of 0 segments, bleve plans a task for
	// each segment that has deletions, whatever its size, and skips the others.
	plan := &mergeplan.MergePlanOptions{SegmentsPerMergeTask: 1,
		CalcBudget:     func(int64, int64, *mergeplan.MergePlanOptions) int { return 0 },
		MaxSegmentSize: mergeplan.MaxSegmentSizeLimit, MaxSegmentFileSize: math.MaxInt64}
	done := make(chan error, 1)
	go func() { done <- held.ForceMerge(ctx, plan) }()
	select {
	case err := <-done:
		return cmp.Or(err, ctx.Err())
	case err := <-failed:
		return mergeError{err}
	}
}

// mergeFailed passes the error of a merge to the running compaction. bleve calls it through
// segment.Format after each failed attempt.
func (ix *Index) mergeFailed(err error) {
	if failed := ix.merging.Load(); failed != nil {
		select {
		case *failed <- err:
		default:
		}
	}
}

// awaitRemoval waits until the files contain only the current index. bleve removes old files after
// a write, so awaitRemoval writes to the index.
func (ix *Index) awaitRemoval(ctx context.Context, held store) error {
	ctx, cancel := context.WithTimeout(ctx, goneWithin)
	defer cancel()
	tick := time.NewTicker(goneCheck)
	defer tick.Stop()
	for {
		if err := held.SetInternal([]byte("compacted"), nil); err != nil {
			return ix.writeError("compacted", err)
		}
		files, err := filepath.Glob(filepath.Join(ix.dir, "store", "*.zap"))
		if err != nil {
			return err
		}
		live, release, err := segments(held)
		if err != nil {
			return err
		}
		release()
		if !slices.ContainsFunc(files, func(f string) bool { return !slices.Contains(live, filepath.Base(f)) }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("index %s: old files are still in use, compact again: %w", ix.dir, ctx.Err())
		case <-tick.C:
		}
	}
}

// Bytes returns the total size of the files of the index.
func (ix *Index) Bytes() (sum int64, err error) {
	err = filepath.WalkDir(ix.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		if errors.Is(err, fs.ErrNotExist) { // a merge has just removed the file
			return nil
		}
		return err
	})
	return sum, err
}

// segments returns the names of the files of the current index. They are not removed until release
// is called.
func segments(held store) (names []string, release func() error, err error) {
	view, err := snapshotOf(held)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range view.Segments() {
		if file, ok := s.Segment().(interface{ Path() string }); ok { // a segment without a path is not on disk yet
			names = append(names, filepath.Base(file.Path()))
		}
	}
	return names, view.Close, nil
}

// Verify reads every segment file and checks its checksum. The error for a damaged file wraps
// ErrCorrupt.
func (ix *Index) Verify(ctx context.Context) error {
	held, release, err := ix.use()
	if err != nil {
		return err
	}
	defer release()
	names, keep, err := segments(held)
	if err != nil {
		return err
	}
	defer keep()
	var wrong []error
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := checksum(filepath.Join(ix.dir, "store", name)); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// checksum compares the CRC-32 at the end of a segment file with its content.
func checksum(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	sum := crc32.NewIEEE()
	var want [crc32.Size]byte
	_, err = io.CopyN(sum, f, max(info.Size()-crc32.Size, 0))
	if err == nil {
		_, err = io.ReadFull(f, want[:])
	}
	if err != nil || binary.BigEndian.Uint32(want[:]) != sum.Sum32() {
		return fmt.Errorf("index segment %s: %w; build the index again", filepath.Base(path), ErrCorrupt)
	}
	return nil
}

package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleveindex "github.com/blevesearch/bleve_index_api"

	"github.com/acapcrawl/acapcrawl/index/segment"
	"github.com/acapcrawl/acapcrawl/internal/disk"
)

// Open opens the index in dir, and creates it if dir is missing or empty. It waits at most one
// second for another process to release the index. Errors wrap ErrLocked, ErrCorrupt or an error of
// the file system. Open does not change a damaged index.
func Open(dir string) (ix *Index, err error) {
	defer guard(dir, &err)()
	segment.Register()
	all, err := analysers()
	if err != nil {
		return nil, err
	}
	ix = &Index{dir: dir, analysers: all}
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("index %s cannot be opened: %w", dir, err)
	case len(entries) == 0:
		if err := create(dir); err != nil {
			return nil, fmt.Errorf("index %s cannot be created: %w", dir, err)
		}
	default:
		if err := probe(dir); err != nil {
			return nil, failure(dir, err)
		}
	}
	ix.queue = bleveindex.NewAnalysisQueue(workers)
	if err := ix.open(); err != nil {
		return nil, failure(dir, err)
	}
	left, err := ix.Has(filler) // an interrupted compaction leaves the filler in the index
	if err == nil && left {
		err = ix.Delete(filler)
	}
	if err != nil {
		return nil, errors.Join(err, ix.Close())
	}
	return ix, nil
}

// create creates the index next to dir and renames it, so that a crash leaves a complete index or
// none.
func create(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	beside := filepath.Clean(dir) + ".new"
	if err := os.RemoveAll(beside); err != nil {
		return err
	}
	made, err := openStore(beside, nil, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(made.SetInternal([]byte(versionKey), []byte(Version)), made.Close()); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := disk.SyncTree(beside); err != nil {
		return err
	}
	return disk.Rename(beside, dir)
}

// probe reads the index without writing, to detect damage that opening it for writing would hide:
// if a segment cannot be read, bleve falls back to an older state and removes the files of the
// newer one.
func probe(dir string) (err error) {
	root := filepath.Join("store", "root.bolt")
	switch info, err := os.Stat(filepath.Join(dir, root)); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s is missing", ErrCorrupt, root)
	case err == nil && info.Size() == 0:
		return fmt.Errorf("%w: %s is empty", ErrCorrupt, root)
	}
	held, err := openStore(dir, map[string]any{"read_only": true}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	epochs, err := held.RootBoltSnapshotEpochs()
	if err != nil || len(epochs) == 0 {
		return errors.Join(errors.New("no state of the index can be read"), err)
	}
	newest, err := held.LoadSnapshot(epochs[0])
	if err != nil {
		return err
	}
	return newest.Close()
}

// maxSegment is the maximum size of a merged segment in bytes. Erasing a document rewrites the
// whole segment that contains it, but every query reads all segments. A full batch of ordinary
// pages becomes a segment of more than half this size, which is not merged again.
const maxSegment = 16 << 20

// merging configures when bleve merges segments. Segments are merged together if they are smaller
// than half of maxSegment and more than ten of them have about the same size.
var merging = map[string]any{"MaxSegmentsPerTier": 10, "FloorSegmentFileSize": 1 << 20,
	"MaxSegmentFileSize": maxSegment}

// open opens the index for writing; the directory must contain an index. If that fails, the index is
// closed. bleve's merging goroutine calls mergeFailed with the error of each failed merge.
func (ix *Index) open() error {
	defer func() {
		if ix.held == nil {
			ix.queue.Close()
		}
	}()
	held, err := openStore(ix.dir, map[string]any{"scorchMergePlanOptions": merging,
		"segmentConfig": map[string]any{segment.MergeFailedKey: ix.mergeFailed}}, ix.queue)
	if err == nil {
		ix.held = held
	}
	return err
}

// openStore opens the index in dir, or creates it, with options of package scorch. queue may be nil
// if the caller puts no documents.
func openStore(dir string, options map[string]any, queue *bleveindex.AnalysisQueue) (*scorch.Scorch, error) {
	all := map[string]any{"path": filepath.Join(dir, "store"), "bolt_timeout": lockWait}
	maps.Copy(all, options)
	made, err := scorch.NewScorch(scorch.Name, all, queue)
	if err == nil {
		err = made.Open()
	}
	if err != nil {
		return nil, err
	}
	return made.(*scorch.Scorch), nil
}

// failure converts an error of bleve about dir to ErrLocked, ErrCorrupt, or the error of the
// operating system. It leaves the error of a context unchanged.
func failure(dir string, err error) error {
	var system syscall.Errno
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case err.Error() == "timeout": // error of bolt when it waited too long for its lock
		return fmt.Errorf("index %s: %w; stop it, or use another data directory", dir, ErrLocked)
	case errors.As(err, &system):
		return fmt.Errorf("index %s cannot be opened: %w", dir, err)
	case errors.Is(err, ErrCorrupt):
		return fmt.Errorf("index %s: %w; move it away and build it again", dir, err)
	}
	oneLine := strings.Join(strings.Fields(err.Error()), " ")
	return fmt.Errorf("index %s: %w (%s); move it away and build it again", dir, ErrCorrupt, oneLine)
}

// guard converts a panic about damaged files to an error that names dir. Use it as: defer
// guard(dir, &err)().
func guard(dir string, err *error) func() {
	return guarded(err, func(err error) error { return failure(dir, err) })
}

// guarded returns a function to defer. It recovers a panic and sets *err to the result of failed.
// It also recovers memory faults, which a truncated memory-mapped file causes.
func guarded(err *error, failed func(error) error) func() {
	faults := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(faults)
		if r := recover(); r != nil {
			*err = failed(fmt.Errorf("%v", r))
		}
	}
}

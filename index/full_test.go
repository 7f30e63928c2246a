package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	bleveindex "github.com/blevesearch/bleve_index_api"
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"github.com/acapcrawl/acapcrawl/internal/disk"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

// fullDisk is an index on a full disk. Failing changes return an error like those of bleve, which
// contains the text of the system's error and does not wrap it.
type fullDisk struct {
	store
	batch, remove, set bool // which kinds of changes fail
}

var errFull = fmt.Errorf("write 000000000001.zap: %v", syscall.ENOSPC)

func (f fullDisk) Batch(b *bleveindex.Batch) error {
	if f.batch {
		return errFull
	}
	return f.store.Batch(b)
}

func (f fullDisk) Delete(id string) error {
	if f.remove {
		return errFull
	}
	return f.store.Delete(id)
}

func (f fullDisk) SetInternal(key, value []byte) error {
	if f.set {
		return errFull
	}
	return f.store.SetInternal(key, value)
}

// TestFullDisk checks that every change of the index on a full disk returns an error that disk.Full
// recognises, and opens the index again, so that bleve does not keep the change in memory.
func TestFullDisk(t *testing.T) {
	for _, c := range []struct {
		name   string
		full   fullDisk
		change func(*Index) error
	}{
		{"put", fullDisk{batch: true}, func(ix *Index) error {
			return ix.Put(Document{URL: at("new"), Text: "ferry"})
		}},
		{"delete", fullDisk{batch: true}, func(ix *Index) error { return ix.Delete(at("old")) }},
		{"version", fullDisk{set: true}, func(ix *Index) error { return ix.SetMadeBy("3") }},
		{"compact, first write", fullDisk{batch: true},
			func(ix *Index) error { return ix.Compact(context.Background()) }},
		{"compact, after merging", fullDisk{remove: true},
			func(ix *Index) error { return ix.Compact(context.Background()) }},
		{"compact, last write", fullDisk{set: true}, func(ix *Index) error { return ix.Compact(context.Background()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := fresh(t)
			put(t, ix, Document{URL: at("old"), Text: "harbour"})
			before := ix.held
			c.full.store = before
			ix.held = c.full
			if err := c.change(ix); !disk.Full(err) {
				t.Errorf("the error does not say that the disk is full: %v", err)
			}
			if _, still := ix.held.(fullDisk); still {
				t.Error("the index was not opened again")
			}
			// The disk has space again.
			put(t, ix, Document{URL: at("newer"), Text: "harbour"})
			if err := ix.Compact(context.Background()); err != nil {
				t.Error(err)
			}
			if got, want := search(t, ix, "harbour"), []string{at("newer"), at("old")}; !slices.Equal(got, want) {
				t.Errorf("found %q, want %q", got, want)
			}
			if n, err := ix.Count(); n != 2 || err != nil {
				t.Errorf("%d documents, %v; want 2", n, err)
			}
		})
	}
}

// failingMerges is a segment format whose merges can fail.
type failingMerges struct {
	zap.ZapPlugin
	failure atomic.Pointer[error] // the error of each merge; nil: merges succeed
}

func (f *failingMerges) MergeUsing(segments []segmentapi.Segment, drops []*roaring.Bitmap, path string,
	stop chan struct{}, report segmentapi.StatsReporter, config map[string]any) ([][]uint64, uint64, error) {
	if err := f.failure.Load(); err != nil {
		return nil, 0, *err
	}
	return f.ZapPlugin.MergeUsing(segments, drops, path, stop, report, config)
}

// TestCompactReturnsMergeError checks that Compact returns the error of a failed merge. Without
// this package, bleve would repeat the merge endlessly.
func TestCompactReturnsMergeError(t *testing.T) {
	segment.Register()
	format := &failingMerges{}
	scorch.RegisterSegmentPlugin(&segment.Format{SegmentPlugin: format}, true)
	t.Cleanup(func() { scorch.RegisterSegmentPlugin(segment.NewFormat(), true) })
	ix := fresh(t)
	for i := range 3 {
		put(t, ix, Document{URL: at(fmt.Sprint(i)), Text: "harbour"})
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, failure := range []error{errFull, errors.New("another error")} {
		format.failure.Store(&failure)
		put(t, ix, Document{URL: at("0"), Text: "harbour"}) // the replaced document must be erased
		if err := ix.Compact(ctx); err == nil || ctx.Err() != nil || disk.Full(err) != (failure == errFull) {
			t.Errorf("a merge failed with %v, compaction returned %v", failure, err)
		}
	}
	format.failure.Store(nil)
	if err := ix.Compact(ctx); err != nil {
		t.Error(err)
	}
	if got := search(t, ix, "harbour"); len(got) != 3 {
		t.Errorf("found %q", got)
	}
	awaitUsedFiles(t, ix)
}

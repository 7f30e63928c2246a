package segment

import (
	"errors"
	"hash/crc32"
	"slices"
	"sync"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	bleveindex "github.com/blevesearch/bleve_index_api"
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

// ErrCorrupt is wrapped by the errors of damaged segments.
var ErrCorrupt = errors.New("damaged or not an index")

const (
	// IDField is the field in which bleve stores the name of a document.
	IDField = "_id"
	// MaxDocuments is the maximum number of documents in a new segment: that many fit into one
	// array container of a roaring bitmap. A merged segment may have more.
	MaxDocuments = 4096
	// MergeFailedKey names a func(error) in the segment configuration of bleve. It is called with
	// the error of each merge that fails.
	MergeFailedKey = "mergeFailed"

	mergePause = 100 * time.Millisecond
)

// Register registers this package as bleve's format for segments of indexes that are opened
// afterwards. bleve stores the formats in a global table.
var Register = sync.OnceFunc(func() { scorch.RegisterSegmentPlugin(NewFormat(), true) })

// Format is bleve's segment format with the builder of this package (scorch.SegmentPlugin).
type Format struct{ scorch.SegmentPlugin }

// NewFormat returns a Format that reads and merges segments with zapx.
func NewFormat() *Format { return &Format{&zap.ZapPlugin{}} }

// New implements scorch.SegmentPlugin.
func (s *Format) New(docs []bleveindex.Document) (segmentapi.Segment, uint64, error) {
	return s.NewUsing(docs, nil)
}

// NewUsing implements scorch.SegmentPlugin. It accepts only documents that package index makes:
// without stored values, doc values or nested documents, with running text as Tokenized fields.
func (s *Format) NewUsing(docs []bleveindex.Document, config map[string]any) (segmentapi.Segment, uint64, error) {
	b := builder{docs: uint64(len(docs)), columns: map[string]*column{}, trees: map[string]uint64{}}
	if len(docs) > MaxDocuments || !b.add(docs) {
		return nil, 0, errors.New("documents of another kind, or too many of them")
	}
	stored := b.stored(docs)
	fields, err := b.fields()
	if err != nil {
		return nil, 0, err
	}
	stats, ok := config[segmentapi.StatsKey].(*segmentapi.Stats)
	if !ok || stats == nil {
		stats = new(segmentapi.Stats)
	}
	sum := crc32.ChecksumIEEE(b.out)
	base, err := zap.InitSegmentBase(b.out, sum, zap.DefaultChunkMode, b.docs, stored, fields, config, stats)
	if err != nil {
		return nil, 0, err
	}
	return &built{SegmentBase: base, data: b.out, trees: b.trees}, uint64(len(b.out)), nil
}

// OpenUsing implements scorch.SegmentPlugin.
func (s *Format) OpenUsing(path string, config map[string]any) (segmentapi.Segment, error) {
	g, err := s.SegmentPlugin.OpenUsing(path, config)
	if z, ok := g.(*zap.Segment); ok {
		return &opened{Segment: z}, err
	}
	return g, err
}

// opened is a segment on disk.
type opened struct {
	limited
	*zap.Segment
}

// limited makes bleve limit the file size of merged segments (MaxSegmentFileSize): bleve does so
// only for segments that report vectors.
type limited struct{}

// UpdateFieldStats implements segmentapi.FieldStatsReporter.
func (limited) UpdateFieldStats(stats segmentapi.FieldStats) { stats.Store("num_vectors", IDField, 0) }

// built is a segment in memory that is not on disk yet.
type built struct {
	limited
	*zap.SegmentBase
	data  []byte
	trees map[string]uint64 // offsets of the dictionaries, by field
}

// Data implements Readable.
func (s *built) Data() []byte { return s.data }

// DictAddr implements Readable.
func (s *built) DictAddr(field string) (uint64, error) { return s.trees[field], nil }

// Merge implements scorch.SegmentPlugin.
func (s *Format) Merge(segments []segmentapi.Segment, drops []*roaring.Bitmap, path string, stop chan struct{},
	report segmentapi.StatsReporter) ([][]uint64, uint64, error) {
	return s.MergeUsing(segments, drops, path, stop, report, nil)
}

// MergeUsing implements scorch.SegmentPlugin. zapx merges the segments, but accepts only its own
// segment types.
func (s *Format) MergeUsing(segments []segmentapi.Segment, drops []*roaring.Bitmap, path string, stop chan struct{},
	report segmentapi.StatsReporter, config map[string]any) ([][]uint64, uint64, error) {
	plain := slices.Clone(segments)
	for i, g := range plain {
		switch g := g.(type) {
		case *built:
			plain[i] = g.SegmentBase
		case *opened:
			plain[i] = g.Segment
		}
	}
	numbers, size, err := s.SegmentPlugin.MergeUsing(plain, drops, path, stop, report, config)
	if err != nil && !errors.Is(err, segmentapi.ErrClosed) {
		if failed, ok := config[MergeFailedKey].(func(error)); ok {
			failed(err)
		}
		// After a failed merge bleve retries at once, and stops only for the error ErrClosed.
		select {
		case <-stop:
			err = segmentapi.ErrClosed
		case <-time.After(mergePause):
		}
	}
	return numbers, size, err
}

package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	bleveindex "github.com/blevesearch/bleve_index_api"
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
)

// segmentFormat is bleve's segment format, zap 17, with a builder for our documents: it sorts numbers where that of the library fills maps,
// which takes a fraction of the time, and it packs the places of words (spots.go). All else is left to the library: reading, and merging.
type segmentFormat struct{ scorch.SegmentPlugin }

func newSegmentFormat() *segmentFormat { return &segmentFormat{&zap.ZapPlugin{}} }

// useSegmentFormat puts the builder in place of the library's, which keeps the formats it knows in a table of its own.
var useSegmentFormat = sync.OnceFunc(func() { scorch.RegisterSegmentPlugin(newSegmentFormat(), true) })

// maxSegment is how many documents a segment is built of at most: so many fit one container of a roaring bitmap as an array. A batch has
// no more than batchDocs.
const maxSegment = 4096

// New implements scorch.SegmentPlugin.
func (s *segmentFormat) New(docs []bleveindex.Document) (segmentapi.Segment, uint64, error) {
	return s.NewUsing(docs, nil)
}

// NewUsing implements scorch.SegmentPlugin.
func (s *segmentFormat) NewUsing(docs []bleveindex.Document, config map[string]any) (segmentapi.Segment, uint64, error) {
	b := builder{docs: uint64(len(docs)), columns: map[string]*column{}, trees: map[string]uint64{}}
	if len(docs) > maxSegment || !b.add(docs) {
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
	base, err := zap.InitSegmentBase(b.out, crc32.ChecksumIEEE(b.out), zap.DefaultChunkMode, b.docs, stored, fields, config, stats)
	if err != nil {
		return nil, 0, err
	}
	return &built{base, b.out, b.trees}, uint64(len(b.out)), nil
}

// built is a segment that is not on disk yet.
type built struct {
	*zap.SegmentBase
	data  []byte
	trees map[string]uint64 // where the dictionary of a field is
}

// Data implements readable.
func (s *built) Data() []byte { return s.data }

// DictAddr implements readable.
func (s *built) DictAddr(field string) (uint64, error) { return s.trees[field], nil }

// Merge implements scorch.SegmentPlugin.
func (s *segmentFormat) Merge(segments []segmentapi.Segment, drops []*roaring.Bitmap, path string, stop chan struct{}, report segmentapi.StatsReporter) ([][]uint64, uint64, error) {
	return s.MergeUsing(segments, drops, path, stop, report, nil)
}

// MergeUsing implements scorch.SegmentPlugin. The library merges segments of its own types alone.
func (s *segmentFormat) MergeUsing(segments []segmentapi.Segment, drops []*roaring.Bitmap, path string, stop chan struct{}, report segmentapi.StatsReporter,
	config map[string]any) ([][]uint64, uint64, error) {
	plain := slices.Clone(segments)
	for i, g := range plain {
		if b, ok := g.(*built); ok {
			plain[i] = b.SegmentBase
		}
	}
	numbers, size, err := s.SegmentPlugin.MergeUsing(plain, drops, path, stop, report, config)
	if err != nil && !errors.Is(err, segmentapi.ErrClosed) {
		if failed, ok := config[mergeFailedKey].(func(error)); ok {
			failed(err)
		}
		// bleve repeats a failed merge at once, and stops for no other error than ErrClosed.
		select {
		case <-stop:
			err = segmentapi.ErrClosed
		case <-time.After(mergePause):
		}
	}
	return numbers, size, err
}

const (
	mergeFailedKey = "mergeFailed" // of a func(error) in the configuration of segments
	mergePause     = 100 * time.Millisecond
)

const idField = "_id"

// builder writes one segment.
type builder struct {
	docs    uint64
	columns map[string]*column
	out     []byte
	trees   map[string]uint64 // where in out the dictionary of a field is
}

// column is one field of all documents.
type column struct {
	options bleveindex.FieldIndexingOptions
	number  map[string]uint32 // of a term
	terms   []string
	uses    []int // of each term, how often it occurs
	from    map[*glossary][]uint32
	lengths []uint32 // of each document, in tokens
	places  []place  // where each term occurs, one term after the other
	list    []uint64 // made of places; used again
}

// column gives the column of a field.
func (b *builder) column(f document.Field) *column {
	c := b.columns[f.Name()]
	if c == nil {
		c = &column{options: f.Options(), number: map[string]uint32{}, from: map[*glossary][]uint32{}, lengths: make([]uint32, b.docs)}
		b.columns[f.Name()] = c
	}
	return c
}

// add takes documents over, and reports whether the builder knows all that they have.
func (b *builder) add(docs []bleveindex.Document) bool {
	for i, d := range docs {
		doc, ok := d.(*document.Document)
		if !ok || doc.HasComposite() || len(doc.NestedDocuments) > 0 {
			return false
		}
		for _, f := range doc.Fields {
			c := b.column(f)
			o := f.Options()
			if o != c.options || !o.IsIndexed() || o.IncludeDocValues() || o.IsStored() != (f.Name() == idField) {
				return false
			}
			switch f := f.(type) {
			case *words:
				numbers := c.translate(f)
				for _, n := range f.numbers {
					c.uses[numbers[n]]++
				}
			case *document.TextField:
				if o.IncludeTermVectors() || len(f.ArrayPositions()) > 1 {
					return false
				}
				for term, tf := range f.AnalyzedTokenFrequencies() {
					c.uses[c.numberOf(term)] += max(tf.Frequency(), 1)
				}
			default:
				return false
			}
			c.lengths[i] += uint32(f.AnalyzedLength())
		}
	}
	b.sort(docs)
	return true
}

// place is where a term occurs: document, form of the word and position, from the highest bit down.
type place uint64

const (
	positionBits = 31
	docShift     = positionBits + formBits // leaves bits for maxSegment documents
)

func (p place) doc() uint64      { return uint64(p) >> docShift }
func (p place) form() form       { return form(p>>positionBits) & (1<<formBits - 1) }
func (p place) position() uint64 { return uint64(p) & (1<<positionBits - 1) }

func (c *column) numberOf(term string) uint32 {
	n, known := c.number[term]
	if !known {
		n = uint32(len(c.terms))
		c.number[term] = n
		c.terms = append(c.terms, term)
		c.uses = append(c.uses, 0)
	}
	return n
}

// translate gives the column's numbers of the terms of w by those of its glossary.
func (c *column) translate(w *words) []uint32 {
	const unknown = math.MaxUint32
	numbers := c.from[w.of]
	for len(numbers) < len(w.terms) {
		numbers = append(numbers, unknown)
	}
	c.from[w.of] = numbers
	for _, n := range w.numbers {
		if numbers[n] == unknown {
			numbers[n] = c.numberOf(w.terms[n])
		}
	}
	return numbers
}

// perPlace is about what is written of an occurrence, in bytes.
const perPlace = 10

// sort lists the places of each term. Afterwards uses holds where the places of a term end.
func (b *builder) sort(docs []bleveindex.Document) {
	all := 0
	for _, c := range b.columns {
		total := 0
		for n, uses := range c.uses {
			c.uses[n] = total // where its places begin
			total += uses
		}
		c.places = make([]place, total)
		all += total
	}
	for i, d := range docs {
		at := place(i) << docShift
		for _, f := range d.(*document.Document).Fields {
			c := b.columns[f.Name()]
			put := func(n uint32, p place) {
				c.places[c.uses[n]] = p
				c.uses[n]++
			}
			switch f := f.(type) {
			case *words:
				numbers := c.from[f.of]
				for k, n := range f.numbers {
					p := at | place(f.positions[k])
					if f.forms != nil {
						p |= place(f.forms[k]) << positionBits
					}
					put(numbers[n], p)
				}
				f.numbers, f.positions, f.forms = nil, nil, nil // as much as the text itself
			case *document.TextField:
				for term, tf := range f.AnalyzedTokenFrequencies() {
					for range max(tf.Frequency(), 1) {
						put(c.number[term], at)
					}
				}
			}
		}
	}
	b.out = make([]byte, 0, perPlace*all)
}

// stored writes the names of the documents, which are all that is stored, and returns where their list is.
func (b *builder) stored(docs []bleveindex.Document) uint64 {
	offsets := make([]uint64, len(docs))
	for i, d := range docs {
		offsets[i] = uint64(len(b.out))
		id := d.ID()
		length := binary.AppendUvarint(nil, uint64(len(id)))
		b.numbers(uint64(len(length)), uint64(len(id)+1))
		b.out = append(b.out, length...)
		b.out = append(b.out, id...)
		b.out = append(b.out, 0) // an empty text, packed by snappy
	}
	list := uint64(len(b.out))
	for _, o := range offsets {
		b.out = binary.BigEndian.AppendUint64(b.out, o)
	}
	b.numbers(0) // documents within documents
	return list
}

func (b *builder) numbers(list ...uint64) {
	for _, n := range list {
		b.out = binary.AppendUvarint(b.out, n)
	}
}

// The parts of a segment, of which ours has the first alone.
const (
	invertedText = 0
	synonyms     = 2
	shapes       = 3
)

// none stands for the place of what a field does not have.
const none = math.MaxUint64

// fields writes the terms of every field and where they occur, and returns where the list of fields is.
func (b *builder) fields() (uint64, error) {
	names := slices.Sorted(maps.Keys(b.columns))
	names = append([]string{idField}, slices.DeleteFunc(names, func(s string) bool { return s == idField })...)
	var tree bytes.Buffer
	dictionary, err := vellum.New(&tree, nil)
	if err != nil {
		return 0, err
	}
	starts := make([]uint64, len(names))
	for i, name := range names {
		if err := b.postings(b.columns[name], uint64(i), dictionary); err != nil {
			return 0, err
		}
		if err := dictionary.Close(); err != nil {
			return 0, err
		}
		at := uint64(len(b.out))
		b.trees[name] = at
		b.numbers(uint64(tree.Len()))
		b.out = append(b.out, tree.Bytes()...)
		tree.Reset()
		if err := dictionary.Reset(&tree); err != nil {
			return 0, err
		}
		starts[i] = uint64(len(b.out))
		b.numbers(none, none, at) // no values by document
		b.columns[name].places = nil
	}
	entries := make([]uint64, len(names))
	for i, name := range names {
		entries[i] = uint64(len(b.out))
		b.numbers(uint64(len(name)))
		b.out = append(b.out, name...)
		b.numbers(uint64(b.columns[name].options), 3)
		for _, part := range []uint16{invertedText, synonyms, shapes} {
			at := uint64(0)
			if part == invertedText {
				at = starts[i]
			}
			b.out = binary.BigEndian.AppendUint16(b.out, part)
			b.out = binary.BigEndian.AppendUint64(b.out, at)
		}
	}
	list := uint64(len(b.out))
	b.numbers(uint64(len(names)))
	for _, e := range entries {
		b.out = binary.BigEndian.AppendUint64(b.out, e)
	}
	return list, nil
}

// postings writes where each term of c occurs, in the order of the terms, and enters it in the dictionary.
func (b *builder) postings(c *column, field uint64, dictionary *vellum.Builder) error {
	order := make([]uint32, len(c.terms))
	for n := range order {
		order[n] = uint32(n)
	}
	slices.SortFunc(order, func(x, y uint32) int { return strings.Compare(c.terms[x], c.terms[y]) })
	var where, how chunks
	var in []uint32
	for _, n := range order {
		from := 0
		if n > 0 {
			from = c.uses[n-1]
		}
		places := c.places[from:c.uses[n]]
		in = in[:0]
		for i, p := range places {
			if i == 0 || p.doc() != places[i-1].doc() {
				in = append(in, uint32(p.doc()))
			}
		}
		at, single := c.entry(places)
		if !single {
			size := chunkSize(b.docs, uint64(len(in)))
			how.reset(size, b.docs)
			where.reset(size, b.docs)
			for i := 0; i < len(places); {
				doc, first := places[i].doc(), i
				for i < len(places) && places[i].doc() == doc {
					i++
				}
				c.describe(&how, &where, field, places[first:i])
			}
			howAt, whereAt := b.chunks(&how), b.chunks(&where)
			at = uint64(len(b.out))
			b.numbers(howAt, whereAt)
			b.bitmap(in)
		}
		if err := dictionary.Insert([]byte(c.terms[n]), at); err != nil {
			return err
		}
	}
	return nil
}

// entry is that of a term in the dictionary which is in one document only, and once; false if more has to be told.
func (c *column) entry(places []place) (entry uint64, ok bool) {
	if len(places) > 1 || c.options.SkipFreqNorm() {
		return 0, false
	}
	norm, ok := c.norm(places)
	return zap.FSTValEncode1Hit(places[0].doc(), norm), ok
}

// norm is that of a term in one document; false if it does not tell where the term stands.
func (c *column) norm(places []place) (norm uint64, ok bool) {
	code := lengthCode(c.lengths[places[0].doc()])
	if !c.options.IncludeTermVectors() {
		return code, true
	}
	if norm, ok := packed(places, code); ok {
		return norm, true
	}
	return code, false
}

// describe writes what is known of a term in one document.
func (c *column) describe(how, where *chunks, field uint64, places []place) {
	doc := places[0].doc()
	how.begin(doc)
	if c.options.SkipFreqNorm() {
		how.add(0)
		return
	}
	often := uint64(len(places)) << 1
	norm, whole := c.norm(places)
	if whole {
		how.add(often, norm)
		return
	}
	how.add(often|1, norm)
	where.begin(doc)
	c.list = locate(c.list[:0], places)
	more := uint64(len(c.list) - 3)
	size := length(field) + length(more)
	for _, n := range c.list {
		size += length(n)
	}
	where.add(uint64(size), field)
	where.add(c.list[:3]...)
	where.add(more)
	where.add(c.list[3:]...)
}

package index

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	bleveindex "github.com/blevesearch/bleve_index_api"
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
)

// segmentFormat is bleve's segment format, zap 17, with a builder for documents of words that writes the same bytes in a fraction of the time:
// it sorts numbers where that of the library fills maps. All else, and every other document, is left to the library, and an index
// can be read by any bleve.
type segmentFormat struct{ zap.ZapPlugin }

// useSegmentFormat puts the builder in place of the library's, which keeps the formats it knows in a table of its own.
var useSegmentFormat = sync.OnceFunc(func() { scorch.RegisterSegmentPlugin(&segmentFormat{}, true) })

// maxSegment is how many documents a segment is built of at most: so many fit one container of a roaring bitmap as an array.
const maxSegment = 4096

// New implements scorch.SegmentPlugin.
func (s *segmentFormat) New(docs []bleveindex.Document) (segmentapi.Segment, uint64, error) {
	return s.NewUsing(docs, nil)
}

// NewUsing implements scorch.SegmentPlugin.
func (s *segmentFormat) NewUsing(docs []bleveindex.Document, config map[string]any) (segmentapi.Segment, uint64, error) {
	b := builder{docs: uint64(len(docs)), columns: map[string]*column{}}
	if len(docs) > maxSegment || !b.add(docs) {
		return s.ZapPlugin.NewUsing(docs, config)
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
	return base, uint64(len(b.out)), nil
}

const idField = "_id"

// builder writes one segment.
type builder struct {
	docs    uint64
	columns map[string]*column
	out     []byte
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
		size := b.docs / (uint64(len(in))/1024 + 1)
		how.reset(size, b.docs)
		where.reset(size, b.docs)
		for i := 0; i < len(places); {
			doc, first := places[i].doc(), i
			for i < len(places) && places[i].doc() == doc {
				i++
			}
			c.describe(&how, &where, doc, field, places[first:i])
		}
		howAt, whereAt := b.chunks(&how), b.chunks(&where)
		at := uint64(len(b.out))
		b.numbers(howAt, whereAt)
		b.bitmap(in)
		if err := dictionary.Insert([]byte(c.terms[n]), at); err != nil {
			return err
		}
	}
	return nil
}

// describe writes what is known of a term in one document.
func (c *column) describe(how, where *chunks, doc, field uint64, places []place) {
	how.begin(doc)
	if c.options.SkipFreqNorm() {
		how.add(0)
		return
	}
	often := uint64(len(places)) << 1
	if !c.options.IncludeTermVectors() {
		how.add(often, uint64(c.lengths[doc]))
		return
	}
	how.add(often|1, uint64(c.lengths[doc]))
	where.begin(doc)
	size := 0
	for _, p := range places {
		start, end := p.form().offsets()
		size += length(field) + length(p.position()) + length(start) + length(end) + 1
	}
	where.add(uint64(size))
	for _, p := range places {
		start, end := p.form().offsets()
		where.add(field, p.position(), start, end, 0)
	}
}

// length is that of n as it is written.
func length(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// chunks writes numbers by document, cut where a multiple of size is passed.
type chunks struct {
	size uint64
	ends []uint64
	now  uint64
	data []byte
}

func (c *chunks) reset(size, docs uint64) {
	c.size, c.now, c.data = size, 0, c.data[:0]
	n := int((docs-1)/size + 1)
	c.ends = slices.Grow(c.ends[:0], n)[:n]
	clear(c.ends)
}

// begin goes on with a document, which comes after those before.
func (c *chunks) begin(doc uint64) {
	for n := doc / c.size; c.now < n; c.now++ {
		c.ends[c.now] = uint64(len(c.data))
	}
}

func (c *chunks) add(list ...uint64) {
	for _, n := range list {
		if n < 0x80 {
			c.data = append(c.data, byte(n))
			continue
		}
		c.data = binary.AppendUvarint(c.data, n)
	}
}

// chunks writes c, if it holds anything, and returns where; 0 if it does not.
func (b *builder) chunks(c *chunks) uint64 {
	if len(c.data) == 0 {
		return 0
	}
	for ; c.now < uint64(len(c.ends)); c.now++ {
		c.ends[c.now] = uint64(len(c.data))
	}
	at := uint64(len(b.out))
	b.numbers(uint64(len(c.ends)))
	b.numbers(c.ends...)
	b.out = append(b.out, c.data...)
	return at
}

// bitmap writes a set of documents as roaring writes one container of an array (RoaringFormatSpec).
func (b *builder) bitmap(docs []uint32) {
	const cookie, offset = 12346, 16
	b.numbers(uint64(offset + 2*len(docs)))
	b.out = binary.LittleEndian.AppendUint32(b.out, cookie)
	b.out = binary.LittleEndian.AppendUint32(b.out, 1)
	b.out = binary.LittleEndian.AppendUint16(b.out, 0)
	b.out = binary.LittleEndian.AppendUint16(b.out, uint16(len(docs)-1))
	b.out = binary.LittleEndian.AppendUint32(b.out, offset)
	for _, d := range docs {
		b.out = binary.LittleEndian.AppendUint16(b.out, uint16(d))
	}
}

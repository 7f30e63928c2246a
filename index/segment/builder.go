package segment

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/document"
	bleveindex "github.com/blevesearch/bleve_index_api"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
)

// Text is a field of running text, divided into terms.
type Text struct {
	Terms     []string // terms by their numbers
	Source    any      // texts with the same Source use the same numbers for terms
	Numbers   []uint32 // numbers of the terms, in the order of the text
	Positions []uint32 // position of each term in Numbers
	Forms     []Form   // form of each term in Numbers; nil if positions are not stored
}

// Tokenized is a field whose terms the builder reads as numbers. All other fields must be
// *document.TextField without positions.
type Tokenized interface {
	document.Field
	// Tokens returns the text. The builder sets the slices to nil when it has read them.
	Tokens() *Text
}

// builder writes one segment.
type builder struct {
	docs    uint64
	columns map[string]*column
	out     []byte
	trees   map[string]uint64 // offsets in out of the dictionaries, by field
}

// column holds one field of all documents.
type column struct {
	options bleveindex.FieldIndexingOptions
	number  map[string]uint32 // maps a term to its number; nil while all terms come from one Text.Source
	terms   []string
	uses    []int            // number of occurrences, by number of the term
	from    map[any][]uint32 // by Text.Source: maps the source's term numbers to those of the column
	lengths []uint32         // length of the field in tokens, by document
	places  []place          // occurrences of the first term, then of the second, and so on
	list    []uint64         // memory reused by describe
}

// column returns the column of a field.
func (b *builder) column(f document.Field) *column {
	c := b.columns[f.Name()]
	if c == nil {
		c = &column{options: f.Options(), from: map[any][]uint32{}, lengths: make([]uint32, b.docs)}
		b.columns[f.Name()] = c
	}
	return c
}

// add reads documents. It returns false if they have a field that the builder does not support.
func (b *builder) add(docs []bleveindex.Document) bool {
	for i, d := range docs {
		doc, ok := d.(*document.Document)
		if !ok || doc.HasComposite() || len(doc.NestedDocuments) > 0 {
			return false
		}
		for _, f := range doc.Fields {
			c := b.column(f)
			o := f.Options()
			if o != c.options || !o.IsIndexed() || o.IncludeDocValues() || o.IsStored() != (f.Name() == IDField) {
				return false
			}
			switch f := f.(type) {
			case Tokenized:
				text := f.Tokens()
				numbers := c.translate(text)
				for _, n := range text.Numbers {
					c.uses[numbers[n]]++
				}
			case *document.TextField:
				if o.IncludeTermVectors() || len(f.ArrayPositions()) > 1 {
					return false
				}
				c.findTerms()
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

// place is an occurrence of a term: document, form of the word and position, from the highest bit
// down.
type place uint64

const (
	positionBits = 31
	docShift     = positionBits + formBits // positions and forms leave enough bits for MaxDocuments documents
)

func (p place) doc() uint64      { return uint64(p) >> docShift }
func (p place) form() Form       { return Form(p>>positionBits) & (1<<formBits - 1) }
func (p place) position() uint64 { return uint64(p) & (1<<positionBits - 1) }

// findTerms makes numberOf find the terms of c, because a term may be added twice.
func (c *column) findTerms() {
	if c.number != nil {
		return
	}
	c.number = make(map[string]uint32, len(c.terms))
	for n, term := range c.terms {
		c.number[term] = uint32(n)
	}
}

// numberOf returns the number of a term, and adds the term if it is new.
func (c *column) numberOf(term string) uint32 {
	if n, known := c.number[term]; known {
		return n
	}
	n := uint32(len(c.terms))
	if c.number != nil {
		c.number[term] = n
	}
	c.terms = append(c.terms, term)
	c.uses = append(c.uses, 0)
	return n
}

// translate returns a table from the term numbers in the text to those in c.
func (c *column) translate(text *Text) []uint32 {
	const unknown = math.MaxUint32
	numbers, known := c.from[text.Source]
	if !known && len(c.from) > 0 {
		c.findTerms()
	}
	for len(numbers) < len(text.Terms) {
		numbers = append(numbers, unknown)
	}
	c.from[text.Source] = numbers
	for _, n := range text.Numbers {
		if numbers[n] == unknown {
			numbers[n] = c.numberOf(text.Terms[n])
		}
	}
	return numbers
}

// perPlace is the approximate number of bytes for one occurrence.
const perPlace = 6

// sort fills the places of each column. It sets uses to the index in places at which the
// occurrences of each term end.
func (b *builder) sort(docs []bleveindex.Document) {
	all := 0
	for _, c := range b.columns {
		total := 0
		for n, uses := range c.uses {
			c.uses[n] = total // start of the term's occurrences
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
			case Tokenized:
				text := f.Tokens()
				numbers := c.from[text.Source]
				for k, n := range text.Numbers {
					p := at | place(text.Positions[k])
					if text.Forms != nil {
						p |= place(text.Forms[k]) << positionBits
					}
					put(numbers[n], p)
				}
				// release these: they are as large as the text itself
				text.Numbers, text.Positions, text.Forms = nil, nil, nil
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

// stored writes the stored values of the documents, which are only their names, and returns the
// offset of the list of these values.
func (b *builder) stored(docs []bleveindex.Document) uint64 {
	offsets := make([]uint64, len(docs))
	for i, d := range docs {
		offsets[i] = uint64(len(b.out))
		id := d.ID()
		length := binary.AppendUvarint(nil, uint64(len(id)))
		b.numbers(uint64(len(length)), uint64(len(id)+1))
		b.out = append(b.out, length...)
		b.out = append(b.out, id...)
		b.out = append(b.out, 0) // an empty text, compressed with snappy
	}
	list := uint64(len(b.out))
	for _, o := range offsets {
		b.out = binary.BigEndian.AppendUint64(b.out, o)
	}
	b.numbers(0) // number of nested documents
	return list
}

func (b *builder) numbers(list ...uint64) {
	for _, n := range list {
		b.out = binary.AppendUvarint(b.out, n)
	}
}

// Numbers of the sections of a segment. Segments of this package have only the first section.
const (
	invertedText = 0
	synonyms     = 2
	shapes       = 3
)

// none is written instead of an offset, if a field does not have the data at that offset.
const none = math.MaxUint64

// fields writes the lists and the dictionary of every field, and returns the offset of the list of
// fields.
func (b *builder) fields() (uint64, error) {
	names := slices.Sorted(maps.Keys(b.columns))
	names = append([]string{IDField}, slices.DeleteFunc(names, func(s string) bool { return s == IDField })...)
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
		b.numbers(none, none, at) // the field has no doc values
		b.columns[name].places = nil
	}
	return b.fieldList(names, starts), nil
}

// fieldList writes the list of fields and returns its offset. starts are the offsets of the fields'
// sections.
func (b *builder) fieldList(names []string, starts []uint64) uint64 {
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
	return list
}

// postings writes the list of each term of c, ordered by term, and adds its offset to the
// dictionary.
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

// entry returns the dictionary entry of a term that occurs only once, in one document, and
// therefore needs no list. It returns false for other terms.
func (c *column) entry(places []place) (entry uint64, ok bool) {
	if len(places) > 1 || c.options.SkipFreqNorm() {
		return 0, false
	}
	norm, ok := c.norm(places)
	return zap.FSTValEncode1Hit(places[0].doc(), norm), ok
}

// norm returns the norm of a term in one document. ok is true if the norm also contains all
// positions of the term.
func (c *column) norm(places []place) (norm uint64, ok bool) {
	code := LengthCode(c.lengths[places[0].doc()])
	if !c.options.IncludeTermVectors() {
		return code, true
	}
	if norm, ok := packed(places, code); ok {
		return norm, true
	}
	return code, false
}

// describe writes the entry of a term in one document.
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

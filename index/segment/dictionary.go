package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
)

// Readable is a segment on disk (*zap.Segment) or in memory. This package reads the lists of a
// segment itself: zapx takes several times as long, and a query reads hundreds of thousands of
// entries. Damaged data can make any function of this package panic; the caller must recover.
type Readable interface {
	Fields() []string
	Count() uint64
	Data() []byte
	DictAddr(field string) (uint64, error)
}

// Dictionary maps the terms of a field to their lists. Only one goroutine may use it at a time.
type Dictionary struct {
	terms *vellum.FST
	read  *vellum.Reader // reader of the terms
	data  []byte
	docs  uint64
}

// DictionaryOf returns the dictionary of a field, nil if no document has the field.
func DictionaryOf(s Readable, field string) (*Dictionary, error) {
	if s.Count() == 0 || !slices.Contains(s.Fields(), field) {
		return nil, nil
	}
	at, err := s.DictAddr(field)
	if err != nil {
		return nil, err
	}
	data := s.Data()
	size, n := binary.Uvarint(data[at:])
	terms, err := vellum.Load(data[at+uint64(n):][:size])
	if err != nil {
		return nil, fmt.Errorf("the terms of %s cannot be read: %w", field, err)
	}
	read, err := terms.Reader()
	if err != nil {
		return nil, err
	}
	return &Dictionary{terms, read, data, s.Count()}, nil
}

// List is the stored data of a term in a segment: the documents that contain it, and for each how
// often and at which positions.
type List struct {
	Docs       *roaring.Bitmap // must not be changed
	norm       uint64          // norm of a term that occurs once in one document; otherwise 0
	data       []byte
	chunk      uint32 // number of documents in one part of the data at how and where
	how, where uint64 // offsets in data of frequencies and norms (how), and of locations (where); 0: none
}

// List returns the list of a term, nil if no document has it.
func (d *Dictionary) List(term string) (*List, error) {
	entry, found, err := d.read.Get([]byte(term))
	if err != nil || !found {
		return nil, err
	}
	return d.listAt(entry)
}

// Each calls do for a range of terms, in order. from is the lower limit, and may itself be one of
// the terms; the terms are less than to. An empty string means no limit.
func (d *Dictionary) Each(from, to string, do func(term string, l *List) error) error {
	bound := func(s string) []byte {
		if s == "" {
			return nil
		}
		return []byte(s)
	}
	terms, err := d.terms.Iterator(bound(from), bound(to))
	for ; err == nil; err = terms.Next() {
		term, entry := terms.Current()
		l, err := d.listAt(entry)
		if err != nil {
			return err
		}
		if err := do(string(term), l); err != nil {
			return err
		}
	}
	if errors.Is(err, vellum.ErrIteratorDone) {
		return nil
	}
	return err
}

func (d *Dictionary) listAt(entry uint64) (*List, error) {
	if entry&zap.FSTValEncodingMask == zap.FSTValEncoding1Hit {
		doc, norm := zap.FSTValDecode1Hit(entry)
		return &List{Docs: roaring.BitmapOf(uint32(doc)), norm: norm}, nil
	}
	l := &List{data: d.data, Docs: roaring.New()}
	rest := numbers{data: d.data[entry:]}
	l.how, l.where = rest.next(), rest.next()
	if _, err := l.Docs.FromBuffer(rest.bytes(rest.next())); err != nil {
		return nil, fmt.Errorf("a list cannot be read: %w", err)
	}
	l.chunk = uint32(chunkSize(d.docs, l.Docs.GetCardinality()))
	return l, nil
}

// part returns the numbers in one part of the data that begins at offset at.
func (l *List) part(at uint64, part uint32) numbers {
	all := numbers{data: l.data[at:]}
	var from, to uint64
	for i := range all.next() {
		if end := all.next(); i <= uint64(part) {
			from, to = to, end
		}
	}
	return numbers{data: all.data[all.at:][from:to]}
}

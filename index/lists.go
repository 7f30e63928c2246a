package index

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
)

// readable is a segment as it is written: on disk (*zap.Segment) or just built. Its lists are read here and not by the library, which
// takes several times as long: queries go through hundreds of thousands of entries. What is damaged shows as a panic, which guard catches.
type readable interface {
	Fields() []string
	Count() uint64
	Data() []byte
	DictAddr(field string) (uint64, error)
}

// dictionary leads from the terms of a field to their lists. It is for one reader at a time.
type dictionary struct {
	terms *vellum.FST
	read  *vellum.Reader // of them
	data  []byte
	docs  uint64
}

// dictionaryOf gives nil if no document has the field.
func dictionaryOf(s readable, field string) (*dictionary, error) {
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
	return &dictionary{terms, read, data, s.Count()}, nil
}

// list tells in which documents a term is, and what of it.
type list struct {
	docs       *roaring.Bitmap // must not be changed
	norm       uint64          // of a term that is in one document, once; else 0
	data       []byte
	chunk      uint32 // how many documents there are in a part of the next two
	how, where uint64 // where in data frequencies and norms begin, and locations; 0: there are none
}

// list gives nil for what is no term.
func (d *dictionary) list(term string) (*list, error) {
	entry, found, err := d.read.Get([]byte(term))
	if err != nil || !found {
		return nil, err
	}
	return d.listAt(entry)
}

func (d *dictionary) listAt(entry uint64) (*list, error) {
	if entry&zap.FSTValEncodingMask == zap.FSTValEncoding1Hit {
		doc, norm := zap.FSTValDecode1Hit(entry)
		return &list{docs: roaring.BitmapOf(uint32(doc)), norm: norm}, nil
	}
	l := &list{data: d.data, docs: roaring.New()}
	rest := numbers{data: d.data[entry:]}
	l.how, l.where = rest.next(), rest.next()
	if _, err := l.docs.FromBuffer(rest.bytes(rest.next())); err != nil {
		return nil, fmt.Errorf("a list cannot be read: %w", err)
	}
	l.chunk = uint32(chunkSize(d.docs, l.docs.GetCardinality()))
	return l, nil
}

// part gives the numbers of one part of what begins at at.
func (l *list) part(at uint64, part uint32) numbers {
	all := numbers{data: l.data[at:]}
	var from, to uint64
	for i := range all.next() {
		if end := all.next(); i <= uint64(part) {
			from, to = to, end
		}
	}
	return numbers{data: all.data[all.at:][from:to]}
}

// lookAhead is how many documents are looked at at once.
const lookAhead = 128

// walk goes through a list, document by document.
type walk struct {
	*list
	places  bool // are wanted
	picks   bool // does not look at documents that are not asked for
	docs    roaring.ManyIntIterator
	ahead   [lookAhead]uint32 // of docs
	at      int               // in ahead
	filled  int
	end     uint32 // of the documents of this part of the list
	passed  int    // documents of this part of which nothing was read, although what is ahead is behind them
	known   int    // documents of the list up to there, if it picks
	how     numbers
	where   numbers
	ratings [lookAhead]rating

	// Of the document that it stands at:
	doc   uint32
	often uint64
	norm  uint64
	place int // where its location begins in where, which is read to the end of it; -1: it has none, or places are not wanted
}

// begin begins to go through l.
func (w *walk) begin(l *list, places bool) {
	w.list, w.places, w.picks = l, places, false
	w.docs.Initialize(l.docs)
	w.at, w.filled, w.end, w.passed, w.known, w.how, w.where = 0, 0, 0, 0, 0, numbers{}, numbers{}
}

// to goes on to a document, or to the first behind it; false if there is none. What is known of it can be read once.
func (w *walk) to(doc uint32) bool {
	for w.at < w.filled || w.fill() {
		left := w.ahead[w.at:w.filled]
		n := 0
		if left[0] < doc {
			n = countBefore(left, doc)
			w.pass(left[:n])
			w.at += n
		}
		if n < len(left) {
			w.doc = left[n]
			return true
		}
	}
	return false
}

// countBefore tells how many of docs, which are in order, are before doc; most often few.
func countBefore(docs []uint32, doc uint32) int {
	from, to := 0, 1
	for to <= len(docs) && docs[to-1] < doc {
		from, to = to, 2*to
	}
	if from < 2 {
		return from
	}
	n, _ := slices.BinarySearch(docs[from:min(to, len(docs))], doc)
	return from + n
}

// pick goes on to a document that the list has, without a look at those between. It is to be read then.
func (w *walk) pick(doc uint32) {
	w.doc = doc
	if w.list.norm != 0 {
		return
	}
	if doc >= w.end {
		w.open(doc)
		w.known = 0
		if first := w.end - w.chunk; first > 0 {
			w.known = int(w.list.docs.Rank(first - 1))
		}
	}
	before := int(w.list.docs.Rank(doc)) - 1
	w.passed, w.known = before-w.known, before+1
}

// fill looks ahead, if nothing is left of what was seen; false at the end.
func (w *walk) fill() bool {
	if w.at == w.filled {
		w.at, w.filled = 0, w.docs.NextMany(w.ahead[:])
	}
	return w.filled > 0
}

// pass leaves documents unread.
func (w *walk) pass(docs []uint32) {
	if len(docs) == 0 || w.list.norm != 0 {
		return
	}
	if last := docs[len(docs)-1]; last >= w.end {
		w.open(last)
		docs = docs[countBefore(docs, w.end-w.chunk):]
	}
	w.passed += len(docs)
}

// open goes on to the part of the list that a document is in.
func (w *walk) open(doc uint32) {
	part := doc / w.chunk
	w.end, w.passed = (part+1)*w.chunk, 0
	w.how = w.part(w.list.how, part)
	if w.places && w.list.where != 0 {
		w.where = w.part(w.list.where, part)
	}
}

// read reads what is known of the document that it stands at, and leaves it behind.
func (w *walk) read() {
	w.at++
	w.place = -1
	if w.list.norm != 0 {
		w.often, w.norm = 1, w.list.norm
		return
	}
	if w.passed > 0 || w.doc >= w.end {
		w.skip()
	}
	n, norm := w.how.entry()
	w.often, w.norm = n>>1, norm
	if w.places && n&1 != 0 {
		size := int(w.where.next())
		w.place = w.where.at
		w.where.at += size
	}
}

// skip goes on in the numbers to those of the document that it stands at.
func (w *walk) skip() {
	if w.doc >= w.end {
		w.open(w.doc)
	}
	if w.passed > 0 && len(w.where.data) == 0 {
		w.how.skip(2 * w.passed)
		w.passed = 0
	}
	for w.passed > 0 {
		out := w.ratings[:min(w.passed, lookAhead)]
		w.how.ratings(out)
		for _, r := range out {
			if r.often&1 != 0 {
				w.where.at += int(w.where.next())
			}
		}
		w.passed -= len(out)
	}
}

// rate reads what the next documents are worth, as many as can be had at once, and leaves them behind.
func (w *walk) rate() ([]uint32, []rating) {
	docs := w.ahead[w.at:w.filled]
	if w.list.norm != 0 {
		w.ratings[0] = rating{1 << 1, uint32(codeOf(w.list.norm))}
	} else {
		if docs[0] >= w.end {
			w.open(docs[0])
		}
		docs = docs[:countBefore(docs, w.end)]
		w.how.ratings(w.ratings[:len(docs)])
	}
	w.at += len(docs)
	return docs, w.ratings[:len(docs)]
}

// spots adds the places in the document that it stands at, in order.
func (w *walk) spots(out []spot) ([]spot, error) {
	if w.place >= 0 {
		return located(out, w.where.data[w.place:w.where.at], w.often)
	}
	return unpacked(out, w.norm, w.often)
}

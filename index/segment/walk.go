package segment

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// LookAhead is how many documents of a bitmap are read at once.
const LookAhead = 128

// Walk reads a list, document by document.
type Walk struct {
	list    *List
	places  bool // positions are wanted
	picks   bool // only single documents are read
	docs    roaring.ManyIntIterator
	ahead   [LookAhead]uint32 // of docs
	at      int               // in ahead
	filled  int
	end     uint32 // first document behind this part of the list
	passed  int    // documents of this part whose numbers are still to be skipped
	known   int    // rank of the last document, if picks
	how     numbers
	where   numbers
	ratings [LookAhead]Rating

	// The current document: Often and Norm are set by Read.
	Doc   uint32
	Often uint64 // how often it has the term
	Norm  uint64 // length of the field as a code (CodeOf), and perhaps positions
	place int    // offset of its location in where, which is read to its end; -1: none, or not wanted
}

// Begin sets w to the begin of l. places says that positions will be wanted.
func (w *Walk) Begin(l *List, places bool) {
	w.list, w.places, w.picks = l, places, false
	w.docs.Initialize(l.Docs)
	w.at, w.filled, w.end, w.passed, w.known, w.how, w.where = 0, 0, 0, 0, 0, numbers{}, numbers{}
}

// To advances to doc or the first document behind it. It returns false if there is none. Call Read
// at most once for a document.
func (w *Walk) To(doc uint32) bool {
	for w.at < w.filled || w.Fill() {
		left := w.ahead[w.at:w.filled]
		n := 0
		if left[0] < doc {
			n = CountBefore(left, doc)
			w.pass(left[:n])
			w.at += n
		}
		if n < len(left) {
			w.Doc = left[n]
			return true
		}
	}
	return false
}

// CountBefore returns how many of docs, which are sorted, are less than doc. It is fast for few.
func CountBefore(docs []uint32, doc uint32) int {
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

// pick advances to a document that the list has, without reading those between. The caller must
// call Read next.
func (w *Walk) pick(doc uint32) {
	w.Doc = doc
	if w.list.norm != 0 {
		return
	}
	if doc >= w.end {
		w.open(doc)
		w.known = 0
		if first := w.end - w.list.chunk; first > 0 {
			w.known = int(w.list.Docs.Rank(first - 1))
		}
	}
	before := int(w.list.Docs.Rank(doc)) - 1
	w.passed, w.known = before-w.known, before+1
}

// Fill reads the next documents of the bitmap if none are left. It returns false at the end.
func (w *Walk) Fill() bool {
	if w.at == w.filled {
		w.at, w.filled = 0, w.docs.NextMany(w.ahead[:])
	}
	return w.filled > 0
}

// pass leaves out documents.
func (w *Walk) pass(docs []uint32) {
	if len(docs) == 0 || w.list.norm != 0 {
		return
	}
	if last := docs[len(docs)-1]; last >= w.end {
		w.open(last)
		docs = docs[CountBefore(docs, w.end-w.list.chunk):]
	}
	w.passed += len(docs)
}

// open advances to the part of the list that has doc.
func (w *Walk) open(doc uint32) {
	part := doc / w.list.chunk
	w.end, w.passed = (part+1)*w.list.chunk, 0
	w.how = w.list.part(w.list.how, part)
	if w.places && w.list.where != 0 {
		w.where = w.list.part(w.list.where, part)
	}
}

// Read reads the entry of the current document and leaves the document.
func (w *Walk) Read() {
	w.at++
	w.place = -1
	if w.list.norm != 0 {
		w.Often, w.Norm = 1, w.list.norm
		return
	}
	if w.passed > 0 || w.Doc >= w.end {
		w.skip()
	}
	n, norm := w.how.entry()
	w.Often, w.Norm = n>>1, norm
	if w.places && n&1 != 0 {
		size := int(w.where.next())
		w.place = w.where.at
		w.where.at += size
	}
}

// skip advances to the numbers of the current document.
func (w *Walk) skip() {
	if w.Doc >= w.end {
		w.open(w.Doc)
	}
	if w.passed > 0 && len(w.where.data) == 0 {
		w.how.skip(2 * w.passed)
		w.passed = 0
	}
	for w.passed > 0 {
		out := w.ratings[:min(w.passed, LookAhead)]
		w.how.ratings(out)
		for _, r := range out {
			if r.often&1 != 0 {
				w.where.at += int(w.where.next())
			}
		}
		w.passed -= len(out)
	}
}

// Rate reads the ratings of the next documents, as many as are available at once, and leaves them.
// Call Fill before.
func (w *Walk) Rate() ([]uint32, []Rating) {
	docs := w.ahead[w.at:w.filled]
	if w.list.norm != 0 {
		w.ratings[0] = Rating{1 << 1, uint32(CodeOf(w.list.norm))}
	} else {
		if docs[0] >= w.end {
			w.open(docs[0])
		}
		docs = docs[:CountBefore(docs, w.end)]
		w.how.ratings(w.ratings[:len(docs)])
	}
	w.at += len(docs)
	return docs, w.ratings[:len(docs)]
}

// Spots appends the positions in the current document, in order.
func (w *Walk) Spots(out []Spot) ([]Spot, error) {
	if w.place >= 0 {
		return located(out, w.where.data[w.place:w.where.at], w.Often)
	}
	return unpacked(out, w.Norm, w.Often)
}

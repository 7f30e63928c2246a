package segment

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// LookAhead is the number of documents that are read from a bitmap at once.
const LookAhead = 128

// Walk reads a list, document by document.
type Walk struct {
	list    *List
	places  bool // positions will be read
	picks   bool // only single documents are read
	docs    roaring.ManyIntIterator
	ahead   [LookAhead]uint32 // the next documents from docs
	at      int               // index of the current document in ahead
	filled  int
	end     uint32 // first document after the current part of the list
	passed  int    // number of documents in this part whose numbers must still be skipped
	known   int    // if picks is set: number of documents in the list up to the last one that was picked
	how     numbers
	where   numbers
	ratings [LookAhead]Rating

	// The current document: Often and Norm are set by Read.
	Doc   uint32
	Often uint64 // number of occurrences of the term in Doc
	Norm  uint64 // length code of the field (CodeOf), and perhaps positions
	place int    // offset of the location of Doc in where; -1: none, or not read
}

// Begin moves w to the beginning of l. places says whether the caller will read positions.
func (w *Walk) Begin(l *List, places bool) {
	w.list, w.places, w.picks = l, places, false
	w.docs.Initialize(l.Docs)
	w.at, w.filled, w.end, w.passed, w.known, w.how, w.where = 0, 0, 0, 0, 0, numbers{}, numbers{}
}

// To moves to doc, or to the first document after it. It returns false if there is none. The caller
// may call Read at most once for each document.
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

// CountBefore returns how many documents in docs are less than doc. docs must be sorted.
// CountBefore is fast if the result is small.
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

// pick moves to a document in the list without reading the documents before it. The caller must
// then call Read.
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

// pass skips documents.
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

// open moves to the part of the list that contains doc.
func (w *Walk) open(doc uint32) {
	part := doc / w.list.chunk
	w.end, w.passed = (part+1)*w.list.chunk, 0
	w.how = w.list.part(w.list.how, part)
	if w.places && w.list.where != 0 {
		w.where = w.list.part(w.list.where, part)
	}
}

// Read reads the entry of the current document, and moves past the document.
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

// skip moves to the numbers of the current document.
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

// Rate returns the next documents in memory with their ratings, and moves past them. The caller
// must call Fill before.
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

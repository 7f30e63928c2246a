package segment

import (
	"cmp"
	"slices"
)

// Cursor reads the positions of several terms that count as the same word, document by document.
type Cursor struct {
	walks []Walk // one for each list
	spots []Spot
}

// pickFrom is a ratio. If the length of a list, divided by the number of wanted documents, is
// greater than pickFrom, a cursor looks up single documents instead of reading the whole list.
const pickFrom = 256

// Begin moves c to the beginning of lists. wanted is the approximate number of documents for which
// At will be called.
func (c *Cursor) Begin(lists []*List, wanted uint64) {
	c.walks = slices.Grow(c.walks[:0], len(lists))[:len(lists)]
	for i, l := range lists {
		w := &c.walks[i]
		w.Begin(l, true)
		w.picks = pickFrom*wanted < l.Docs.GetCardinality()
	}
}

// At returns the positions in doc in order, valid until the next call, and the norm. The caller
// must pass documents in increasing order.
func (c *Cursor) At(doc uint32) (spots []Spot, norm uint64, err error) {
	c.spots = c.spots[:0]
	lists := 0
	for i := range c.walks {
		w := &c.walks[i]
		if !w.reach(doc) {
			continue
		}
		w.Read()
		lists++
		norm = w.Norm
		if c.spots, err = w.Spots(c.spots); err != nil {
			return nil, 0, err
		}
	}
	if lists > 1 {
		slices.SortFunc(c.spots, func(a, b Spot) int { return cmp.Compare(a.Position, b.Position) })
		c.spots = slices.Compact(c.spots) // if a word has two terms at one position, it is counted once
	}
	return c.spots, norm, nil
}

// reach advances to the document doc, and reports whether the list contains this document.
func (w *Walk) reach(doc uint32) bool {
	if !w.picks {
		return w.To(doc) && w.Doc == doc
	}
	if !w.list.Docs.Contains(doc) {
		return false
	}
	w.pick(doc)
	return true
}

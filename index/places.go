package index

import (
	"cmp"
	"slices"
)

// cursor goes through the places of a step, document by document.
type cursor struct {
	walks []walk // of the lists
	spots []spot
}

// few is how many times longer than what is wanted of it a list is of which documents are picked.
const few = 256

// through begins to go through lists for so many documents. They are good until the next call.
func (g *segment) through(lists []postings, wanted uint64) []cursor {
	for len(g.cursors) < len(lists) {
		g.cursors = append(g.cursors, cursor{})
	}
	for k, p := range lists {
		g.cursors[k].begin(p, wanted)
	}
	return g.cursors[:len(lists)]
}

// begin begins to go through p for so many documents.
func (c *cursor) begin(p postings, wanted uint64) {
	c.walks = slices.Grow(c.walks[:0], len(p.lists))[:len(p.lists)]
	for i, l := range p.lists {
		w := &c.walks[i]
		w.begin(l, true)
		w.picks = few*wanted < l.docs.GetCardinality()
	}
}

// at gives the places in doc, in order, good until the next call, and the norm. Documents are asked for in order.
func (c *cursor) at(doc uint32) (spots []spot, norm uint64, err error) {
	c.spots = c.spots[:0]
	from := 0
	for i := range c.walks {
		w := &c.walks[i]
		if !w.reaches(doc) {
			continue
		}
		w.read()
		from++
		norm = w.norm
		if c.spots, err = w.spots(c.spots); err != nil {
			return nil, 0, err
		}
	}
	if from > 1 {
		slices.SortFunc(c.spots, func(a, b spot) int { return cmp.Compare(a.position, b.position) })
		c.spots = slices.Compact(c.spots) // a word with two terms is one
	}
	return c.spots, norm, nil
}

// reaches goes on to doc, and tells whether it is in the list.
func (w *walk) reaches(doc uint32) bool {
	if !w.picks {
		return w.to(doc) && w.doc == doc
	}
	if !w.list.docs.Contains(doc) {
		return false
	}
	w.pick(doc)
	return true
}

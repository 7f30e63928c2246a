package index

import (
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

// spot is where a word stands in a document.
type spot struct {
	position uint32
	form     form
}

// cursor goes through the places of a step, document by document.
type cursor struct {
	lists []*zap.PostingsIterator
	now   []segmentapi.Posting // of each; nil at its end
	spots []spot
}

func (p postings) cursor(docs *roaring.Bitmap) *cursor {
	c := &cursor{}
	for _, l := range p.lists {
		if it, some := within(l, docs, true); some {
			c.lists = append(c.lists, it)
		}
	}
	return c
}

// within goes through a list as far as it is in docs; false if nothing of it is. A list of a single document may give one outside.
func within(l *zap.PostingsList, docs *roaring.Bitmap, places bool) (*zap.PostingsIterator, bool) {
	it, ok := l.Iterator(true, true, places, nil).(*zap.PostingsIterator)
	if !ok {
		return nil, false
	}
	if doc, single := it.DocNum1Hit(); single {
		return it, docs.Contains(uint32(doc))
	}
	all := it.ActualBitmap()
	if all == nil {
		return nil, false
	}
	switch n := all.AndCardinality(docs); {
	case n == 0:
		return nil, false
	case n < all.GetCardinality():
		it.ReplaceActual(roaring.And(all, docs))
	}
	return it, true
}

// at gives the places in doc, in order, good until the next call, and the length of the field. Documents are asked for in order.
func (c *cursor) at(doc uint32) (spots []spot, length uint32, err error) {
	if c.now == nil {
		c.now = make([]segmentapi.Posting, len(c.lists))
		for i := range c.lists {
			if c.now[i], err = following(c.lists[i]); err != nil {
				return nil, 0, err
			}
		}
	}
	c.spots = c.spots[:0]
	from := 0
	for i := range c.now {
		for c.now[i] != nil && c.now[i].Number() < uint64(doc) {
			if c.now[i], err = following(c.lists[i]); err != nil {
				return nil, 0, err
			}
		}
		if c.now[i] == nil || c.now[i].Number() != uint64(doc) {
			continue
		}
		length = lengthOf(c.now[i])
		from++
		for _, l := range c.now[i].Locations() {
			c.spots = append(c.spots, spot{uint32(l.Pos()), formAt(l.Start(), l.End())})
		}
	}
	if from > 1 {
		slices.SortFunc(c.spots, func(a, b spot) int { return int(a.position) - int(b.position) })
	}
	return c.spots, length, nil
}

// following is Next, with a plain nil at the end.
func following(it *zap.PostingsIterator) (segmentapi.Posting, error) {
	p, err := it.Next()
	if err != nil || p == nil {
		return nil, err
	}
	return p, nil
}

// lengthOf is the number of words of the field that a posting is of.
func lengthOf(p segmentapi.Posting) uint32 {
	if z, ok := p.(*zap.Posting); ok {
		return uint32(min(z.NormUint64(), math.MaxUint32))
	}
	return 0
}

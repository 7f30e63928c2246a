package segment

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// length returns the size of n as a varint, in bytes.
func length(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// chunkSize returns how many documents one part of a list covers. docs is the number of documents
// in the segment, and with is the number of those that contain the term. The result is that of
// chunk mode 1026 of zapx (zap.DefaultChunkMode).
func chunkSize(docs, with uint64) uint64 { return docs / (with/1024 + 1) }

// chunks is a list of numbers for each document, divided into parts. size is the number of
// documents of each part.
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

// begin starts the numbers of document doc. Documents must be in increasing order.
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

// chunks writes c and returns its offset, 0 if c is empty.
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

// bitmap writes a set of documents as a roaring bitmap with one array container
// (RoaringFormatSpec).
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

package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The page format of bbolt, version 2: a page begins with id (8 bytes), flags (2), count (2), overflow (4); elements of 16
// bytes follow, then keys and values. Numbers are in the byte order of the machine.
const (
	pageHead  = 16
	pageElem  = 16
	metaSum   = 56 // bytes of a meta record under its checksum
	branch    = 0x01
	leaf      = 0x02
	freelist  = 0x10
	isBucket  = 0x01
	noList    = ^uint64(0)
	maxDepth  = 64
	manyFree  = 0xffff // the count of a longer free list stands in its first entry
	boltMagic = 0xED0CDAED
)

var native = binary.NativeEndian

// root is what one of the two meta pages says.
type root struct {
	page, freelist, high, txid uint64
}

// pages reads the tree of a bbolt file without bbolt, which asserts, and on a page that leads back to itself would never
// return. It reports what no tree can be.
type pages struct {
	ctx   context.Context
	f     io.ReaderAt
	size  uint64
	high  uint64 // first page never used
	seen  bits   // pages in use or free
	wrong []string
}

var (
	errStop  = errors.New("enough")
	errMoved = errors.New("two transactions ended before its root record was read")
)

// checkPages checks the tree of transaction txid, which must stay open meanwhile. errMoved: its root record has been overwritten
// already.
func checkPages(ctx context.Context, f io.ReaderAt, size int, txid uint64) ([]string, error) {
	var r root
	moved := false
	var err error
	for _, n := range []int64{0, 1} {
		var got root
		if got, err = readRoot(f, size, n); err != nil {
			continue
		}
		moved = moved || got.txid > txid
		if got.txid == txid {
			r = got
		}
	}
	switch {
	case r.txid == txid:
	case moved:
		return nil, errMoved
	default:
		return []string{"neither root record is that of the last transaction"}, nil
	}
	p := &pages{ctx: ctx, f: f, size: uint64(size), high: r.high, seen: newBits(r.high)}
	p.seen.set(0)
	p.seen.set(1)
	err = p.tree(r.page, nil, nil, 0)
	if err == nil {
		err = p.free(r.freelist)
	}
	if err == nil && len(p.wrong) == 0 {
		for id := range p.high {
			if !p.seen.has(id) {
				p.report("page %d is neither used nor free", id)
			}
		}
	}
	if errors.Is(err, errStop) {
		err = nil
	}
	return p.wrong, err
}

// rootsValid reports whether both meta pages of a file are what bbolt wrote. One suffices to open it, at the price of the
// last transaction.
func rootsValid(f io.ReaderAt, size int) bool {
	_, first := readRoot(f, size, 0)
	_, second := readRoot(f, size, 1)
	return first == nil && second == nil
}

func readRoot(f io.ReaderAt, size int, n int64) (root, error) {
	b := make([]byte, pageHead+metaSum+8)
	if _, err := f.ReadAt(b, n*int64(size)); err != nil {
		return root{}, err
	}
	m := b[pageHead:]
	h := fnv.New64a()
	h.Write(m[:metaSum])
	if native.Uint32(m) != boltMagic || native.Uint64(m[metaSum:]) != h.Sum64() {
		return root{}, errRecord
	}
	return root{page: native.Uint64(m[16:]), freelist: native.Uint64(m[32:]), high: native.Uint64(m[40:]), txid: native.Uint64(m[48:])}, nil
}

func (p *pages) report(format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// claim marks a run of pages as seen; a page may be seen once.
func (p *pages) claim(id, n uint64) bool {
	if id < 2 || id >= p.high || n > p.high-id {
		p.report("page %d is beyond the end of the file", id)
		return false
	}
	for i := id; i < id+n; i++ {
		if p.seen.has(i) {
			p.report("page %d is used twice", i)
			return false
		}
		p.seen.set(i)
	}
	return true
}

// read reads a page with its overflow and claims it; nil after a report.
func (p *pages) read(id uint64) ([]byte, error) {
	if err := p.ctx.Err(); err != nil {
		return nil, err
	}
	if len(p.wrong) > 100 {
		return nil, errStop
	}
	if id < 2 || id >= p.high {
		p.report("page %d is beyond the end of the file", id)
		return nil, nil
	}
	head := make([]byte, pageHead)
	if _, err := p.f.ReadAt(head, int64(id*p.size)); err != nil {
		p.report("page %d cannot be read: %v", id, err)
		return nil, nil
	}
	if native.Uint64(head) != id {
		p.report("page %d says that it is page %d", id, native.Uint64(head))
		return nil, nil
	}
	n := 1 + uint64(native.Uint32(head[12:]))
	if !p.claim(id, n) {
		return nil, nil
	}
	b := make([]byte, n*p.size)
	if _, err := p.f.ReadAt(b, int64(id*p.size)); err != nil {
		p.report("page %d cannot be read: %v", id, err)
		return nil, nil
	}
	return b, nil
}

// tree checks the tree below a page; its keys must lie from lo up to, not including, hi.
func (p *pages) tree(id uint64, lo, hi []byte, depth int) error {
	b, err := p.read(id)
	if b == nil || err != nil {
		return err
	}
	if depth > maxDepth {
		p.report("page %d lies too deep", id)
		return nil
	}
	return p.node(b, id, lo, hi, depth)
}

func (p *pages) node(b []byte, id uint64, lo, hi []byte, depth int) error {
	flags, count := native.Uint16(b[8:]), int(native.Uint16(b[10:]))
	if flags != branch && flags != leaf || flags == branch && count == 0 || pageHead+count*pageElem > len(b) {
		p.report("page %d has an impossible header", id)
		return nil
	}
	elems := make([]element, count)
	for i := range elems {
		e, ok := readElement(b, i, flags)
		if !ok || i > 0 && bytes.Compare(elems[i-1].key, e.key) >= 0 || bytes.Compare(e.key, lo) < 0 ||
			hi != nil && bytes.Compare(e.key, hi) >= 0 {
			p.report("page %d has an impossible entry %d", id, i)
			return nil
		}
		elems[i] = e
	}
	for i, e := range elems {
		var err error
		switch {
		case flags == branch:
			next := hi
			if i+1 < count {
				next = elems[i+1].key
			}
			err = p.tree(e.page, e.key, next, depth+1)
		case e.flags == isBucket:
			err = p.bucket(e.value, id, depth)
		case e.flags != 0:
			p.report("page %d has an impossible entry %d", id, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket checks the tree of a nested bucket, or the page that stands inline in its value.
func (p *pages) bucket(value []byte, id uint64, depth int) error {
	if len(value) < 16 {
		p.report("page %d has an impossible bucket", id)
		return nil
	}
	if page := native.Uint64(value); page != 0 {
		return p.tree(page, nil, nil, depth+1)
	}
	inline := value[16:]
	if len(inline) < pageHead || native.Uint16(inline[8:]) != leaf {
		p.report("page %d has an impossible bucket", id)
		return nil
	}
	return p.node(inline, id, nil, nil, depth+1)
}

type element struct {
	key, value []byte
	flags      uint32
	page       uint64
}

func readElement(b []byte, i int, flags uint16) (e element, ok bool) {
	at := uint64(pageHead + i*pageElem)
	h := b[at : at+pageElem]
	var pos, ksize, vsize uint64
	if flags == branch {
		pos, ksize, e.page = uint64(native.Uint32(h)), uint64(native.Uint32(h[4:])), native.Uint64(h[8:])
	} else {
		e.flags, pos = native.Uint32(h), uint64(native.Uint32(h[4:]))
		ksize, vsize = uint64(native.Uint32(h[8:])), uint64(native.Uint32(h[12:]))
	}
	start := at + pos
	if ksize == 0 || start+ksize+vsize > uint64(len(b)) {
		return e, false
	}
	e.key, e.value = b[start:start+ksize], b[start+ksize:start+ksize+vsize]
	return e, true
}

// bits is a set of small numbers, up to a highest one.
type bits []uint64

func newBits(highest uint64) bits { return make(bits, highest/64+1) }
func (b bits) has(n uint64) bool  { return n/64 < uint64(len(b)) && b[n/64]&(1<<(n%64)) != 0 }
func (b bits) set(n uint64)       { b[n/64] |= 1 << (n % 64) }

// free checks the list of free pages.
func (p *pages) free(id uint64) error {
	if id == noList {
		p.report("the list of free pages is missing")
		return nil
	}
	b, err := p.read(id)
	if b == nil || err != nil {
		return err
	}
	n, at := uint64(native.Uint16(b[10:])), uint64(pageHead)
	if n == manyFree && len(b) >= pageHead+8 {
		n, at = native.Uint64(b[pageHead:]), pageHead+8
	}
	if native.Uint16(b[8:]) != freelist || n > (uint64(len(b))-at)/8 {
		p.report("page %d is not a list of free pages", id)
		return nil
	}
	for i := range n {
		p.claim(native.Uint64(b[at+i*8:]), 1)
		if len(p.wrong) > 100 {
			return errStop
		}
	}
	return nil
}

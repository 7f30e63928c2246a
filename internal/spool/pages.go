package spool

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
)

// The page format of bbolt, version 2. A page begins with id (8 bytes), flags (2), count (2) and
// overflow (4). Elements of 16 bytes follow, then keys and values. Numbers are in the byte order of
// the machine.
const (
	PageHead = 16
	PageElem = 16
	Branch   = 0x01 // Branch and Leaf are flags of a page
	Leaf     = 0x02
	MaxDepth = 64 // maximum depth of a tree

	metaSum   = 56 // bytes of a meta record that its checksum covers
	freelist  = 0x10
	isBucket  = 0x01
	noList    = ^uint64(0)
	manyFree  = 0xffff // a free list with this count has its length in its first entry
	boltMagic = 0xED0CDAED
)

// Native is the byte order of the machine.
var Native = binary.NativeEndian

// root is the content of one of the two meta pages.
type root struct {
	page, freelist, high, txid uint64
}

// pages checks the tree of a bbolt file without bbolt. bbolt panics on a broken page, and it would
// never return if a page refers back to itself.
type pages struct {
	ctx   context.Context
	f     io.ReaderAt
	size  uint64
	high  uint64 // all pages in use have a lower number
	seen  Bits   // pages that are in use or free
	wrong []string
}

// ErrMoved means that the root record of the transaction was overwritten before CheckPages read it.
// Call CheckPages again with a newer transaction.
var ErrMoved = errors.New("two transactions ended before its root record was read")

var (
	errStop = errors.New("enough")
	errRoot = errors.New("there is no root record")
)

// CheckPages checks the tree of transaction txid of the database f. size is the page size in bytes.
// It returns a clause for each damage that it found. The transaction must stay open until
// CheckPages returns. The error is ErrMoved if the root record of the transaction has been
// overwritten already.
func CheckPages(ctx context.Context, f io.ReaderAt, size int, txid uint64) ([]string, error) {
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
		return nil, ErrMoved
	default:
		return []string{"neither root record is that of the last transaction"}, nil
	}
	p := &pages{ctx: ctx, f: f, size: uint64(size), high: r.high, seen: NewBits(r.high)}
	p.seen.Set(0)
	p.seen.Set(1)
	err = p.tree(r.page, nil, nil, 0)
	if err == nil {
		err = p.free(r.freelist)
	}
	if err == nil && len(p.wrong) == 0 {
		for id := range p.high {
			if !p.seen.Has(id) {
				p.report("page %d is neither used nor free", id)
			}
		}
	}
	if errors.Is(err, errStop) {
		err = nil
	}
	return p.wrong, err
}

// RootsValid reports whether both meta pages of a file are valid. bbolt can open the file if only
// one of them is valid, but may then lose the last transaction.
func RootsValid(f io.ReaderAt, size int) bool {
	_, first := readRoot(f, size, 0)
	_, second := readRoot(f, size, 1)
	return first == nil && second == nil
}

func readRoot(f io.ReaderAt, size int, n int64) (root, error) {
	b := make([]byte, PageHead+metaSum+8)
	if _, err := f.ReadAt(b, n*int64(size)); err != nil {
		return root{}, err
	}
	m := b[PageHead:]
	h := fnv.New64a()
	h.Write(m[:metaSum])
	if Native.Uint32(m) != boltMagic || Native.Uint64(m[metaSum:]) != h.Sum64() {
		return root{}, errRoot
	}
	return root{page: Native.Uint64(m[16:]), freelist: Native.Uint64(m[32:]), high: Native.Uint64(m[40:]),
		txid: Native.Uint64(m[48:])}, nil
}

func (p *pages) report(format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// claim marks n pages, the first with number id, as seen. If such a page was seen before or is
// outside the file, claim reports this as damage and returns false.
func (p *pages) claim(id, n uint64) bool {
	if id < 2 || id >= p.high || n > p.high-id {
		p.report("page %d is beyond the end of the file", id)
		return false
	}
	for i := id; i < id+n; i++ {
		if p.seen.Has(i) {
			p.report("page %d is used twice", i)
			return false
		}
		p.seen.Set(i)
	}
	return true
}

// read returns a page with its overflow pages and marks them as seen. If that is not possible, it
// reports the damage and returns nil.
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
	head := make([]byte, PageHead)
	if _, err := p.f.ReadAt(head, int64(id*p.size)); err != nil {
		p.report("page %d cannot be read: %v", id, err)
		return nil, nil
	}
	if Native.Uint64(head) != id {
		p.report("page %d says that it is page %d", id, Native.Uint64(head))
		return nil, nil
	}
	n := 1 + uint64(Native.Uint32(head[12:]))
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

// tree checks the tree below a page. lo is the smallest allowed key; all keys must be less than hi,
// unless hi is nil.
func (p *pages) tree(id uint64, lo, hi []byte, depth int) error {
	b, err := p.read(id)
	if b == nil || err != nil {
		return err
	}
	if depth > MaxDepth {
		p.report("page %d is nested too deeply", id)
		return nil
	}
	return p.node(b, id, lo, hi, depth)
}

func (p *pages) node(b []byte, id uint64, lo, hi []byte, depth int) error {
	flags, count := Native.Uint16(b[8:]), int(Native.Uint16(b[10:]))
	if flags != Branch && flags != Leaf || flags == Branch && count == 0 || PageHead+count*PageElem > len(b) {
		p.report("page %d has an impossible header", id)
		return nil
	}
	elems := make([]Element, count)
	for i := range elems {
		e, ok := ReadElement(b, i, flags)
		if !ok || i > 0 && bytes.Compare(elems[i-1].Key, e.Key) >= 0 || bytes.Compare(e.Key, lo) < 0 ||
			hi != nil && bytes.Compare(e.Key, hi) >= 0 {
			p.report("page %d has an impossible entry %d", id, i)
			return nil
		}
		elems[i] = e
	}
	for i, e := range elems {
		var err error
		switch {
		case flags == Branch:
			next := hi
			if i+1 < count {
				next = elems[i+1].Key
			}
			err = p.tree(e.Page, e.Key, next, depth+1)
		case e.flags == isBucket:
			err = p.bucket(e.Value, id, depth)
		case e.flags != 0:
			p.report("page %d has an impossible entry %d", id, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket checks the tree of a nested bucket, or the page that is stored inline in its value.
func (p *pages) bucket(value []byte, id uint64, depth int) error {
	if len(value) < 16 {
		p.report("page %d has an impossible bucket", id)
		return nil
	}
	if page := Native.Uint64(value); page != 0 {
		return p.tree(page, nil, nil, depth+1)
	}
	inline := value[16:]
	if len(inline) < PageHead || Native.Uint16(inline[8:]) != Leaf {
		p.report("page %d has an impossible bucket", id)
		return nil
	}
	return p.node(inline, id, nil, nil, depth+1)
}

// Element is an entry of a page.
type Element struct {
	Key, Value []byte
	Page       uint64 // number of the child page, if the page of the element is a Branch
	flags      uint32
}

// ReadElement returns the i-th entry of a page with these flags. ok is false if the entry is
// invalid.
func ReadElement(b []byte, i int, flags uint16) (e Element, ok bool) {
	at := uint64(PageHead + i*PageElem)
	h := b[at : at+PageElem]
	var pos, ksize, vsize uint64
	if flags == Branch {
		pos, ksize, e.Page = uint64(Native.Uint32(h)), uint64(Native.Uint32(h[4:])), Native.Uint64(h[8:])
	} else {
		e.flags, pos = Native.Uint32(h), uint64(Native.Uint32(h[4:]))
		ksize, vsize = uint64(Native.Uint32(h[8:])), uint64(Native.Uint32(h[12:]))
	}
	start := at + pos
	if ksize == 0 || start+ksize+vsize > uint64(len(b)) {
		return e, false
	}
	e.Key, e.Value = b[start:start+ksize], b[start+ksize:start+ksize+vsize]
	return e, true
}

// Bits is a set of numbers from 0 to a maximum.
type Bits []uint64

func NewBits(highest uint64) Bits { return make(Bits, highest/64+1) }
func (b Bits) Has(n uint64) bool  { return n/64 < uint64(len(b)) && b[n/64]&(1<<(n%64)) != 0 }
func (b Bits) Set(n uint64)       { b[n/64] |= 1 << (n % 64) }

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
	list, ok := listed(b)
	if !ok {
		p.report("page %d is not a list of free pages", id)
		return nil
	}
	for _, n := range list {
		p.claim(n, 1)
		if len(p.wrong) > 100 {
			return errStop
		}
	}
	return nil
}

// listed returns the numbers in a list of free pages. ok is false if b is no such list.
func listed(b []byte) (list []uint64, ok bool) {
	n, at := uint64(Native.Uint16(b[10:])), uint64(PageHead)
	if n == manyFree && len(b) >= PageHead+8 {
		n, at = Native.Uint64(b[PageHead:]), PageHead+8
	}
	if Native.Uint16(b[8:]) != freelist || n > (uint64(len(b))-at)/8 {
		return nil, false
	}
	list = make([]uint64, n)
	for i := range list {
		list[i] = Native.Uint64(b[at+uint64(i)*8:])
	}
	return list, true
}

// FreePages returns the numbers of the free pages of the database f after its last transaction, in
// ascending order. All pages in use and all free pages have lower numbers than high. size is the
// page size in bytes. No transaction may be written during the call. The text of an error continues
// a sentence that begins with "the list of free pages".
func FreePages(f io.ReaderAt, size int) (free []uint64, high uint64, err error) {
	last, err := readRoot(f, size, 0)
	if other, e := readRoot(f, size, 1); e == nil && (err != nil || other.txid > last.txid) {
		last, err = other, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("cannot be found: %w", err)
	}
	head := make([]byte, PageHead)
	at := int64(last.freelist) * int64(size)
	if last.freelist >= last.high {
		return nil, 0, errors.New("is missing")
	}
	if _, err := f.ReadAt(head, at); err != nil {
		return nil, 0, err
	}
	pages := 1 + uint64(Native.Uint32(head[12:]))
	if pages > last.high-last.freelist {
		return nil, 0, errors.New("extends beyond the end of the file")
	}
	b := make([]byte, pages*uint64(size))
	if _, err := f.ReadAt(b, at); err != nil {
		return nil, 0, err
	}
	free, ok := listed(b)
	if !ok || Native.Uint64(b) != last.freelist {
		return nil, 0, errors.New("is not readable")
	}
	slices.Sort(free)
	for _, n := range free {
		if n < 2 || n >= last.high {
			return nil, 0, fmt.Errorf("names page %d, which does not exist", n)
		}
	}
	return free, last.high, nil
}

package archive

import (
	"bytes"
	"fmt"
	"io"

	"github.com/acapcrawl/acapcrawl/spool"
)

// span is a range of keys in a bucket, from lo up to but not including hi. A nil bound means no
// limit.
type span struct {
	page   uint64
	lo, hi []byte
}

// has reports whether k is in the span. The caller must make sure that k is not below lo.
func (s span) has(k []byte) bool { return k != nil && (s.hi == nil || bytes.Compare(k, s.hi) < 0) }

// trees reads the pages of a bbolt file directly. It finds what changed between two transactions
// without reading unchanged pages.
type trees struct {
	f    io.ReaderAt
	size int // page size in bytes
}

// changed compares a bucket in an earlier and a later transaction. Both transactions must be open.
// was and is are the numbers of the bucket's root pages in them; 0 means that the bucket has no
// page of its own. gone contains the key ranges of leaf pages that only the earlier transaction
// uses, and fresh the key ranges of leaf pages that only the later transaction uses. Every changed
// key is in one of these ranges. bbolt never overwrites a page that an open transaction can read,
// so equal page numbers mean equal content.
func (t trees) changed(was, is uint64) (gone, fresh []span, err error) {
	gone, fresh = []span{{page: was}}, []span{{page: is}}
	if was == 0 || is == 0 {
		return gone, fresh, nil
	}
	high, deep, err := t.heights(was, is)
	for err == nil {
		if high == deep {
			gone, fresh = apart(gone, fresh)
		}
		if high == 0 && deep == 0 {
			return gone, fresh, nil
		}
		level := max(high, deep)
		if high == level {
			gone, err = t.below(gone)
			high--
		}
		if deep == level && err == nil {
			fresh, err = t.below(fresh)
			deep--
		}
	}
	return nil, nil, err
}

func (t trees) heights(was, is uint64) (high, deep int, err error) {
	if high, err = t.height(was); err == nil {
		deep, err = t.height(is)
	}
	return high, deep, err
}

// height returns the number of levels between a page and its leaves. All leaves of a tree are at
// the same depth.
func (t trees) height(id uint64) (int, error) {
	for n := range spool.MaxDepth {
		b, err := t.page(id)
		if err != nil {
			return 0, err
		}
		if spool.Native.Uint16(b[8:]) == spool.Leaf {
			return n, nil
		}
		first, ok := spool.ReadElement(b, 0, spool.Branch)
		if !ok {
			return 0, fmt.Errorf("page %d %w", id, errRecord)
		}
		id = first.Page
	}
	return 0, fmt.Errorf("page %d %w: it is nested too deeply", id, errRecord)
}

// below returns the children of the pages in list. The key range of the first child of a page
// begins where the range of the page begins.
func (t trees) below(list []span) ([]span, error) {
	var out []span
	for _, s := range list {
		b, err := t.page(s.page)
		if err != nil {
			return nil, err
		}
		count := int(spool.Native.Uint16(b[10:]))
		if spool.Native.Uint16(b[8:]) != spool.Branch || count == 0 || spool.PageHead+count*spool.PageElem > len(b) {
			return nil, fmt.Errorf("page %d %w", s.page, errRecord)
		}
		for i := range count {
			e, ok := spool.ReadElement(b, i, spool.Branch)
			if !ok {
				return nil, fmt.Errorf("page %d %w", s.page, errRecord)
			}
			child := span{page: e.Page, lo: e.Key, hi: s.hi}
			if i == 0 {
				child.lo = s.lo
			} else {
				out[len(out)-1].hi = e.Key
			}
			out = append(out, child)
		}
	}
	return out, nil
}

func (t trees) page(id uint64) ([]byte, error) {
	head := make([]byte, spool.PageHead)
	if _, err := t.f.ReadAt(head, int64(id)*int64(t.size)); err != nil {
		return nil, err
	}
	flags := spool.Native.Uint16(head[8:])
	if spool.Native.Uint64(head) != id || flags != spool.Branch && flags != spool.Leaf {
		return nil, fmt.Errorf("page %d %w", id, errRecord)
	}
	if flags == spool.Leaf { // leaf pages are compared by number only and not read here
		return head, nil
	}
	b := make([]byte, (1+int(spool.Native.Uint32(head[12:])))*t.size)
	_, err := t.f.ReadAt(b, int64(id)*int64(t.size))
	return b, err
}

// apart returns the pages that are in only one of the two lists.
func apart(a, b []span) (onlyA, onlyB []span) {
	without := func(list, other []span) (out []span) {
		pages := make(map[uint64]bool, len(other))
		for _, s := range other {
			pages[s.page] = true
		}
		for _, s := range list {
			if !pages[s.page] {
				out = append(out, s)
			}
		}
		return out
	}
	return without(a, b), without(b, a)
}

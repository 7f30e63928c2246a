package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/coding"
	"github.com/acapcrawl/acapcrawl/spool"
)

const (
	partKey   = 12 // bytes of the key of a part: body id, number
	leastPart = 64 // bytes; smaller room at the end of a page stays empty

	between = 1 << 20 // bytes that a body may take between two codings, beside twice its own
)

// Bodies stores sealed bodies, each under a number that is never given to another body. A body
// cannot be opened without its key, and keys are never stored here: whoever reads the store learns
// nothing but sizes. It must be safe for concurrent use.
type Bodies interface {
	// Put stores a body. It is durable when the transaction that names the body commits, at the
	// latest: a store outside of archive.db must make it durable before Put returns. A body of the
	// same number, left by a transaction that failed, is replaced.
	Put(ctx context.Context, id uint64, sealed []byte) error

	// Get appends a body to out. It returns out as it was if there is no such body.
	Get(ctx context.Context, id uint64, out []byte) ([]byte, error)

	// Delete removes a body; one that is not there is no error. A store outside of archive.db is
	// asked after the transaction.
	Delete(ctx context.Context, id uint64) error

	// IDs lists the numbers of all bodies, in ascending order.
	IDs(ctx context.Context) iter.Seq2[uint64, error]
}

// bodies returns the store of bodies as tx sees it.
func (a *Archive) bodies(tx *bolt.Tx) Bodies {
	if a.outside != nil {
		return a.outside
	}
	return embedded{a, tx}
}

// sealedBody appends the sealed bytes of a body to out.
func (a *Archive) sealedBody(tx *bolt.Tx, id uint64, out []byte) ([]byte, error) {
	sealed, err := a.bodies(tx).Get(a.life, id, out)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBodies, err)
	}
	return sealed, nil
}

// deleteBody deletes a body. Outside of archive.db that waits until the transaction is on disk, so
// that a failure loses nothing.
func (t *txn) deleteBody(id uint64) error {
	if t.a.outside != nil {
		t.unnamed = append(t.unnamed, id)
		return nil
	}
	return embedded{t.a, t.tx}.Delete(t.a.life, id)
}

// deleteUnnamed deletes bodies outside of archive.db that no record names any more. What fails is
// tried again after the next transaction; what a crash leaves, Verify finds. Readers that began
// before are waited for.
func (a *Archive) deleteUnnamed() {
	if len(a.unnamed) == 0 {
		return
	}
	a.readers.Lock()
	defer a.readers.Unlock()
	a.unnamed = slices.DeleteFunc(a.unnamed, func(id uint64) bool { return a.outside.Delete(a.life, id) == nil })
}

// embedded stores bodies in archive.db, in a transaction of it.
type embedded struct {
	a  *Archive
	tx *bolt.Tx
}

// Put stores a body in parts that fill pages. bbolt puts two values at least on a page, and leaves
// empty what is left of the last of the pages that a large value takes: a quarter of the file, with
// bodies as they are. So no part is longer than half a page, and one ends where a page does. After
// opening, or a transaction that failed, where a page ends is a guess, which comes right after a
// few parts.
func (e embedded) Put(_ context.Context, id uint64, sealed []byte) error {
	bucket := e.tx.Bucket(bBodies)
	page := e.a.db.Info().PageSize
	most := (page-spool.PageHead)/2 - spool.PageElem - partKey
	for n := uint32(0); n == 0 || len(sealed) > 0; n++ {
		room := page - e.a.tail - spool.PageElem - partKey
		if e.a.tail == 0 || room < leastPart {
			e.a.tail = spool.PageHead
			room = most
		}
		size := min(len(sealed), room, most)
		if err := bucket.Put(binary.BigEndian.AppendUint32(idKey(id), n), sealed[:size]); err != nil {
			return err
		}
		e.a.tail += spool.PageElem + partKey + size
		sealed = sealed[size:]
	}
	return nil
}

// Get appends the parts of a body to out.
func (e embedded) Get(_ context.Context, id uint64, out []byte) ([]byte, error) {
	prefix := idKey(id)
	c := e.tx.Bucket(bBodies).Cursor()
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
		out = append(out, v...)
	}
	return out, nil
}

// Delete deletes the parts of a body.
func (e embedded) Delete(_ context.Context, id uint64) error {
	bucket, prefix := e.tx.Bucket(bBodies), idKey(id)
	var parts [][]byte
	c := bucket.Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		parts = append(parts, k)
	}
	for _, k := range parts {
		if err := bucket.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// IDs lists the bodies of which there is a part. Keys that are none of a body are passed over.
func (e embedded) IDs(ctx context.Context) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		c, last := e.tx.Bucket(bBodies).Cursor(), uint64(0)
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			if err := ctx.Err(); err != nil {
				yield(0, err)
				return
			}
			if id := bodyID(k); id != last {
				if last = id; !yield(id, nil) {
					return
				}
			}
		}
	}
}

// bodyID tells whose body a key of bBodies is a part of; 0 for what is no such key.
func bodyID(k []byte) uint64 {
	if len(k) == partKey {
		k = k[:8]
	}
	return number(k)
}

// decoded gives the body of a capture from its bytes as sent. An error is a clause that goes on
// from "the body of …".
func (a *Archive) decoded(rec captureRecord, wire []byte) ([]byte, error) {
	if rec.Encoding == "" {
		return wire, nil
	}
	body, _ := a.pack.undo(wire, coding.List(rec.Encoding), rec.Bytes)
	if int64(len(body)) != rec.Bytes || Digest(body) != rec.Digest {
		return nil, fmt.Errorf("does not become what it was when %s is undone", rec.Encoding)
	}
	return body, nil
}

// undo gives the first bytes, as many as limit, of what was sent in codings; short says that this
// is not all, or that the stream is broken. What lies between two codings may be larger than what
// was encoded, but not by much.
func (p *packer) undo(wire []byte, codings []string, limit int64) (body []byte, short bool) {
	if last := len(codings) - 1; last > 0 {
		u := p.coding.Undo(wire, codings[last:], 2*limit+between)
		wire, short, codings = u.Body, u.Short, codings[:last]
	}
	u := p.coding.Undo(wire, codings, limit)
	return u.Body, short || u.Short
}

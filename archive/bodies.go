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
	partKey   = 12 // bytes in the key of a part: body ID, part number
	leastPart = 64 // in bytes; if less room is left at the end of a page, the room stays unused

	between = 1 << 20 // how much larger than twice the decoded body a partly decoded body may be, in bytes
)

// Bodies stores sealed bodies by number. A number is never used for a second body. The keys are
// stored elsewhere, so a reader of the store learns only the sizes of bodies. Bodies must be safe
// for concurrent use.
type Bodies interface {
	// Put stores a body. The body must be durable when the transaction that refers to it commits. A
	// store outside archive.db must make the body durable before Put returns. If a failed
	// transaction has left a body with the same number, Put replaces that body.
	Put(ctx context.Context, id uint64, sealed []byte) error

	// Get appends a body to out. If there is no such body, it returns out unchanged.
	Get(ctx context.Context, id uint64, out []byte) ([]byte, error)

	// Delete removes a body. A missing body is not an error. For a store outside archive.db, Delete
	// is called after the transaction.
	Delete(ctx context.Context, id uint64) error

	// IDs returns the numbers of all bodies, in ascending order.
	IDs(ctx context.Context) iter.Seq2[uint64, error]
}

// bodies returns the store of bodies for the transaction tx.
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

// deleteBody deletes a body. A body outside archive.db is deleted after the transaction is on disk,
// so that a failed transaction loses nothing.
func (t *txn) deleteBody(id uint64) error {
	if t.a.outside != nil {
		t.unnamed = append(t.unnamed, id)
		return nil
	}
	return embedded{t.a, t.tx}.Delete(t.a.life, id)
}

// deleteUnnamed deletes bodies outside archive.db that no record refers to. It waits for readers
// that began earlier. A failed deletion is tried again after the next transaction. Verify finds
// bodies that a crash left behind.
func (a *Archive) deleteUnnamed() {
	if len(a.unnamed) == 0 {
		return
	}
	a.readers.Lock()
	defer a.readers.Unlock()
	a.unnamed = slices.DeleteFunc(a.unnamed, func(id uint64) bool { return a.outside.Delete(a.life, id) == nil })
}

// embedded stores bodies in archive.db, within one transaction.
type embedded struct {
	a  *Archive
	tx *bolt.Tx
}

// Put stores a body in parts that fill the pages of bbolt. bbolt puts at least two values on a
// page, and the last page of a larger value stays partly empty; with typical bodies a quarter of
// the file would be empty. Therefore no part is longer than half a page, and parts end at page
// ends. To do that, Put counts how full the current page is. After the file was opened, or a
// transaction failed, this count is only an estimate, which becomes correct after a few parts.
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

// IDs returns the numbers of bodies that have a part. It skips malformed keys.
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

// bodyID returns the ID of the body to which a key of bBodies belongs, or 0 if the key is
// malformed.
func bodyID(k []byte) uint64 {
	if len(k) == partKey {
		k = k[:8]
	}
	return number(k)
}

// decoded decodes the body of a capture from its bytes as sent. The text of an error continues a
// sentence that begins with "the body of …".
func (a *Archive) decoded(rec captureRecord, wire []byte) ([]byte, error) {
	if rec.Encoding == "" {
		return wire, nil
	}
	body, _ := a.pack.undo(wire, coding.List(rec.Encoding), rec.Bytes)
	if int64(len(body)) != rec.Bytes || Digest(body) != rec.Digest {
		return nil, fmt.Errorf("is no longer the same when %s is decoded", rec.Encoding)
	}
	return body, nil
}

// undo decodes wire, which was sent with codings, and returns at most the first limit bytes. short
// reports that the body is longer or the stream is broken. With several codings, the size of the
// data between two decoding steps is limited too.
func (p *packer) undo(wire []byte, codings []string, limit int64) (body []byte, short bool) {
	if last := len(codings) - 1; last > 0 {
		u := p.coding.Undo(wire, codings[last:], 2*limit+between)
		wire, short, codings = u.Body, u.Short, codings[:last]
	}
	u := p.coding.Undo(wire, codings, limit)
	return u.Body, short || u.Short
}

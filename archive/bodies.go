package archive

import (
	"bytes"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/coding"
	"github.com/acapcrawl/acapcrawl/spool"
)

const (
	partKey   = 12 // bytes of the key of a part: body id, number
	leastPart = 64 // bytes; smaller room at the end of a page stays empty

	between = 1 << 20 // bytes that a body may take between two codings, beside twice its own
)

// putBody stores the sealed bytes of a body, in parts that fill pages. bbolt puts two values at least on a page, and leaves empty what
// is left of the last of the pages that a large value takes: a quarter of the file, with bodies as they are. So no part is longer than
// half a page, and one ends where a page does. After opening, or a transaction that failed, where a page ends is a guess, which comes
// right after a few parts.
func (t *txn) putBody(id uint64, sealed []byte) error {
	bucket := t.tx.Bucket(bBodies)
	page := t.a.db.Info().PageSize
	most := (page-spool.PageHead)/2 - spool.PageElem - partKey
	for n := uint32(0); n == 0 || len(sealed) > 0; n++ {
		room := page - t.a.tail - spool.PageElem - partKey
		if t.a.tail == 0 || room < leastPart {
			t.a.tail = spool.PageHead
			room = most
		}
		size := min(len(sealed), room, most)
		if err := bucket.Put(binary.BigEndian.AppendUint32(idKey(id), n), sealed[:size]); err != nil {
			return err
		}
		t.a.tail += spool.PageElem + partKey + size
		sealed = sealed[size:]
	}
	return nil
}

// sealedBody gives the sealed bytes of a body, nil where there are none.
func sealedBody(tx *bolt.Tx, id uint64) []byte { return appendBody(nil, tx, id) }

// appendBody appends the sealed bytes of a body to out.
func appendBody(out []byte, tx *bolt.Tx, id uint64) []byte {
	prefix := idKey(id)
	c := tx.Bucket(bBodies).Cursor()
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
		out = append(out, v...)
	}
	return out
}

// deleteBody deletes the sealed bytes of a body.
func deleteBody(tx *bolt.Tx, id uint64) error {
	bucket, prefix := tx.Bucket(bBodies), idKey(id)
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

// bodyID tells whose body a key of bBodies is a part of; 0 for what is no such key.
func bodyID(k []byte) uint64 {
	if len(k) == partKey {
		k = k[:8]
	}
	return number(k)
}

// decoded gives the body of a capture from its bytes as sent. An error is a clause that goes on from "the body of …".
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

// undo gives the first bytes, as many as limit, of what was sent in codings; short says that this is not all, or that the stream is
// broken. What lies between two codings may be larger than what was encoded, but not by much.
func (p *packer) undo(wire []byte, codings []string, limit int64) (body []byte, short bool) {
	if last := len(codings) - 1; last > 0 {
		u := p.coding.Undo(wire, codings[last:], 2*limit+between)
		wire, short, codings = u.Body, u.Short, codings[:last]
	}
	u := p.coding.Undo(wire, codings, limit)
	return u.Body, short || u.Short
}

package actions

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// format is the number of what the buckets hold. Ledgers of format 1, which do not say so, have requests and names alone.
const format = 2

var (
	keyFormat   = []byte("format")
	keyUpgraded = []byte("upgraded") // ID of the last request that an upgrade has done
)

const maxRows = 1000 // of one transaction

// upgrade makes a ledger of format 1 one of this format: each request gets an entry in the chain. One that is cut short goes on with the
// next opening.
func (l *Ledger) upgrade() error {
	for done := false; !done; {
		var err error
		if done, err = l.upgraded(); err != nil || done {
			return err
		}
		err = l.update(func(t *txn) error { return t.upgrade() })
		if err != nil {
			return err
		}
	}
	return nil
}

// upgraded reports whether the ledger has this format.
func (l *Ledger) upgraded() (done bool, err error) {
	err = l.view(func(t *txn) error {
		text := t.tx.Bucket(bMeta).Get(keyFormat)
		if text == nil {
			return nil
		}
		var n int
		if err := json.Unmarshal(text, &n); err != nil {
			return fmt.Errorf("%w: its format: %w", ErrDamaged, err)
		}
		if n > format {
			return fmt.Errorf("its format is %d, this version knows %d: it was made by a newer version", n, format)
		}
		done = true
		return nil
	})
	return done, err
}

// upgrade does the next requests.
func (t *txn) upgrade() error {
	meta, c := t.tx.Bucket(bMeta), t.tx.Bucket(bRequests).Cursor()
	k, v := c.First()
	if after := meta.Get(keyUpgraded); after != nil {
		if k, v = c.Seek(after); string(k) == string(after) {
			k, v = c.Next()
		}
	}
	var rows []Request
	for ; k != nil && len(rows) < maxRows; k, v = c.Next() {
		var r Request
		if err := json.Unmarshal(v, &r); err != nil || len(k) != 8 || binary.BigEndian.Uint64(k) != r.ID {
			return fmt.Errorf("%w: request %x cannot be read", ErrDamaged, k)
		}
		rows = append(rows, r)
	}
	for i := range rows {
		r := &rows[i]
		r.From.Kind = Robots
		if err := t.tx.Bucket(bOrigins).Put(under(r.Origin, r.ID), nil); err != nil {
			return err
		}
		last := t.tx.Bucket(bNames).Get(named(r.Origin, r.Action, r.URL))
		if err := t.put(Entry{Event: eventImported, Named: bytes.Equal(last, number(r.ID))}, r); err != nil {
			return err
		}
	}
	if k != nil {
		return meta.Put(keyUpgraded, number(rows[len(rows)-1].ID))
	}
	if err := meta.Delete(keyUpgraded); err != nil {
		return err
	}
	return meta.Put(keyFormat, fmt.Append(nil, format))
}

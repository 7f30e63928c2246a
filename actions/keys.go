package actions

import (
	"bytes"
	"encoding/binary"
	"time"
)

// keysFor is how long the key of a submission is known.
const keysFor = 30 * day

// keyed gives the ID of the request that a key was given with; 0 where none is known.
func (t *txn) keyed(key []byte) uint64 {
	kept := t.tx.Bucket(bKeys).Get(key)
	if kept == nil || t.forgotten(kept) {
		return 0
	}
	return binary.BigEndian.Uint64(kept)
}

// forgotten reports whether the time is over of which a key is known.
func (t *txn) forgotten(kept []byte) bool {
	return len(kept) == 16 && t.now.Sub(time.Unix(int64(binary.BigEndian.Uint64(kept[8:])), 0)) >= keysFor
}

// looked is how many keys are looked at for each that comes. They begin with a digest, so those after a new one are any: of all keys about
// a fourth, and hardly ever more, waits to be forgotten.
const looked = 4

// keep has a key known from now on, and forgets some whose time is over.
func (t *txn) keep(key []byte, id uint64) error {
	keys := t.tx.Bucket(bKeys)
	var over [][]byte
	c := keys.Cursor()
	k, kept := c.Seek(key)
	for range looked {
		if k == nil {
			k, kept = c.First()
		}
		if k != nil && t.forgotten(kept) {
			over = append(over, bytes.Clone(k))
		}
		k, kept = c.Next()
	}
	for _, k := range over {
		if err := keys.Delete(k); err != nil {
			return err
		}
	}
	return keys.Put(key, numbers(id, uint64(t.now.Unix())))
}

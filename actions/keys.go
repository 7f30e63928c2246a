package actions

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// keysFor is how long the idempotency key of a submission is stored.
const keysFor = 30 * day

// storedKey returns an idempotency key as it is stored. by is the ID of the credential that used it, "" of the
// operator.
func storedKey(key, by string) []byte {
	digest := sha256.Sum256([]byte(key))
	return append(digest[:], by...)
}

// repeated returns the request that was submitted with a key.
func (l *Ledger) repeated(key string, by *Credential) (r Request, err error) {
	known, who := false, ""
	if by != nil {
		who = by.id
	}
	err = l.view(func(t *txn) (err error) {
		t.now = l.o.Now()
		if id := t.requestOfKey(storedKey(key, who)); id != 0 && key != "" {
			r, known, err = t.request(id)
		}
		return err
	})
	if err == nil && !known {
		err = reject(NotFound, "no request was submitted with this key")
	}
	return r, err
}

// requestOfKey returns the ID of the request that was submitted with a key, or 0.
func (t *txn) requestOfKey(key []byte) uint64 {
	kept := t.tx.Bucket(bKeys).Get(key)
	if kept == nil || t.expired(kept) {
		return 0
	}
	return binary.BigEndian.Uint64(kept)
}

// expired reports whether a stored idempotency key is older than keysFor. The argument is the value
// stored under the key.
func (t *txn) expired(kept []byte) bool {
	return len(kept) == 16 && t.now.Sub(time.Unix(int64(binary.BigEndian.Uint64(kept[8:])), 0)) >= keysFor
}

// looked is the number of stored keys that are checked for expiry when a key is added. Stored keys
// begin with a digest, so the keys that follow the new key are a random sample. With 4 checked
// keys, about a fourth of all stored keys have expired, and hardly ever more.
const looked = 4

// rememberKey stores an idempotency key and deletes some expired keys.
func (t *txn) rememberKey(key []byte, id uint64) error {
	keys := t.tx.Bucket(bKeys)
	var over [][]byte
	c := keys.Cursor()
	k, kept := c.Seek(key)
	for range looked {
		if k == nil {
			k, kept = c.First()
		}
		if k != nil && t.expired(kept) {
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

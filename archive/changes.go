package archive

import (
	"encoding/binary"
	"errors"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// writeTx is the transaction of the writer. It notes what the transaction changes.
type writeTx struct {
	*bolt.Tx
	changes *changes // nil: changes are not noted
}

// Bucket returns a bucket that notes changes.
func (w writeTx) Bucket(name []byte) writeBucket {
	return writeBucket{w.Tx.Bucket(name), name, w.changes}
}

// writeBucket is a bucket in a transaction of the writer.
type writeBucket struct {
	*bolt.Bucket
	name    []byte
	changes *changes
}

// Put stores a value.
func (b writeBucket) Put(k, value []byte) error {
	if err := b.Bucket.Put(k, value); err != nil {
		return err
	}
	b.changes.put(b.name, k, value)
	return nil
}

// Delete deletes a value.
func (b writeBucket) Delete(k []byte) error {
	if err := b.Bucket.Delete(k); err != nil {
		return err
	}
	b.changes.delete(b.name, k)
	return nil
}

// changes are encoded changes of archive.db, in order. Their form: the number of the bucket in
// buckets, doubled, and increased by one for a deletion; the length of the key, and the key; except
// for a deletion, the length of the value, and the value. If the number of the bucket is ofSequence,
// the change sets a sequence: the key is the number of its bucket, and the value is the sequence.
type changes struct{ encoded []byte }

const (
	ofSequence  = 1 << 16
	mostChanges = 1 << 30 // greatest size of a key or value in bytes; a larger one is damaged
)

func (c *changes) put(bucket, k, value []byte) {
	if c == nil {
		return
	}
	c.encoded = binary.AppendUvarint(c.encoded, uint64(bucketNumber(bucket))<<1)
	c.encoded = appendBytes(appendBytes(c.encoded, k), value)
}

func (c *changes) delete(bucket, k []byte) {
	if c == nil {
		return
	}
	c.encoded = appendBytes(binary.AppendUvarint(c.encoded, uint64(bucketNumber(bucket))<<1|1), k)
}

// sequences adds the sequences of all buckets.
func (c *changes) sequences(tx *bolt.Tx) {
	for i, name := range buckets {
		if n := tx.Bucket(name).Sequence(); n > 0 {
			c.encoded = binary.AppendUvarint(c.encoded, ofSequence<<1)
			c.encoded = appendBytes(appendBytes(c.encoded, []byte{byte(i)}), idKey(n))
		}
	}
}

func bucketNumber(name []byte) int {
	return slices.IndexFunc(buckets, func(b []byte) bool { return string(b) == string(name) })
}

func appendBytes(out, b []byte) []byte {
	return append(binary.AppendUvarint(out, uint64(len(b))), b...)
}

var errChanges = errors.New("its changes are damaged")

// applyChanges executes encoded changes in a transaction.
func applyChanges(tx *bolt.Tx, encoded []byte) error {
	for len(encoded) > 0 {
		n, w := binary.Uvarint(encoded)
		if w <= 0 || n>>1 >= uint64(len(buckets)) && n != ofSequence<<1 {
			return errChanges
		}
		k, rest, ok := cutBytes(encoded[w:])
		if !ok {
			return errChanges
		}
		if n&1 == 1 {
			if err := tx.Bucket(buckets[n>>1]).Delete(k); err != nil {
				return err
			}
			encoded = rest
			continue
		}
		value, rest, ok := cutBytes(rest)
		if !ok {
			return errChanges
		}
		if err := applyPut(tx, n>>1, k, value); err != nil {
			return err
		}
		encoded = rest
	}
	return nil
}

func applyPut(tx *bolt.Tx, bucket uint64, k, value []byte) error {
	if bucket != ofSequence {
		return tx.Bucket(buckets[bucket]).Put(k, value)
	}
	if len(k) != 1 || int(k[0]) >= len(buckets) {
		return errChanges
	}
	return tx.Bucket(buckets[k[0]]).SetSequence(number(value))
}

// cutBytes decodes what appendBytes has encoded.
func cutBytes(b []byte) (head, rest []byte, ok bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > mostChanges || n > uint64(len(b)-w) {
		return nil, nil, false
	}
	return b[w : w+int(n)], b[w+int(n):], true
}

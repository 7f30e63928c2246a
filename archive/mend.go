package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// damagedWhy is the explanation in the tombstone of lost data.
const damagedWhy = "damaged"

// forget removes a record that cannot be read. Other checks find the data that the record referred
// to.
func forget(bucket, k []byte, readable func(value []byte) bool) fixer {
	return func(t *txn) (string, error) {
		if value := t.tx.Bucket(bucket).Get(k); value == nil || readable(value) {
			return "", nil
		}
		return "removed", t.tx.Bucket(bucket).Delete(k)
	}
}

// condemnKey marks a key for destruction, unless another record also uses it or the key was never
// made.
func (v *verifier) condemnKey(t *txn, slot uint64) error {
	if v.shared[slot] || slot >= t.a.keys.next {
		return nil
	}
	return t.condemnKey(slot)
}

// dropBody removes a body that cannot be read, so that it is stored again when it is received
// again. The captures that refer to it have been erased before, and with the last one the body was
// deleted. If the body still has references, it has been received again, and the next repair round
// checks it.
func (v *verifier) dropBody(sum []byte, id uint64) fixer {
	return func(t *txn) (string, error) {
		value := t.tx.Bucket(bDigests).Get(sum)
		rec, err := unpackBody(sum, value)
		switch {
		case value == nil || err == nil && rec.ID != id:
			return "removed", nil
		case err != nil || rec.Refs > 0:
			return "", nil
		}
		return "removed", v.remove(t, sum, rec)
	}
}

func (v *verifier) remove(t *txn, sum []byte, rec bodyRecord) error {
	t.counts.Bodies--
	t.counts.Raw -= rec.Raw
	t.counts.Stored -= rec.Stored
	return errors.Join(v.condemnKey(t, rec.Key), t.deleteBody(rec.ID), t.tx.Bucket(bDigests).Delete(sum))
}

// recount corrects the number of references of a body from said.Refs to found. Other writes may
// have changed the number, so it is corrected by the difference.
func (v *verifier) recount(sum []byte, said bodyRecord, found uint64) fixer {
	return func(t *txn) (string, error) {
		rec, err := unpackBody(sum, t.tx.Bucket(bDigests).Get(sum))
		if err != nil || rec.ID != said.ID {
			return "", nil
		}
		if rec.Refs += found - said.Refs; rec.Refs == 0 {
			return "removed, since nothing refers to it", v.remove(t, sum, rec)
		}
		return "counted again", t.tx.Bucket(bDigests).Put(sum, rec.pack(sum))
	}
}

// eraseLostCapture erases a capture that is partly lost.
func (v *verifier) eraseLostCapture(id uint64) fixer {
	return func(t *txn) (string, error) {
		rec, _, err := t.a.captureRecord(t.tx, id)
		if err != nil {
			return "", nil
		}
		return "erased, with a tombstone", v.eraseLost(t, id, rec)
	}
}

// eraseBodiless is like eraseLostCapture for a capture without a body. It does nothing if the body
// has been received in the meantime.
func (v *verifier) eraseBodiless(id uint64) fixer {
	erase := v.eraseLostCapture(id)
	return func(t *txn) (string, error) {
		rec, _, err := t.a.captureRecord(t.tx, id)
		if err != nil {
			return "", nil
		}
		if sum, err := digestBytes(rec.payload()); err == nil {
			if _, err := unpackBody(sum, t.tx.Bucket(bDigests).Get(sum)); err == nil {
				return "", nil
			}
		}
		return erase(t)
	}
}

// eraseLost erases a capture. If its reference to a body was not counted, the body keeps its
// references.
func (v *verifier) eraseLost(t *txn, id uint64, rec captureRecord) error {
	before := len(t.doomed)
	if err := errors.Join(v.condemnKey(t, rec.Key), t.erased()); err != nil {
		return err
	}
	if sum, err := digestBytes(rec.payload()); err == nil && !v.bodiless[id] {
		b, err := unpackBody(sum, t.tx.Bucket(bDigests).Get(sum))
		switch {
		case err != nil: // the body is lost
		case b.Refs > 1:
			b.Refs--
			err = t.tx.Bucket(bDigests).Put(sum, b.pack(sum))
		default:
			err = v.remove(t, sum, b)
		}
		if err != nil && !errors.Is(err, errRecord) {
			return err
		}
	}
	at := versionKey(rec.URL, rec.Version)
	if bytes.Equal(t.tx.Bucket(bEarlier).Get(at), idKey(id)) {
		if err := t.tx.Bucket(bEarlier).Delete(at); err != nil {
			return err
		}
	}
	t.counts.Captures--
	t.counts.Bytes -= uint64(rec.Bytes)
	if err := errors.Join(t.tx.Bucket(bCaptures).Delete(idKey(id)), v.noteCaptureLost(t, rec.URL, id)); err != nil {
		return err
	}
	return t.putTombstone(Tombstone{URL: rec.URL, Version: rec.Version, Captures: 1, Reason: ReasonDamaged,
		Why:  damagedWhy,
		Keys: slices.Clone(t.doomed[before:])})
}

// noteCaptureLost updates the resource of url after a capture is removed. After the last capture,
// it also removes the data derived from the page, unless the page is indexed. The dates remain.
func (v *verifier) noteCaptureLost(t *txn, url string, id uint64) error {
	k := []byte(url)
	var rec resourceRecord
	sealed, err := unpackSealed(k, t.tx.Bucket(bResources).Get(k), &rec)
	if err != nil {
		return nil
	}
	if rec.Current == id {
		rec.Current = 0
	}
	if !rec.Indexed && len(versionsOf(t.tx, url, rec.Current)) == 0 {
		if err := v.condemnKey(t, rec.Key); err != nil {
			return err
		}
		rec.Key, sealed = 0, nil
	}
	value, err := packSealed(k, rec, sealed)
	if err != nil {
		return err
	}
	return t.tx.Bucket(bResources).Put(k, value)
}

// listCapture adds a capture to the list of earlier versions of its URL, with a new version number
// if its own is taken. If the capture is the current version, listCapture removes it from that
// list.
func (v *verifier) listCapture(id uint64) fixer {
	return func(t *txn) (string, error) {
		rec, sealed, err := t.a.captureRecord(t.tx, id)
		if err != nil {
			return "", nil
		}
		var res resourceRecord
		if _, err := unpackSealed([]byte(rec.URL), t.tx.Bucket(bResources).Get([]byte(rec.URL)), &res); err != nil {
			return "", nil // the next repair round handles it
		}
		k, at := idKey(id), versionKey(rec.URL, rec.Version)
		earlier := t.tx.Bucket(bEarlier)
		other := earlier.Get(at)
		switch {
		case res.Current == id && bytes.Equal(other, k):
			return "taken off the list of earlier ones", earlier.Delete(at)
		case res.Current == id || bytes.Equal(other, k):
			return "", nil
		case other == nil && rec.Version != t.versionOf(res.Current):
			return "listed as an earlier version", earlier.Put(at, k)
		}
		rec.Version = max(res.Versions, rec.Version) + 1
		value, err := packSealed(k, rec, sealed)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("listed as version %d", rec.Version), errors.Join(t.tx.Bucket(bCaptures).Put(k, value),
			earlier.Put(versionKey(rec.URL, rec.Version), k),
			amendResource(t, rec.URL, func(r *resourceRecord) { r.Versions = rec.Version }))
	}
}

func (t *txn) versionOf(id uint64) int {
	rec, _, err := t.a.captureRecord(t.tx, id)
	if err != nil {
		return 0
	}
	return rec.Version
}

// correctLength corrects the body length in a capture record.
func (v *verifier) correctLength(id uint64, is int64) fixer {
	return func(t *txn) (string, error) {
		rec, sealed, err := t.a.captureRecord(t.tx, id)
		if err != nil || rec.Bytes == is {
			return "", nil
		}
		t.counts.Bytes += uint64(is - rec.Bytes)
		rec.Bytes = is
		value, err := packSealed(idKey(id), rec, sealed)
		if err != nil {
			return "", err
		}
		return "measured again", t.tx.Bucket(bCaptures).Put(idKey(id), value)
	}
}

// clearCurrent clears the current version of url if it is capture id, because that capture is lost
// or belongs to another URL.
func (v *verifier) clearCurrent(url string, id uint64) fixer {
	return func(t *txn) (string, error) {
		c, _, err := t.a.captureRecord(t.tx, id)
		if err == nil && c.URL == url {
			return "", nil
		}
		version, was := 0, false
		if e := amendResource(t, url, func(r *resourceRecord) {
			if was = r.Current == id; was {
				version, r.Current = missingVersion(t.tx, url, r.Versions), 0
			}
		}); e != nil || !was {
			return "", e
		}
		if err == nil { // the capture exists, but belongs to another URL
			return "now without a current version", nil
		}
		return "now without a current version, with a tombstone",
			t.putTombstone(Tombstone{URL: url, Version: version, Captures: 1, Reason: ReasonDamaged, Why: damagedWhy})
	}
}

// missingVersion returns the only version from 1 to versions that is not in the list of earlier
// versions. It returns 0 if there are several.
func missingVersion(tx *bolt.Tx, url string, versions int) (version int) {
	for n := 1; n <= versions; n++ {
		if tx.Bucket(bEarlier).Get(versionKey(url, n)) != nil {
			continue
		}
		if version > 0 {
			return 0
		}
		version = n
	}
	return version
}

// removeEarlier removes a wrong entry from the list of earlier versions. If the capture of the
// entry is lost, removeEarlier writes a tombstone.
func (v *verifier) removeEarlier(k []byte) fixer {
	return func(t *txn) (string, error) {
		earlier := t.tx.Bucket(bEarlier)
		value := earlier.Get(k)
		if value == nil {
			return "", nil
		}
		rec, _, err := t.a.captureRecord(t.tx, number(value))
		if err == nil && bytes.Equal(versionKey(rec.URL, rec.Version), k) {
			return "", nil
		}
		if e := earlier.Delete(k); e != nil {
			return "", e
		}
		url, version, ok := splitVersion(k)
		if err == nil || !ok {
			return "taken off the list", nil
		}
		return "taken off the list, with a tombstone",
			t.putTombstone(Tombstone{URL: url, Version: version, Captures: 1, Reason: ReasonDamaged, Why: damagedWhy})
	}
}

// cutAlias removes an alias, even if its record cannot be read.
func (t *txn) cutAlias(alias string) error {
	aliases := t.tx.Bucket(bAliases)
	value := aliases.Get([]byte(alias))
	if value == nil {
		return nil
	}
	if _, err := unframe([]byte(alias), value); err == nil {
		return t.dropAlias(alias)
	}
	t.counts.Aliases--
	return aliases.Delete([]byte(alias))
}

// rewriteTombstone rewrites a damaged tombstone, of which only the URL is known.
func (v *verifier) rewriteTombstone(k []byte) fixer {
	return func(t *txn) (string, error) {
		bucket := t.tx.Bucket(bTombstones)
		value := bucket.Get(k)
		if value == nil || unpack(k, value, &Tombstone{}) == nil {
			return "", nil
		}
		url, _, ok := bytes.Cut(k, []byte{0})
		if !ok || checkURL(string(url)) != nil {
			t.counts.Tombstones--
			return "removed", bucket.Delete(k)
		}
		s := Tombstone{URL: string(url), When: utc(t.a.now()), Why: "the record of an erasure was damaged"}
		return "rewritten without its reason", bucket.Put(k, mustPack(k, s))
	}
}

// keepKey removes a needed key from the list of keys to destroy.
func keepKey(slot uint64) fixer {
	return func(t *txn) (string, error) {
		t.a.condemned = slices.DeleteFunc(t.a.condemned, func(n uint64) bool { return n == slot })
		return "taken off the list", t.tx.Bucket(bDoomed).Delete(idKey(slot))
	}
}

// splitVersion decodes a key made by versionKey.
func splitVersion(k []byte) (url string, version int, ok bool) {
	if len(k) < 6 || k[len(k)-5] != 0 || checkURL(string(k[:len(k)-5])) != nil {
		return "", 0, false
	}
	return string(k[:len(k)-5]), int(binary.BigEndian.Uint32(k[len(k)-4:])), true
}

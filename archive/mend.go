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

// forget returns a repair that removes a record that cannot be read. Other checks find the data to
// which the record referred.
func forget(bucket, k []byte, readable func(value []byte) bool) fixer {
	return func(t *txn) (string, error) {
		if value := t.tx.Bucket(bucket).Get(k); value == nil || readable(value) {
			return "", nil
		}
		return "removed", t.tx.Bucket(bucket).Delete(k)
	}
}

// condemnKey marks a key for destruction, unless another record also uses the key or the key does
// not exist.
func (v *verifier) condemnKey(t *txn, slot uint64) error {
	if v.shared[slot] || slot >= t.a.keys.next {
		return nil
	}
	return t.condemnKey(slot)
}

// dropBody returns a repair that removes a body that cannot be read, so that a later deposit stores
// the body again. The captures that refer to the body are erased before, and the last of these
// erasures also deletes the body. If the body still has references, it was deposited again
// meanwhile, and the next repair round checks it.
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

// recount returns a repair that corrects the number of references of a body. said.Refs is the
// stored number and found the correct one. Other writes may have changed the number meanwhile, so
// the repair adds the difference.
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

// eraseLostCapture returns a repair that erases a capture of which a part is lost.
func (v *verifier) eraseLostCapture(id uint64) fixer {
	return func(t *txn) (string, error) {
		rec, _, err := t.a.captureRecord(t.tx.Tx, id)
		if err != nil {
			return "", nil
		}
		return "erased, with a tombstone", v.eraseLost(t, id, rec)
	}
}

// unlessStored returns a repair that calls fix, unless the body with the digest sum was deposited
// again meanwhile.
func unlessStored(sum []byte, fix fixer) fixer {
	return func(t *txn) (string, error) {
		if _, err := unpackBody(sum, t.tx.Bucket(bDigests).Get(sum)); err == nil {
			return "", nil
		}
		return fix(t)
	}
}

// dropRendered returns a repair that removes a lost rendered document from its capture. It logs an
// intent, because the index may contain words of the document.
func (v *verifier) dropRendered(id uint64) fixer {
	return func(t *txn) (string, error) {
		rec, sealed, err := t.a.captureRecord(t.tx.Tx, id)
		if err != nil || rec.Rendered == "" {
			return "", nil
		}
		if err := errors.Join(v.dropCounted(t, id, rec.Rendered), t.erased(), t.intend(rec.URL)); err != nil {
			return "", err
		}
		rec.discount(&t.counts)
		rec.Rendered, rec.RenderedBytes = "", 0
		rec.count(&t.counts)
		value, err := packSealed(idKey(id), rec, sealed)
		if err != nil {
			return "", err
		}
		return "kept as sent, without its rendered document", t.tx.Bucket(bCaptures).Put(idKey(id), value)
	}
}

// dropCounted removes the reference of a capture to a body, if the check has counted this reference.
func (v *verifier) dropCounted(t *txn, id uint64, digest string) error {
	sum, err := digestBytes(digest)
	if err != nil || v.missing[reference{id, digest}] {
		return nil
	}
	b, err := unpackBody(sum, t.tx.Bucket(bDigests).Get(sum))
	switch {
	case err != nil: // the body is lost
		return nil
	case b.Refs > 1:
		b.Refs--
		return t.tx.Bucket(bDigests).Put(sum, b.pack(sum))
	}
	return v.remove(t, sum, b)
}

// eraseLost erases a capture. It also removes the capture's references to its bodies.
func (v *verifier) eraseLost(t *txn, id uint64, rec captureRecord) error {
	before := len(t.doomed)
	if err := errors.Join(v.condemnKey(t, rec.Key), t.erased()); err != nil {
		return err
	}
	for _, digest := range rec.bodies() {
		if err := v.dropCounted(t, id, digest); err != nil {
			return err
		}
	}
	at := versionKey(rec.URL, rec.Version)
	if bytes.Equal(t.tx.Bucket(bEarlier).Get(at), idKey(id)) {
		if err := t.tx.Bucket(bEarlier).Delete(at); err != nil {
			return err
		}
	}
	rec.discount(&t.counts)
	if err := errors.Join(t.tx.Bucket(bCaptures).Delete(idKey(id)), v.noteCaptureLost(t, rec.URL, id)); err != nil {
		return err
	}
	return t.putTombstone(Tombstone{URL: rec.URL, Version: rec.Version, Captures: 1, Reason: ReasonDamaged,
		Why:  damagedWhy,
		Keys: slices.Clone(t.doomed[before:])})
}

// noteCaptureLost updates the resource of url after a capture was removed. If no capture is left
// and the page is not indexed, it also removes the data derived from the page. The dates remain.
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
	if !rec.Indexed && len(versionsOf(t.tx.Tx, url, rec.Current)) == 0 {
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

// listCapture returns a repair that adds a capture to the list of earlier versions of its URL. If
// another capture has the same version number, the capture gets a new number. If the capture is the
// current version, the repair removes it from that list instead.
func (v *verifier) listCapture(id uint64) fixer {
	return func(t *txn) (string, error) {
		rec, sealed, err := t.a.captureRecord(t.tx.Tx, id)
		if err != nil {
			return "", nil
		}
		var res resourceRecord
		if _, err := unpackSealed([]byte(rec.URL), t.tx.Bucket(bResources).Get([]byte(rec.URL)), &res); err != nil {
			return "", nil // the resource record cannot be read: the next repair round checks the capture again
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
	rec, _, err := t.a.captureRecord(t.tx.Tx, id)
	if err != nil {
		return 0
	}
	return rec.Version
}

// correctLength returns a repair that sets a length in a capture record to is. length returns a
// pointer to that length in the record.
func (v *verifier) correctLength(id uint64, is int64, length func(*captureRecord) *int64) fixer {
	return func(t *txn) (string, error) {
		rec, sealed, err := t.a.captureRecord(t.tx.Tx, id)
		if err != nil || *length(&rec) == is {
			return "", nil
		}
		t.counts.Bytes += uint64(is - *length(&rec))
		*length(&rec) = is
		value, err := packSealed(idKey(id), rec, sealed)
		if err != nil {
			return "", err
		}
		return "measured again", t.tx.Bucket(bCaptures).Put(idKey(id), value)
	}
}

// clearCurrent returns a repair for a current version that is lost or belongs to another URL. If
// capture id is the current version of url, url has no current version afterwards.
func (v *verifier) clearCurrent(url string, id uint64) fixer {
	return func(t *txn) (string, error) {
		c, _, err := t.a.captureRecord(t.tx.Tx, id)
		if err == nil && c.URL == url {
			return "", nil
		}
		version, was := 0, false
		if e := amendResource(t, url, func(r *resourceRecord) {
			if was = r.Current == id; was {
				version, r.Current = missingVersion(t.tx.Tx, url, r.Versions), 0
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

// missingVersion returns the version number between 1 and versions that is missing in the list of
// earlier versions. If several numbers are missing, missingVersion returns 0.
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

// removeEarlier returns a repair that removes a wrong entry from the list of earlier versions. If
// the capture of the entry is lost, the repair writes a tombstone.
func (v *verifier) removeEarlier(k []byte) fixer {
	return func(t *txn) (string, error) {
		earlier := t.tx.Bucket(bEarlier)
		value := earlier.Get(k)
		if value == nil {
			return "", nil
		}
		rec, _, err := t.a.captureRecord(t.tx.Tx, number(value))
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

// cutAlias removes an alias, even if the alias record cannot be read.
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

// rewriteTombstone returns a repair that replaces a damaged tombstone. Only the URL of that
// tombstone is known.
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

// keepKey returns a repair that removes a key from the list of keys to destroy, because a record
// uses the key.
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

package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// Erase removes all that is held of url: every capture, bodies that no other capture refers to, what is known of its
// content, and the aliases that lead to it (X66). Keys are destroyed before it returns. The resource's dates stay, a
// tombstone is written, and an intent tells the index to forget the page. It returns the number of captures erased. Where
// nothing is held it changes nothing, so it can be repeated (P04). The deciding line may be empty.
func (a *Archive) Erase(ctx context.Context, url, why, line string) (erased int, err error) {
	if err := checkURL(url); err != nil {
		return 0, err
	}
	err = a.do(ctx, 0, func(t *txn) error {
		erased, err = t.erase(url, why, line)
		return err
	})
	return erased, err
}

// EraseCapture removes one version, and its body if nothing else refers to it, destroys their keys, and writes a
// tombstone. What is known of the URL stays. ErrNotHeld if there is no such capture.
func (a *Archive) EraseCapture(ctx context.Context, id uint64, why, line string) error {
	return a.do(ctx, 0, func(t *txn) error {
		before := len(t.doomed)
		rec, err := t.eraseCapture(id)
		if err != nil {
			return err
		}
		keys := slices.Clone(t.doomed[before:])
		h, err := t.resource(rec.URL)
		if err != nil {
			return err
		}
		if h.Current == id {
			r := h.Resource
			r.Current = 0
			if err := t.putResource(h, r, h.plain); err != nil {
				return err
			}
		}
		return t.bury(Tombstone{URL: rec.URL, Version: rec.Version, Captures: 1, Why: why, Line: line, Keys: keys})
	})
}

func (t *txn) erase(url, why, line string) (int, error) {
	before := len(t.doomed)
	value := t.tx.Bucket(bResources).Get([]byte(url))
	var rec resourceRecord
	if value != nil {
		sealed, err := unpackSealed([]byte(url), value, &rec)
		if err != nil {
			return 0, t.a.damaged("the record of "+url, err)
		}
		var text resourceText // what cannot be read goes all the same; verify --repair finds what it leaves
		_, _ = t.a.text(ofResource([]byte(url)), rec.Key, sealed, &text)
		if err := t.putSources(url, text.Sources, nil); err != nil {
			return 0, err
		}
	}
	n, err := t.eraseVersions(url, rec.Current)
	if err != nil {
		return 0, err
	}
	aliases, err := t.eraseAliases(url)
	if err != nil {
		return 0, err
	}
	pictures, err := t.erasePictures(url)
	if err != nil {
		return 0, err
	}
	if n == 0 && aliases == 0 && pictures == 0 && rec.Key == 0 && !rec.Indexed {
		return 0, nil
	}
	if value != nil {
		if err := t.doom(rec.Key); err != nil {
			return 0, err
		}
		rec.Key, rec.Current, rec.Indexed = 0, 0, false
		value, err := packSealed([]byte(url), rec, nil)
		if err != nil {
			return 0, err
		}
		if err := t.tx.Bucket(bResources).Put([]byte(url), value); err != nil {
			return 0, err
		}
	}
	if err := errors.Join(t.intend(url), t.erased()); err != nil {
		return 0, err
	}
	return n, t.bury(Tombstone{URL: url, Captures: n, Why: why, Line: line, Keys: slices.Clone(t.doomed[before:])})
}

// eraseVersions erases all captures of url.
func (t *txn) eraseVersions(url string, current uint64) (int, error) {
	ids := versionsOf(t.tx, url, current)
	for _, id := range ids {
		if _, err := t.eraseCapture(id); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

func (t *txn) eraseCapture(id uint64) (captureRecord, error) {
	captures, k := t.tx.Bucket(bCaptures), idKey(id)
	value := captures.Get(k)
	if value == nil {
		return captureRecord{}, fmt.Errorf("capture %d is %w", id, ErrNotHeld)
	}
	var rec captureRecord
	if _, err := unpackSealed(k, value, &rec); err != nil {
		return rec, t.a.damaged(fmt.Sprintf("the record of capture %d", id), err)
	}
	if err := errors.Join(t.doom(rec.Key), t.erased()); err != nil {
		return rec, err
	}
	if err := errors.Join(t.unrefer(rec.payload()), t.erasePicture(versionKey(rec.URL, rec.Version))); err != nil {
		return rec, err
	}
	if err := t.tx.Bucket(bEarlier).Delete(versionKey(rec.URL, rec.Version)); err != nil {
		return rec, err
	}
	t.counts.Captures--
	t.counts.Bytes -= uint64(rec.Bytes)
	return rec, captures.Delete(k)
}

// unrefer takes one reference from a body; the last one takes the body with it.
func (t *txn) unrefer(digest string) error {
	sum, err := digestBytes(digest)
	if err != nil {
		return t.a.damaged("the digest "+digest, err)
	}
	digests := t.tx.Bucket(bDigests)
	rec, err := unpackBody(sum, digests.Get(sum))
	if err != nil {
		return t.a.damaged("the record of body "+digest, err)
	}
	if rec.Refs > 1 {
		rec.Refs--
		return digests.Put(sum, rec.pack(sum))
	}
	if err := t.doom(rec.Key); err != nil {
		return err
	}
	if err := deleteBody(t.tx, rec.ID); err != nil {
		return err
	}
	t.counts.Bodies--
	t.counts.Raw -= rec.Raw
	t.counts.Stored -= rec.Stored
	return digests.Delete(sum)
}

// eraseAliases removes the alias that url itself is, and all that lead to it, through others too.
func (t *txn) eraseAliases(url string) (int, error) {
	before := t.counts.Aliases
	if err := t.dropAlias(url); err != nil {
		return 0, err
	}
	for todo := []string{url}; len(todo) > 0; {
		to := todo[0]
		todo = todo[1:]
		for _, from := range aliasesOf(t.tx, to) {
			if err := t.dropAlias(from); err != nil {
				return 0, err
			}
			if err := t.tx.Bucket(bAliased).Delete(pair(to, from)); err != nil {
				return 0, err
			}
			todo = append(todo, from)
		}
	}
	return int(before - t.counts.Aliases), nil
}

// bury writes a tombstone.
func (t *txn) bury(s Tombstone) error {
	bucket := t.tx.Bucket(bTombstones)
	n, err := bucket.NextSequence()
	if err != nil {
		return err
	}
	s.When = utc(t.a.now())
	t.counts.Tombstones++
	k := pair(s.URL, string(idKey(n)))
	return bucket.Put(k, mustPack(k, s))
}

// versionsOf lists the captures of url, of which current is the last if it is not 0.
func versionsOf(tx *bolt.Tx, url string, current uint64) []uint64 {
	var ids []uint64
	prefix := under(url)
	c := tx.Bucket(bEarlier).Cursor()
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
		ids = append(ids, number(v))
	}
	if current != 0 {
		ids = append(ids, current)
	}
	return ids
}

func aliasesOf(tx *bolt.Tx, url string) []string {
	var list []string
	prefix := under(url)
	c := tx.Bucket(bAliased).Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		list = append(list, string(k[len(prefix):]))
	}
	return list
}

package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// Erase removes everything that is held of the URL in s (P1 2.6.1, P06: a take-down removes all
// copies and all that was made of them): all captures, bodies and rendered documents that no other
// capture uses, the data derived from the page, thumbnails, aliases of the page (X66), and answers of
// the URL in captures of pages to which it redirected. If the page is taken down, it also removes
// captures of redirects from the aliases to the page. With ReasonDerived, redirects stay: scripts made
// nothing of them. Erase destroys the keys before it returns. The dates of the resource remain. Erase
// stores s as the tombstone, after setting all counts in s except Derived. It logs an intent, so that
// the index removes the page. erased is the number of erased captures.
// P1 2.6 (P04): Erase can be repeated. If nothing is held and s counts no derived data, Erase only
// makes the next compaction due earlier if that is necessary.
func (a *Archive) Erase(ctx context.Context, s Tombstone) (erased int, err error) {
	if err := checkURL(s.URL); err != nil {
		return 0, err
	}
	err = a.do(ctx, 0, func(t *txn) error {
		erased, err = t.erase(s)
		return err
	})
	return erased, err
}

// EraseCapture removes one version. It also removes the body and the rendered document of the
// version if no other capture uses them. It destroys the keys and stores s as the tombstone. The
// data about the URL remains. The error is ErrNotHeld if there is no such capture.
func (a *Archive) EraseCapture(ctx context.Context, id uint64, s Tombstone) error {
	return a.do(ctx, 0, func(t *txn) error {
		was, keys := t.counts, len(t.doomed)
		rec, err := t.eraseCapture(id)
		if err != nil {
			return err
		}
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
		of := t.counted(s, was, keys)
		of.URL, of.Version = rec.URL, rec.Version
		return t.putTombstone(of)
	})
}

func (t *txn) erase(s Tombstone) (int, error) {
	url := s.URL
	was, keys := t.counts, len(t.doomed)
	value := t.tx.Bucket(bResources).Get([]byte(url))
	var rec resourceRecord
	if value != nil {
		sealed, err := unpackSealed([]byte(url), value, &rec)
		if err != nil {
			return 0, t.a.damaged("the record of "+url, err)
		}
		var text resourceText // ignore errors: unreadable data is erased too, and verify --repair finds what remains
		_, _ = t.a.text(ofResource([]byte(url)), rec.Key, sealed, &text)
		if err := t.putSources(url, text.Kept.Sources(), nil); err != nil {
			return 0, err
		}
	}
	leading := 0
	if s.TakenDown() { // X66: a take-down also erases the records that lead to the page
		var err error
		if leading, err = t.eraseRedirects(url); err != nil {
			return 0, err
		}
	}
	err := errors.Join(t.eraseVersions(url, rec.Current), t.erasePictures(url), t.erasePart(url))
	if err == nil && s.Reason != ReasonDerived {
		if err = t.eraseAliases(url); err == nil {
			s.Hops, err = t.eraseHops(url)
		}
	}
	if err != nil {
		return 0, err
	}
	s = t.counted(s, was, keys)
	s.Captures -= leading // they are copies of other addresses
	s.Known, s.Entry = rec.Key != 0, rec.Indexed
	if s.Captures+s.Aliases+s.Pictures+s.Hops+s.Derived+leading == 0 && !s.Known && !s.Entry {
		return 0, t.advanceCompaction(s)
	}
	if value != nil {
		if err := t.condemnKey(rec.Key); err != nil {
			return 0, err
		}
		rec.Key, rec.Current, rec.Indexed = 0, 0, false
		value, err := packSealed([]byte(url), rec, nil)
		if err != nil {
			return 0, err
		}
		if err := errors.Join(t.list(url), t.tx.Bucket(bResources).Put([]byte(url), value)); err != nil {
			return 0, err
		}
	}
	s.Keys = slices.Clone(t.doomed[keys:])
	return s.Captures, errors.Join(t.intend(url), t.erased(), t.putTombstone(s))
}

// advanceCompaction makes a compaction due as if the data were erased now. It is used if a
// publisher requests the erasure of data that is already erased, but that may have left traces in
// the files.
func (t *txn) advanceCompaction(s Tombstone) error {
	if !s.Asked {
		return nil
	}
	erasures, err := t.a.erasures(t.tx.Tx, s.URL)
	if err != nil {
		return err
	}
	return t.changeUpkeep(func(u *upkeep) bool {
		hurries := u.Answering.IsZero() && u.pending(t.tx.Tx, s.URL, erasures) && setNow(&u.Asked, t.a.now())
		t.erases = t.erases || hurries
		return hurries
	})
}

// counted returns s with the numbers of everything that was erased by this transaction after an
// earlier point. was is the value of the counts and keys the number of keys to destroy at that
// point.
func (t *txn) counted(s Tombstone, was counts, keys int) Tombstone {
	s.Captures = int(was.Captures - t.counts.Captures)
	s.Pictures = int(was.Pictures - t.counts.Pictures)
	s.Aliases = int(was.Aliases - t.counts.Aliases)
	s.Keys = slices.Clone(t.doomed[keys:])
	return s
}

// eraseVersions erases all captures of url.
func (t *txn) eraseVersions(url string, current uint64) error {
	for _, id := range versionsOf(t.tx.Tx, url, current) {
		if _, err := t.eraseCapture(id); err != nil {
			return err
		}
	}
	return nil
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
	if err := errors.Join(t.dropPassed(id), t.condemnKey(rec.Key), t.erased(), t.list(rec.URL)); err != nil {
		return rec, err
	}
	for _, digest := range rec.bodies() {
		if err := t.dropReference(digest); err != nil {
			return rec, err
		}
	}
	if err := t.erasePicture(versionKey(rec.URL, rec.Version)); err != nil {
		return rec, err
	}
	if err := t.tx.Bucket(bEarlier).Delete(versionKey(rec.URL, rec.Version)); err != nil {
		return rec, err
	}
	rec.discount(&t.counts)
	return rec, captures.Delete(k)
}

// dropReference removes one reference to a body, and deletes the body after the last reference.
func (t *txn) dropReference(digest string) error {
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
	if err := t.condemnKey(rec.Key); err != nil {
		return err
	}
	if err := t.deleteBody(rec.ID); err != nil {
		return err
	}
	t.counts.Bodies--
	t.counts.Raw -= rec.Raw
	t.counts.Stored -= rec.Stored
	return digests.Delete(sum)
}

// eraseRedirects erases the captures of redirects to url at its aliases, and returns their number.
func (t *txn) eraseRedirects(url string) (n int, err error) {
	for _, from := range aliasesOf(t.tx.Tx, url) {
		for _, id := range versionsOf(t.tx.Tx, from, 0) { // no redirect is a current copy
			c, err := t.a.readCapture(t.tx.Tx, id)
			if err != nil || !c.Redirect() || !leads(from, c.Header.Get("Location"), url) {
				continue // unreadable data is found by verify --repair
			}
			if _, err := t.eraseCapture(id); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// leads reports whether a redirect of from with this Location leads to the address to.
func leads(from, location, to string) bool {
	base, err := address.Parse(from)
	if err != nil || location == "" {
		return false
	}
	target, err := base.Parse(location)
	if err != nil {
		return false
	}
	normal, err := address.Normal(target.String())
	return err == nil && normal == to
}

// eraseAliases removes url from the aliases. It also removes all aliases that redirect to url
// directly or through other aliases.
func (t *txn) eraseAliases(url string) error {
	if err := t.dropAlias(url); err != nil {
		return err
	}
	for todo := []string{url}; len(todo) > 0; {
		to := todo[0]
		todo = todo[1:]
		for _, from := range aliasesOf(t.tx.Tx, to) {
			if err := t.dropAlias(from); err != nil {
				return err
			}
			if err := t.tx.Bucket(bAliased).Delete(pair(to, from)); err != nil {
				return err
			}
			todo = append(todo, from)
		}
	}
	return nil
}

// putTombstone stores a tombstone.
func (t *txn) putTombstone(s Tombstone) error {
	bucket := t.tx.Bucket(bTombstones)
	n, err := bucket.NextSequence()
	if err != nil {
		return err
	}
	s.When = utc(t.a.now())
	t.counts.Tombstones++
	err = t.changeUpkeep(func(u *upkeep) bool {
		sooner := !u.Erased.IsZero() && setEarlier(&u.Erased, s.When)
		return s.Asked && setNow(&u.Asked, s.When) || sooner
	})
	if err != nil {
		return err
	}
	t.buried = append(t.buried, s)
	k := pair(s.URL, string(idKey(n)))
	return bucket.Put(k, mustPack(k, s))
}

// versionsOf returns the IDs of all captures of url. current is the ID of the current capture, or 0
// if there is none.
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

func aliasesOf(tx *bolt.Tx, url string) []string { return others(tx.Bucket(bAliased), url) }

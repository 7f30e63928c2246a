package archive

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Receipt describes what was erased of a URL, and what is still stored of it.
type Receipt struct {
	URL       string
	Erasures  []Tombstone // tombstones, the oldest first
	Compacted time.Time   // when the last compaction began; files contain no trace of anything that was erased before
	// no compaction followed an erasure, so files may contain a trace; does not depend on the dates
	Pending bool
	Left    []Problem // data of the URL that is still stored, and other problems such as a key that is not destroyed
}

// Verified reports whether something was erased and nothing of the URL is stored any more.
func (r Receipt) Verified() bool { return len(r.Erasures) > 0 && len(r.Left) == 0 }

// Settled reports whether a compaction began after the last erasure.
func (r Receipt) Settled() bool {
	return len(r.Erasures) > 0 && !r.Pending && r.Compacted.After(r.Erasures[len(r.Erasures)-1].When)
}

// Receipt returns what was erased of url. It searches for everything that may still be stored:
// versions, data about the page, its index entry, thumbnails, aliases that redirect to url, url as
// an alias, and keys that should be destroyed. Data that was received after an erasure is also
// listed in Left.
func (a *Archive) Receipt(url string) (Receipt, error) {
	r := Receipt{URL: url}
	err := a.view(func(tx *bolt.Tx) error {
		u, err := a.readUpkeep(tx)
		if err != nil {
			return err
		}
		r.Compacted = u.Compacted
		if r.Erasures, err = a.erasures(tx, url); err != nil {
			return err
		}
		r.Pending = u.pending(tx, url, r.Erasures)
		gone := map[int]bool{}
		for _, s := range r.Erasures {
			gone[s.Version] = true
			if err := r.keys(a, s); err != nil {
				return err
			}
		}
		return r.records(a, tx, gone)
	})
	return r, err
}

// erasures returns the tombstones of url, the oldest first.
func (a *Archive) erasures(tx *bolt.Tx, url string) (list []Tombstone, err error) {
	c := tx.Bucket(bTombstones).Cursor()
	for k, v := c.Seek(under(url)); bytes.HasPrefix(k, under(url)); k, v = c.Next() {
		s, err := a.readTombstone(tx, k, v)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// pending reports whether the files may still contain erased data of url. erasures are the
// tombstones of url. A known page may have no tombstone although its index entry was removed; then
// pending assumes that the entry was removed after the last compaction.
func (u *upkeep) pending(tx *bolt.Tx, url string, erasures []Tombstone) bool {
	since := u.uncompacted()
	if since.IsZero() {
		return false
	}
	if len(erasures) == 0 {
		return tx.Bucket(bResources).Get([]byte(url)) != nil
	}
	return slices.ContainsFunc(erasures, func(s Tombstone) bool { return !s.When.Before(since) })
}

// Holds reports whether the archive stores anything of url that Receipt would list in Left.
func (a *Archive) Holds(url string) (held bool, err error) {
	err = a.snapshot(func(tx *bolt.Tx) error {
		r := Receipt{URL: url}
		err := r.records(a, tx, nil)
		held = len(r.Left) > 0
		return err
	})
	return held, err
}

// Begins reports whether anything is known about a URL that begins with prefix.
func (a *Archive) Begins(prefix string) (some bool, err error) {
	err = a.snapshot(func(tx *bolt.Tx) error {
		for _, name := range addressed {
			k, _ := tx.Bucket(name).Cursor().Seek([]byte(prefix))
			some = some || bytes.HasPrefix(k, []byte(prefix))
		}
		return nil
	})
	return some, err
}

// keys checks that the keys named in the tombstone s are destroyed, and adds keys that are not
// destroyed to r.Left.
func (r *Receipt) keys(a *Archive, s Tombstone) error {
	for _, slot := range s.Keys {
		k, err := a.keys.read(slot)
		if err != nil {
			return err
		}
		if !k.zero() {
			r.left(fmt.Sprintf("key %d", slot), "is not destroyed")
		}
	}
	return nil
}

// records searches the archive for stored data of the URL and adds that data to r.Left. gone
// contains the numbers of versions that were erased one by one.
func (r *Receipt) records(a *Archive, tx *bolt.Tx, gone map[int]bool) error {
	var rec resourceRecord
	if value := tx.Bucket(bResources).Get([]byte(r.URL)); value != nil {
		if _, err := unpackSealed([]byte(r.URL), value, &rec); err != nil {
			return a.damaged("the record of "+r.URL, err)
		}
	}
	for _, id := range versionsOf(tx, r.URL, rec.Current) {
		c, _, err := a.captureRecord(tx, id)
		switch {
		case err != nil:
			return err
		case gone[c.Version]:
			r.left(fmt.Sprintf("version %d", c.Version), "is stored although it was erased")
		default:
			r.left(fmt.Sprintf("version %d", c.Version), "is stored, fetched "+c.Fetched.Format(time.RFC3339))
		}
	}
	err := eachPicture(tx, r.URL, func(k, _ []byte) error {
		r.left(fmt.Sprintf("the thumbnail of version %d", versionOfKey(k)), "is stored")
		return nil
	})
	if err != nil {
		return err
	}
	if rec.Key != 0 {
		r.left("the record of the statements of the page", "is stored, crawled "+rec.LastCrawled.Format(time.RFC3339))
	}
	if rec.Indexed {
		r.left("the index", "has an entry for it")
	}
	if tx.Bucket(bAliases).Get([]byte(r.URL)) != nil {
		r.left("the address", "redirects to another one")
	}
	for _, from := range aliasesOf(tx, r.URL) {
		r.left("the address "+from, "redirects to it")
	}
	for _, id := range passedAt(tx, r.URL) {
		c, _, err := a.captureRecord(tx, id)
		switch {
		case errors.Is(err, ErrNotHeld):
			continue
		case err != nil:
			return err
		}
		r.left(fmt.Sprintf("version %d of %s", c.Version, c.URL), "is stored with a redirect response of this address")
	}
	for _, page := range others(tx.Bucket(bSources), r.URL) {
		r.left(page, "has data that was made from it")
	}
	if p, err := a.partOf(tx, r.URL); err != nil {
		return err
	} else if p.Digest != "" {
		r.left("the digest of its last response", "is stored")
	}
	return nil
}

func (r *Receipt) left(where, what string) {
	r.Left = append(r.Left, Problem{Where: where, What: what})
}

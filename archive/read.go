package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// batch is the number of records that an iteration reads per transaction. No transaction is open
// while the caller handles records.
const batch = 256

// Stats counts the stored data.
type Stats struct {
	Captures   int `json:"captures"`
	Resources  int `json:"resources"`
	Bodies     int `json:"bodies"`
	Aliases    int `json:"aliases"`
	Tombstones int `json:"tombstones"`
	Pictures   int `json:"thumbnails"` // number of stored thumbnails, of pages with and without a copy
	// number of captures with a rendered document
	Rendered int   `json:"rendered,omitempty"`
	Bytes    int64 `json:"bytes"`  // decoded size of the bodies and rendered documents of all captures
	Raw      int64 `json:"raw"`    // size of the stored bodies before compression, identical ones counted once
	Stored   int64 `json:"stored"` // size of the bodies in the file
}

// Resource returns what is known about url. known is false if nothing is known.
func (a *Archive) Resource(url string) (r Resource, known bool, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		value := tx.Bucket(bResources).Get([]byte(url))
		if known = value != nil; known {
			r, err = a.readResource([]byte(url), value)
		}
		return err
	})
	return r, known, err
}

// Resolve follows the aliases from url and returns the URL of the page (X66). If url is not an
// alias, Resolve returns url itself.
func (a *Archive) Resolve(url string) (string, error) {
	way, err := a.Way(url)
	return way[len(way)-1], err
}

// Way returns the chain of aliases from url to the URL of the page. The first element is url, and
// the last is the URL of the page.
func (a *Archive) Way(url string) (way []string, err error) {
	way = []string{url}
	err = a.view(func(tx *bolt.Tx) error {
		var circle bool
		way, circle, err = wayFrom(tx, url)
		switch {
		case errors.Is(err, errWay):
			return fmt.Errorf("the alias %s cannot be followed: %w", url, err)
		case err != nil:
			return a.damaged("the alias "+way[len(way)-1], err)
		case circle:
			return a.corrupt("the alias " + url + " redirects in a circle")
		}
		return nil
	})
	return way, err
}

// longestWay is the maximal length of a chain of aliases. A visit adds at most ten aliases, and
// chains grow when pages move again.
const longestWay = 1000

var errWay = fmt.Errorf("it redirects through more than %d others; "+
	"name the address at which the page is now, or crawl this one again", longestWay)

// wayFrom follows the aliases from url and stops at an alias that cannot be read. way begins with
// url. circle reports that the aliases form a circle.
func wayFrom(tx *bolt.Tx, url string) (way []string, circle bool, err error) {
	passed := map[string]bool{url: true}
	for way = []string{url}; ; {
		at := []byte(way[len(way)-1])
		value := tx.Bucket(bAliases).Get(at)
		if value == nil {
			return way, false, nil
		}
		to, err := unframe(at, value)
		switch {
		case err != nil || passed[string(to)]:
			return way, err == nil, err
		case len(way) > longestWay:
			return way, false, errWay
		}
		way = append(way, string(to))
		passed[string(to)] = true
	}
}

// Captures returns the versions of url, the oldest first.
func (a *Archive) Captures(url string) (list []Capture, err error) {
	err = a.eachVersion(url, func(tx *bolt.Tx, id uint64) error {
		c, err := a.readCapture(tx, id)
		list = append(list, c)
		return err
	})
	slices.SortStableFunc(list, func(c, d Capture) int { return c.Fetched.Compare(d.Fetched) })
	return list, err
}

// Moment is when a version was fetched.
type Moment struct {
	ID      uint64 // of the capture
	Fetched time.Time
}

// Moments returns when the versions of url were fetched, the oldest first. It costs less than Captures.
func (a *Archive) Moments(url string) (list []Moment, err error) {
	err = a.eachVersion(url, func(tx *bolt.Tx, id uint64) error {
		rec, _, err := a.captureRecord(tx, id)
		list = append(list, Moment{id, rec.Fetched})
		return err
	})
	slices.SortStableFunc(list, func(c, d Moment) int { return c.Fetched.Compare(d.Fetched) })
	return list, err
}

// eachVersion calls fn with the ID of each version of url, in one transaction.
func (a *Archive) eachVersion(url string, fn func(*bolt.Tx, uint64) error) error {
	return a.view(func(tx *bolt.Tx) error {
		current, err := a.current(tx, url)
		if err != nil {
			return err
		}
		for _, id := range versionsOf(tx, url, current) {
			if err := fn(tx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Capture returns a capture, or ErrNotHeld.
func (a *Archive) Capture(id uint64) (c Capture, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		c, err = a.readCapture(tx, id)
		return err
	})
	return c, err
}

// Each calls fn for every resource in the order of URLs, until fn returns an error. fn may call the
// archive. Concurrent changes may be visible or not.
func (a *Archive) Each(fn func(Resource) error) error { return a.EachUnder("", fn) }

// EachUnder is like Each for the URLs that begin with prefix.
func (a *Archive) EachUnder(prefix string, fn func(Resource) error) error {
	return each(a, bResources, []byte(prefix), func(_ *bolt.Tx, k, v []byte) (Resource, error) {
		return a.readResource(k, v)
	}, fn)
}

// EachCapture calls fn for every capture, in the order of arrival, under the conditions of Each.
func (a *Archive) EachCapture(fn func(Capture) error) error {
	return each(a, bCaptures, nil, func(tx *bolt.Tx, k, _ []byte) (Capture, error) {
		return a.readCapture(tx, number(k))
	}, fn)
}

// EachTombstone calls fn for every tombstone, in the order of URLs, under the conditions of Each.
func (a *Archive) EachTombstone(fn func(Tombstone) error) error {
	return each(a, bTombstones, nil, a.readTombstone, fn)
}

// Tombstones returns the tombstones of url, the oldest first.
func (a *Archive) Tombstones(url string) (list []Tombstone, err error) {
	err = each(a, bTombstones, under(url), a.readTombstone, func(s Tombstone) error {
		list = append(list, s)
		return nil
	})
	return list, err
}

// Stats returns the counts of stored data.
func (a *Archive) Stats() (s Stats, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		c, err := readCounts(tx)
		s = c.stats()
		return err
	})
	return s, err
}

func (c counts) stats() Stats {
	return Stats{Captures: int(c.Captures), Resources: int(c.Resources), Bodies: int(c.Bodies), Aliases: int(c.Aliases),
		Tombstones: int(c.Tombstones), Pictures: int(c.Pictures), Rendered: int(c.Rendered),
		Bytes: int64(c.Bytes), Raw: int64(c.Raw),
		Stored: int64(c.Stored)}
}

// each reads the records whose keys begin with prefix, in batches. It calls the function of the
// caller outside of any transaction.
func each[T any](a *Archive, bucket, prefix []byte, read func(tx *bolt.Tx, k, v []byte) (T, error),
	fn func(T) error) error {
	for from := append([]byte{}, prefix...); from != nil; {
		var list []T
		err := a.view(func(tx *bolt.Tx) error {
			c := tx.Bucket(bucket).Cursor()
			k, v := c.Seek(from)
			for ; k != nil && bytes.HasPrefix(k, prefix) && len(list) < batch; k, v = c.Next() {
				item, err := read(tx, k, v)
				if err != nil {
					return err
				}
				list = append(list, item)
			}
			from = nil
			if k != nil && bytes.HasPrefix(k, prefix) {
				from = bytes.Clone(k)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, item := range list {
			if err := fn(item); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *Archive) readResource(url, value []byte) (Resource, error) {
	var rec resourceRecord
	var text resourceText
	sealed, err := unpackSealed(url, value, &rec)
	if err == nil {
		_, err = a.text(ofResource(url), rec.Key, sealed, &text)
	}
	if err != nil {
		return Resource{}, a.damaged("the record of "+string(url), err)
	}
	return resourceOf(string(url), rec, text), nil
}

func (a *Archive) readCapture(tx *bolt.Tx, id uint64) (Capture, error) {
	rec, text, err := a.openCapture(tx, id)
	if err != nil {
		return Capture{}, err
	}
	current, err := a.current(tx, rec.URL)
	if err != nil {
		return Capture{}, err
	}
	c, err := captureOf(id, rec, text, current)
	if err != nil {
		return Capture{}, a.damaged(fmt.Sprintf("the header of capture %d (%s)", id, rec.URL), err)
	}
	return c, nil
}

// current returns the ID of the current capture of url, or 0 if there is none.
func (a *Archive) current(tx *bolt.Tx, url string) (uint64, error) {
	var rec resourceRecord
	value := tx.Bucket(bResources).Get([]byte(url))
	if value == nil {
		return 0, nil
	}
	if _, err := unpackSealed([]byte(url), value, &rec); err != nil {
		return 0, a.damaged("the record of "+url, err)
	}
	return rec.Current, nil
}

// openCapture reads the record of a capture and opens its sealed text.
func (a *Archive) openCapture(tx *bolt.Tx, id uint64) (rec captureRecord, text captureText, err error) {
	rec, sealed, err := a.captureRecord(tx, id)
	if err != nil {
		return rec, text, err
	}
	if _, err = a.text(ofCapture(idKey(id)), rec.Key, sealed, &text); err != nil {
		err = a.damaged(fmt.Sprintf("the record of capture %d (%s)", id, rec.URL), err)
	}
	return rec, text, err
}

func (a *Archive) captureRecord(tx *bolt.Tx, id uint64) (rec captureRecord, sealed []byte, err error) {
	value := tx.Bucket(bCaptures).Get(idKey(id))
	if value == nil {
		return rec, nil, fmt.Errorf("capture %d is %w", id, ErrNotHeld)
	}
	if sealed, err = unpackSealed(idKey(id), value, &rec); err != nil {
		return rec, nil, a.damaged(fmt.Sprintf("the record of capture %d", id), err)
	}
	return rec, sealed, nil
}

func (a *Archive) readTombstone(_ *bolt.Tx, k, v []byte) (s Tombstone, err error) {
	if err := unpack(k, v, &s); err != nil {
		return s, a.damaged(fmt.Sprintf("the tombstone %q", k), err)
	}
	return s, nil
}

// text opens a sealed text, decodes it into v and returns the encoded text. If slot is 0 there is
// no text.
func (a *Archive) text(belongs string, slot uint64, sealed []byte, v any) ([]byte, error) {
	if slot == 0 && len(sealed) == 0 {
		return nil, nil
	}
	k, err := a.keys.read(slot)
	if err != nil {
		return nil, err
	}
	plain, err := unseal(k, belongs, sealed)
	if err != nil {
		return nil, err
	}
	if t, ok := v.(*captureText); ok {
		return plain, t.decode(a.pack, plain)
	}
	if json.Unmarshal(plain, v) != nil {
		return nil, errRecord
	}
	return plain, nil
}

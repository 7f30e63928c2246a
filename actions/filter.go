package actions

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// Filter selects the requests that match all fields that are not zero.
type Filter struct {
	Origins  []string  `json:"origins,omitempty"` // the origin must be in this list; form of policy.Key
	Action   string    `json:"action,omitempty"`  // acap.TakeDown or acap.ReCrawl
	State    State     `json:"state,omitempty"`
	URL      string    `json:"url,omitempty"`      // in the form of requests, see Address
	Since    time.Time `json:"since,omitzero"`     // the request was first seen at this time or later
	Standing bool      `json:"standing,omitempty"` // only requests in force are selected
	After    uint64    `json:"after,omitempty"`    // only requests with a larger ID are selected
	Limit    int       `json:"limit,omitempty"`    // maximal number of requests
	Newest   bool      `json:"newest,omitempty"`   // by descending ID; After is then not used
	Before   uint64    `json:"before,omitempty"`   // with Newest: only requests with a smaller ID; 0: all

	inFile bool // only requests that a line of robots.txt, or of a file that it refers to, makes
}

// Known reports whether s is one of the states.
func (s State) Known() bool {
	return slices.Contains([]State{Seen, Confirmed, Refused, Due, Running, Done, Failed}, s)
}

// fits reports whether r matches f. It does not check origin and ID.
func (f *Filter) fits(r *Request) bool {
	return (f.Action == "" || r.Action == f.Action) && (f.State == "" || r.State == f.State) &&
		(f.URL == "" || r.URL == f.URL) &&
		!r.Asked.Before(f.Since) && (!f.Standing || r.Standing) && (!f.inFile || r.From.File != "")
}

// scanned is the maximal number of requests that one transaction reads.
const scanned = 500

// Each calls fn with the requests that f selects, by ascending ID, or by descending ID if f.Newest
// is set. No transaction is open during a
// call: fn may be slow and may write.
func (l *Ledger) Each(f Filter, fn func(Request) error) error {
	left := f.Limit
	at := f.After
	if f.Newest {
		at = cmp.Or(f.Before, math.MaxUint64)
	}
	for done := false; !done; {
		var found []Request
		err := l.view(func(t *txn) error {
			ids := t.ids(f.Origins, at, scanned, f.Newest)
			done = len(ids) < scanned
			for _, id := range ids {
				r, known, err := t.request(id)
				if err != nil {
					return err
				}
				if known && f.fits(&r) {
					found = append(found, r)
				}
				at = id
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, r := range found {
			if err := fn(r); err != nil {
				return err
			}
			if left--; left == 0 {
				return nil
			}
		}
	}
	return nil
}

// Asking calls fn with each origin that has a request in force. fn must not use the ledger.
func (l *Ledger) Asking(fn func(origin string)) error {
	for after, done := "", false; !done; {
		err := l.view(func(t *txn) error {
			c := t.tx.Bucket(bOrigins).Cursor()
			for range scanned {
				k, _ := c.Seek([]byte(after + "\x01")) // the first key after all keys of the last origin
				if done = len(k) < 9; done {
					return nil
				}
				after = string(k[:len(k)-9])
				asks, err := t.asks(after)
				if err != nil {
					return err
				}
				if asks {
					fn(after)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// asks reports whether a request of an origin is in force. It reads the newest request first,
// because new requests are in force most often.
func (t *txn) asks(origin string) (stands bool, err error) {
	c := t.tx.Bucket(bOrigins).Cursor()
	prefix := []byte(origin + "\x00")
	k, _ := c.Seek([]byte(origin + "\x01"))
	if k == nil {
		k, _ = c.Last()
	} else {
		k, _ = c.Prev()
	}
	for ; bytes.HasPrefix(k, prefix); k, _ = c.Prev() {
		r, _, err := t.request(binary.BigEndian.Uint64(k[len(k)-8:]))
		if err != nil || r.Standing {
			return r.Standing, err
		}
	}
	return false, nil
}

// ids returns up to n request IDs that are larger than at, in ascending order, or with newest
// smaller than at, in descending order: IDs of the given origins or, if origins is empty, of all
// origins.
func (t *txn) ids(origins []string, at uint64, n int, newest bool) (ids []uint64) {
	keys := keysAfter
	if newest {
		keys = keysBefore
	}
	if len(origins) == 0 {
		return keys(t.tx.Bucket(bRequests), nil, at, n)
	}
	for _, o := range origins {
		ids = append(ids, keys(t.tx.Bucket(bOrigins), []byte(o+"\x00"), at, n)...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if newest {
		slices.Reverse(ids)
	}
	return ids[:min(n, len(ids))]
}

// keysAfter returns up to n numbers of the bucket, larger than after, in order. The key of a number
// is prefix followed by the number.
func keysAfter(b *bbolt.Bucket, prefix []byte, after uint64, n int) (ids []uint64) {
	if after+1 == 0 {
		return nil
	}
	c := b.Cursor()
	for k, _ := c.Seek(binary.BigEndian.AppendUint64(bytes.Clone(prefix), after+1)); k != nil && len(ids) < n &&
		bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		if len(k) == len(prefix)+8 {
			ids = append(ids, binary.BigEndian.Uint64(k[len(prefix):]))
		}
	}
	return ids
}

// keysBefore returns up to n numbers of the bucket, smaller than before, the largest first. Keys
// are as for keysAfter.
func keysBefore(b *bbolt.Bucket, prefix []byte, before uint64, n int) (ids []uint64) {
	c := b.Cursor()
	k, _ := c.Seek(binary.BigEndian.AppendUint64(bytes.Clone(prefix), before))
	if k == nil {
		k, _ = c.Last()
	} else {
		k, _ = c.Prev()
	}
	for ; k != nil && len(ids) < n && bytes.HasPrefix(k, prefix); k, _ = c.Prev() {
		if len(k) == len(prefix)+8 {
			ids = append(ids, binary.BigEndian.Uint64(k[len(prefix):]))
		}
	}
	return ids
}

// Get returns the request with an ID.
func (l *Ledger) Get(id uint64) (r Request, known bool, err error) {
	err = l.view(func(t *txn) error {
		r, known, err = t.request(id)
		return err
	})
	return r, known, err
}

// History returns the entries about the request with an ID, the oldest first.
func (l *Ledger) History(id uint64) (all []Entry, err error) {
	err = l.view(func(t *txn) error {
		c, prefix := t.tx.Bucket(bAbout).Cursor(), number(id)
		for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix) && len(k) == 16; k, _ = c.Next() {
			e, known, err := t.entry(binary.BigEndian.Uint64(k[8:]))
			if err == nil && !known {
				err = errors.New("an entry is missing")
			}
			if err != nil {
				return err
			}
			all = append(all, e)
		}
		return nil
	})
	return all, err
}

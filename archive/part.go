package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Part is what is known of another resource that pages require, by the address that they name: of
// what it gave nothing is held here.
type Part struct {
	Fetched            time.Time `json:",omitzero"`  // when it was last asked for with an answer that counts
	Digest             string    `json:",omitempty"` // of what the pages were last made of; "": it gave nothing
	ETag, LastModified string    `json:",omitempty"`

	Pending   Pending `json:",omitempty"` // which of its pages have not been judged since
	Why, Line string  `json:",omitempty"` // for which reason nothing may be made of it; "": something may
}

// Pending says which pages that require a resource are still to be judged.
type Pending uint8

const (
	Nobody    Pending = iota
	Waiting           // those that wait for it
	Everybody         // it has ended, and what was made of it has not gone yet
)

// Part tells what is known of a required resource; zero where nothing is.
func (a *Archive) Part(address string) (p Part, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		p, err = a.partOf(tx, address)
		return err
	})
	return p, err
}

func (a *Archive) partOf(tx *bolt.Tx, address string) (p Part, err error) {
	k := []byte(address)
	value := tx.Bucket(bParts).Get(k)
	if value == nil {
		return p, nil
	}
	if err := unpack(k, value, &p); err != nil {
		return p, a.damaged("what is known of "+address+", which pages require,", err)
	}
	return p, nil
}

// SetPart notes what is known of a required resource, and of a zero Part that nothing is; in the
// same transaction, that pages wait for an answer of it. What is no URL cannot be asked for either,
// and nothing is noted of it.
func (a *Archive) SetPart(ctx context.Context, address string, p Part, waiting ...string) error {
	if checkURL(address) != nil {
		return nil
	}
	return a.do(ctx, 0, func(t *txn) error {
		for _, page := range waiting {
			if err := t.await(address, page, ForAnswer); err != nil {
				return err
			}
		}
		if p == (Part{}) {
			return t.erasePart(address)
		}
		k := []byte(address)
		p.Fetched = utc(p.Fetched)
		return t.tx.Bucket(bParts).Put(k, mustPack(k, p))
	})
}

func (t *txn) erasePart(address string) error {
	b, k := t.tx.Bucket(bParts), []byte(address)
	if b.Get(k) == nil {
		return nil
	}
	return errors.Join(t.erased(), b.Delete(k))
}

// PendingParts lists the required resources of which pages have still to be judged.
func (a *Archive) PendingParts() (list []string, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bParts).ForEach(func(k, value []byte) error {
			var p Part
			if unpack(k, value, &p) == nil && p.Pending != Nobody { // what cannot be read is found by Verify
				list = append(list, string(k))
			}
			return nil
		})
	})
	return list, err
}

// Wait says when a page is judged that waits for a resource that it requires.
type Wait byte

const (
	ForAnswer Wait = 1 + iota // with the next answer: the resource could not be had
	ForChange                 // with another answer: nothing was made of this one
)

// waitOf reads a value of bAwaited.
func waitOf(value []byte) Wait {
	if len(value) == 1 && Wait(value[0]) == ForChange {
		return ForChange
	}
	return ForAnswer
}

// waits tells what a page waits for of a resource; 0: for nothing.
func waits(tx *bolt.Tx, part, page string) Wait {
	if value := tx.Bucket(bAwaited).Get(pair(part, page)); value != nil {
		return waitOf(value)
	}
	return 0
}

// Await notes that pages are to be judged when the resource that they require gives what they wait
// for. They need not be known.
func (a *Archive) Await(ctx context.Context, part string, wait Wait, pages ...string) error {
	return a.await(ctx, part, wait, pages)
}

// Awaited notes that pages do not wait for it any more.
func (a *Archive) Awaited(ctx context.Context, part string, pages ...string) error {
	return a.await(ctx, part, 0, pages)
}

// await lets pages wait, or with 0 not any more. Where they do so already nothing is written.
func (a *Archive) await(ctx context.Context, part string, wait Wait, pages []string) error {
	if checkURL(part) != nil {
		return nil
	}
	var change []string
	err := a.view(func(tx *bolt.Tx) error {
		for _, page := range pages {
			if waits(tx, part, page) != wait {
				change = append(change, page)
			}
		}
		return nil
	})
	if err != nil || len(change) == 0 {
		return err
	}
	return a.do(ctx, 0, func(t *txn) error {
		for _, page := range change {
			if err := t.await(part, page, wait); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *txn) await(part, page string, wait Wait) error {
	awaited, awaits := t.tx.Bucket(bAwaited), t.tx.Bucket(bAwaits)
	if wait == 0 {
		return errors.Join(awaited.Delete(pair(part, page)), awaits.Delete(pair(page, part)))
	}
	return errors.Join(awaited.Put(pair(part, page), []byte{byte(wait)}), awaits.Put(pair(page, part), nil))
}

// AwaitAfter lets a page wait, or with 0 not, that was judged by the answer by of a required
// resource. Where another answer than that has been noted since, it waits for the next one, and
// that is reported.
func (a *Archive) AwaitAfter(ctx context.Context, part string, by Part, wait Wait, page string) (late bool, err error) {
	if checkURL(part) != nil {
		return false, nil
	}
	stands := false
	look := func(tx *bolt.Tx) error {
		known, err := a.partOf(tx, part)
		if late = known.Fetched.After(by.Fetched) && known.Digest != by.Digest; late {
			wait = ForAnswer
		}
		stands = waits(tx, part, page) == wait
		return err
	}
	if err := a.view(look); err != nil || stands {
		return late, err
	}
	err = a.do(ctx, 0, func(t *txn) error {
		if err := look(t.tx); err != nil || stands {
			return err
		}
		return t.await(part, page, wait)
	})
	return late, err
}

// Awaiting lists the pages that wait for an answer of a resource, and those that wait for another
// one.
func (a *Archive) Awaiting(part string) (answer, change []string, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		prefix := under(part)
		c := tx.Bucket(bAwaited).Cursor()
		for k, value := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, value = c.Next() {
			page := string(k[len(prefix):])
			if waitOf(value) == ForChange {
				change = append(change, page)
			} else {
				answer = append(answer, page)
			}
		}
		return nil
	})
	return answer, change, err
}

// Awaits lists the resources that a page waits for.
func (a *Archive) Awaits(page string) (list []string, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		list = others(tx.Bucket(bAwaits), page)
		return nil
	})
	return list, err
}

// others lists what stands with url in a bucket of pairs.
func others(b *bolt.Bucket, url string) (list []string) {
	prefix := under(url)
	c := b.Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		list = append(list, string(k[len(prefix):]))
	}
	return list
}

func (v *verifier) part(k, value []byte) {
	unreadable := func(value []byte) bool { return unpack(k, value, &Part{}) != nil }
	if unreadable(value) {
		k = bytes.Clone(k)
		v.find(fmt.Sprintf("what is known of %q, which pages require,", k), errRecord.Error(), forget(bParts, k,
			func(value []byte) bool { return !unreadable(value) }))
	}
}

// awaited checks that what waits is listed at the page too.
func (v *verifier) awaited(k, _ []byte) {
	k = bytes.Clone(k)
	part, page, _ := bytes.Cut(k, []byte{0})
	if checkURL(string(part)) != nil || checkURL(string(page)) != nil {
		v.find(fmt.Sprintf("what waits as %q", k), "names no URLs", func(t *txn) (string, error) {
			return "removed", t.tx.Bucket(bAwaited).Delete(k)
		})
		return
	}
	back := pair(string(page), string(part))
	if v.tx.Bucket(bAwaits).Get(back) == nil {
		v.find(string(page), fmt.Sprintf("does not list %q, which it waits for", part), func(t *txn) (string, error) {
			if t.tx.Bucket(bAwaited).Get(k) == nil {
				return "", nil
			}
			return "listed", t.tx.Bucket(bAwaits).Put(back, nil)
		})
	}
}

// awaits checks that a page waits for what is listed there.
func (v *verifier) awaits(k, _ []byte) {
	k = bytes.Clone(k)
	page, part, _ := bytes.Cut(k, []byte{0})
	waits := pair(string(part), string(page))
	if v.tx.Bucket(bAwaited).Get(waits) == nil {
		v.find(string(page), fmt.Sprintf("lists %q, which it does not wait for", part), func(t *txn) (string, error) {
			if t.tx.Bucket(bAwaited).Get(waits) != nil {
				return "", nil
			}
			return "taken off the list", t.tx.Bucket(bAwaits).Delete(k)
		})
	}
}

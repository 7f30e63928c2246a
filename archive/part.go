package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Part describes a subresource that pages require. The URL of the record is the one under which the
// pages refer to the subresource. A Part contains no content of the subresource.
type Part struct {
	Fetched time.Time `json:",omitzero"` // time of the last request with a usable answer
	// digest of the content from which the pages were last made; "" if there was no content
	Digest             string `json:",omitempty"`
	ETag, LastModified string `json:",omitempty"`

	Pending Pending `json:",omitempty"` // which of the pages must be decided again
	// why pages may not use the subresource, and the line that led to this decision; "" if pages
	// may use it
	Why, Line string `json:",omitempty"`
}

// Pending says which pages that require a subresource must be decided again.
type Pending uint8

const (
	Nobody  Pending = iota
	Waiting         // the pages that wait for the subresource
	// all pages that use it: the subresource may no longer be used, but data made from it is still
	// stored
	Everybody
)

// Part returns what is known about a subresource, or the zero Part.
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

// SetPart stores what is known about a subresource; a zero Part deletes the record. The same
// transaction stores that the pages in waiting wait for the answer of the subresource. SetPart does
// nothing if address is not a valid URL, because an invalid URL is never requested.
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

// PendingParts returns the subresources whose pages must be decided again.
func (a *Archive) PendingParts() (list []string, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bParts).ForEach(func(k, value []byte) error {
			var p Part
			if unpack(k, value, &p) == nil && p.Pending != Nobody { // Verify reports unreadable records
				list = append(list, string(k))
			}
			return nil
		})
	})
	return list, err
}

// Wait says when to decide again about a page that waits for a subresource.
type Wait byte

const (
	ForAnswer Wait = 1 + iota // after the next answer, because the subresource could not be fetched
	// after an answer with different content, because the page cannot use the current content
	ForChange
)

// waitOf decodes a value of bAwaited.
func waitOf(value []byte) Wait {
	if len(value) == 1 && Wait(value[0]) == ForChange {
		return ForChange
	}
	return ForAnswer
}

// waits returns what the page waits for, or 0 if it does not wait for the subresource.
func waits(tx *bolt.Tx, part, page string) Wait {
	if value := tx.Bucket(bAwaited).Get(pair(part, page)); value != nil {
		return waitOf(value)
	}
	return 0
}

// Await stores that pages wait for the subresource at the URL part: after the answer that wait
// describes, the pages must be decided again. The archive need not know the pages.
func (a *Archive) Await(ctx context.Context, part string, wait Wait, pages ...string) error {
	return a.await(ctx, part, wait, pages)
}

// Awaited stores that pages no longer wait for the subresource.
func (a *Archive) Awaited(ctx context.Context, part string, pages ...string) error {
	return a.await(ctx, part, 0, pages)
}

// await stores that pages wait for the subresource at the URL part. If wait is 0, it stores that
// the pages no longer wait. If this is already stored, await writes nothing.
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

// AwaitAfter stores the result of a decision about a page: the page waits for a subresource as wait
// says, or does not wait if wait is 0. by describes the answer of the subresource that the decision
// used. If a later answer has different content, the page waits for the next answer instead, and
// late is true.
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
		if err := look(t.tx.Tx); err != nil || stands {
			return err
		}
		return t.await(part, page, wait)
	})
	return late, err
}

// Awaiting returns the pages that wait for a subresource: answer contains the pages that wait for
// any answer, and change those that wait for an answer with different content.
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

// AwaitedParts returns the subresources for whose next answer pages wait, in ascending order.
func (a *Archive) AwaitedParts() (list []string, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bAwaited).ForEach(func(k, value []byte) error {
			part, _, _ := bytes.Cut(k, []byte{0})
			if waitOf(value) == ForAnswer && (len(list) == 0 || list[len(list)-1] != string(part)) {
				list = append(list, string(part))
			}
			return nil
		})
	})
	return list, err
}

// Awaits returns the subresources that a page waits for.
func (a *Archive) Awaits(page string) (list []string, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		list = others(tx.Bucket(bAwaits), page)
		return nil
	})
	return list, err
}

// others returns the second URL of each key in b that consists of url and a second URL.
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

// awaited checks an entry of the list of pages that wait for a subresource: the page must have an
// entry for the subresource in the other list.
func (v *verifier) awaited(k, _ []byte) {
	k = bytes.Clone(k)
	part, page, _ := bytes.Cut(k, []byte{0})
	if checkURL(string(part)) != nil || checkURL(string(page)) != nil {
		v.find(fmt.Sprintf("the wait record %q", k), "names no URLs", func(t *txn) (string, error) {
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

// awaits checks an entry of the list of subresources for which a page waits: the subresource must
// have an entry for the page in the other list.
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

package archive

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// passedKey lists a capture at the address of an answer that is kept in it because it led there.
func passedKey(url string, id uint64) []byte { return pair(url, string(idKey(id))) }

// splitPassed reads what passedKey has written.
func splitPassed(k []byte) (url string, id uint64, ok bool) {
	at, rest, ok := bytes.Cut(k, []byte{0})
	return string(at), number(rest), ok && len(rest) == 8
}

// putPassed lists a capture at the addresses that led to it. What is no key cannot be asked for
// either.
func putPassed(tx *bolt.Tx, id uint64, hops []Via) error {
	for _, hop := range hops {
		if checkURL(hop.URL) != nil {
			continue
		}
		if err := tx.Bucket(bPassed).Put(passedKey(hop.URL, id), nil); err != nil {
			return err
		}
	}
	return nil
}

// dropPassed takes a capture off those lists. Where it cannot be read any more, Verify finds what
// is left of them.
func (t *txn) dropPassed(id uint64) error {
	_, text, err := t.a.openCapture(t.tx, id)
	if err != nil {
		return nil
	}
	for _, hop := range text.Hops {
		if err := t.tx.Bucket(bPassed).Delete(passedKey(hop.URL, id)); err != nil {
			return err
		}
	}
	return nil
}

// passedAt lists the captures that keep an answer of url.
func passedAt(tx *bolt.Tx, url string) (ids []uint64) {
	prefix := under(url)
	c := tx.Bucket(bPassed).Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		ids = append(ids, number(k[len(prefix):]))
	}
	return ids
}

// eraseHops takes the answers of url out of the captures of the pages that they led to, which get
// new keys, and says how many there were. A capture that cannot be read stays, and stays listed.
func (t *txn) eraseHops(url string) (n int, err error) {
	for _, id := range passedAt(t.tx, url) {
		rec, text, err := t.a.openCapture(t.tx, id)
		if err != nil {
			continue
		}
		n += text.forget(url)
		plain, err := text.plain()
		if err == nil {
			err = t.resealCapture(id, rec, plain)
		}
		if err == nil {
			err = t.tx.Bucket(bPassed).Delete(passedKey(url, id))
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// forget takes out the answers of url, and says how many there were.
func (t *captureText) forget(url string) (n int) {
	for i := len(t.Hops) - 1; i >= 0; i-- {
		if t.Hops[i].URL != url {
			continue
		}
		if i < len(t.exchanges) {
			t.exchanges = slices.Delete(t.exchanges, i, i+1)
		}
		t.Hops = slices.Delete(t.Hops, i, i+1)
		n++
	}
	return n
}

// led checks that a capture is listed at the addresses that led to it.
func (v *verifier) led(where string, id uint64, hops []Via) {
	for _, hop := range hops {
		if checkURL(hop.URL) != nil || v.tx.Bucket(bPassed).Get(passedKey(hop.URL, id)) != nil {
			continue
		}
		v.find(where, "is not listed at "+hop.URL+", which led to it", func(t *txn) (string, error) {
			if led, err := v.leads(t.tx, hop.URL, id); err != nil || !led {
				return "", nil
			}
			return "listed", putPassed(t.tx, id, []Via{hop})
		})
	}
}

// passed checks that what is listed at an address was led to from there.
func (v *verifier) passed(k, _ []byte) {
	url, id, ok := splitPassed(k)
	led, err := v.leads(v.tx, url, id)
	if ok && (led || err != nil) { // what cannot be read is a finding of its own
		return
	}
	k = bytes.Clone(k)
	v.find(fmt.Sprintf("capture %d", id), fmt.Sprintf("is listed at %q, which did not lead to it", url),
		func(t *txn) (string, error) {
			if led, err := v.leads(t.tx, url, id); ok && (led || err != nil) {
				return "", nil
			}
			return "taken off the list", t.tx.Bucket(bPassed).Delete(k)
		})
}

// leads reports whether an answer of url is kept in a capture; an error says that this cannot be
// read.
func (v *verifier) leads(tx *bolt.Tx, url string, id uint64) (bool, error) {
	_, text, err := v.a.openCapture(tx, id)
	if errors.Is(err, ErrNotHeld) {
		return false, nil
	}
	return slices.ContainsFunc(text.Hops, func(h Via) bool { return h.URL == url }), err
}

package archive

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// passedKey returns the key that lists the capture with the given ID under url. The capture
// contains an answer of url, which redirected to the captured page.
func passedKey(url string, id uint64) []byte { return pair(url, string(idKey(id))) }

// splitPassed decodes a key made by passedKey.
func splitPassed(k []byte) (url string, id uint64, ok bool) {
	at, rest, ok := bytes.Cut(k, []byte{0})
	return string(at), number(rest), ok && len(rest) == 8
}

// putPassed lists a capture under the URLs that redirected to it. It skips invalid URLs, which are
// never requested.
func putPassed(tx writeTx, id uint64, hops []Via) error {
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

// dropPassed removes a capture from the lists to which putPassed has added it. If the capture
// cannot be read, entries remain, and Verify finds them.
func (t *txn) dropPassed(id uint64) error {
	_, text, err := t.a.openCapture(t.tx.Tx, id)
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

// passedAt returns the captures that contain an answer of url.
func passedAt(tx *bolt.Tx, url string) (ids []uint64) {
	prefix := under(url)
	c := tx.Bucket(bPassed).Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		ids = append(ids, number(k[len(prefix):]))
	}
	return ids
}

// eraseHops removes the answers of url from captures of the pages to which it redirected, and gives
// these captures new keys. n is the number of removed answers. A capture that cannot be read is not
// changed, and url keeps its list entry for that capture.
func (t *txn) eraseHops(url string) (n int, err error) {
	for _, id := range passedAt(t.tx.Tx, url) {
		rec, text, err := t.a.openCapture(t.tx.Tx, id)
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

// forget removes the answers of url from the hops and returns the number of removed answers.
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

// led checks that a capture is listed under the URLs that redirected to it.
func (v *verifier) led(where string, id uint64, hops []Via) {
	for _, hop := range hops {
		if checkURL(hop.URL) != nil || v.tx.Bucket(bPassed).Get(passedKey(hop.URL, id)) != nil {
			continue
		}
		v.find(where, "is not listed at "+hop.URL+", which redirected to it", func(t *txn) (string, error) {
			if led, err := v.leads(t.tx.Tx, hop.URL, id); err != nil || !led {
				return "", nil
			}
			return "listed", putPassed(t.tx, id, []Via{hop})
		})
	}
}

// passed checks that a capture listed under a URL contains an answer of that URL.
func (v *verifier) passed(k, _ []byte) {
	url, id, ok := splitPassed(k)
	led, err := v.leads(v.tx, url, id)
	if ok && (led || err != nil) { // unreadable captures are reported separately
		return
	}
	k = bytes.Clone(k)
	v.find(fmt.Sprintf("capture %d", id), fmt.Sprintf("is listed at %q, which did not redirect to it", url),
		func(t *txn) (string, error) {
			if led, err := v.leads(t.tx.Tx, url, id); ok && (led || err != nil) {
				return "", nil
			}
			return "taken off the list", t.tx.Bucket(bPassed).Delete(k)
		})
}

// leads reports whether a capture contains an answer of url. The error means that the capture
// cannot be read.
func (v *verifier) leads(tx *bolt.Tx, url string, id uint64) (bool, error) {
	_, text, err := v.a.openCapture(tx, id)
	if errors.Is(err, ErrNotHeld) {
		return false, nil
	}
	return slices.ContainsFunc(text.Hops, func(h Via) bool { return h.URL == url }), err
}

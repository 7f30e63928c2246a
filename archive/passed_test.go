package archive

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// ledTo returns a deposit of url after a redirect chain through the URLs in from. The header of
// each redirect contains a word that occurs nowhere else.
func ledTo(url string, from ...string) Deposit {
	d := deposit(url, url)
	d.Head = []byte("HTTP/1.1 200 OK\r\nX-Own: kept\r\n\r\n")
	for i, address := range from {
		h := http.Header{"X-Word": {fmt.Sprint("word", i)}}
		d.Hops = append(d.Hops, Via{URL: address, Status: 302, Header: h, Sent: []byte("GET " + address),
			Head: []byte(fmt.Sprint("X-Word: word", i))})
	}
	return d
}

// sealedText returns the sealed text of a capture as stored in the file, and its key slot.
func sealedText(t *testing.T, a *Archive, id uint64) (sealed []byte, slot uint64) {
	t.Helper()
	err := a.view(func(tx *bolt.Tx) error {
		rec, text, err := a.captureRecord(tx, id)
		sealed, slot = bytes.Clone(text), rec.Key
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sealed, slot
}

// Erasing a URL also erases the answers of that URL in captures of other pages. Their keys are
// destroyed at once; the next compaction removes the sealed bytes. Everything else in those
// captures remains.
func TestEraseHops(t *testing.T) {
	const url, other, old, mid = "http://example.com/new", "http://example.com/newer", "http://example.com/old",
		"http://example.com/mid"
	ctx := context.Background()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	c := put(t, a, ledTo(url, old, mid, old))
	apart := put(t, a, ledTo(other, mid))
	was, slot := sealedText(t, a, c.ID)
	key := readKeys(t, a, []uint64{slot})[0]
	r := remains{"key": bytes.Clone(key[:])}
	for at := 0; at+24 <= len(was); at += 24 {
		r[fmt.Sprint("text at ", at)] = was[at : at+24]
	}
	if found := r.in(t, dir); len(found) != len(r) {
		t.Fatalf("the test looks in the wrong place: %q", found)
	}
	if left := receipt(t, a, old).Left; len(left) != 1 {
		t.Errorf("left %v", left)
	}
	if n, err := a.Erase(ctx, Tombstone{URL: old, Why: "asked", Asked: true}); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	after, err := a.Capture(c.ID)
	if err != nil || len(after.Hops) != 1 || after.Hops[0].URL != mid ||
		after.Hops[0].Header.Get("X-Word") != "word1" || string(after.Hops[0].Head) != "X-Word: word1" ||
		string(after.Hops[0].Sent) != "GET "+mid || after.Header.Get("Content-Type") != "text/html" ||
		!bytes.Contains(after.Head, []byte("X-Own: kept")) {
		t.Errorf("%+v, %v", after, err)
	}
	if found := r.in(t, dir); slices.Contains(found, "key in keys.db") {
		t.Errorf("the key is there: %q", found)
	}
	if r := receipt(t, a, old); !r.Verified() || len(r.Erasures) != 1 || r.Erasures[0].Hops != 2 ||
		len(r.Erasures[0].Keys) != 1 {
		t.Errorf("%+v", r)
	}
	if again, err := a.Erase(ctx, Tombstone{URL: old, Why: "asked"}); again != 0 || err != nil ||
		len(receipt(t, a, old).Erasures) != 1 {
		t.Error(again, err)
	}
	hasBody(t, a, c.ID, "<p>"+url)
	compact(t, a)
	if found := r.in(t, dir); found != nil {
		t.Errorf("compacted, and there is still %q", found)
	}
	if list := receipt(t, a, mid).Left; len(list) != 2 {
		t.Errorf("of another address is left %v", list)
	}
	// when a capture is erased, it is removed from the lists of the URLs that redirected to it
	if _, err := a.Erase(ctx, Tombstone{URL: url}); err != nil {
		t.Fatal(err)
	}
	if err := a.EraseCapture(ctx, apart.ID, Tombstone{}); err != nil {
		t.Fatal(err)
	}
	if list := receipt(t, a, mid).Left; list != nil {
		t.Errorf("left %v", list)
	}
}

// If a capture cannot be read, erasing a URL that redirected to the capture does not change the
// capture or its list entry. The receipt and Verify report the capture.
func TestEraseHopsUnreadable(t *testing.T) {
	const url, old = "http://example.com/new", "http://example.com/old"
	ctx := context.Background()
	a := open(t, t.TempDir(), Options{})
	c, whole := put(t, a, ledTo(url, old)), put(t, a, ledTo("http://example.com/newer", old))
	err := a.do(ctx, 0, func(t *txn) error {
		rec, sealed, err := t.a.captureRecord(t.tx.Tx, c.ID)
		if err != nil {
			return err
		}
		sealed = bytes.Clone(sealed)
		sealed[3] ^= 1
		value, err := packSealed(idKey(c.ID), rec, sealed)
		if err != nil {
			return err
		}
		return t.tx.Bucket(bCaptures).Put(idKey(c.ID), value)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Erase(ctx, Tombstone{URL: old, Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	if c, err := a.Capture(whole.ID); err != nil || len(c.Hops) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if r := receipt(t, a, old); r.Verified() || len(r.Left) != 1 {
		t.Errorf("%+v", r)
	}
	if left, err := a.Repair(ctx, nil); err != nil || left != nil {
		t.Errorf("left %v, %v", left, err)
	}
	if r := receipt(t, a, old); !r.Verified() {
		t.Errorf("%+v", r)
	}
}

// If the list of captures by redirecting URL lacks entries or has wrong entries, Verify finds that
// and Repair corrects the list.
func TestRepairPassed(t *testing.T) {
	const url, old = "http://example.com/new", "http://example.com/old"
	for name, spoil := range map[string]func(b *bolt.Bucket, id uint64) error{
		"lost": func(b *bolt.Bucket, id uint64) error { return b.Delete(passedKey(old, id)) },
		"of another": func(b *bolt.Bucket,
			id uint64) error {
			return b.Put(passedKey("http://example.com/x", id), nil)
		},
		"a capture not known": func(b *bolt.Bucket, id uint64) error { return b.Put(passedKey(old, id+1), nil) },
		"what is no record":   func(b *bolt.Bucket, _ uint64) error { return b.Put([]byte("x"), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			a := open(t, t.TempDir(), Options{})
			c := put(t, a, ledTo(url, old))
			if err := a.do(context.Background(), 0,
				func(t *txn) error { return spoil(t.tx.Tx.Bucket(bPassed), c.ID) }); err != nil {
				t.Fatal(err)
			}
			problems, err := a.Verify(context.Background(), VerifyOptions{})
			if err != nil || len(problems) != 1 || !problems[0].Repairable {
				t.Errorf("found %v, %v", problems, err)
			}
			if left, err := a.Repair(context.Background(), nil); err != nil || left != nil {
				t.Errorf("left %v, %v", left, err)
			}
			if list := receipt(t, a, old).Left; len(list) != 1 {
				t.Errorf("%v", list)
			}
		})
	}
}

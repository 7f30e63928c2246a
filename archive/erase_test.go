package archive

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/acap"
)

func TestEraseShared(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	ctx := context.Background()
	put(t, a, deposit("http://example.com/1", "same"))
	put(t, a, deposit("http://example.com/1", "same"))
	c := put(t, a, deposit("http://example.com/2", "same"))
	if s := stats(t, a); s.Captures != 3 || s.Bodies != 1 {
		t.Fatalf("%+v", s)
	}
	if n, err := a.Erase(ctx, Tombstone{URL: "http://example.com/1", Why: "take-down",
		Line: "http://example.com/robots.txt:3"}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	hasBody(t, a, c.ID, "<p>same")
	if s := stats(t, a); s.Captures != 1 || s.Bodies != 1 {
		t.Errorf("%+v", s)
	}
	if n, err := a.Erase(ctx, Tombstone{URL: "http://example.com/2", Why: "take-down"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := a.Body(c.ID); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
	if s := stats(t, a); s != (Stats{Resources: 2, Tombstones: 2}) {
		t.Errorf("%+v", s)
	}
	hasBody(t, a, put(t, a, deposit("http://example.com/2", "same")).ID, "<p>same")
}

func TestEraseKeepsDatesOnly(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, Options{})
	ctx := context.Background()
	const url = "http://example.com/x"
	d := deposit(url, "x")
	d.Index, d.Aliases = true, []string{"http://example.com/hop"}
	d.Resource.Own = acap.Own{URL: url, Tags: []acap.Tag{{Name: "robots", Content: "noarchive"}}}
	put(t, a, d)
	was := resource(t, a, url)
	for range 2 { // the second time there is nothing left to erase
		if _, err := a.Erase(ctx,
			Tombstone{URL: url, Why: "take-down", Line: "http://example.com/robots.txt:3"}); err != nil {
			t.Fatal(err)
		}
	}
	want := Resource{URL: url, FirstCrawled: was.FirstCrawled, FirstIndexed: was.FirstIndexed,
		FirstPreserved: was.FirstPreserved,
		LastCrawled:    was.LastCrawled, Status: 200, Versions: 1}
	if r := resource(t, a, url); !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, want %+v", r, want)
	}
	if to, _ := a.Resolve("http://example.com/hop"); to != "http://example.com/hop" {
		t.Error("the alias still leads to", to)
	}
	stones, err := a.Tombstones(url)
	if err != nil || len(stones) != 1 || len(stones[0].Keys) != 3 {
		t.Fatalf("%+v, %v", stones, err)
	}
	stones[0].Keys = nil
	if !reflect.DeepEqual(stones, []Tombstone{{URL: url, Captures: 1, Aliases: 1, Entry: true, Known: true, When: noon,
		Why: "take-down", Line: "http://example.com/robots.txt:3"}}) {
		t.Errorf("%+v", stones)
	}
	if n, err := a.Erase(ctx, Tombstone{URL: "http://example.com/never", Why: "take-down"}); n != 0 || err != nil ||
		stats(t, a).Tombstones != 1 {
		t.Error(n, err)
	}
	if c := put(t, a, d); c.Version != 2 || !resource(t, a, url).FirstPreserved.Equal(was.FirstPreserved) {
		t.Errorf("%+v", c)
	}
}

func TestEraseCapture(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	ctx := context.Background()
	const url = "http://example.com/x"
	one, two := put(t, a, deposit(url, "one")), put(t, a, deposit(url, "two"))
	if err := a.EraseCapture(ctx, two.ID, Tombstone{Why: "expired"}); err != nil {
		t.Fatal(err)
	}
	r := resource(t, a, url)
	if r.Current != 0 || r.Kept.Title != "Title of two" || r.Versions != 2 {
		t.Errorf("%+v", r)
	}
	if list, err := a.Captures(url); err != nil || len(list) != 1 || list[0].ID != one.ID || list[0].Current {
		t.Errorf("%+v, %v", list, err)
	}
	if err := a.EraseCapture(ctx, two.ID, Tombstone{Why: "expired"}); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
	stones, _ := a.Tombstones(url)
	if len(stones) != 1 || stones[0].Version != 2 {
		t.Errorf("%+v", stones)
	}
}

// Without the keys, nobody can read the content from the files. After the erasure of the content,
// nobody can read it with the remaining keys either.
func TestSealed(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, Options{})
	const url = "http://example.com/secret"
	d := deposit(url, "")
	d.Body = []byte("unmistakable-body")
	d.Resource.Kept.Title, d.Resource.Kept.Index, d.Resource.ETag = "unmistakable-title", "unmistakable-excerpt",
		"unmistakable-etag"
	d.Resource.Own.Tags = []acap.Tag{{Name: "robots", Content: "unmistakable-meta"}}
	d.Header = map[string][]string{"X-A": {"unmistakable-header"}}
	d.Decided = map[acap.Usage]string{acap.Index: "unmistakable-line"}
	c := put(t, a, d)
	d.Resource.Kept.Title = "unmistakable-later"
	d.Body = nil
	put(t, a, d)

	sealed, slots := sealedThings(t, a, c)
	before := readKeys(t, a, slots)
	sum, err := digestBytes(c.Payload)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unseal(before[0], ofBody(sum), sealed); err != nil {
		t.Fatal("the copy of the sealed body cannot be opened before erasure:", err)
	}
	if _, err := a.Erase(context.Background(), Tombstone{URL: url, Why: "take-down"}); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "keys.db"))
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range readKeys(t, a, slots) {
		if !k.zero() || bytes.Contains(file, before[i][:]) {
			t.Errorf("key %d is still in its file", slots[i])
		}
		if _, err := unseal(k, ofBody(sum), sealed); err == nil {
			t.Error("the sealed body can still be opened")
		}
	}
	shut(t, a)
	for _, name := range []string{"archive.db", "keys.db"} {
		file, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(file, []byte("unmistakable")) {
			t.Errorf("content stands in %s", name)
		}
		for i, k := range before {
			if bytes.Contains(file, k[:]) {
				t.Errorf("key %d stands in %s", slots[i], name)
			}
		}
	}
}

// If the text of a page is replaced, the key of the old text is destroyed. This is true for every
// method of Archive that replaces the text.
func TestReplacedTextIsGone(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	const url = "http://example.com/x"
	put(t, a, deposit(url, "x"))
	slot := resourceSlot(t, a, url)
	if err := a.Update(context.Background(), url, func(r *Resource) { r.Status = 304 }); err != nil {
		t.Fatal(err)
	}
	if resourceSlot(t, a, url) != slot {
		t.Error("an unchanged text was sealed anew")
	}
	if err := a.Update(context.Background(), url, func(r *Resource) { r.Kept.Title = "" }); err != nil {
		t.Fatal(err)
	}
	if k, err := a.keys.read(slot); err != nil || !k.zero() {
		t.Error("the key of the old text is left", err)
	}
	if r := resource(t, a, url); r.Kept.Title != "" || r.MIME != "text/html" {
		t.Errorf("%+v", r)
	}
}

// If an erasure is interrupted after deleting the record and before destroying the key, the next
// write or the next Open destroys the key.
func TestDestroyLater(t *testing.T) {
	for _, how := range []string{"next write", "next opening"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			full := errors.New("no space")
			var fault error
			a := open(t, dir, Options{Fault: func(s Step) error {
				if s == Destroy {
					return fault
				}
				return nil
			}})
			c := put(t, a, deposit("http://example.com/", "x"))
			_, slots := sealedThings(t, a, c)
			fault = full
			if _, err := a.Erase(context.Background(),
				Tombstone{URL: "http://example.com/", Why: "take-down"}); !errors.Is(err, full) {
				t.Fatal(err)
			}
			if _, err := a.Body(c.ID); !errors.Is(err, ErrNotHeld) {
				t.Error(err)
			}
			if how == "next write" {
				fault = nil
				put(t, a, deposit("http://example.com/other", "y"))
			} else {
				shut(t, a)
				a = open(t, dir, Options{})
			}
			for _, k := range readKeys(t, a, slots) {
				if !k.zero() {
					t.Error("a key is left")
				}
			}
		})
	}
}

// sealedThings returns the sealed body of a capture, and the key slots of the body, the capture and
// the resource.
func sealedThings(t *testing.T, a *Archive, c Capture) (sealed []byte, slots []uint64) {
	t.Helper()
	sealed, slot := sealedBodyOf(t, a, c.Payload)
	var rec captureRecord
	err := a.view(func(tx *bolt.Tx) error {
		_, err := unpackSealed(idKey(c.ID), tx.Bucket(bCaptures).Get(idKey(c.ID)), &rec)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sealed, []uint64{slot, rec.Key, resourceSlot(t, a, c.URL)}
}

// sealedBodyOf returns the sealed bytes and the key slot of the body with the given digest.
func sealedBodyOf(t *testing.T, a *Archive, digest string) (sealed []byte, slot uint64) {
	t.Helper()
	err := a.view(func(tx *bolt.Tx) error {
		sum, err := digestBytes(digest)
		if err != nil {
			return err
		}
		rec, err := unpackBody(sum, tx.Bucket(bDigests).Get(sum))
		if err != nil {
			return err
		}
		slot = rec.Key
		sealed, err = a.sealedBody(tx, rec.ID, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sealed, slot
}

func resourceSlot(t *testing.T, a *Archive, url string) (slot uint64) {
	t.Helper()
	err := a.view(func(tx *bolt.Tx) error {
		var rec resourceRecord
		_, err := unpackSealed([]byte(url), tx.Bucket(bResources).Get([]byte(url)), &rec)
		slot = rec.Key
		return err
	})
	if err != nil || slot == 0 {
		t.Fatal(slot, err)
	}
	return slot
}

func readKeys(t *testing.T, a *Archive, slots []uint64) (list []key) {
	t.Helper()
	for _, slot := range slots {
		k, err := a.keys.read(slot)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, k)
	}
	return list
}

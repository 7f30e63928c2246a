package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func littlePicture(text string, other bool) *Picture {
	return &Picture{MIME: "image/png", Width: 3, Height: 2, Body: []byte(text), Other: other}
}

// pictures returns the stored thumbnails of url by version.
func pictures(t *testing.T, a *Archive, url string) map[int]string {
	t.Helper()
	versions, err := a.Pictured(url)
	if err != nil {
		t.Fatal(err)
	}
	list := map[int]string{}
	for version, other := range versions {
		p, held, err := a.Picture(url, version)
		if err != nil || !held || p.MIME != "image/png" || p.Width != 3 || p.Height != 2 || p.Other != other {
			t.Errorf("%d: %+v, %v, %v", version, p, held, err)
		}
		list[version] = string(p.Body)
	}
	return list
}

// Erasing a version erases its thumbnail. Storing the next version erases the thumbnail of the
// previous version if it was made from another resource, and a thumbnail that belongs to no copy.
func TestPictures(t *testing.T) {
	const url = "http://example.com/a"
	ctx := context.Background()
	receive := func(p *Picture, body bool) func(*Archive) error {
		return func(a *Archive) error {
			d := deposit(url, "x")
			d.Picture = p
			if !body {
				d.Body = nil
			}
			_, err := a.Receive(ctx, d)
			return err
		}
	}
	renew := func(id uint64, p *Picture) func(*Archive) error {
		return func(a *Archive) error {
			d := deposit(url, "x")
			d.Picture = p
			return a.Renew(ctx, id, d, false)
		}
	}
	erase := func(a *Archive) error {
		_, err := a.Erase(ctx, Tombstone{URL: url, Why: "asked"})
		return err
	}
	eraseCapture := func(id uint64) func(*Archive) error {
		return func(a *Archive) error { return a.EraseCapture(ctx, id, Tombstone{Why: "asked"}) }
	}
	replace := func(a *Archive) error {
		d := deposit(url, "y")
		d.Replace = true
		_, err := a.Receive(ctx, d)
		return err
	}
	for _, c := range []struct {
		name  string
		steps []func(*Archive) error
		want  map[int]string
	}{
		{"of a version", []func(*Archive) error{receive(littlePicture("one", false), true)}, map[int]string{1: "one"}},
		{"of each version", []func(*Archive) error{receive(littlePicture("one", false), true),
			receive(littlePicture("two", false), true)}, map[int]string{1: "one", 2: "two"}},
		{"of another resource", []func(*Archive) error{receive(littlePicture("one", true), true),
			receive(littlePicture("two", true), true)}, map[int]string{2: "two"}},
		{"without a copy", []func(*Archive) error{receive(littlePicture("one", false), false),
			receive(littlePicture("two", false), false)}, map[int]string{0: "two"}},
		{"without a copy, then with one", []func(*Archive) error{receive(littlePicture("one", false), false),
			receive(nil, true)}, nil},
		{"of a version, then without a copy", []func(*Archive) error{receive(littlePicture("one", false), true),
			receive(littlePicture("two", false), false)}, map[int]string{0: "two", 1: "one"}},
		{"renewed", []func(*Archive) error{receive(littlePicture("one", false), true),
			renew(2, littlePicture("again", true))}, map[int]string{1: "again"}},
		{"renewed without one", []func(*Archive) error{receive(littlePicture("one", false), true), renew(2, nil)}, nil},
		{"replaced", []func(*Archive) error{receive(littlePicture("one", false), true), replace}, nil},
		{"a version erased", []func(*Archive) error{receive(littlePicture("one", false), true),
			receive(littlePicture("two", false), true), eraseCapture(2)}, map[int]string{2: "two"}},
		{"the current version erased", []func(*Archive) error{receive(littlePicture("one", false), true),
			receive(littlePicture("two", false), true), eraseCapture(3)}, map[int]string{1: "one"}},
		{"erased", []func(*Archive) error{receive(littlePicture("one", false), true),
			receive(littlePicture("two", false), false), erase}, nil},
		{"erased alone", []func(*Archive) error{receive(littlePicture("one", false), true),
			func(a *Archive) error { return a.ErasePicture(ctx, url, 1) }}, nil},
		{"one that is not held", []func(*Archive) error{func(a *Archive) error { return a.ErasePicture(ctx, url, 1) }},
			nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			a := open(t, dir, Options{})
			company := deposit(url+"0", "company")
			company.Picture = littlePicture("company", false)
			put(t, a, company)
			for _, step := range c.steps {
				if err := step(a); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if got := pictures(t, a, url); !maps.Equal(got, c.want) {
					t.Errorf("%v, want %v", got, c.want)
				}
				if got := pictures(t, a, url+"0"); !maps.Equal(got, map[int]string{1: "company"}) {
					t.Errorf("company: %v", got)
				}
				if s, err := a.Stats(); err != nil || s.Pictures != len(c.want)+1 {
					t.Errorf("%d thumbnails are counted, %v", s.Pictures, err)
				}
				clean(t, a)
				compact(t, a)
			}
			r := receipt(t, a, url)
			left := 0
			for _, p := range r.Left {
				if bytes.Contains([]byte(p.Where), []byte("thumbnail")) {
					left++
				}
			}
			if left != len(c.want) {
				t.Errorf("the receipt names %d thumbnails: %v", left, r.Left)
			}
		})
	}
}

// After erasing a thumbnail, no file contains its key. After compaction, no file contains even its
// sealed bytes.
func TestNothingRemainsOfPictures(t *testing.T) {
	const url = "http://example.com/a"
	ctx := context.Background()
	for name, end := range map[string]func(*Archive) error{
		"erased": func(a *Archive) error {
			_, err := a.Erase(ctx, Tombstone{URL: url, Why: "asked"})
			return err
		},
		"alone":           func(a *Archive) error { return a.ErasePicture(ctx, url, 1) },
		"with its copy":   func(a *Archive) error { return a.EraseCapture(ctx, 1, Tombstone{Why: "asked"}) },
		"received again":  func(a *Archive) error { _, err := a.Receive(ctx, deposit(url, "again")); return err },
		"found unchanged": func(a *Archive) error { return a.Renew(ctx, 1, deposit(url, ""), false) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			a := open(t, dir, Options{})
			body := noise("a thumbnail", 3000)
			d := deposit(url, "x")
			d.Picture = littlePicture(string(body), true)
			put(t, a, d)
			left := remains{}
			err := a.view(func(tx *bolt.Tx) error {
				var rec pictureRecord
				k := versionKey(url, 1)
				sealed, err := unpackSealed(k, tx.Bucket(bPictures).Get(k), &rec)
				slot := readKeys(t, a, []uint64{rec.Key})[0]
				left["the key"], left["sealed"] = bytes.Clone(slot[:]), bytes.Clone(sealed[:24])
				return err
			})
			if err != nil || len(left.in(t, dir)) != 2 {
				t.Fatalf("the test looks in the wrong place: %v, %v", left.in(t, dir), err)
			}
			left["as it was"] = body[100:140]
			if err := end(a); err != nil {
				t.Fatal(err)
			}
			for _, found := range left.in(t, dir) {
				if found != "sealed in archive.db" {
					t.Error("at once:", found)
				}
			}
			compact(t, a)
			if found := left.in(t, dir); found != nil {
				t.Error("after compaction:", found)
			}
		})
	}
}

func TestRepairPictures(t *testing.T) {
	const url = "http://example.com/a"
	for _, c := range []struct {
		name  string
		spoil func(tx *bolt.Tx) error
		want  map[int]string
	}{
		{"a record that cannot be read", func(tx *bolt.Tx) error { return garble(tx, bPictures, versionKey(url, 1)) },
			map[int]string{0: "none"}},
		{"a picture of no version", func(tx *bolt.Tx) error {
			b := tx.Bucket(bPictures)
			return errors.Join(b.Put(versionKey(url, 7), []byte("?")), b.Put([]byte("x"), []byte("?")))
		}, map[int]string{0: "none", 1: "one"}},
		{"a version that is lost", func(tx *bolt.Tx) error { return tx.Bucket(bCaptures).Delete(idKey(1)) },
			map[int]string{0: "none"}},
		{"all of a page that is lost", func(tx *bolt.Tx) error {
			return errors.Join(tx.Bucket(bCaptures).Delete(idKey(1)), tx.Bucket(bResources).Delete([]byte(url)))
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			a := open(t, dir, Options{})
			d := deposit(url, "x")
			d.Picture = littlePicture("one", false)
			put(t, a, d)
			d.Body, d.Picture = nil, littlePicture("none", false)
			if _, err := a.Receive(context.Background(), d); err != nil {
				t.Fatal(err)
			}
			shut(t, a)
			spoil(t, dir, c.spoil)
			a = open(t, dir, Options{})
			if found, err := a.Verify(context.Background(), VerifyOptions{}); err != nil || len(found) == 0 {
				t.Errorf("found %v, %v", found, err)
			}
			for range 3 { // a repair can expose further problems, which the next repair finds
				if left, err := a.Repair(context.Background(), nil); err != nil {
					t.Fatal(err)
				} else if left == nil {
					break
				}
			}
			clean(t, a)
			if got := pictures(t, a, url); !maps.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	t.Run("a key that is gone", func(t *testing.T) {
		dir := t.TempDir()
		a := open(t, dir, Options{})
		d := deposit(url, "x")
		d.Picture = littlePicture("one", false)
		put(t, a, d)
		shut(t, a)
		writeKey(t, dir, keyOf(t, dir, bPictures, versionKey(url, 1)), 0)
		a = open(t, dir, Options{})
		if _, _, err := a.Picture(url, 1); !errors.Is(err, ErrCorrupt) {
			t.Error(err)
		}
		if left, err := a.Repair(context.Background(), nil); err != nil || left != nil {
			t.Errorf("left %v, %v", left, err)
		}
		if got := pictures(t, a, url); len(got) != 0 {
			t.Errorf("%v", got)
		}
	})
}

// coursePicture returns the thumbnail of a capture with the given body number in the fault tests.
func coursePicture(body int) *Picture {
	return littlePicture(fmt.Sprint("picture ", body, noise("p", 600)), body%2 == 0)
}

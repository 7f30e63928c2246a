package archive

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/acap"
)

const (
	left  = "http://example.com/left"
	right = "http://example.com/right"
)

// mendAfter finds the problems of the archive and calls fn, which changes the archive. Then it
// repairs the problems found before the change, and finally all other problems.
func mendAfter(t *testing.T, a *Archive, fn func()) {
	t.Helper()
	found, err := a.inspect(t.Context(), &reading{})
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	fn()
	if _, err := a.repairRound(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	if left, err := a.Repair(t.Context(), nil); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// If a lost body is received again while the loss is repaired, the body is kept. A capture that had
// lost only this body can be read again.
func TestRepairOfReceivedAgain(t *testing.T) {
	for _, buried := range []bool{false, true} {
		dir := t.TempDir()
		a := open(t, dir, Options{})
		x := put(t, a, deposit(left, "same"))
		shut(t, a)
		sum := sha256.Sum256([]byte("<p>same"))
		spoil(t, dir, func(tx *bolt.Tx) error { return tx.Bucket(bDigests).Delete(sum[:]) })
		if buried { // the text of the capture is lost, too
			writeKey(t, dir, keyOf(t, dir, bCaptures, idKey(x.ID)), 0xff)
		}
		a, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var y Capture
		mendAfter(t, a, func() { y = put(t, a, deposit(right, "same")) })
		hasBody(t, a, y.ID, "<p>same")
		if _, err := a.Body(x.ID); errors.Is(err, ErrNotHeld) != buried || !buried && err != nil {
			t.Errorf("buried %v: %v", buried, err)
		}
		shut(t, a)
	}
}

// If the stored reference count of a body is too low and one of its captures is erased, the body
// remains.
func TestRepairRecountsFirst(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, Options{})
	x, y := put(t, a, deposit(left, "same")), put(t, a, deposit(right, "same"))
	shut(t, a)
	spoil(t, dir, func(tx *bolt.Tx) error { return amendBody(tx, "same", func(b *bodyRecord) { b.Refs = 1 }) })
	writeKey(t, dir, keyOf(t, dir, bCaptures, idKey(x.ID)), 0xff)
	a, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	mendAfter(t, a, func() {})
	hasBody(t, a, y.ID, "<p>same")
	if _, err := a.Body(x.ID); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
	shut(t, a)
}

// own returns statements with the given text, so that the test can distinguish copies.
func own(text string) acap.Own {
	return acap.Own{URL: left, Tags: []acap.Tag{{Source: acap.Meta, Name: "robots", Content: text}}}
}

// pastAndPresent makes a page whose current copy has a lower version number than an imported older
// copy.
func pastAndPresent(t *testing.T) (dir string, current Capture) {
	t.Helper()
	dir = t.TempDir()
	a := open(t, dir, Options{})
	d := deposit(left, "now")
	d.Resource.Own = own("now")
	current = put(t, a, d)
	d = deposit(left, "before")
	d.Fetched, d.Past, d.Resource.Own = noon.Add(-time.Hour), true, own("before")
	put(t, a, d)
	shut(t, a)
	return dir, current
}

// Repair takes the statements of a page from its newest copy, not from the one that was received
// last.
func TestRepairPast(t *testing.T) {
	for _, lost := range []bool{false, true} { // whether the text of the resource or its whole record is lost
		dir, _ := pastAndPresent(t)
		if lost {
			spoil(t, dir, func(tx *bolt.Tx) error { return garble(tx, bResources, []byte(left)) })
		} else {
			writeKey(t, dir, keyOf(t, dir, bResources, []byte(left)), 0xff)
		}
		a, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		mendAfter(t, a, func() {})
		if r := resource(t, a, left); len(r.Own.Tags) != 1 || r.Own.Tags[0].Content != "now" {
			t.Errorf("lost %v: %+v", lost, r.Own)
		}
		shut(t, a)
	}
}

// Repair treats the current copy as the newest copy, whatever its date is.
func TestRepairCurrent(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, Options{})
	for _, text := range []string{"before", "now"} {
		d := deposit(left, text)
		d.Resource.Own = own(text)
		if text == "now" {
			d.Fetched = noon.Add(-time.Hour)
		}
		put(t, a, d)
	}
	shut(t, a)
	writeKey(t, dir, keyOf(t, dir, bResources, []byte(left)), 0xff)
	a, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	mendAfter(t, a, func() {})
	if r := resource(t, a, left); len(r.Own.Tags) != 1 || r.Own.Tags[0].Content != "now" {
		t.Errorf("%+v", r.Own)
	}
	shut(t, a)
}

// The tombstone of a lost current copy contains its version number if only one number is possible.
func TestRepairNamesTheVersion(t *testing.T) {
	for _, certain := range []bool{true, false} {
		dir, current := pastAndPresent(t)
		spoil(t, dir, func(tx *bolt.Tx) error {
			err := tx.Bucket(bCaptures).Delete(idKey(current.ID))
			if !certain { // make another version and erase it, so that two numbers are possible
				err = errors.Join(err, amend(tx, bResources, []byte(left), func(r *resourceRecord) { r.Versions++ }))
			}
			return err
		})
		a, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		mendAfter(t, a, func() {})
		want := 0
		if certain {
			want = current.Version
		}
		if list, err := a.Tombstones(left); len(list) != 1 || list[0].Version != want || err != nil {
			t.Errorf("certain %v: %+v, %v", certain, list, err)
		}
		shut(t, a)
	}
}

package archive

import (
	"context"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

func receipt(t testing.TB, a *Archive, url string) Receipt {
	t.Helper()
	r, err := a.Receipt(url)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReceipt(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	ctx := context.Background()
	const url, shared, never = "http://example.com/x", "http://example.com/y", "http://example.com/z"
	if r := receipt(t, a, never); r.Verified() || len(r.Erasures) != 0 || len(r.Left) != 0 {
		t.Errorf("%+v", r)
	}
	one := put(t, a, deposit(url, "one"))
	d := deposit(url, "two")
	d.Aliases, d.Index = []string{"http://example.com/from"}, true
	two := put(t, a, d)
	d.Resource.URL, d.Aliases = shared, nil
	put(t, a, d) // the same body under another URL
	_, slots := sealedThings(t, a, one)
	if err := a.EraseCapture(ctx, one.ID, Tombstone{Why: "expired", Line: "robots.txt:3"}); err != nil {
		t.Fatal(err)
	}
	r := receipt(t, a, url)
	if r.Verified() || len(r.Left) != 4 || len(r.Erasures) != 1 || r.Erasures[0].Version != 1 ||
		len(r.Erasures[0].Keys) != 2 {
		t.Errorf("one version was erased, and the other is held, with what is known, an entry and an alias: %+v", r)
	}
	for _, slot := range slots[:2] {
		if k, _ := a.keys.read(slot); !k.zero() {
			t.Errorf("key %d is left", slot)
		}
	}
	if _, err := a.Erase(ctx, Tombstone{URL: url, Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	r = receipt(t, a, url)
	// the keys of the capture and of the page's record are destroyed; another URL still uses the
	// body
	if !r.Verified() || len(r.Erasures) != 2 || len(r.Erasures[1].Keys) != 2 {
		t.Errorf("%+v", r)
	}
	hasBody(t, a, two.ID+1, "<p>two")
	if _, err := a.Erase(ctx, Tombstone{URL: shared, Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	if r := receipt(t, a, shared); !r.Verified() || len(r.Erasures[0].Keys) != 3 {
		t.Errorf("%+v", r)
	}
	put(t, a, d)
	// the capture, the page's record and the index entry
	if r := receipt(t, a, shared); r.Verified() || len(r.Left) != 3 {
		t.Errorf("it was received again: %+v", r)
	}
}

// A receipt searches the stored data and does not trust the tombstone.
func TestReceiptLooks(t *testing.T) {
	a, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	const url = "http://example.com/x"
	c := put(t, a, deposit(url, "x"))
	_, slots := sealedThings(t, a, c)
	var keys [][]byte
	for _, k := range readKeys(t, a, slots) {
		keys = append(keys, k[:])
	}
	if _, err := a.Erase(context.Background(), Tombstone{URL: url, Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	if r := receipt(t, a, url); !r.Verified() {
		t.Errorf("%+v", r)
	}
	if _, err := a.keys.f.WriteAt(keys[1], int64(slots[1]*slot)); err != nil {
		t.Fatal(err)
	}
	err = a.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket(bAliases).Put([]byte(url), frame([]byte(url), []byte("http://example.com/y")))
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := receipt(t, a, url); r.Verified() || len(r.Left) != 2 {
		t.Errorf("%+v", r)
	}
}

// The receipt of erased data has Pending set until the files are rewritten, whatever the clock
// says. If a publisher requests the erasure again in that time, the compaction is due at once.
func TestReceiptPending(t *testing.T) {
	now := noon
	a := open(t, t.TempDir(), Options{Now: func() time.Time { return now }})
	const url, found, never = "http://example.com/x", "http://example.com/found", "http://example.com/never"
	erase := func(s Tombstone) {
		t.Helper()
		if _, err := a.Erase(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	asked := func() bool {
		t.Helper()
		_, asked, err := a.Uncompacted()
		if err != nil {
			t.Fatal(err)
		}
		return !asked.IsZero()
	}
	for _, address := range []string{url, found} {
		put(t, a, deposit(address, address))
	}
	if receipt(t, a, url).Pending || receipt(t, a, never).Pending {
		t.Error("nothing was erased")
	}
	erase(Tombstone{URL: found, Why: "expired"})
	now = now.Add(time.Hour)
	compact(t, a)
	// the clock was set back: the erasure came after the compaction, but has an earlier date
	now = now.Add(-30 * time.Minute)
	erase(Tombstone{URL: url, Why: "expired"})
	if r := receipt(t, a, url); !r.Pending || r.Settled() {
		t.Errorf("%+v", r)
	}
	if r := receipt(t, a, found); r.Pending || !r.Settled() {
		t.Errorf("%+v", r)
	}
	if r := receipt(t, a, never); r.Pending || asked() {
		t.Errorf("%+v", r)
	}
	for _, s := range []Tombstone{{URL: never, Asked: true}, {URL: found, Asked: true}, {URL: url}} {
		if erase(s); asked() {
			t.Errorf("%+v hurries", s)
		}
	}
	if erase(Tombstone{URL: url, Asked: true}); !asked() {
		t.Error("nobody hurries")
	}
	now = now.Add(-time.Hour) // set the clock back again
	put(t, a, deposit(found, "again"))
	erase(Tombstone{URL: found, Why: "expired"})
	if r := receipt(t, a, found); !r.Pending || r.Settled() {
		t.Errorf("%+v", r)
	}
	compact(t, a)
	for _, address := range []string{url, found} {
		if r := receipt(t, a, address); r.Pending || asked() {
			t.Errorf("%+v", r)
		}
	}
}

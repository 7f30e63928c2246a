package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// format1 lays out an archive as the first version of this program left it: two versions of one URL, of which the current one shares
// its body with another URL, an alias, an erased page, and intents.
func format1(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	r, err := gzip.NewReader(bytes.NewReader(read(t, "testdata/format1", "archive.db.gz")))
	if err != nil {
		t.Fatal(err)
	}
	db, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "archive.db", db)
	write(t, dir, "keys.db", read(t, "testdata/format1", "keys.db"))
	return dir
}

func TestUpgrade(t *testing.T) {
	const a1, b1 = "http://example.com/a", "http://example.com/b"
	long := strings.Repeat("The tide turns at noon. ", 2000)
	ctx := context.Background()
	dir := format1(t)
	for range 2 { // the second time it is of this format
		a := open(t, dir, Options{})
		c, err := a.Capture(1)
		if err != nil || !c.Truncated || c.Current || c.Header.Get("Server") != "caf\xe9" || len(c.Header["Set-Cookie"]) != 2 || c.MIME != "text/html" ||
			len(c.Hops) != 1 || c.Hops[0].Header.Get("Location") != "/a" || len(c.Decided) != 1 || c.Own.URL != "" || c.Head != nil {
			t.Errorf("%+v, %v", c, err)
		}
		hasWire(t, a, 1, long, []byte(long), "")
		hasWire(t, a, 2, "<p>shared", []byte("<p>shared"), "")
		if to, err := a.Resolve("http://example.com/old"); to != a1 || err != nil {
			t.Errorf("%s, %v", to, err)
		}
		if list, err := a.Tombstones("http://example.com/gone"); len(list) != 1 || err != nil {
			t.Errorf("%v, %v", list, err)
		}
		if r := resource(t, a, a1); r.Title != "Low water" || r.Versions != 2 || r.Current != 2 || len(r.Own.Tags) != 1 {
			t.Errorf("%+v", r)
		}
		if intents, err := a.Intents(); len(intents) != 3 || err != nil {
			t.Errorf("%q, %v", intents, err)
		}
		shut(t, a)
	}

	// It goes on: new captures, also of a body that is held, a 304 for an old one, and its end.
	a := open(t, dir, Options{})
	d := deposit("http://example.com/c", "")
	d.Body = []byte("<p>shared")
	put(t, a, d)
	d.Resource.URL, d.Body, d.Wire, d.Encoding = "http://example.com/d", []byte(long), zipped(t, long), "gzip"
	hasWire(t, a, put(t, a, d).ID, long, d.Wire, "gzip")
	again := deposit(b1, "")
	again.Policy, again.Resource.Own.URL = PolicyVersion{Origin: "http://example.com", Since: noon}, b1
	if err := a.Renew(ctx, 3, again, false); err != nil {
		t.Fatal(err)
	}
	if c, err := a.Capture(3); err != nil || c.Policy != again.Policy || c.Own.URL != b1 || c.Header.Get("Content-Type") != "text/html" || c.Head != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if n, err := a.Erase(ctx, Tombstone{URL: a1}); n != 2 || err != nil {
		t.Errorf("%d erased, %v", n, err)
	}
	if _, err := a.Body(1); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
	hasBody(t, a, 3, "<p>shared")
	shut(t, a)
	open(t, dir, Options{})
}

// What was erased before format 2 was noted nowhere: the archive is compacted once.
func TestUpgradeIsCompacted(t *testing.T) {
	dir := format1(t)
	for _, want := range []time.Time{noon, {}, {}} {
		a := open(t, dir, Options{})
		if since, _, err := a.Uncompacted(); !since.Equal(want) || err != nil {
			t.Errorf("%v, %v; want %v", since, err, want)
		}
		if !want.IsZero() {
			compact(t, a)
		}
		shut(t, a)
	}
}

// The number is raised, and the archive stays the one that its keys belong to.
func TestUpgradeRaisesTheFormat(t *testing.T) {
	dir := format1(t)
	before := headerOf(t, dir)
	if before.Format != 1 {
		t.Fatalf("the fixture is of format %d", before.Format)
	}
	shut(t, open(t, dir, Options{}))
	if after := headerOf(t, dir); after.Format != format || !bytes.Equal(after.ID, before.ID) {
		t.Errorf("%+v became %+v", before, after)
	}
}

func headerOf(t *testing.T, dir string) (h header) {
	t.Helper()
	db, err := bolt.Open(dir+"/archive.db", 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error { return unpack(kHeader, tx.Bucket(bMeta).Get(kHeader), &h) })
	if err != nil {
		t.Fatal(err)
	}
	return h
}

package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

const drawn = "http://example.com/drawn"

// rendered returns a deposit with a rendered document.
func rendered(url, sent, document string) Deposit {
	d := deposit(url, sent)
	d.Rendered = []byte("<p>" + document)
	return d
}

// hasRendered checks the rendered document of a capture; want is "" if it must have none.
func hasRendered(t testing.TB, a *Archive, id uint64, want string) {
	t.Helper()
	got, err := a.Rendered(id)
	if err != nil || string(got) != want || (got == nil) != (want == "") {
		t.Errorf("rendered document %d: %.60q, %v; want %.60q", id, got, err, want)
	}
}

// refsOf returns the number of references to a body; 0 if it is not stored.
func refsOf(t testing.TB, a *Archive, text string) (refs uint64) {
	t.Helper()
	sum, err := digestBytes(Digest([]byte("<p>" + text)))
	if err != nil {
		t.Fatal(err)
	}
	err = a.view(func(tx *bolt.Tx) error {
		value := tx.Bucket(bDigests).Get(sum)
		if value == nil {
			return nil
		}
		rec, err := unpackBody(sum, value)
		refs = rec.Refs
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return refs
}

// The rendered document is read next to the page as sent, whether the archive was closed meanwhile or not.
func TestRendered(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, d *Deposit)
		want   string // the rendered document; "" for none
	}{
		{"another document", func(*testing.T, *Deposit) {}, "<p>after"},
		{"none", func(_ *testing.T, d *Deposit) { d.Rendered = nil }, ""},
		{"equal to the page as sent", func(_ *testing.T, d *Deposit) { d.Rendered = d.Body }, "<p>before"},
		{"large", func(_ *testing.T, d *Deposit) { d.Rendered = noise("large", 3<<20) }, string(noise("large", 3<<20))},
		{"sent with a content coding", func(t *testing.T, d *Deposit) {
			d.Wire, d.Encoding = zipped(t, string(d.Body)), "gzip"
		}, "<p>after"},
		{"equal to the bytes as sent", func(t *testing.T, d *Deposit) {
			d.Wire, d.Encoding = zipped(t, string(d.Body)), "gzip"
			d.Rendered = d.Wire
		}, string(zipped(t, "<p>before"))},
		{"with parts cut out", func(_ *testing.T, d *Deposit) { d.Cut = true }, "<p>after"},
		{"of a redirect", func(_ *testing.T, d *Deposit) { d.Resource.Status = 301 }, ""},
		{"imported", func(_ *testing.T, d *Deposit) { d.Past = true }, "<p>after"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			a := open(t, dir, Options{})
			d := rendered(drawn, "before", "after")
			c.change(t, &d)
			is := put(t, a, d)
			for range 2 {
				read, err := a.Capture(is.ID)
				if err != nil || read.Rendered != is.Rendered || read.RenderedBytes != int64(len(c.want)) ||
					c.want != "" && read.Rendered != Digest([]byte(c.want)) {
					t.Errorf("%+v, %v, stored as %+v", read, err, is)
				}
				hasBody(t, a, is.ID, "<p>before")
				hasRendered(t, a, is.ID, c.want)
				body, document, err := a.Documents(is.ID)
				if string(body) != "<p>before" || string(document) != c.want || err != nil {
					t.Errorf("%.60q, %.60q, %v", body, document, err)
				}
				s := stats(t, a)
				if s.Bytes != int64(len("<p>before")+len(c.want)) || s.Rendered != len(is.Rendered)/len(Digest(nil)) {
					t.Errorf("%+v", s)
				}
				shut(t, a)
				a = open(t, dir, Options{})
			}
		})
	}
}

// A document of zero bytes is a document.
func TestRenderedEmpty(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	d := deposit(drawn, "before")
	d.Rendered = []byte{}
	c := put(t, a, d)
	if got, err := a.Rendered(c.ID); got == nil || len(got) > 0 || err != nil || c.Rendered != Digest(nil) {
		t.Errorf("%q, %v, %+v", got, err, c)
	}
	if _, err := a.Rendered(99); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
	if _, _, err := a.Documents(99); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
	d.Body = nil // without a page as sent, nothing is stored
	if c := put(t, a, d); c.ID != 0 {
		t.Errorf("%+v", c)
	}
}

// Equal documents are stored once, and deleted with their last reference.
func TestRenderedOnce(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	at := func(i int) string { return fmt.Sprint("http://example.com/", i) }
	put(t, a, rendered(at(1), "same", "same"))
	put(t, a, rendered(at(2), "one", "drawn"))
	put(t, a, rendered(at(3), "two", "drawn"))
	put(t, a, rendered(at(4), "drawn", "same"))
	put(t, a, rendered(at(4), "drawn", "four"))
	refs := func(same, one, drawn, four uint64) {
		t.Helper()
		for text, want := range map[string]uint64{"same": same, "one": one, "drawn": drawn, "four": four} {
			if got := refsOf(t, a, text); got != want {
				t.Errorf("%q has %d references, want %d", text, got, want)
			}
		}
		clean(t, a)
	}
	if s := stats(t, a); s.Bodies != 5 || s.Captures != 5 || s.Rendered != 5 {
		t.Errorf("%+v", s)
	}
	refs(3, 1, 4, 1)
	erase := func(i int) {
		t.Helper()
		if _, err := a.Erase(t.Context(), Tombstone{URL: at(i), Why: "asked"}); err != nil {
			t.Fatal(err)
		}
	}
	erase(1)
	refs(1, 1, 4, 1)
	erase(2)
	refs(1, 0, 3, 1)
	d := rendered(at(4), "five", "five")
	d.Replace = true // as with until-recrawled, the new version replaces both earlier ones
	put(t, a, d)
	refs(0, 0, 1, 0)
	erase(3)
	erase(4)
	if s := stats(t, a); s != (Stats{Resources: 4, Tombstones: 4}) {
		t.Errorf("%+v", s)
	}
}

// The keys of both documents are destroyed, and the proof of the erasure names both.
func TestRenderedKeys(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	c := put(t, a, rendered(drawn, "before", "after"))
	_, one := sealedBodyOf(t, a, c.Payload)
	_, two := sealedBodyOf(t, a, c.Rendered)
	if err := a.EraseCapture(t.Context(), c.ID, Tombstone{Why: "expired"}); err != nil {
		t.Fatal(err)
	}
	for _, k := range readKeys(t, a, []uint64{one, two}) {
		if !k.zero() {
			t.Error("a key is left")
		}
	}
	r := receipt(t, a, drawn)
	if len(r.Erasures) != 1 || !slices.Contains(r.Erasures[0].Keys, one) || !slices.Contains(r.Erasures[0].Keys, two) {
		t.Errorf("%+v", r.Erasures)
	}
}

// A 304 response leaves the rendered document.
func TestRenderedRenewed(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	c := put(t, a, rendered(drawn, "before", "after"))
	d := deposit(drawn, "before")
	d.Fetched, d.Header = noon.Add(time.Hour), map[string][]string{"X-Now": {"1"}}
	if err := a.Renew(t.Context(), c.ID, d, false); err != nil {
		t.Fatal(err)
	}
	hasBody(t, a, c.ID, "<p>before")
	hasRendered(t, a, c.ID, "<p>after")
}

// Bodies in an outside store are durable before the transaction commits; if one of the two is not, nothing is stored.
func TestRenderedOutside(t *testing.T) {
	m := newMemoryBodies()
	a := open(t, t.TempDir(), Options{Bodies: m})
	c := put(t, a, rendered(drawn, "before", "after"))
	if len(m.ids()) != 2 {
		t.Errorf("bodies %v", m.ids())
	}
	hasRendered(t, a, c.ID, "<p>after")
	m.mu.Lock()
	m.down = errors.New("no answer")
	m.mu.Unlock()
	if _, err := a.Receive(t.Context(), rendered(drawn, "before", "later")); !errors.Is(err, m.down) {
		t.Error(err)
	}
	m.mu.Lock()
	m.down = nil
	m.mu.Unlock()
	if _, err := a.Erase(t.Context(), Tombstone{URL: drawn, Why: "asked"}); err != nil || len(m.ids()) > 0 {
		t.Errorf("bodies %v, %v", m.ids(), err)
	}
}

// Both documents are recovered, also from a snapshot, and an archive recovered with rendered documents is refused by
// older versions of this program.
func TestRenderedRecovered(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		m := newMemoryCopies()
		a := open(t, t.TempDir(), m.options())
		c := put(t, a, rendered(drawn, "before", "after"))
		if snapshot {
			if err := a.renewSnapshot(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		}
		want := recordsOf(t, a)
		b := recovered(t, m)
		hasBody(t, b, c.ID, "<p>before")
		hasRendered(t, b, c.ID, "<p>after")
		if got := recordsOf(t, b); !maps.Equal(got, want) {
			t.Errorf("snapshot %t: the records differ", snapshot)
		}
		if n := formatOf(t, b); n != formatRendered {
			t.Errorf("snapshot %t: the format is %d", snapshot, n)
		}
	}
}

func formatOf(t testing.TB, a *Archive) int {
	t.Helper()
	var h header
	if err := a.view(func(tx *bolt.Tx) error { return a.readHeader(tx, &h) }); err != nil {
		t.Fatal(err)
	}
	return h.Format
}

// An archive without rendered documents is the same on disk as that of an earlier version. The first rendered document
// makes earlier versions refuse the archive.
func TestRenderedFormat(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	c := put(t, a, deposit(drawn, "before"))
	if n := formatOf(t, a); n != format {
		t.Errorf("the format is %d", n)
	}
	err := a.view(func(tx *bolt.Tx) error {
		rec, sealed, err := a.captureRecord(tx, c.ID)
		if err != nil {
			return err
		}
		plain, err := packSealed(idKey(c.ID), json.RawMessage(fmt.Sprintf(`{"URL":%q,"Version":1,"Fetched":`+
			`"2026-01-05T12:00:00Z","Status":200,"Digest":%q,"Bytes":9,"Key":%d}`, drawn, c.Digest, rec.Key)), sealed)
		if got := tx.Bucket(bCaptures).Get(idKey(c.ID)); string(got) != string(plain) {
			t.Errorf("the record is %q, want %q", got, plain)
		}
		if counts := string(tx.Bucket(bMeta).Get(kCounts)); strings.Contains(counts, "Rendered") {
			t.Errorf("the counts are %q", counts)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	put(t, a, rendered(drawn, "before", "after"))
	if n := formatOf(t, a); n != formatRendered {
		t.Errorf("the format is %d", n)
	}
}

// Verify finds every damage of a rendered document. Repair keeps the page as sent, and drops the document; if the page
// as sent is lost, it erases both.
func TestRenderedRepair(t *testing.T) {
	sumOf := func(text string) []byte { sum, _ := digestBytes(Digest([]byte("<p>" + text))); return sum }
	placeOf := func(tx *bolt.Tx, text string) (path string, at int64, err error) {
		err = amendBody(tx, text, func(r *bodyRecord) {
			p, _ := unpackPlace(tx.Bucket(bBodies).Get(idKey(r.ID)))
			path = filepath.Join(filepath.Dir(tx.DB().Path()), bodiesDir, bodyFileName(p.File))
			at = int64(p.Offset)
		})
		return path, at, err
	}
	damage := func(text string) func(*testing.T, *bolt.Tx, Capture) error {
		return func(t *testing.T, tx *bolt.Tx, _ Capture) error {
			path, at, err := placeOf(tx, text)
			changeFile(t, path, at)
			return err
		}
	}
	record := func(fn func(*captureRecord)) func(*testing.T, *bolt.Tx, Capture) error {
		return func(_ *testing.T, tx *bolt.Tx, c Capture) error { return amend(tx, bCaptures, idKey(c.ID), fn) }
	}
	for _, c := range []struct {
		name           string
		sent, document string
		spoil          func(t *testing.T, tx *bolt.Tx, c Capture) error
		destroy        string // the text of the body whose key is destroyed; "": none

		found string // what Verify must find about the capture
		held  bool   // the capture remains
		drops bool   // without its rendered document
	}{
		{name: "changed", sent: "before", document: "after", spoil: damage("after"), held: true, drops: true,
			found: "has a rendered document that cannot be read"},
		{name: "its record is unreadable", sent: "before", document: "after", held: true, drops: true,
			found: "has no rendered document",
			spoil: func(_ *testing.T, tx *bolt.Tx, _ Capture) error { return garble(tx, bDigests, sumOf("after")) }},
		{name: "its record is lost", sent: "before", document: "after", held: true, drops: true,
			found: "has no rendered document",
			spoil: func(_ *testing.T, tx *bolt.Tx, _ Capture) error {
				return tx.Bucket(bDigests).Delete(sumOf("after"))
			}},
		{name: "the body is lost", sent: "before", document: "after", held: true, drops: true,
			found: "has a rendered document that cannot be read",
			spoil: func(_ *testing.T, tx *bolt.Tx, _ Capture) error {
				return amendBody(tx, "after", func(r *bodyRecord) { tx.Bucket(bBodies).Delete(idKey(r.ID)) })
			}},
		{name: "its key is destroyed", sent: "before", document: "after", held: true, drops: true, destroy: "after",
			found: "has a rendered document that " + errDestroyed.Error()},
		{name: "its digest is no digest", sent: "before", document: "after", held: true, drops: true,
			found: "has a rendered document with a digest that is not readable",
			spoil: record(func(r *captureRecord) { r.Rendered = "md5:x" })},
		{name: "another length", sent: "before", document: "after", held: true,
			found: "has a rendered document of 8 bytes and says 77",
			spoil: record(func(r *captureRecord) { r.RenderedBytes = 77 })},
		{name: "the number of references", sent: "same", document: "same", held: true,
			found: "has 2 references and says 1",
			spoil: func(_ *testing.T, tx *bolt.Tx, _ Capture) error {
				return amendBody(tx, "same", func(r *bodyRecord) { r.Refs = 1 })
			}},
		{name: "the count", sent: "before", document: "after", held: true, found: "has wrong counts",
			spoil: func(_ *testing.T, tx *bolt.Tx, _ Capture) error {
				n, err := readCounts(tx)
				n.Rendered = 9
				return errors.Join(err, tx.Bucket(bMeta).Put(kCounts, mustPack(kCounts, n)))
			}},
		{name: "the page as sent is changed", sent: "before", document: "after", spoil: damage("before"),
			found: "has a body that cannot be read"},
		{name: "both are changed", sent: "before", document: "after",
			found: "has a rendered document that cannot be read",
			spoil: func(t *testing.T, tx *bolt.Tx, c Capture) error {
				return errors.Join(damage("before")(t, tx, c), damage("after")(t, tx, c))
			}},
		{name: "both are one body, which is changed", sent: "same", document: "same", spoil: damage("same"),
			found: "has a body that cannot be read"},
		{name: "both are one body, whose record is lost", sent: "same", document: "same", found: "has no body",
			spoil: func(_ *testing.T, tx *bolt.Tx, _ Capture) error {
				return tx.Bucket(bDigests).Delete(sumOf("same"))
			}},
		{name: "the record of the capture is lost", sent: "before", document: "after",
			found: "has 0 references and says 1",
			spoil: func(_ *testing.T, tx *bolt.Tx, c Capture) error {
				return tx.Bucket(bCaptures).Delete(idKey(c.ID))
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			a := open(t, dir, Options{})
			other := put(t, a, rendered("http://example.com/other", "other", "else"))
			is := put(t, a, rendered(drawn, c.sent, c.document))
			a.Done(drawn)
			shut(t, a)
			if c.spoil != nil {
				spoil(t, dir, func(tx *bolt.Tx) error { return c.spoil(t, tx, is) })
			}
			if c.destroy != "" {
				writeKey(t, dir, keyOf(t, dir, bDigests, sumOf(c.destroy)), 0)
			}
			a, err := Open(dir, Options{Now: func() time.Time { return noon }})
			if err != nil {
				t.Fatal(err)
			}
			found, err := a.Verify(t.Context(), VerifyOptions{})
			if err != nil ||
				!slices.ContainsFunc(found, func(p Problem) bool { return strings.HasPrefix(p.What, c.found) }) {
				t.Errorf("verify: %v, %v", found, err)
			}
			var done []Repaired
			left, err := a.Repair(t.Context(), func(r Repaired) { done = append(done, r) })
			if err != nil || len(left) > 0 {
				t.Errorf("repaired %v, left %v, %v", done, left, err)
			}
			dropped := slices.ContainsFunc(done, func(r Repaired) bool {
				return r.Done == "kept as sent, without its rendered document"
			})
			if dropped != c.drops || settles(t, a, drawn) != c.drops {
				t.Errorf("dropped %t, repaired %v", dropped, done)
			}
			hasRendered(t, a, other.ID, "<p>else")
			switch {
			case !c.held:
				if _, err := a.Capture(is.ID); !errors.Is(err, ErrNotHeld) {
					t.Error(err)
				}
			case c.drops:
				hasBody(t, a, is.ID, "<p>"+c.sent)
				hasRendered(t, a, is.ID, "")
			default:
				hasRendered(t, a, is.ID, "<p>"+c.document)
			}
			if stones, err := a.Tombstones(drawn); err != nil || (len(stones) == 0) != c.held {
				t.Errorf("%v, %v", stones, err)
			}
			shut(t, a)
		})
	}
}

// A rendered document that is deposited again before the repair stays.
func TestRenderedAgainMeanwhile(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, Options{})
	c := put(t, a, rendered(drawn, "before", "after"))
	shut(t, a)
	sum, _ := digestBytes(c.Rendered)
	spoil(t, dir, func(tx *bolt.Tx) error { return tx.Bucket(bDigests).Delete(sum) })
	a, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	mendAfter(t, a, func() { put(t, a, rendered("http://example.com/again", "again", "after")) })
	hasRendered(t, a, c.ID, "<p>after")
	shut(t, a)
}

package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/spool"
)

const (
	quay = "http://example.com/quay" // a page with three versions; the last one is current
	pier = "http://example.com/pier" // a page with one version, which shares its body with the first version of quay
	mole = "http://example.com/mole" // a page in the index without a copy
	gone = "http://example.com/gone" // a page that was erased
	hop  = "http://example.com/hop"  // a URL that redirects to pier

	crane = "http://example.com/crane" // a page whose body was sent encoded
)

// harbour fills dir with an archive that contains every kind of record. It returns the captures of
// quay and pier.
func harbour(t testing.TB, dir string) (quays []Capture, piers Capture) {
	t.Helper()
	a := open(t, dir, Options{})
	for i, text := range []string{"one", "two", "three"} {
		d := deposit(quay, text)
		d.Fetched = noon.Add(time.Duration(i) * time.Hour)
		d.Resource.Own = acap.Own{URL: quay,
			Tags: []acap.Tag{{Source: acap.Meta, Name: "robots", Content: "ACAP " + text}}}
		d.Index = true
		quays = append(quays, put(t, a, d))
	}
	d := deposit(pier, "one")
	d.Aliases = []string{hop}
	piers = put(t, a, d)
	d = deposit(mole, "mole")
	d.Body, d.Index = nil, true
	put(t, a, d)
	put(t, a, deposit(gone, "gone"))
	if _, err := a.Erase(t.Context(), Tombstone{URL: gone, Why: "asked", Line: "a line"}); err != nil {
		t.Fatal(err)
	}
	d = deposit(crane, strings.Repeat("crane ", 100))
	d.Wire, d.Encoding = zipped(t, string(d.Body)), "gzip"
	put(t, a, d)
	a.Done(quay, quay, quay, mole, gone)
	shut(t, a)
	return quays, piers
}

// spoil changes the file of a closed archive.
func spoil(t testing.TB, dir string, fn func(*bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, "archive.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// changeFile changes one byte of a file.
func changeFile(t testing.TB, path string, at int64) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file[at] ^= 1
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// garble changes the record under k but not its checksum.
func garble(tx *bolt.Tx, bucket, k []byte) error {
	value := bytes.Clone(tx.Bucket(bucket).Get(k))
	if value == nil {
		return fmt.Errorf("%s holds no %q", bucket, k)
	}
	value[len(value)-1] ^= 0x40
	return tx.Bucket(bucket).Put(k, value)
}

// amend changes the unsealed part of a record and keeps its sealed text.
func amend[T any](tx *bolt.Tx, bucket, k []byte, fn func(*T)) error {
	var rec T
	sealed, err := unpackSealed(k, tx.Bucket(bucket).Get(k), &rec)
	if err != nil {
		return err
	}
	fn(&rec)
	value, err := packSealed(k, rec, sealed)
	if err != nil {
		return err
	}
	return tx.Bucket(bucket).Put(k, value)
}

func amendBody(tx *bolt.Tx, text string, fn func(*bodyRecord)) error {
	sum := sha256.Sum256([]byte("<p>" + text))
	rec, err := unpackBody(sum[:], tx.Bucket(bDigests).Get(sum[:]))
	if err != nil {
		return err
	}
	fn(&rec)
	return tx.Bucket(bDigests).Put(sum[:], rec.pack(sum[:]))
}

// keyOf returns the key slot of a record.
func keyOf(t testing.TB, dir string, bucket, k []byte) (slot uint64) {
	t.Helper()
	spoil(t, dir, func(tx *bolt.Tx) error {
		if bytes.Equal(bucket, bDigests) {
			rec, err := unpackBody(k, tx.Bucket(bucket).Get(k))
			slot = rec.Key
			return err
		}
		var rec struct{ Key uint64 }
		_, err := unpackSealed(k, tx.Bucket(bucket).Get(k), &rec)
		slot = rec.Key
		return err
	})
	return slot
}

func writeKey(t testing.TB, dir string, n uint64, b byte) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "keys.db"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(bytes.Repeat([]byte{b}, slot), int64(n*slot))
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	sumOf := func(text string) []byte { s := sha256.Sum256([]byte("<p>" + text)); return s[:] }
	for _, c := range []struct {
		name  string
		spoil func(tx *bolt.Tx, quays []Capture, piers Capture) error
		keys  func(t testing.TB, dir string, quays []Capture, piers Capture)

		quays   []string // bodies of /quay that remain, the oldest first
		current int      // current version of /quay after the repair, 0 for none
		pier    bool     // whether the copy of /pier remains after the repair
		graves  []string // URL and version of each new tombstone
		check   func(t *testing.T, a *Archive)
	}{
		{name: "the record of an earlier capture", quays: []string{"two", "three"}, current: 3, pier: true,
			graves: []string{"quay 1"},
			spoil:  func(tx *bolt.Tx, q []Capture, _ Capture) error { return garble(tx, bCaptures, idKey(q[0].ID)) }},
		{name: "the record of the current capture", quays: []string{"one", "two"}, pier: true,
			graves: []string{"quay 3"},
			spoil:  func(tx *bolt.Tx, q []Capture, _ Capture) error { return garble(tx, bCaptures, idKey(q[2].ID)) }},
		{name: "a capture that is not there", quays: []string{"one", "three"}, current: 3, pier: true,
			graves: []string{"quay 2"},
			spoil: func(tx *bolt.Tx, q []Capture,
				_ Capture) error {
				return tx.Bucket(bCaptures).Delete(idKey(q[1].ID))
			}},
		{name: "a capture under no number", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return tx.Bucket(bCaptures).Put([]byte("x"), []byte("y"))
			}},
		{name: "the record of a shared body", quays: []string{"two", "three"}, current: 3,
			graves: []string{"pier 1", "quay 1"},
			spoil:  func(tx *bolt.Tx, _ []Capture, _ Capture) error { return garble(tx, bDigests, sumOf("one")) }},
		{name: "a body's record that is not there", quays: []string{"one", "three"}, current: 3, pier: true,
			graves: []string{"quay 2"},
			spoil: func(tx *bolt.Tx, _ []Capture,
				_ Capture) error {
				return tx.Bucket(bDigests).Delete(sumOf("two"))
			}},
		{name: "a body that is not there", quays: []string{"one", "two"}, pier: true, graves: []string{"quay 3"},
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return amendBody(tx, "three",
					func(r *bodyRecord) { tx.Bucket(bBodies).Delete(idKey(r.ID)) })
			}},
		{name: "a body that was changed", quays: []string{"one", "two"}, pier: true, graves: []string{"quay 3"},
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return amendBody(tx, "three", func(r *bodyRecord) {
					p, _ := unpackPlace(tx.Bucket(bBodies).Get(idKey(r.ID)))
					changeFile(t, filepath.Join(filepath.Dir(tx.DB().Path()), bodiesDir, bodyFileName(p.File)),
						int64(p.Offset))
				})
			}},
		{name: "a body with a damaged place", quays: []string{"one", "two"}, pier: true, graves: []string{"quay 3"},
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return amendBody(tx, "three", func(r *bodyRecord) {
					p, _ := unpackPlace(tx.Bucket(bBodies).Get(idKey(r.ID)))
					p.Length = 1 << 31
					tx.Bucket(bBodies).Put(idKey(r.ID), p.pack())
				})
			}},
		{name: "the head of a body", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return amendBody(tx, "three", func(r *bodyRecord) {
					p, _ := unpackPlace(tx.Bucket(bBodies).Get(idKey(r.ID)))
					changeFile(t, filepath.Join(filepath.Dir(tx.DB().Path()), bodiesDir, bodyFileName(p.File)),
						int64(p.Offset)-1)
				})
			}},
		{name: "the record of a body file", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error { return garble(tx, bFiles, fileKey(1)) }},
		{name: "the count of a body file", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				k := fileKey(1)
				f, err := unpackFile(k, tx.Bucket(bFiles).Get(k))
				f.Live = 7
				return errors.Join(err, tx.Bucket(bFiles).Put(k, f.pack(k)))
			}},
		{name: "a body of another length", quays: []string{"one", "two"}, pier: true, graves: []string{"quay 3"},
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return amendBody(tx, "three", func(r *bodyRecord) { r.Stored++ })
			}},
		{name: "a body of nobody", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return errors.Join(tx.Bucket(bBodies).SetSequence(900), tx.Bucket(bBodies).Put(idKey(900), []byte("?")),
					tx.Bucket(bBodies).Put(append(idKey(900), 0, 0, 0, 1), []byte("?")),
					tx.Bucket(bBodies).Put([]byte("?"), []byte("?")))
			}},
		{name: "too many references", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return amendBody(tx, "one", func(r *bodyRecord) { r.Refs = 7 })
			},
			check: func(t *testing.T, a *Archive) { goesWithItsLast(t, a) }},
		{name: "too few references", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return amendBody(tx, "one", func(r *bodyRecord) { r.Refs = 1 })
			},
			check: func(t *testing.T, a *Archive) { goesWithItsLast(t, a) }},
		{name: "the key of a body", quays: []string{"two", "three"}, current: 3, graves: []string{"pier 1", "quay 1"},
			keys: func(t testing.TB, dir string, _ []Capture, _ Capture) {
				writeKey(t, dir, keyOf(t, dir, bDigests, sumOf("one")), 0)
			}},
		{name: "another key of a body", quays: []string{"two", "three"}, current: 3,
			graves: []string{"pier 1", "quay 1"},
			keys: func(t testing.TB, dir string, _ []Capture, _ Capture) {
				writeKey(t, dir, keyOf(t, dir, bDigests, sumOf("one")), 9)
			}},
		{name: "the key of a capture", quays: []string{"one", "two"}, pier: true, graves: []string{"quay 3"},
			keys: func(t testing.TB, dir string, q []Capture, _ Capture) {
				writeKey(t, dir, keyOf(t, dir, bCaptures, idKey(q[2].ID)), 0)
			}},
		{name: "the key of a resource", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			keys: func(t testing.TB, dir string, _ []Capture, _ Capture) {
				writeKey(t, dir, keyOf(t, dir, bResources, []byte(quay)), 0)
			},
			check: func(t *testing.T, a *Archive) {
				if r := resource(t, a, quay); !r.Indexed || len(r.Own.Tags) != 1 ||
					r.Own.Tags[0].Content != "ACAP three" || !settles(t, a, quay) {
					t.Errorf("%+v", r)
				}
			}},
		{name: "the key of a resource without a copy", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			keys: func(t testing.TB, dir string, _ []Capture, _ Capture) {
				writeKey(t, dir, keyOf(t, dir, bResources, []byte(mole)), 0)
			},
			check: func(t *testing.T, a *Archive) {
				if r := resource(t, a, mole); r.Indexed || !r.FirstIndexed.Equal(noon) || !settles(t, a, mole) {
					t.Errorf("%+v", r)
				}
			}},
		{name: "the record of a resource whose first copy is held", quays: []string{"one", "two", "three"}, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error { return garble(tx, bResources, []byte(quay)) },
			check: func(t *testing.T, a *Archive) {
				r := resource(t, a, quay)
				if !r.FirstPreserved.Equal(noon) || !r.FirstCrawled.Equal(noon) || r.Versions != 3 || r.Indexed ||
					r.Own.Tags[0].Content != "ACAP three" || !settles(t, a, quay) {
					t.Errorf("%+v", r)
				}
			}},
		{name: "the record of a resource whose first copy is not held", pier: true,
			graves: []string{"quay 1", "quay 2", "quay 3"},
			spoil: func(tx *bolt.Tx, q []Capture, _ Capture) error {
				return errors.Join(garble(tx, bResources, []byte(quay)), garble(tx, bCaptures, idKey(q[0].ID)))
			}},
		{name: "a resource that is not there", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture,
				_ Capture) error {
				return tx.Bucket(bResources).Delete([]byte(pier))
			},
			check: func(t *testing.T, a *Archive) {
				if r := resource(t, a, pier); !r.FirstPreserved.Equal(noon) || r.Current != 0 {
					t.Errorf("%+v", r)
				}
			}},
		{name: "a resource without copies", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error { return garble(tx, bResources, []byte(mole)) }},
		{name: "the current version of another", quays: []string{"one", "two", "three"}, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, p Capture) error {
				return amend(tx, bResources, []byte(quay), func(r *resourceRecord) { r.Current = p.ID })
			}},
		{name: "current and earlier", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, q []Capture, _ Capture) error {
				return tx.Bucket(bEarlier).Put(versionKey(quay, 3), idKey(q[2].ID))
			}},
		{name: "neither current nor earlier", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return tx.Bucket(bEarlier).Delete(versionKey(quay, 2))
			}},
		{name: "two of one version", quays: []string{"one", "three", "two"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, q []Capture, _ Capture) error {
				return amend(tx, bCaptures, idKey(q[1].ID), func(r *captureRecord) { r.Version = 1 })
			}},
		{name: "a version that was never made", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return amend(tx, bResources, []byte(quay), func(r *resourceRecord) { r.Versions = 1 })
			}},
		{name: "an earlier version of nothing", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			graves: []string{"mole 7"},
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return tx.Bucket(bEarlier).Put(versionKey(mole, 7), idKey(800))
			}},
		{name: "an earlier version of another", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, q []Capture, _ Capture) error {
				return errors.Join(tx.Bucket(bEarlier).Put(versionKey(mole, 7), idKey(q[0].ID)),
					tx.Bucket(bEarlier).Put([]byte("x"), []byte("x")))
			}},
		{name: "a length that is not so", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, q []Capture, _ Capture) error {
				return amend(tx, bCaptures, idKey(q[0].ID), func(r *captureRecord) { r.Bytes += 5 })
			}},
		{name: "a digest that is none", quays: []string{"one", "three"}, current: 3, pier: true,
			graves: []string{"quay 2"},
			spoil: func(tx *bolt.Tx, q []Capture, _ Capture) error {
				return amend(tx, bCaptures, idKey(q[1].ID), func(r *captureRecord) { r.Digest = "md5:0" })
			}},
		{name: "a body that becomes another when it is decoded", quays: []string{"one", "two", "three"}, current: 3,
			pier: true, graves: []string{"crane 1"},
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				var id uint64
				return errors.Join(amend(tx, bResources, []byte(crane), func(r *resourceRecord) { id = r.Current }),
					amend(tx, bCaptures, idKey(id), func(r *captureRecord) { r.Digest = Digest(nil) }))
			}},
		{name: "an alias", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error { return garble(tx, bAliases, []byte(hop)) }},
		{name: "an alias that is not listed", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture,
				_ Capture) error {
				return tx.Bucket(bAliased).Delete(pair(pier, hop))
			},
			check: func(t *testing.T, a *Archive) {
				if to, err := a.Resolve(hop); to != pier || err != nil {
					t.Error(to, err)
				}
			}},
		{name: "an alias listed in vain", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return errors.Join(tx.Bucket(bAliased).Put(pair(quay, hop), nil),
					tx.Bucket(bAliased).Put([]byte("?"), nil))
			}},
		{name: "aliases to nowhere and in a circle", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				var err error
				for from, to := range map[string]string{"http://a/": "http://b/", "http://b/": "http://a/",
					"http://c/": "http://nowhere/"} {
					err = errors.Join(err, tx.Bucket(bAliases).Put([]byte(from), frame([]byte(from), []byte(to))),
						tx.Bucket(bAliased).Put(pair(to, from), nil))
				}
				return err
			}},
		{name: "a tombstone", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				k, _ := tx.Bucket(bTombstones).Cursor().First()
				return errors.Join(garble(tx, bTombstones, bytes.Clone(k)),
					tx.Bucket(bTombstones).Put([]byte("x"), []byte("y")))
			},
			check: func(t *testing.T, a *Archive) {
				if list, err := a.Tombstones(gone); err != nil || len(list) != 1 {
					t.Error(list, err)
				}
			}},
		{name: "an intent", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return tx.Bucket(bIntents).Put([]byte{0xff},
					nil)
			}},
		{name: "what is to be compacted", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error { return garble(tx, bMeta, kUpkeep) },
			check: func(t *testing.T, a *Archive) {
				if since, _, err := a.Uncompacted(); err != nil || since.IsZero() {
					t.Error(since, err)
				}
			}},
		{name: "when it was judged", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return tx.Bucket(bJudged).Put([]byte("http://example.com"), []byte("?"))
			},
			check: func(t *testing.T, a *Archive) {
				if since, known, err := a.judged("http://example.com"); err != nil || known {
					t.Error(since, err)
				}
			}},
		{name: "numbers given again", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				return errors.Join(tx.Bucket(bCaptures).SetSequence(1), tx.Bucket(bBodies).SetSequence(1))
			}},
		{name: "counts", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			spoil: func(tx *bolt.Tx, _ []Capture, _ Capture) error {
				c, err := readCounts(tx)
				c.Captures, c.Bytes, c.Tombstones = 77, 3, 0
				return errors.Join(err, tx.Bucket(bMeta).Put(kCounts, mustPack(kCounts, c)))
			}},
		{name: "a key of nobody", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			keys: func(t testing.TB, dir string, _ []Capture, _ Capture) { writeKey(t, dir, destroyedKey(t, dir), 7) }},
		{name: "a key named twice", quays: []string{"one", "three"}, current: 3, pier: true, graves: []string{"quay 2"},
			spoil: func(tx *bolt.Tx, q []Capture, p Capture) error {
				var key uint64
				return errors.Join(amend(tx, bCaptures, idKey(p.ID), func(r *captureRecord) { key = r.Key }),
					amend(tx, bCaptures, idKey(q[1].ID), func(r *captureRecord) { r.Key = key }))
			}},
		{name: "a key that was never made", quays: []string{"one", "three"}, current: 3, pier: true,
			graves: []string{"quay 2"},
			spoil: func(tx *bolt.Tx, q []Capture, _ Capture) error {
				return amend(tx, bCaptures, idKey(q[1].ID), func(r *captureRecord) { r.Key = 1 << 40 })
			}},
		{name: "one of the two root records", quays: []string{"one", "two", "three"}, current: 3, pier: true,
			keys: func(t testing.TB, dir string, _ []Capture, _ Capture) {
				file, older := read(t, dir, "archive.db"), 0
				const txid = spool.PageHead + 48
				if second := file[os.Getpagesize():]; spool.Native.Uint64(second[txid:]) < spool.Native.Uint64(
					file[txid:]) {
					older = os.Getpagesize()
				}
				file[older+spool.PageHead+20] ^= 1
				write(t, dir, "archive.db", file)
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			quays, piers := harbour(t, dir)
			if c.spoil != nil {
				spoil(t, dir, func(tx *bolt.Tx) error { return c.spoil(tx, quays, piers) })
			}
			if c.keys != nil {
				c.keys(t, dir, quays, piers)
			}
			a, err := Open(dir, Options{Now: func() time.Time { return noon }})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if found, err := a.Verify(t.Context(), VerifyOptions{}); err != nil || len(found) == 0 {
				t.Fatalf("verify: %v, %v", found, err)
			}
			var done []Repaired
			left, err := a.Repair(t.Context(), func(r Repaired) { done = append(done, r) })
			if err != nil || len(left) > 0 || len(done) == 0 {
				t.Errorf("repaired %v, left %v, %v", done, left, err)
			}
			for range 2 { // check the open archive, and then the reopened one
				afterRepair(t, a, c.quays, c.current, c.pier, c.graves)
				if c.check != nil {
					c.check(t, a)
					break
				}
				shut(t, a)
				a = open(t, dir, Options{})
			}
			shut(t, a)
		})
	}
}

func afterRepair(t *testing.T, a *Archive, quays []string, current int, piers bool, graves []string) {
	t.Helper()
	var bodies []string
	is := 0
	list, err := a.Captures(quay)
	slices.SortFunc(list, func(c, d Capture) int { return c.Version - d.Version })
	for _, c := range list {
		body, e := a.Body(c.ID)
		bodies, err = append(bodies, strings.TrimPrefix(string(body), "<p>")), errors.Join(err, e)
		if c.Current {
			is = c.Version
		}
	}
	if err != nil || !slices.Equal(bodies, quays) || is != current {
		t.Errorf("%q are left, of which %d is current, %v", bodies, is, err)
	}
	if list, err := a.Captures(pier); err != nil || (len(list) == 1) != piers {
		t.Errorf("pier: %v, %v", list, err)
	}
	var got []string
	err = a.EachTombstone(func(s Tombstone) error {
		if s.URL != gone {
			got = append(got, fmt.Sprint(strings.TrimPrefix(s.URL, "http://example.com/"), " ", s.Version))
		}
		return nil
	})
	slices.Sort(got)
	if err != nil || !slices.Equal(got, graves) {
		t.Errorf("tombstones of %q, %v", got, err)
	}
}

// goesWithItsLast erases quay and pier, which share a body. It checks that the body is deleted with
// the second page and not with the first.
func goesWithItsLast(t *testing.T, a *Archive) {
	t.Helper()
	if _, err := a.Erase(t.Context(), Tombstone{URL: quay, Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	list, err := a.Captures(pier)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	hasBody(t, a, list[0].ID, "<p>one")
	if _, err := a.Erase(t.Context(), Tombstone{URL: pier, Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	if s := stats(t, a); s.Bodies != 1 { // only the body of crane is left
		t.Errorf("%+v", s)
	}
}

func settles(t *testing.T, a *Archive, url string) bool {
	t.Helper()
	stands, err := a.Unsettled(url)
	if err != nil {
		t.Error(err)
	}
	return stands
}

func destroyedKey(t testing.TB, dir string) uint64 {
	t.Helper()
	file := read(t, dir, "keys.db")
	for n := 1; n*slot < len(file); n++ {
		if bytes.Equal(file[n*slot:(n+1)*slot], make([]byte, slot)) {
			return uint64(n)
		}
	}
	t.Fatal("no key was destroyed")
	return 0
}

// If random records are changed, Repair makes the archive valid again. All content that remains is
// unchanged.
func TestRepairAtRandom(t *testing.T) {
	t.Parallel()
	whole := specimen(t)
	dir := t.TempDir()
	unpackFiles(t, dir, whole)
	want := contents(t, dir)
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		dir := t.TempDir()
		unpackFiles(t, dir, whole)
		spoil(t, dir, func(tx *bolt.Tx) error {
			for range 1 + rnd.IntN(6) {
				if err := spoilOne(tx, rnd); err != nil {
					return err
				}
			}
			return nil
		})
		a, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		left, err := a.Repair(t.Context(), nil)
		if err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
		shut(t, a)
		for id, is := range contents(t, dir) {
			if is != want[id] {
				t.Errorf("capture %d is %q and was %q", id, is, want[id])
			}
		}
	}
}

// spoilOne deletes or changes one record of an archive.
func spoilOne(tx *bolt.Tx, rnd *rand.Rand) error {
	parts := [][]byte{bCaptures, bBodies, bRemains, bDigests, bResources, bEarlier, bAliases, bAliased, bTombstones}
	name := parts[rnd.IntN(len(parts))]
	bucket := tx.Bucket(name)
	var keys [][]byte
	bucket.ForEach(func(k, _ []byte) error { keys = append(keys, bytes.Clone(k)); return nil })
	if len(keys) == 0 {
		return nil
	}
	k := keys[rnd.IntN(len(keys))]
	v := bytes.Clone(bucket.Get(k))
	if rnd.IntN(3) == 0 || len(v) == 0 {
		return bucket.Delete(k)
	}
	v[rnd.IntN(len(v))] ^= byte(1 + rnd.IntN(255))
	return bucket.Put(k, v)
}

func unpackFiles(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for name, file := range files {
		write(t, dir, name, file)
	}
}

// contents returns the captures and bodies of an archive by ID.
func contents(t testing.TB, dir string) map[uint64]string {
	t.Helper()
	a := open(t, dir, Options{})
	defer shut(t, a)
	all := map[uint64]string{}
	err := a.EachCapture(func(c Capture) error {
		body, rendered, err := a.Documents(c.ID)
		if (rendered == nil) != (c.Rendered == "") || rendered != nil && Digest(rendered) != c.Rendered {
			t.Errorf("capture %d has %q as its rendered document", c.ID, rendered)
		}
		all[c.ID] = fmt.Sprint(c.URL, c.Fetched, c.Header, Digest(body)) // a lost rendered document is dropped
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return all
}

// Repair does not repair damaged pages of the file. It reports them with a remedy and writes
// nothing.
func TestRepairLeavesPages(t *testing.T) {
	dir := t.TempDir()
	unpackFiles(t, dir, specimen(t))
	var page int
	spoil(t, dir, func(tx *bolt.Tx) error { page = int(tx.Bucket(bBodies).Root()); return nil })
	file := read(t, dir, "archive.db")
	file[page*os.Getpagesize()] ^= 0xff // the page now contains a wrong page number
	write(t, dir, "archive.db", file)
	a, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	before := read(t, dir, "archive.db")
	left, err := a.Repair(t.Context(), func(r Repaired) { t.Error("repaired:", r) })
	if err != nil || len(left) == 0 || left[0].Repairable || left[0].Remedy == "" {
		t.Errorf("left %+v, %v", left, err)
	}
	if !bytes.Equal(before, read(t, dir, "archive.db")) {
		t.Error("it was written")
	}
}

// If the disk returns read errors, Repair erases nothing because of them.
func TestRepairFailingDisk(t *testing.T) {
	dir := t.TempDir()
	quays, piers := harbour(t, dir)
	a, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	good := a.keys.f
	if a.keys.f, err = os.OpenFile(filepath.Join(dir, "keys.db"), os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	left, err := a.Repair(t.Context(), func(r Repaired) { t.Error("repaired:", r) })
	if err == nil && len(left) == 0 {
		t.Error("nothing is wrong")
	}
	for _, p := range left {
		if p.Repairable || p.Remedy == "" {
			t.Errorf("%+v", p)
		}
	}
	a.keys.f.Close()
	a.keys.f = good
	for _, c := range append(quays, piers) {
		if _, err := a.Body(c.ID); err != nil {
			t.Error(err)
		}
	}
	shut(t, a)
}

// A repair that cannot be written changes nothing. The next Repair makes the same repair.
func TestRepairFails(t *testing.T) {
	dir := t.TempDir()
	quays, _ := harbour(t, dir)
	spoil(t, dir, func(tx *bolt.Tx) error { return garble(tx, bCaptures, idKey(quays[0].ID)) })
	var failing atomic.Bool
	full := errors.New("no space left")
	a, err := Open(dir, Options{Fault: func(s Step) error {
		if s == Commit && failing.Load() {
			return full
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	before, err := a.Verify(t.Context(), VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	failing.Store(true)
	if _, err := a.Repair(t.Context(), func(r Repaired) { t.Error("told:", r) }); !errors.Is(err, full) {
		t.Error(err)
	}
	failing.Store(false)
	if after, err := a.Verify(t.Context(), VerifyOptions{}); err != nil || !slices.Equal(before, after) {
		t.Errorf("%v, then %v, %v", before, after, err)
	}
	if left, err := a.Repair(t.Context(), nil); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	shut(t, a)
}

// Repair does not damage data that other goroutines write during the repair, and their writes do
// not disturb the repair.
func TestRepairMeanwhile(t *testing.T) {
	dir := t.TempDir()
	unpackFiles(t, dir, specimen(t))
	rnd := rand.New(rand.NewPCG(5, 6))
	spoil(t, dir, func(tx *bolt.Tx) error {
		var err error
		for range 12 {
			err = errors.Join(err, spoilOne(tx, rnd))
		}
		return err
	})
	a, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]uint64{}
	ctx, stop := context.WithCancel(t.Context())
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := 0; ctx.Err() == nil || i < 10; i++ {
			name := fmt.Sprintf("http://example.org/%d", i)
			c, err := a.Receive(context.Background(), deposit(name, fmt.Sprint(i)))
			if err != nil {
				t.Error(err)
				return
			}
			kept[name] = c.ID
			if i%3 == 2 {
				name := fmt.Sprintf("http://example.org/%d", i-1)
				if _, err := a.Erase(context.Background(), Tombstone{URL: name, Why: "asked"}); err != nil {
					t.Error(err)
					return
				}
				delete(kept, name)
			}
		}
	}()
	left, err := a.Repair(t.Context(), nil)
	stop()
	<-written
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		if _, err := a.Body(kept[name]); err != nil {
			t.Error(name, err)
		}
	}
	shut(t, a)
}

// After any bytes were changed, either Repair reports a problem that it cannot repair, or all
// content that remains in the archive is unchanged.
func TestRepairDamage(t *testing.T) {
	t.Parallel()
	whole := specimen(t)
	first := t.TempDir()
	unpackFiles(t, first, whole)
	want := contents(t, first)
	rnd := rand.New(rand.NewPCG(7, 8))
	repaired := 0
	for i := range 80 {
		name := []string{"archive.db", "keys.db"}[i%4/3]
		file := bytes.Clone(whole[name])
		at, n := rnd.IntN(len(file)), 1+rnd.IntN(8)
		for j := at; j < min(at+n, len(file)); j++ {
			file[j] ^= byte(1 << rnd.IntN(8))
		}
		dir := t.TempDir()
		unpackFiles(t, dir, whole)
		write(t, dir, name, file)
		a, err := Open(dir, Options{})
		if err != nil {
			continue
		}
		done := 0
		left, err := a.Repair(t.Context(), func(Repaired) { done++ })
		if err != nil {
			t.Errorf("%d bytes of %s changed at %d: %v", n, name, at, err)
		}
		if len(left) > 0 {
			for _, p := range left {
				if p.Remedy == "" {
					t.Errorf("%d bytes of %s changed at %d: left, with nothing to do: %s", n, name, at, p)
				}
			}
			a.Close()
			continue
		}
		shut(t, a)
		if done > 0 {
			repaired++
		}
		for id, is := range contents(t, dir) {
			if is != want[id] {
				t.Errorf("%d bytes of %s changed at %d: capture %d is %q and was %q", n, name, at, id, is, want[id])
			}
		}
	}
	if repaired == 0 {
		t.Error("nothing was ever repaired")
	}
}

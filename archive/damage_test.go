package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

func TestForeignFiles(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"garbage": func(t *testing.T, dir string) {
			write(t, dir, "archive.db", bytes.Repeat([]byte("this is not a database. "), 4000))
		},
		"short": func(t *testing.T, dir string) { write(t, dir, "archive.db", []byte("x")) },
		"other database": func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "archive.db"))
			db, err := bolt.Open(filepath.Join(dir, "archive.db"), 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err })
		},
		"cut": func(t *testing.T, dir string) {
			file := read(t, dir, "archive.db")
			write(t, dir, "archive.db", file[:40<<10])
		},
		"keys lost":     func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "keys.db")) },
		"keys empty":    func(t *testing.T, dir string) { write(t, dir, "keys.db", nil) },
		"keys garbage":  func(t *testing.T, dir string) { write(t, dir, "keys.db", bytes.Repeat([]byte("?"), 9999)) },
		"archive lost":  func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "archive.db")) },
		"archive empty": func(t *testing.T, dir string) { write(t, dir, "archive.db", nil) },
		"keys of another": func(t *testing.T, dir string) {
			other := t.TempDir()
			shut(t, open(t, other, Options{}))
			write(t, dir, "keys.db", read(t, other, "keys.db"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			a := open(t, dir, Options{})
			for i := range 50 {
				put(t, a, deposit(fmt.Sprint("http://example.com/", i), fmt.Sprint(i)))
			}
			shut(t, a)
			spoil(t, dir)
			for range 2 { // try twice: a failed Open must release its lock
				if _, err := Open(dir, Options{}); !errors.Is(err, ErrCorrupt) {
					t.Errorf("opened with %v", err)
				}
			}
		})
	}
}

func TestNewerFormat(t *testing.T) {
	dir := t.TempDir()
	shut(t, open(t, dir, Options{}))
	db, err := bolt.Open(filepath.Join(dir, "archive.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket(bMeta).Put(kHeader, mustPack(kHeader, header{Format: formatRendered + 1}))
	})
	db.Close()
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

// If bytes of the archive were changed, at least one of the following is true: Open fails, Verify
// reports the damage, or everything that can be read is unchanged.
func TestDamage(t *testing.T) {
	t.Parallel()
	whole := specimen(t)
	want := transcript(t, whole)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 100 {
		name := "archive.db"
		switch i % 5 {
		case 3:
			name = firstBodies
		case 4:
			name = "keys.db"
		}
		file := bytes.Clone(whole[name])
		at, n := rnd.IntN(len(file)), 1+rnd.IntN(8)*(i%2)
		for j := at; j < min(at+n, len(file)); j++ {
			file[j] ^= byte(1 << rnd.IntN(8))
		}
		spoiled := maps.Clone(whole)
		spoiled[name] = file
		if got, found := damaged(t, spoiled); !found && got != want {
			t.Errorf("%d bytes of %s changed at %d: what is read differs, and Verify is content", n, name, at)
		}
	}
}

func FuzzDamage(f *testing.F) {
	whole := specimen(f)
	want := transcript(f, whole)
	f.Add(uint32(4096), []byte{1})
	f.Add(uint32(70), []byte("\x00\x00"))
	f.Add(uint32(20000), bytes.Repeat([]byte{0xff}, 5000))
	f.Fuzz(func(t *testing.T, at uint32, change []byte) {
		file := bytes.Clone(whole["archive.db"])
		for i, c := range change {
			if j := int(at) + i; j < len(file) {
				file[j] ^= c
			}
		}
		spoiled := maps.Clone(whole)
		spoiled["archive.db"] = file
		if got, found := damaged(t, spoiled); !found && got != want {
			t.Error("what is read differs, and Verify is content")
		}
	})
}

// firstBodies is the name of the first body file.
const firstBodies = bodiesDir + "/00000001"

// specimen returns the files of an archive that contains every kind of record.
func specimen(t testing.TB) map[string][]byte {
	dir := t.TempDir()
	a := open(t, dir, Options{})
	ctx := context.Background()
	for i := range 60 {
		d := deposit(fmt.Sprintf("http://example.com/%02d", i%40), fmt.Sprint(i%30))
		d.Body = bytes.Repeat(d.Body, 1+i*i)
		d.Index, d.Aliases = i%3 == 0, []string{fmt.Sprintf("http://example.com/hop%d", i)}
		switch i % 4 {
		case 1:
			d.Rendered = d.Body
		case 2:
			d.Rendered = []byte(fmt.Sprint("<p>rendered ", i%7))
		}
		put(t, a, d)
	}
	if _, err := a.Erase(ctx, Tombstone{URL: "http://example.com/07", Why: "take-down", Line: "line"}); err != nil {
		t.Fatal(err)
	}
	if err := a.EraseCapture(ctx, 9, Tombstone{Why: "expired"}); err != nil {
		t.Fatal(err)
	}
	var size int64
	a.view(func(tx *bolt.Tx) error { size = tx.Size(); return nil })
	shut(t, a)
	return map[string][]byte{"archive.db": read(t, dir, "archive.db")[:size], "keys.db": read(t, dir, "keys.db"),
		firstBodies: read(t, dir, firstBodies)}
}

func transcript(t testing.TB, files map[string][]byte) string {
	text, found := damaged(t, files)
	if found {
		t.Fatal("the specimen itself is damaged")
	}
	return text
}

// damaged opens an archive with the given files. It returns everything that can be read, and
// whether damage was found.
func damaged(t testing.TB, files map[string][]byte) (text string, found bool) {
	dir := t.TempDir()
	for name, file := range files {
		write(t, dir, name, file)
	}
	a, err := Open(dir, Options{Now: func() time.Time { return noon }})
	if err != nil {
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrFormat) {
			t.Errorf("opened with %v", err)
		}
		return "", true
	}
	defer a.Close()
	problems, err := a.Verify(context.Background(), VerifyOptions{})
	if err != nil {
		t.Errorf("verify: %v", err)
	}
	if len(problems) > 0 {
		return "", true
	}
	var out bytes.Buffer
	e1 := a.Each(func(r Resource) error { fmt.Fprintln(&out, r); return nil })
	e2 := a.EachCapture(func(c Capture) error {
		body, rendered, err := a.Documents(c.ID)
		fmt.Fprintln(&out, c, body, rendered)
		return err
	})
	e3 := a.EachTombstone(func(s Tombstone) error { fmt.Fprintln(&out, s); return nil })
	intents, e4 := a.Intents()
	s, e5 := a.Stats()
	fmt.Fprintln(&out, intents, s)
	if err := errors.Join(e1, e2, e3, e4, e5); err != nil {
		t.Errorf("Verify is content, reading is not: %v", err)
	}
	return out.String(), false
}

// If bytes of the file change while the archive is open, only the data in the changed bytes becomes
// unreadable.
func TestDamageWhileOpen(t *testing.T) {
	dir := t.TempDir()
	a, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		put(t, a, deposit(fmt.Sprint("http://example.com/", i), fmt.Sprint(i)))
	}
	f, err := os.OpenFile(filepath.Join(dir, "archive.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// overwrite everything except the root records
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, 200<<10), 8<<10); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Captures("http://example.com/7"); !errors.Is(err, ErrCorrupt) {
		t.Error("read:", err)
	}
	if problems, err := a.Verify(context.Background(), VerifyOptions{}); err != nil || len(problems) == 0 {
		t.Error("verify:", problems, err)
	}
	if _, err := a.Receive(context.Background(), deposit("http://example.com/new", "new")); !errors.Is(err,
		ErrCorrupt) {
		t.Error("write:", err)
	}
	if err := a.Close(); err != nil {
		t.Error("close:", err)
	}
}

func read(t testing.TB, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t testing.TB, dir, name string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

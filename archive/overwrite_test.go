package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// A page that was free when the compaction began, and that a transaction has used since, is not
// overwritten while a reader needs it.
func TestCompactSparesReaders(t *testing.T) {
	ctx := context.Background()
	url := func(i int) string { return fmt.Sprint("http://example.com/", i) }
	reading, release, read := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	change := func(a *Archive, status int) {
		for i := range 100 {
			if err := a.Update(ctx, url(i), func(r *Resource) { r.Status = status }); err != nil {
				t.Error(err)
			}
		}
	}
	var a *Archive
	a = open(t, t.TempDir(), Options{Fault: func(s Step) error {
		if s != OverwriteBodies {
			return nil
		}
		// now the free pages are listed, and nothing is overwritten yet
		change(a, 404)
		go func() {
			read <- a.snapshot(func(tx *bolt.Tx) error {
				close(reading)
				<-release
				wrong := 0
				for i := range 100 {
					var rec resourceRecord
					_, err := unpackSealed([]byte(url(i)), tx.Bucket(bResources).Get([]byte(url(i))), &rec)
					if err != nil || rec.Status != 404 {
						wrong++
					}
				}
				if wrong > 0 {
					return fmt.Errorf("%d of 100 records are not as they were", wrong)
				}
				return nil
			})
		}()
		<-reading
		change(a, 500)
		return nil
	}})
	for i := range 101 {
		put(t, a, deposit(url(i), fmt.Sprint(i)))
	}
	if _, err := a.Erase(ctx, Tombstone{URL: url(100), Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	compact(t, a)
	close(release)
	if err := <-read; err != nil {
		t.Error(err)
	}
}

// A compaction that was interrupted after it had moved bodies leaves a file that no record names.
// The next compaction removes it, and so does Open.
func TestMovedBodiesLeaveNoFile(t *testing.T) {
	t.Parallel()
	for _, reopen := range []bool{false, true} {
		dir, failing, full := t.TempDir(), true, errors.New("no space left")
		a := open(t, dir, Options{Fault: func(s Step) error {
			if s == RemoveBodies && failing {
				return full
			}
			return nil
		}})
		for i := range 10 {
			d := deposit(fmt.Sprint("http://example.com/", i), "")
			d.Body = noise(fmt.Sprint(i), 5000)
			put(t, a, d)
		}
		for i := 1; i < 10; i++ {
			if _, err := a.Erase(t.Context(), Tombstone{URL: fmt.Sprint("http://example.com/", i),
				Why: "asked"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.Compact(t.Context(), nil, nil); !errors.Is(err, full) {
			t.Error(err)
		}
		if size, err := fileSize(dir, 1); size == 0 || err != nil {
			t.Error("the file is gone", err)
		}
		failing = false
		if reopen {
			shut(t, a)
			open(t, dir, Options{})
		} else {
			compact(t, a)
		}
		if size, err := fileSize(dir, 1); size != 0 || err != nil {
			t.Error("the file is still there", err)
		}
	}
}

// On a full disk, a compaction removes the body files from which nothing must move.
func TestCompactFreesFullDisk(t *testing.T) {
	t.Parallel()
	dir, full, failing := t.TempDir(), errors.New("no space left"), false
	a := open(t, dir, Options{Fault: func(s Step) error {
		if s == SyncBodies && failing {
			return full
		}
		return nil
	}})
	url := func(i int) string { return fmt.Sprint("http://example.com/", i) }
	for i, size := range []int{1000, mostBodies - 5000, 7000, 3000, 9000} { // the first two fill a file
		d := deposit(url(i), "")
		d.Body = noise(fmt.Sprint(i), size)
		put(t, a, d)
	}
	for _, i := range []int{0, 1, 2, 4} {
		if _, err := a.Erase(t.Context(), Tombstone{URL: url(i), Why: "asked"}); err != nil {
			t.Fatal(err)
		}
	}
	sizes := func() (list [2]int64) {
		for i := range list {
			size, err := fileSize(dir, uint32(i+1))
			if list[i] = size; err != nil {
				t.Error(err)
			}
		}
		return list
	}
	before := sizes()
	failing = true
	if _, err := a.Compact(t.Context(), nil, nil); !errors.Is(err, full) {
		t.Error(err)
	}
	if now := sizes(); now[1] != before[1] || before[0] == 0 || now[0] != 0 {
		t.Errorf("the files have %d bytes, and had %d", now, before)
	}
	failing = false
	compact(t, a)
	if now := sizes(); now[1] != 0 {
		t.Errorf("the second file has %d bytes", now[1])
	}
	hasBody(t, a, 4, string(noise("3", 3000)))
}

// A body file that was truncated stays, and so does what archive.db says of it; other files are
// removed.
func TestCompactTruncatedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	url := func(i int) string { return fmt.Sprint("http://example.com/", i) }
	// the second and the fourth begin after others
	for i, size := range []int{mostBodies - 1000, 5000, mostBodies, 9000} {
		d := deposit(url(i), "")
		d.Body = noise(fmt.Sprint(i), size)
		put(t, a, d)
	}
	for _, i := range []int{0, 2} {
		if _, err := a.Erase(t.Context(), Tombstone{URL: url(i), Why: "asked"}); err != nil {
			t.Fatal(err)
		}
	}
	size, err := fileSize(dir, 1)
	if err == nil {
		err = os.Truncate(filepath.Join(dir, bodiesDir, bodyFileName(1)), size-100)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Compact(t.Context(), nil, nil); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if now, err := fileSize(dir, 1); now != size-100 || err != nil {
		t.Errorf("the truncated file has %d bytes, %v", now, err)
	}
	if now, err := fileSize(dir, 2); now != 0 || err != nil {
		t.Errorf("the other file has %d bytes, %v", now, err)
	}
	if _, err := a.Body(2); err == nil {
		t.Error("the truncated body can be read")
	}
}

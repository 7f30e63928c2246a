package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// copies stores the files of a backup by name.
type copies map[string]*bytes.Buffer

func (c copies) create(name string, _ int64) (io.Writer, error) {
	c[name] = &bytes.Buffer{}
	return c[name], nil
}

// restore writes the files of a backup to a new directory.
func (c copies) restore(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, file := range c {
		write(t, dir, name, file.Bytes())
	}
	return dir
}

// A backup has the content of one instant, even if the archive changes during the backup. Its files
// have the announced sizes.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	quays, _ := harbour(t, dir)
	want := contents(t, dir)
	a := open(t, dir, Options{})
	before := stats(t, a)
	begun, said := false, map[string]int64{}
	files := copies{}
	held, err := a.Backup(t.Context(), func() { begun = true }, func(name string, size int64) (io.Writer, error) {
		if !begun {
			t.Error("something is handed out before it has begun")
		}
		// an erasure does not wait for the backup, and the backup still contains the erased page
		if name == "keys.db" {
			if _, err := a.Erase(t.Context(), Tombstone{URL: quay, Why: "asked"}); err != nil {
				t.Error(err)
			}
			put(t, a, deposit("http://example.com/late", "late"))
		}
		said[name] = size
		return files.create(name, size)
	})
	if err != nil || held != before {
		t.Fatalf("%+v, %v; want %+v", held, err, before)
	}
	for name, size := range said {
		if int64(files[name].Len()) != size {
			t.Errorf("%s has %d bytes and was said to have %d", name, files[name].Len(), size)
		}
	}
	restored := files.restore(t)
	if got := contents(t, restored); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("restored %v, want %v", got, want)
	}
	b := open(t, restored, Options{})
	hasBody(t, b, quays[2].ID, "<p>three")
	if got := stats(t, b); got != before {
		t.Errorf("%+v, want %+v", got, before)
	}
	put(t, b, deposit("http://example.com/late", "later")) // the restored archive can be written
}

// A backup contains no key of erased data, even if the key is not yet destroyed.
func TestBackupWithoutKeys(t *testing.T) {
	dir := t.TempDir()
	var failing atomic.Bool
	a := open(t, dir, Options{Fault: func(s Step) error {
		if s == Destroy && failing.Load() {
			return errors.New("no space left")
		}
		return nil
	}})
	c := put(t, a, deposit("http://example.com/", "x"))
	k, err := a.keys.read(1)
	if err != nil || k.zero() {
		t.Fatal(k, err)
	}
	failing.Store(true)
	if err := a.EraseCapture(t.Context(), c.ID, Tombstone{Why: "asked"}); err == nil {
		t.Fatal("the key was destroyed")
	}
	files := copies{}
	if _, err := a.Backup(t.Context(), nil, files.create); err != nil {
		t.Fatal(err)
	}
	failing.Store(false)
	for n := uint64(1); n <= 2; n++ { // the keys of the body and of the capture
		if k, err = a.keys.read(n); err != nil || k.zero() || bytes.Contains(files["keys.db"].Bytes(), k[:]) {
			t.Errorf("key %d is %x, %v, or stands in the backup", n, k, err)
		}
	}
	open(t, files.restore(t), Options{})
}

// Backups that run while others write and erase are intact. They contain everything whose storing
// was acknowledged before, and nothing whose erasure was acknowledged before.
func TestBackupMeanwhile(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	kept := map[string]bool{} // acknowledged operations by body: true if held, false if erased
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("http://example.com/%d/%d", w, i)
				put(t, a, deposit(name, strings.Repeat(name, 50)))
				stays := i%3 != 2
				if !stays {
					if _, err := a.Erase(context.Background(), Tombstone{URL: name, Why: "asked"}); err != nil {
						t.Error(err)
					}
				}
				mu.Lock()
				kept[name] = stays
				mu.Unlock()
			}
		})
	}
	for range 5 {
		mu.Lock()
		before := maps.Clone(kept)
		mu.Unlock()
		files := copies{}
		if _, err := a.Backup(t.Context(), nil, files.create); err != nil {
			t.Error(err)
			continue
		}
		b := open(t, files.restore(t), Options{Now: time.Now})
		for name, is := range before {
			list, err := b.Captures(name)
			if err != nil || is && len(list) != 1 || !is && len(list) != 0 {
				t.Errorf("%s: held %v, in the backup %d, %v", name, is, len(list), err)
			}
		}
		shut(t, b)
	}
	stop()
	wg.Wait()
}

func TestBackupStops(t *testing.T) {
	dir := t.TempDir()
	harbour(t, dir)
	a := open(t, dir, Options{})
	ctx, stop := context.WithCancel(t.Context())
	_, err := a.Backup(ctx, stop, copies{}.create)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	full := errors.New("no space left")
	if _, err := a.Backup(t.Context(), nil, func(string, int64) (io.Writer, error) {
		return nil,
			full
	}); !errors.Is(err, full) {
		t.Error(err)
	}
	put(t, a, deposit(quay, "four")) // the failed backup does not block writes
}

// shelf returns an open archive of n copies of 20 KB.
func shelf(b *testing.B, n int) *Archive {
	a := open(b, b.TempDir(), Options{})
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		d := deposit(fmt.Sprint("http://example.com/", i), "")
		d.Body = sample(rnd)
		put(b, a, d)
	}
	return a
}

// BenchmarkBackup measures the speed of a backup, and how long writes wait for it.
func BenchmarkBackup(b *testing.B) {
	a := shelf(b, 2000)
	var waited time.Duration
	var bytes int64
	for b.Loop() {
		start := time.Now()
		_, err := a.Backup(b.Context(), func() { waited += time.Since(start) },
			func(_ string, size int64) (io.Writer, error) {
				bytes += size
				return io.Discard, nil
			})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(waited.Microseconds())/float64(b.N), "µs-waited/op")
	b.ReportMetric(float64(bytes)/1e6/b.Elapsed().Seconds(), "MB/s")
}

// BenchmarkVerify measures how many copies are verified per second.
func BenchmarkVerify(b *testing.B) {
	const n = 2000
	a := shelf(b, n)
	for b.Loop() {
		if problems, err := a.Verify(b.Context(), VerifyOptions{}); err != nil || len(problems) > 0 {
			b.Fatal(problems, err)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "captures/s")
}

package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

func compact(t testing.TB, a *Archive) CompactStats {
	t.Helper()
	s, err := a.Compact(context.Background(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// dump returns all records except the record of compactions.
func dump(t testing.TB, db *bolt.DB) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			all[string(name)] = fmt.Sprint(b.Sequence())
			return b.ForEach(func(k, v []byte) error {
				if !bytes.Equal(k, kUpkeep) {
					all[string(name)+" "+string(k)] = string(v)
				}
				return nil
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t testing.TB, got, want map[string]string) {
	t.Helper()
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%.80q is lost or changed", k)
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%.80q has come from nowhere", k)
		}
	}
}

// placed reports whether a key of dump is that of a record that says where bodies are, which a
// compaction changes.
func placed(k string) bool {
	return strings.HasPrefix(k, "bodies ") || strings.HasPrefix(k, "files ") || strings.HasPrefix(k, "remains ")
}

// noise returns a body that cannot be compressed.
func noise(seed string, n int) []byte {
	rnd := rand.NewChaCha8(sha256.Sum256([]byte(seed)))
	b := make([]byte, n)
	rnd.Read(b)
	return b
}

func TestCompact(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	var last Capture
	for i := range 200 {
		d := deposit(fmt.Sprint("http://example.com/", i), fmt.Sprint(i))
		d.Body, d.Aliases = noise(fmt.Sprint(i), 20_000), []string{fmt.Sprint("http://example.com/to/", i)}
		last = put(t, a, d)
	}
	for i := 100; i < 200; i++ { // also erase the pages with the highest numbers: these numbers must not be reused
		if _, err := a.Erase(context.Background(), Tombstone{URL: fmt.Sprint("http://example.com/", i),
			Why: "take-down"}); err != nil {
			t.Fatal(err)
		}
	}
	want := dump(t, a.db)
	s := compact(t, a)
	delete(want, "doomed")
	for k := range want { // the keys are destroyed, but only the next transaction removes them from the list
		if strings.HasPrefix(k, "doomed ") || placed(k) {
			delete(want, k)
		}
	}
	got := dump(t, a.db)
	delete(got, "doomed")
	for k := range got {
		if placed(k) {
			delete(got, k)
		}
	}
	same(t, got, want)
	if s.Before < 4_000_000 || s.After > 4_000_000 || s.Overwritten < 2_000_000 || s.Moved != 100 {
		t.Errorf("%+v", s)
	}
	for i := range 100 {
		hasBody(t, a, uint64(i+1), string(noise(fmt.Sprint(i), 20_000)))
	}
	if c := put(t, a, deposit("http://example.com/new", "new")); c.ID <= last.ID {
		t.Errorf("capture %d after %d", c.ID, last.ID)
	}
	compact(t, a)
	shut(t, a)
	a = open(t, dir, Options{})
	if got := stats(t, a); got.Captures != 101 || got.Tombstones != 100 || got.Aliases != 100 {
		t.Errorf("%+v", got)
	}
}

// Changes that are made between any two steps of a compaction are kept. Keys of all buckets are
// added, changed and deleted, over several pages.
func TestCompactKeepsChanges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			ctx, rnd := context.Background(), rand.New(rand.NewPCG(seed, 1))
			var a *Archive
			url := func() string { return fmt.Sprintf("http://example.com/%d", rnd.IntN(600)) }
			change := func(n int) {
				var wg sync.WaitGroup
				for range n {
					at, kind, text := url(), rnd.IntN(10), fmt.Sprint(rnd.IntN(900))
					size := rnd.IntN(9000)
					wg.Go(func() {
						var err error
						switch {
						case kind < 6:
							d := deposit(at, text)
							d.Body, d.Index, d.Aliases = noise(text, size), kind < 3, []string{at + "/from"}
							_, err = a.Receive(ctx, d)
							a.Done(at)
						case kind < 8:
							err = a.Update(ctx, at, func(r *Resource) { r.Kept.Title = text })
						default:
							_, err = a.Erase(ctx, Tombstone{URL: at, Why: "take-down"})
						}
						if err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
			}
			a = open(t, t.TempDir(), Options{})
			change(rnd.IntN(1500))
			for range 3 {
				compacted := make(chan struct{})
				go func() {
					defer close(compacted)
					compact(t, a)
				}()
				change(rnd.IntN(2000))
				<-compacted
				want := dump(t, a.db)
				compact(t, a)
				got := dump(t, a.db)
				// ignore records that change when the compaction ends, in a separate transaction
				for _, m := range []map[string]string{got, want} {
					for k := range m {
						if strings.HasPrefix(k, "doomed ") || strings.HasPrefix(k, "intents ") || placed(k) {
							delete(m, k)
						}
					}
				}
				same(t, got, want)
				clean(t, a)
			}
		})
	}
}

// Writers, erasers and readers work during repeated compactions.
func TestCompactInUse(t *testing.T) {
	t.Parallel()
	a := open(t, t.TempDir(), Options{})
	ctx := context.Background()
	var wg sync.WaitGroup
	done := make(chan struct{})
	for w := range 4 {
		wg.Go(func() {
			for i := range 120 {
				at := fmt.Sprintf("http://example.com/%d/%d", w, i)
				d := deposit(at, at)
				d.Body = noise(at, 3000)
				c, err := a.Receive(ctx, d)
				if err != nil {
					t.Error(err)
					return
				}
				if body, err := a.Body(c.ID); err != nil || !bytes.Equal(body, d.Body) {
					t.Errorf("capture %d: %v", c.ID, err)
				}
				if i%3 == 0 {
					if n, err := a.Erase(ctx, Tombstone{URL: at, Why: "asked"}); n != 1 || err != nil {
						t.Error(n, err)
					}
					if _, err := a.Body(c.ID); !errors.Is(err, ErrNotHeld) {
						t.Errorf("capture %d is erased: %v", c.ID, err)
					}
				}
			}
		})
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	for busy := true; busy; {
		compact(t, a)
		clean(t, a)
		select {
		case <-done:
			busy = false
		default:
		}
	}
	if s := stats(t, a); s.Captures != 320 || s.Tombstones != 160 {
		t.Errorf("%+v", s)
	}
}

// A reader that began before a compaction reads the archive as it was then: the compaction waits
// for it, and the writer does not.
func TestCompactUnderReader(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	one := put(t, a, deposit("http://example.com/1", "one"))
	reading, release, read := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		read <- a.snapshot(func(tx *bolt.Tx) error {
			close(reading)
			<-release
			if tx.Bucket(bCaptures).Get(idKey(2)) != nil || tx.Bucket(bCaptures).Get(idKey(1)) == nil {
				t.Error("the state at the beginning is not what is read")
			}
			sum, e1 := digestBytes(one.Payload)
			b, e2 := unpackBody(sum, tx.Bucket(bDigests).Get(sum))
			sealed, e3 := a.sealedBody(tx, b.ID, nil)
			if uint64(len(sealed)) != b.Stored || len(bytes.Trim(sealed, "\x00")) == 0 {
				t.Errorf("the body has %d bytes, want %d", len(sealed), b.Stored)
			}
			return errors.Join(e1, e2, e3)
		})
	}()
	<-reading
	if _, err := a.Erase(t.Context(), Tombstone{URL: one.URL, Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	compacted := make(chan error)
	go func() {
		_, err := a.Compact(context.Background(), nil, nil)
		compacted <- err
	}()
	for a.inEra(0) {
		runtime.Gosched() // until the compaction waits for the reader
	}
	put(t, a, deposit("http://example.com/2", "two"))
	hasBody(t, a, 2, "<p>two")
	select {
	case err := <-compacted:
		t.Error("the compaction has ended before the reader:", err)
	default:
	}
	close(release)
	if err := <-read; err != nil {
		t.Error(err)
	}
	if err := <-compacted; err != nil {
		t.Error(err)
	}
}

// inEra reports whether awaitReaders was called so many times.
func (a *Archive) inEra(n uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.era == n
}

func TestCompactBrokenOff(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	for _, step := range []Step{OverwriteBodies, OverwritePages} {
		for _, how := range []string{"error", "cancelled", "closed"} {
			// Close waits for the writer, which performs this step, and so would wait for itself
			if step == OverwritePages && how == "closed" {
				continue
			}
			t.Run(fmt.Sprint(step, " ", how), func(t *testing.T) {
				dir := t.TempDir()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				var a *Archive
				closed := make(chan error, 1)
				a = open(t, dir, Options{Fault: func(s Step) error {
					switch {
					case s != step:
					case how == "error":
						return full
					case how == "cancelled":
						cancel()
					default:
						go func() { closed <- a.Close() }()
						<-a.quit
					}
					return nil
				}})
				for i := range 4 {
					d := deposit(fmt.Sprint("http://example.com/", i), "x")
					d.Body = noise(fmt.Sprint(i), 1<<20)
					put(t, a, d)
				}
				if _, err := a.Erase(ctx, Tombstone{URL: "http://example.com/0", Why: "asked"}); err != nil {
					t.Fatal(err)
				}
				_, err := a.Compact(ctx, nil, nil)
				want := map[string]error{"error": full, "cancelled": context.Canceled, "closed": ErrClosed}[how]
				if !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
				if how == "closed" {
					if err := <-closed; err != nil {
						t.Error(err)
					}
					a = open(t, dir, Options{})
				}
				if since, _, err := a.Uncompacted(); !since.Equal(noon) || err != nil {
					t.Error(since, err)
				}
				hasBody(t, a, 2, string(noise("1", 1<<20)))
			})
		}
	}
}

func TestUncompacted(t *testing.T) {
	dir := t.TempDir()
	now := noon
	clock := func() time.Time { return now }
	a := open(t, dir, Options{Now: clock})
	due := func(want time.Time) {
		t.Helper()
		if got, _, err := a.Uncompacted(); !got.Equal(want) || err != nil {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	pass := func() { now = now.Add(time.Minute) }
	erase := func(i int) {
		t.Helper()
		if _, err := a.Erase(context.Background(), Tombstone{URL: fmt.Sprint("http://example.com/", i),
			Why: "asked"}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 9 {
		put(t, a, deposit(fmt.Sprint("http://example.com/", i), fmt.Sprint(i)))
	}
	erase(99) // nothing of this page is held
	due(time.Time{})
	select {
	case <-a.Erased():
		t.Error("nothing was erased")
	default:
	}
	erase(1)
	<-a.Erased()
	pass()
	erase(2)
	<-a.Erased()
	due(noon) // the time of the first erasure
	shut(t, a)
	a = open(t, dir, Options{Now: clock})
	due(noon)
	failed := errors.New("the index is not compacted")
	if _, err := a.Compact(context.Background(), nil, func(context.Context) error { return failed }); !errors.Is(err,
		failed) {
		t.Error(err)
	}
	due(noon)
	pass()
	second := now
	_, err := a.Compact(context.Background(), nil, func(context.Context) error {
		pass()
		erase(3)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	due(now) // erasures that came after the begin of a compaction need another compaction
	if r, err := a.Receipt("http://example.com/2"); err != nil || !r.Settled() || !r.Compacted.Equal(second) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := a.Receipt("http://example.com/3"); err != nil || r.Settled() {
		t.Errorf("%+v, %v", r, err)
	}
	compact(t, a)
	due(time.Time{})
	one := deposit("http://example.com/4", "later")
	one.Replace = true
	put(t, a, one)
	due(now)
}

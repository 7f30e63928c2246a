package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/spool"
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
		if strings.HasPrefix(k, "doomed ") {
			delete(want, k)
		}
	}
	got := dump(t, a.db)
	delete(got, "doomed")
	same(t, got, want)
	if s.Before < 4_000_000 || s.After > 4_000_000 || s.Records < 500 {
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

// Changes that are made during the copy are in the new file. Keys of all buckets are added, changed
// and deleted, over several pages.
func TestCompactFollows(t *testing.T) {
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
			var want map[string]string
			copying := true
			a = open(t, t.TempDir(), Options{Fault: func(s Step) error {
				switch {
				// the copy has begun to read its snapshot of the old file and has not written
				// anything yet
				case s == Rewrite && copying:
					copying = false
					change(rnd.IntN(2000))
				case s == Swap:
					want = dump(t, a.db)
				}
				return nil
			}})
			change(rnd.IntN(1500))
			for range 3 {
				copying = true
				compact(t, a)
				got := dump(t, a.db)
				// ignore records that change when the compaction ends, in a separate transaction
				for _, m := range []map[string]string{got, want} {
					for k := range m {
						if strings.HasPrefix(k, "doomed ") || strings.HasPrefix(k, "intents ") {
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

// A reader that iterates over the whole archive during the swap continues in the old file. The
// archive does not wait for it.
func TestCompactUnderReader(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	put(t, a, deposit("http://example.com/1", "one"))
	reading, release, read := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		read <- a.snapshot(func(tx *bolt.Tx) error {
			close(reading)
			<-release
			wrong, err := spool.CheckPages(context.Background(), a.fileOf(tx), tx.DB().Info().PageSize, uint64(tx.ID()))
			if len(wrong) > 0 || tx.Bucket(bCaptures).Get(idKey(2)) != nil ||
				tx.Bucket(bCaptures).Get(idKey(1)) == nil {
				t.Error("the state at the beginning is not what is read", wrong)
			}
			return err
		})
	}()
	<-reading
	compact(t, a)
	put(t, a, deposit("http://example.com/2", "two"))
	compact(t, a)
	hasBody(t, a, 2, "<p>two")
	if _, err := Open(a.dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	close(release)
	if err := <-read; err != nil {
		t.Error(err)
	}
	a.retiring.Wait()
	if _, err := Open(a.dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
}

// A process that waits for the lock of a file that is being replaced does not open the replaced
// file.
func TestOpenReplaced(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, Options{})
	put(t, a, deposit("http://example.com/", "x"))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 10 {
			if other, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
				t.Error(err)
				if err == nil {
					other.Close()
				}
			}
		}
	}()
	for busy := true; busy; {
		compact(t, a)
		select {
		case <-ended:
			busy = false
		default:
		}
	}
}

func TestCompactBrokenOff(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	for _, step := range []Step{Rewrite, Swap} {
		for _, how := range []string{"error", "cancelled", "closed"} {
			// the writer performs this step to its end, so Compact is not aborted
			if step == Swap && how != "error" {
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
				if left, _ := filepath.Glob(filepath.Join(dir, "*"+unfinished)); left != nil {
					t.Error(left, "is left")
				}
				if since, _, err := a.Uncompacted(); !since.Equal(noon) || err != nil {
					t.Error(since, err)
				}
				hasBody(t, a, 2, string(noise("1", 1<<20)))
			})
		}
	}
}

// Open removes an unfinished file of a compaction.
func TestUnfinishedFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "archive.db"+unfinished, []byte("half of it"))
	open(t, dir, Options{})
	if _, err := os.Stat(filepath.Join(dir, "archive.db"+unfinished)); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A compaction fails if damage to the file has made records unreachable. Otherwise the compaction
// would remove these records for good.
func TestCompactDamaged(t *testing.T) {
	dir := t.TempDir()
	a, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	put(t, a, deposit("http://example.com/1", "one"))
	put(t, a, deposit("http://example.com/2", "two"))
	if err := a.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bCaptures).Delete(idKey(2)) }); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(dir, "archive.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Compact(context.Background(), nil, nil); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if after, err := os.Stat(filepath.Join(dir, "archive.db")); err != nil || !os.SameFile(before, after) {
		t.Error("the file was replaced", err)
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

// changed compares the trees of two transactions page by page.
func TestChanged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(file, 0o600, &bolt.Options{InitialMmapSize: 1 << 30, NoSync: true, NoGrowSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	name := []byte("b")
	rnd := rand.New(rand.NewPCG(5, 6))
	write := func(fn func(b *bolt.Bucket)) {
		t.Helper()
		err := db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(name)
			if err == nil {
				fn(b)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	key := func(i int) []byte { return fmt.Appendf(nil, "key %07d", i) }
	write(func(*bolt.Bucket) {})
	// bucket sizes in records: an inline bucket, a single leaf, trees that grow and shrink
	for _, size := range []int{1, 30, 3000, 60_000, 10} {
		was, err := db.Begin(false)
		if err != nil {
			t.Fatal(err)
		}
		write(func(b *bolt.Bucket) {
			for range size {
				b.Put(key(rnd.IntN(2*size)), key(rnd.Int()))
			}
		})
		write(func(b *bolt.Bucket) {
			for i := range size / 2 {
				b.Delete(key(i))
			}
		})
		is, err := db.Begin(false)
		if err != nil {
			t.Fatal(err)
		}
		gone, fresh, err := trees{f, db.Info().PageSize}.changed(uint64(was.Bucket(name).Root()),
			uint64(is.Bucket(name).Root()))
		if err != nil {
			t.Fatal(err)
		}
		in := func(list []span, k []byte) bool {
			return slices.ContainsFunc(list, func(s span) bool { return bytes.Compare(k, s.lo) >= 0 && s.has(k) })
		}
		is.Bucket(name).ForEach(func(k, v []byte) error {
			if !bytes.Equal(was.Bucket(name).Get(k), v) && !in(fresh, k) {
				t.Errorf("%s has changed", k)
			}
			return nil
		})
		was.Bucket(name).ForEach(func(k, _ []byte) error {
			if is.Bucket(name).Get(k) == nil && !in(gone, k) {
				t.Errorf("%s is gone", k)
			}
			return nil
		})
		was.Rollback()
		is.Rollback()
	}
	was, err := db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer was.Rollback()
	write(func(b *bolt.Bucket) { b.Put(key(1), nil) })
	is, err := db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer is.Rollback()
	_, fresh, err := trees{f, db.Info().PageSize}.changed(uint64(was.Bucket(name).Root()),
		uint64(is.Bucket(name).Root()))
	if err != nil || len(fresh) != 1 {
		t.Errorf("one record changed, and %d leaves are read, %v", len(fresh), err)
	}
}

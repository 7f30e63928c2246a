package archive

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/test/interrupt"
)

// recovered recovers an archive into a new directory, and opens it.
func recovered(t *testing.T, m *memoryCopies) *Archive {
	t.Helper()
	dir := t.TempDir()
	if _, err := Recover(t.Context(), dir, m.options()); err != nil {
		t.Fatal(err)
	}
	a := open(t, dir, m.options())
	mend(t, a)
	return a
}

// mend removes bodies and keys that no record needs: they are left by processes that failed.
func mend(t *testing.T, a *Archive) {
	t.Helper()
	if left, err := a.Repair(t.Context(), nil); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
}

// recordsOf returns the records of an archive as text. It leaves out what differs in every directory.
func recordsOf(t *testing.T, a *Archive) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := a.view(func(tx *bolt.Tx) error {
		for _, name := range buckets {
			if string(name) != string(bBodies) { // Recover continues with other numbers
				all[string(name)] = fmt.Sprint(tx.Bucket(name).Sequence())
			}
			if err := tx.Bucket(name).ForEach(func(k, value []byte) error {
				if string(k) != string(kReplica) {
					all[string(name)+"\n"+string(k)] = string(value)
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRecover loses the directory after a course of deposits and erasures, and recovers all of it.
func TestRecover(t *testing.T) {
	m := newMemoryCopies()
	a := open(t, t.TempDir(), m.options())
	h := course(a, func(string, ...any) {})
	if len(h.errs) > 0 {
		t.Fatal(h.errs)
	}
	put(t, a, deposit("http://example.com/last", "last"))
	want := recordsOf(t, a)
	b := recovered(t, m)
	if got := recordsOf(t, b); !maps.Equal(got, want) {
		for k := range want {
			if got[k] != want[k] {
				t.Errorf("%q is %q, want %q", k, got[k], want[k])
			}
		}
	}
	if _, err := a.Receive(t.Context(), deposit("http://example.com/stale", "stale")); !errors.Is(err, ErrReplaced) {
		t.Error("the lost directory is used again:", err)
	}
	c := put(t, b, deposit("http://example.com/next", "next"))
	hasBody(t, b, c.ID, "<p>next")
	if _, err := a.Erase(t.Context(), Tombstone{URL: "http://example.com/last", Why: "asked"}); err != nil {
		t.Error("the lost directory does not erase:", err)
	}
	mend(t, b) // removes what the lost directory has sent
	h.holdsIn(t, b)
	for name, b := range m.objects {
		if bytes.Contains(b, []byte("example.com")) || bytes.Contains(b, []byte("Title")) {
			t.Errorf("%s can be read", name)
		}
	}
}

// steps of the copies.
var copySteps = []Step{CopyKeys, CopyRecords, Copied, Commit, Committed, Destroy, SyncBodies, ReserveKeys}

// TestLostEverywhere loses the directory at every step of a write, and recovers it each time.
func TestLostEverywhere(t *testing.T) {
	t.Parallel()
	type moment struct {
		step Step
		m    *memoryCopies
		h    *history
	}
	var moments []moment
	m, mu := newMemoryCopies(), sync.Mutex{}
	h := &history{kept: map[uint64]int{}, erasing: map[uint64]bool{}, erased: map[uint64]bool{}}
	o := m.options()
	o.Fault = func(s Step) error {
		mu.Lock()
		defer mu.Unlock()
		if len(m.objects) > 0 {
			moments = append(moments, moment{s, m.clone(), &history{maps.Clone(h.kept), maps.Clone(h.erasing),
				maps.Clone(h.erased), nil}})
		}
		return nil
	}
	a, err := Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	course(a, func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		switch word, _, _ := strings.Cut(format, " "); word {
		case "kept":
			h.kept[args[0].(uint64)] = args[1].(int)
		case "erasing":
			var id uint64
			fmt.Sscan(fmt.Sprintf(format, args...), &word, &id)
			h.erasing[id] = true
		case "erased":
			var id uint64
			fmt.Sscan(fmt.Sprintf(format, args...), &word, &id)
			h.erased[id] = true
		}
	})
	a.Close()
	for i, at := range moments {
		if i%7 != 0 && !interrupt.Every() {
			continue
		}
		at.h.holdsIn(t, recovered(t, at.m))
		if t.Failed() {
			t.Fatalf("lost at step %d, %s", i, at.step)
		}
	}
	t.Log(len(moments), "moments")
}

// TestCopiesFail lets every step of the copies fail, once or permanently, opens the directory again, and then loses it.
func TestCopiesFail(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for _, lasting := range []bool{false, true} {
		for _, step := range copySteps {
			for _, nth := range []int{1, 6, 21} {
				m, dir := newMemoryCopies(), t.TempDir()
				n, failed := 0, false
				o := m.options()
				o.Fault = func(s Step) error {
					if s == step {
						n++
					}
					if s == step && n == nth || lasting && failed {
						failed = true
						return full
					}
					return nil
				}
				a, err := Open(dir, o)
				if err != nil {
					t.Fatal(err)
				}
				h := course(a, func(string, ...any) {})
				a.Close()
				again := open(t, dir, m.options())
				put(t, again, deposit("http://example.com/again", "again"))
				mend(t, again)
				h.holdsIn(t, again)
				h.holdsIn(t, recovered(t, m))
				if t.Failed() {
					t.Fatalf("%s %d, lasting %v", step, nth, lasting)
				}
			}
		}
	}
}

// TestCopiesDown checks that an erasure is executed while nothing answers, and is copied later, also by the next
// process.
func TestCopiesDown(t *testing.T) {
	m, dir := newMemoryCopies(), t.TempDir()
	a := open(t, dir, m.options())
	put(t, a, deposit("http://example.com/one", "one"))
	put(t, a, deposit("http://example.com/two", "two"))
	m.fail(errors.New("no answer"))
	if _, err := a.Receive(t.Context(), deposit("http://example.com/three", "three")); err == nil {
		t.Error("a page is stored without a copy")
	}
	if n, err := a.Erase(t.Context(), Tombstone{URL: "http://example.com/one", Why: "asked"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := a.Compact(t.Context(), nil, nil); err == nil {
		t.Error("the compaction is complete, although servers have copies of keys")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	keys := len(m.keys.held)
	m.fail(nil)
	a = open(t, dir, m.options())
	compact(t, a)
	if left := len(m.keys.held); left != keys-3 || len(m.keys.removed) > 0 {
		t.Errorf("of %d keys %d are left, and %d not compacted", keys, left, len(m.keys.removed))
	}
	b := recovered(t, m)
	if n := stats(t, b).Captures; n != 1 {
		t.Errorf("%d captures", n)
	}
	if r := receipt(t, b, "http://example.com/one"); len(r.Left) > 0 {
		t.Error(r.Left)
	}
}

// TestLostAnswers checks that a copy that was stored without an answer is not mistaken for that of another process.
func TestLostAnswers(t *testing.T) {
	m := newMemoryCopies()
	a := open(t, t.TempDir(), m.options())
	put(t, a, deposit("http://example.com/one", "one"))
	m.mu.Lock()
	m.lose = 1
	m.mu.Unlock()
	if _, err := a.Receive(t.Context(), deposit("http://example.com/two", "two")); err == nil {
		t.Error("no error")
	}
	c := put(t, a, deposit("http://example.com/three", "three"))
	b := recovered(t, m)
	if n := stats(t, b).Captures; n != 2 {
		t.Errorf("%d captures", n)
	}
	hasBody(t, b, c.ID, "<p>three")
}

// TestSnapshots checks that snapshots replace copies, and that an archive is recovered from them.
func TestSnapshots(t *testing.T) {
	m := newMemoryCopies()
	a := open(t, t.TempDir(), m.options())
	for i := range 50 {
		put(t, a, deposit(fmt.Sprint("http://example.com/", i), fmt.Sprint("page ", i)))
		if i%20 == 19 {
			if err := a.renewSnapshot(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(m.objects); n > 20 {
		t.Errorf("there are %d objects", n)
	}
	want := recordsOf(t, a)
	if got := recordsOf(t, recovered(t, m)); !maps.Equal(got, want) {
		t.Error("the records differ")
	}
}

// TestCopiesLater checks that an archive that was made without copies gets them, and then opens only with them.
func TestCopiesLater(t *testing.T) {
	m, dir := newMemoryCopies(), t.TempDir()
	without := Options{Bodies: m.memoryBodies}
	a := open(t, dir, without)
	one := put(t, a, deposit("http://example.com/one", "one"))
	shut(t, a)
	a = open(t, dir, m.options())
	two := put(t, a, deposit("http://example.com/two", "two"))
	before := m.clone()
	hasBody(t, recovered(t, before), one.ID, "<p>one")
	shut(t, a)
	a = open(t, dir, without) // without the stores of the copies
	if _, err := a.Receive(t.Context(), deposit("http://example.com/three", "three")); !errors.Is(err, ErrReplica) {
		t.Error(err)
	}
	if n, err := a.Erase(t.Context(), Tombstone{URL: "http://example.com/one", Why: "asked"}); n != 1 || err != nil {
		t.Error(n, err)
	}
	shut(t, a)
	a = open(t, dir, m.options())
	put(t, a, deposit("http://example.com/four", "four"))
	shut(t, a)
	b := recovered(t, m)
	hasBody(t, b, two.ID, "<p>two")
	if _, err := b.Body(one.ID); !errors.Is(err, ErrNotHeld) {
		t.Error("what was erased without the stores is back:", err)
	}
	other := m.options()
	other.Replica.Secret = bytes.Repeat([]byte("another."), 4)
	if _, err := Open(dir, other); !errors.Is(err, ErrSecret) {
		t.Error(err)
	}
	if _, err := Recover(t.Context(), filepath.Join(t.TempDir(), "new"), other); !errors.Is(err, ErrSecret) {
		t.Error(err)
	}
	if _, err := Recover(t.Context(), t.TempDir(), newMemoryCopies().options()); !errors.Is(err, ErrNoCopies) {
		t.Error(err)
	}
}

// TestOlderDirectory checks that a directory that is older than its copies does not continue them.
func TestOlderDirectory(t *testing.T) {
	m, dir := newMemoryCopies(), t.TempDir()
	a := open(t, dir, m.options())
	put(t, a, deposit("http://example.com/one", "one"))
	shut(t, a)
	old := t.TempDir()
	if err := os.CopyFS(old, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	a = open(t, dir, m.options())
	put(t, a, deposit("http://example.com/two", "two"))
	put(t, a, deposit("http://example.com/three", "three"))
	b := open(t, old, m.options())
	if _, err := b.Receive(t.Context(), deposit("http://example.com/four", "four")); !errors.Is(err, ErrReplaced) {
		t.Error(err)
	}
	put(t, a, deposit("http://example.com/five", "five"))
}

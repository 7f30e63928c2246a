package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// memoryBodies is a store outside archive.db that stores bodies in memory.
type memoryBodies struct {
	mu    sync.Mutex
	held  map[uint64][]byte
	owner string // the archive that claimed the store
	down  error  // error that every call returns; nil: calls succeed
	lost  error  // error that the next Sync returns
}

func (m *memoryBodies) Name() string { return "memory" }

func (m *memoryBodies) Claim(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owner == "" && m.down == nil {
		m.owner = id
	}
	if m.down == nil && m.owner != id {
		return errors.New("claimed by another archive")
	}
	return m.down
}

// Sync does nothing: Put has stored the bodies.
func (m *memoryBodies) Sync() (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	err, m.lost = m.lost, nil
	return err
}

func (m *memoryBodies) Put(_ context.Context, id uint64, sealed []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down == nil {
		m.held[id] = bytes.Clone(sealed)
	}
	return m.down
}

func (m *memoryBodies) Get(_ context.Context, id uint64, out []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append(out, m.held[id]...), m.down
}

func (m *memoryBodies) Delete(_ context.Context, id uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down == nil {
		delete(m.held, id)
	}
	return m.down
}

func (m *memoryBodies) IDs(context.Context) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		for _, id := range m.ids() {
			if !yield(id, nil) {
				return
			}
		}
	}
}

func (m *memoryBodies) ids() []uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.held))
}

func newMemoryBodies() *memoryBodies { return &memoryBodies{held: map[uint64][]byte{}} }

// Every store of bodies returns the body that the last Put stored under a number, and no deleted
// body.
func TestBodyStores(t *testing.T) {
	for name, outside := range map[string]Outside{"in files": nil, "in memory": newMemoryBodies()} {
		t.Run(name, func(t *testing.T) {
			ctx, r := t.Context(), rand.New(rand.NewPCG(1, 2))
			a := open(t, t.TempDir(), Options{Bodies: outside})
			want := map[uint64][]byte{}
			for range 20 {
				err := a.do(ctx, 0, func(t *txn) error {
					b := a.bodies(t.tx.Tx)
					for range 20 {
						id, sealed := 1+r.Uint64N(30), make([]byte, 1+r.IntN(20_000))
						for i := range sealed {
							sealed[i] = byte(r.Uint32())
						}
						if err := b.Delete(ctx, id); err != nil {
							return err
						}
						if delete(want, id); r.IntN(3) == 0 {
							continue
						}
						if err := b.Put(ctx, id, sealed); err != nil {
							return err
						}
						want[id] = sealed
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				err = a.view(func(tx *bolt.Tx) error { return sameBodies(ctx, a.bodies(tx), want) })
				if err != nil {
					t.Fatal(err)
				}
			}
			err := a.do(ctx, 0, func(t *txn) error {
				for id := range want {
					if err := a.bodies(t.tx.Tx).Delete(ctx, id); err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil {
				err = a.view(func(tx *bolt.Tx) error { return sameBodies(ctx, a.bodies(tx), nil) })
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// sameBodies returns an error that describes how b differs from want.
func sameBodies(ctx context.Context, b Bodies, want map[uint64][]byte) error {
	var ids []uint64
	for id, err := range b.IDs(ctx) {
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if !slices.Equal(ids, slices.Sorted(maps.Keys(want))) {
		return fmt.Errorf("it lists %v", ids)
	}
	for id := range uint64(40) {
		got, err := b.Get(ctx, id, []byte("before"))
		if err != nil || !bytes.Equal(got, append([]byte("before"), want[id]...)) {
			return fmt.Errorf("body %d has %d bytes, want %d; %w", id, len(got)-6, len(want[id]), err)
		}
	}
	return nil
}

// An archive with an external store of bodies reads, deduplicates, erases, compacts and verifies
// like one with embedded bodies.
func TestBodiesOutside(t *testing.T) {
	ctx, m := t.Context(), newMemoryBodies()
	dir := t.TempDir()
	a := open(t, dir, Options{Bodies: m})
	one, two := put(t, a, deposit("http://example.com/one", "the same")),
		put(t, a, deposit("http://example.com/two", "the same"))
	three := put(t, a, deposit("http://example.com/three", "another"))
	if len(m.ids()) != 2 {
		t.Errorf("bodies %v", m.ids())
	}
	for id, sealed := range m.held {
		if bytes.Contains(sealed, []byte("the same")) || bytes.Contains(sealed, []byte("another")) {
			t.Errorf("body %d is not sealed", id)
		}
	}
	hasBody(t, a, two.ID, "<p>the same")
	if n, err := a.Erase(ctx, Tombstone{URL: "http://example.com/one", Why: "asked"}); n != 1 || err != nil ||
		len(m.ids()) != 2 {
		t.Errorf("%d erased, bodies %v, %v", n, m.ids(), err)
	}
	if _, err := a.Body(one.ID); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
	compact(t, a)
	hasBody(t, a, two.ID, "<p>the same")

	// If the store does not answer, an erased page stays erased. Its body is deleted when the store
	// answers again.
	m.mu.Lock()
	m.down = errors.New("no answer")
	m.mu.Unlock()
	if _, err := a.Receive(ctx, deposit("http://example.com/four", "a fourth")); !errors.Is(err, m.down) {
		t.Errorf("it is kept although its body is not: %v", err)
	}
	if n, err := a.Erase(ctx, Tombstone{URL: "http://example.com/two", Why: "asked"}); n != 1 || err != nil {
		t.Errorf("%d erased, %v", n, err)
	}
	if _, err := a.Body(three.ID); err == nil || errors.Is(err, ErrCorrupt) {
		t.Errorf("a store that does not answer is no damage: %v", err)
	}
	m.mu.Lock()
	m.down = nil
	m.mu.Unlock()
	hasBody(t, a, three.ID, "<p>another")
	put(t, a, deposit("http://example.com/five", "a fifth"))
	if len(m.ids()) != 2 {
		t.Errorf("bodies %v", m.ids())
	}

	// Repair finds and removes a body that a crash left behind, and finds a body that is lost.
	if err := a.do(ctx, 0, func(*txn) error { return nil }); err != nil { // forgets the deleted bodies
		t.Fatal(err)
	}
	if err := m.Put(ctx, 1, []byte("left")); err != nil {
		t.Fatal(err)
	}
	if problems, err := a.Verify(ctx, VerifyOptions{}); err != nil || len(problems) != 1 || !problems[0].Repairable {
		t.Errorf("%v, %v", problems, err)
	}
	if left, err := a.Repair(ctx, nil); err != nil || len(left) > 0 || slices.Contains(m.ids(), 1) {
		t.Errorf("%v, %v, bodies %v", left, err, m.ids())
	}
	if _, err := a.Erase(ctx, Tombstone{URL: "http://example.com/three", Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Erase(ctx, Tombstone{URL: "http://example.com/five", Why: "asked"}); err != nil || len(m.ids()) > 0 {
		t.Errorf("bodies %v, %v", m.ids(), err)
	}
	hasNoProblems(t, a)
}

func hasNoProblems(t *testing.T, a *Archive) {
	t.Helper()
	if problems, err := a.Verify(t.Context(), VerifyOptions{}); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// TestOtherStore checks that an archive opens only with the store of its bodies.
func TestOtherStore(t *testing.T) {
	m := newMemoryBodies()
	inFiles, outside := t.TempDir(), t.TempDir()
	shut(t, open(t, inFiles, Options{}))
	shut(t, open(t, outside, Options{Bodies: m}))
	if _, err := Open(inFiles, Options{Bodies: m}); !errors.Is(err, ErrStore) {
		t.Error("an archive with body files opens with a store:", err)
	}
	if _, err := Open(outside, Options{}); !errors.Is(err, ErrStore) ||
		!strings.Contains(err.Error(), "are in memory") {
		t.Error("an archive opens without its store:", err)
	}
	if _, err := Open(t.TempDir(), Options{Bodies: m}); err == nil {
		t.Error("a second archive has the same store")
	}
	a := open(t, outside, Options{Bodies: m})
	put(t, a, deposit("http://example.com/one", "one"))
	shut(t, a)
	m.owner = "another" // somebody has emptied the store and used it for another archive
	a = open(t, outside, Options{Bodies: m})
	if _, err := a.Receive(t.Context(), deposit("http://example.com/two", "two")); !errors.Is(err, ErrBodies) {
		t.Error(err)
	}
}

// TestDeletedLater checks that a body whose deletion failed is deleted after the archive was opened again.
func TestDeletedLater(t *testing.T) {
	m, dir := newMemoryBodies(), t.TempDir()
	a := open(t, dir, Options{Bodies: m})
	put(t, a, deposit("http://example.com/one", "one"))
	m.mu.Lock()
	m.down = errors.New("no answer")
	m.mu.Unlock()
	if n, err := a.Erase(t.Context(), Tombstone{URL: "http://example.com/one", Why: "asked"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	shut(t, a)
	m.down = nil
	a = open(t, dir, Options{Bodies: m})
	put(t, a, deposit("http://example.com/two", "two"))
	if got := m.ids(); len(got) != 1 || got[0] == 1 {
		t.Errorf("bodies %v", got)
	}
	put(t, a, deposit("http://example.com/three", "three")) // this transaction forgets what was deleted
	err := a.view(func(tx *bolt.Tx) error {
		if n := tx.Bucket(bRemains).Stats().KeyN; n != 0 {
			return fmt.Errorf("%d bodies are listed as not deleted", n)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestUnsent checks that the number of a body is not used again if its transaction failed, because a request that was
// given up may arrive later, and that what was sent is deleted.
func TestUnsent(t *testing.T) {
	m := newMemoryBodies()
	a := open(t, t.TempDir(), Options{Bodies: m})
	put(t, a, deposit("http://example.com/one", "one"))
	m.mu.Lock()
	m.lost = errors.New("no answer")
	m.mu.Unlock()
	if _, err := a.Receive(t.Context(), deposit("http://example.com/two", "two")); !errors.Is(err, ErrBodies) {
		t.Fatal(err)
	}
	two := put(t, a, deposit("http://example.com/two", "two"))
	if got := m.ids(); !slices.Equal(got, []uint64{1, 3}) {
		t.Errorf("bodies %v", got)
	}
	hasBody(t, a, two.ID, "<p>two")
}

package cluster

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// randomKeys returns keys with the numbers from first to last.
func randomKeys(first, last uint64) (keys []PageKey) {
	for id := first; id <= last; id++ {
		b := make([]byte, 60)
		rand.Read(b)
		keys = append(keys, PageKey{id, b})
	}
	return keys
}

// filesWith returns the files below dir that contain b.
func filesWith(t *testing.T, dir string, b []byte) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // servers remove files meanwhile
		}
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, b) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return names
}

// allKeys returns all keys of a node by number.
func allKeys(t *testing.T, p *PageKeys) map[uint64][]byte {
	t.Helper()
	all := map[uint64][]byte{}
	for k, err := range p.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all[k.ID] = k.Sealed
	}
	return all
}

// TestPageKeys stores keys on three servers, and removes some. Then no file of any server has them.
func TestPageKeys(t *testing.T) {
	c := natstest.Start(t, 3)
	p := NewPageKeys(Options{Servers: c.URL(), Node: "a"}, []byte("check"))
	defer p.Close()
	other := NewPageKeys(Options{Servers: c.URL(), Node: "ab"}, []byte("check"))
	defer other.Close()
	eventually(t, "the servers have made the stream", func() bool { // on a busy machine they may have no leader yet
		for _, err := range p.All(t.Context()) {
			return err == nil
		}
		return true
	})
	if got := allKeys(t, p); len(got) > 0 {
		t.Errorf("a new node has the keys %v", got)
	}
	keys := randomKeys(1, 300)
	if err := errors.Join(p.Put(t.Context(), keys, false),
		other.Put(t.Context(), randomKeys(1, 20), false)); err != nil {
		t.Fatal(err)
	}
	if err := p.Put(t.Context(), randomKeys(300, 300), false); !errors.Is(err, fs.ErrExist) {
		t.Error("a key is replaced:", err)
	}
	old := keys[299]
	keys[299] = randomKeys(300, 300)[0]
	if err := p.Put(t.Context(), keys[299:], true); err != nil {
		t.Error(err)
	}
	gone := []PageKey{old}
	var ids []uint64
	for i := 0; i < 100; i += 7 {
		gone, ids = append(gone, keys[i]), append(ids, keys[i].ID)
	}
	if err := p.Remove(t.Context(), append(ids, 5000)); err != nil {
		t.Fatal(err)
	}
	if err := p.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, k := range gone {
		if names := filesWith(t, c.Dir(), k.Sealed[8:40]); len(names) > 0 {
			t.Errorf("key %d is in %v", k.ID, names)
		}
	}
	got := allKeys(t, p)
	if len(got) != len(keys)-len(ids) {
		t.Errorf("%d keys are left", len(got))
	}
	for id, sealed := range got {
		if !bytes.Equal(sealed, keys[id-1].Sealed) {
			t.Errorf("key %d differs", id)
		}
	}
	if names := filesWith(t, c.Dir(), keys[1].Sealed[8:40]); len(names) < 2 {
		t.Errorf("a key that was not removed is only in %v, so the search proves nothing", names)
	}

	// A server that does not run keeps what it has.
	c.Kill(0)
	c.AwaitLeader(keysStream)
	for try := 0; p.Remove(t.Context(), []uint64{2}) != nil; try++ { // until the servers have elected a leader
		if try == 10 {
			t.Fatal("two of three servers cannot remove a key")
		}
	}
	if err := p.Compact(t.Context()); err == nil {
		t.Error("the keys are compacted although a server does not run")
	}
	c.Kill(1)
	if err := p.Remove(t.Context(), []uint64{3}); !errors.Is(err, ErrNoQuorum) {
		t.Error("without a quorum:", err)
	}
}

// TestPageKeysOneServer removes keys from a single server.
func TestPageKeysOneServer(t *testing.T) {
	dir := t.TempDir()
	url := natstest.OneIn(t, dir)
	p := NewPageKeys(Options{Servers: url, Node: "a"}, []byte("check"))
	defer p.Close()
	keys := randomKeys(1, 50)
	if err := p.Put(t.Context(), keys, false); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(p.Remove(t.Context(), []uint64{1, 20, 50}), p.Compact(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 19, 49} {
		if names := filesWith(t, dir, keys[i].Sealed[8:40]); len(names) > 0 {
			t.Errorf("key %d is in %v", i+1, names)
		}
	}
	wrong := NewPageKeys(Options{Servers: url, Node: "b"}, []byte("other"))
	defer wrong.Close()
	if err := wrong.Put(t.Context(), keys, false); !errors.Is(err, ErrClusterKey) {
		t.Error("another key of the cluster:", err)
	}
}

package archive

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
)

// memoryCopies stores copies of records, keys and bodies in memory, as the object store and the servers of a cluster
// do.
type memoryCopies struct {
	*memoryBodies
	keys *memoryKeys

	mu      sync.Mutex
	objects map[string][]byte
	down    error
	lose    int // number of objects that are stored although the answer is an error
}

// memoryKeys implements KeyCopies.
type memoryKeys struct {
	mu        sync.Mutex
	held      map[uint64][]byte
	removed   map[uint64]bool // not compacted
	compacted int
	down      error
}

func newMemoryCopies() *memoryCopies {
	return &memoryCopies{memoryBodies: newMemoryBodies(), objects: map[string][]byte{},
		keys: &memoryKeys{held: map[uint64][]byte{}, removed: map[uint64]bool{}}}
}

// clone returns a copy of what is stored.
func (m *memoryCopies) clone() *memoryCopies {
	c := newMemoryCopies()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys.mu.Lock()
	defer m.keys.mu.Unlock()
	m.memoryBodies.mu.Lock()
	defer m.memoryBodies.mu.Unlock()
	c.objects, c.keys.held, c.keys.removed = maps.Clone(m.objects), maps.Clone(m.keys.held), maps.Clone(m.keys.removed)
	c.memoryBodies.held, c.owner = maps.Clone(m.memoryBodies.held), m.owner
	return c
}

// fail lets all stores fail, or none if err is nil.
func (m *memoryCopies) fail(err error) {
	m.mu.Lock()
	m.keys.mu.Lock()
	m.memoryBodies.mu.Lock()
	m.down, m.keys.down, m.memoryBodies.down = err, err, err
	m.memoryBodies.mu.Unlock()
	m.keys.mu.Unlock()
	m.mu.Unlock()
}

var testSecret = bytes.Repeat([]byte("secret.."), 4)

// options returns the options of an archive whose copies are in m.
func (m *memoryCopies) options() Options {
	return Options{Bodies: m.memoryBodies,
		Replica: &Replica{Records: memoryRecords{m}, Keys: m.keys, Secret: testSecret}}
}

// memoryRecords implements Records.
type memoryRecords struct{ *memoryCopies }

func (m memoryRecords) Create(_ context.Context, name string, b []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down != nil {
		return m.down
	}
	if _, exists := m.objects[name]; exists {
		return fs.ErrExist
	}
	m.objects[name] = bytes.Clone(b)
	if m.lose > 0 {
		m.lose--
		return errors.New("no answer")
	}
	return nil
}

func (m memoryRecords) Read(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b, exists := m.objects[name]; exists || m.down != nil {
		return b, m.down
	}
	return nil, fs.ErrNotExist
}

func (m memoryRecords) List(_ context.Context, folder string) iter.Seq2[string, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	names, down := slices.Sorted(maps.Keys(m.objects)), m.down
	return func(yield func(string, error) bool) {
		if down != nil {
			yield("", down)
			return
		}
		for _, name := range names {
			if strings.HasPrefix(name, folder) && !yield(name, nil) {
				return
			}
		}
	}
}

func (m memoryRecords) Remove(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down == nil {
		delete(m.objects, name)
	}
	return m.down
}

func (m *memoryKeys) Put(_ context.Context, copies []KeyCopy, replace bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down != nil {
		return m.down
	}
	for _, c := range copies {
		if m.held[c.ID] != nil && !replace {
			return fs.ErrExist
		}
		m.held[c.ID] = bytes.Clone(c.Sealed)
	}
	return nil
}

func (m *memoryKeys) Remove(_ context.Context, ids []uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down != nil {
		return m.down
	}
	for _, id := range ids {
		if m.held[id] != nil {
			m.removed[id] = true
			delete(m.held, id)
		}
	}
	return nil
}

func (m *memoryKeys) Compact(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down == nil {
		clear(m.removed)
		m.compacted++
	}
	return m.down
}

func (m *memoryKeys) Close() {}

func (m *memoryKeys) All(context.Context) iter.Seq2[KeyCopy, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	held, down := maps.Clone(m.held), m.down
	return func(yield func(KeyCopy, error) bool) {
		if down != nil {
			yield(KeyCopy{}, down)
			return
		}
		for id, sealed := range held {
			if !yield(KeyCopy{id, sealed}, nil) {
				return
			}
		}
	}
}

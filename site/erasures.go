package site

import (
	"sync"

	"github.com/acapcrawl/acapcrawl/archive"
)

// erasures passes on what the data directory erases to everybody who reports it. It is safe for
// concurrent use.
type erasures struct {
	mu       sync.Mutex
	watchers map[*archive.Erasures]bool
}

// note passes on one erasure.
func (e *erasures) note(t archive.Tombstone) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for w := range e.watchers {
		w.Add(t)
	}
}

// watch returns what is erased from now on, until end is called. If several callers use the data
// directory at the same time, each of them reports what any of them erases.
func (e *erasures) watch() (seen *archive.Erasures, end func()) {
	seen = &archive.Erasures{}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.watchers == nil {
		e.watchers = map[*archive.Erasures]bool{}
	}
	e.watchers[seen] = true
	return seen, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.watchers, seen)
	}
}

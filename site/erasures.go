package site

import (
	"sync"

	"github.com/acapcrawl/acapcrawl/archive"
)

// erasures reports each erasure in the data directory to all registered watchers. It is safe for
// concurrent use.
type erasures struct {
	mu       sync.Mutex
	watchers map[*archive.Erasures]bool
}

// note reports one erasure to all watchers.
func (e *erasures) note(t archive.Tombstone) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for w := range e.watchers {
		w.Add(t)
	}
}

// watch returns a list to which all erasures from now on are added, until end is called. If several
// callers use the data directory at the same time, each list contains the erasures of all of them.
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

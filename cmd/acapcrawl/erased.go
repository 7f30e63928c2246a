package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/display"
)

// erasures reports what the data directory erases to every verb that prints it. It is safe for
// concurrent use.
type erasures struct {
	mu       sync.Mutex
	watchers map[*archive.Erasures]bool
}

// note passes on one erasure.
func (e *erasures) note(s archive.Tombstone) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for w := range e.watchers {
		w.Add(s)
	}
}

// watch returns what is erased from now on, until end is called. Where several verbs use the data
// directory at once, each of them reports what any of them erases.
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

// shownErasures is how many erasures a verb prints one by one.
const shownErasures = 20

// printErased prints a sentence for each reason and line.
func printErased(w io.Writer, list []archive.Erasure) error {
	rest := archive.Erasure{}
	for i, e := range list {
		if i >= shownErasures {
			rest.Copies, rest.Pages = rest.Copies+e.Copies, rest.Pages+e.Pages
			continue
		}
		if _, err := fmt.Fprintln(w, display.Line(e.String())); err != nil {
			return err
		}
	}
	if len(list) <= shownErasures {
		return nil
	}
	_, err := fmt.Fprintf(w, "Erased %s of %s by %s more: acapcrawl archive erasures lists all.\n", copies(rest.Copies),
		several(rest.Pages, "page"), several(len(list)-shownErasures, "line"))
	return err
}

package archive

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Reasons of erasures that are not decisions of package acap. Other reasons are those of
// acap.Decision.
const (
	ReasonTakenDown = "taken-down" // the publisher requested the erasure (P1 2.6.1)
	// P1 2.5.3.1: with time-limit=until-recrawled, a newer copy replaces the older one
	ReasonReplaced    = "replaced"
	ReasonDamaged     = "damaged"      // a repair removed data that could not be read
	ReasonNothingLeft = "nothing-left" // nothing of the page was stored except its record
	ReasonForgotten   = "forgotten"    // the operator wants it so
	ReasonKept        = "kept"         // it was kept for as long as a job keeps pages
	// scripts made it from something that was erased or may no longer be used
	ReasonDerived = "derived"
)

// Erasure counts what was erased for one reason and by one line. Copies is 0 if pages lost only
// their index entry or their record.
type Erasure struct {
	Reason string `json:"reason"` // reason of a decision, or one of the constants above
	Line   string `json:"line"`   // the line that led to the decision; empty if no line did
	Copies int    `json:"copies"`
	Pages  int    `json:"pages"`
}

// String returns a sentence that reports the erasure.
func (e Erasure) String() string {
	what := fmt.Sprintf("Erased %s of %s", plural(e.Copies, "copy", "copies"), plural(e.Pages, "page", "pages"))
	if e.Copies == 0 {
		what = "Erased the index entries or records of " + plural(e.Pages, "page", "pages")
	}
	why := cmp.Or(map[string]string{
		"prohibition": "prohibited", "conventional": "prohibited", "other": "prohibited",
		"expired": "the time limit has passed",
		"header":  "restricted", "meta": "restricted",
		"fallback":      "a field that is partly unsupported prohibits it",
		"conflict":      "permissions and prohibitions both match, and none is more specific; the prohibition decides",
		"unfulfillable": "what it requires is not available", "location": "the page is not where its permission says",
		ReasonTakenDown: "taken down at the publisher's request",
		ReasonReplaced:  "replaced by a newer copy, since the time limit is until-recrawled",
		ReasonForgotten: "by the operator", ReasonKept: "kept for as long as the job says (keep)",
		ReasonDerived: "scripts made it from something that was erased or may no longer be used",
		ReasonDamaged: "it was damaged", ReasonNothingLeft: "nothing else was left of the page",
	}[e.Reason], e.Reason)
	switch {
	case e.Line == "":
		return what + ": " + why
	case strings.HasSuffix(why, "prohibited"), strings.HasSuffix(why, "restricted"):
		return what + ": " + why + " by " + e.Line
	}
	return what + ": " + why + ": " + e.Line
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// maxErasures is the maximal number of groups that Erasures lists by reason and line. Further
// erasures are counted by reason only.
const maxErasures = 1000

// Erasures groups erasures by reason and line. The zero value is empty. It is safe for concurrent
// use.
type Erasures struct {
	mu     sync.Mutex
	groups []*Erasure
	at     map[erasureKey]int
	pages  map[uint64]bool // hashes of group and URL: the pages that each group has counted
	seed   maphash.Seed
}

// erasureKey is the key of a group of erasures.
type erasureKey struct {
	reason, line string
	copies       bool // whether copies were erased; false if only an index entry or a record was
}

// Add counts an erasure. If several versions of a page are erased for the same reason and by the
// same line, the page is counted once.
func (e *Erasures) Add(s Tombstone) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.at == nil {
		e.at, e.pages, e.seed = map[erasureKey]int{}, map[uint64]bool{}, maphash.MakeSeed()
	}
	key := erasureKey{s.Reason, s.Line, s.Captures > 0}
	i, known := e.at[key]
	if !known && len(e.groups) >= maxErasures {
		key.line = ""
		i, known = e.at[key]
	}
	if !known {
		i = len(e.groups)
		e.at[key], e.groups = i, append(e.groups, &Erasure{Reason: key.reason, Line: key.line})
	}
	g := e.groups[i]
	g.Copies += s.Captures
	if page := maphash.String(e.seed, strconv.Itoa(i)+" "+s.URL); !e.pages[page] {
		e.pages[page] = true
		g.Pages++
	}
}

// List returns the groups. Groups with most erased copies come first. The list is never nil.
func (e *Erasures) List() []Erasure {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]Erasure, 0, len(e.groups))
	for _, g := range e.groups {
		list = append(list, *g)
	}
	slices.SortStableFunc(list, func(a, b Erasure) int {
		return cmp.Or(cmp.Compare(b.Copies, a.Copies), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Line, b.Line))
	})
	return list
}

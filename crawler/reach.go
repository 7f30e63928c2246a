package crawler

import (
	"fmt"
	"net/url"
	"slices"
)

// Extent says which addresses a crawl visits. It is a plain value.
type Extent struct {
	Scope            Scope
	Depth            int // largest number of links from a seed; negative: no limit
	Include, Exclude []string
	Seeds            []string // seeds of this and earlier runs, in normal form
}

// Covers returns a function that reports whether an address in normal form is within e, whatever its depth.
func (e Extent) Covers() (func(address string) bool, error) {
	e.Depth = -1
	r, err := newReach(e)
	return func(address string) bool { return r.visits(&Record{URL: address}) }, err
}

// equal reports whether crawls with the extents e and other visit the same addresses.
func (e Extent) equal(other Extent) bool {
	return e.Scope == other.Scope && e.Depth == other.Depth && slices.Equal(e.Include, other.Include) &&
		slices.Equal(e.Exclude, other.Exclude) && slices.Equal(e.Seeds, other.Seeds)
}

// reach decides whether an address is within an Extent. It is immutable.
type reach struct {
	area      *area
	depth     int
	wanted    *filter // patterns that addresses other than seeds must pass
	forbidden *filter // patterns that seeds must pass: only the exclude patterns
	named     map[string]bool
}

func newReach(e Extent) (*reach, error) {
	a, err := newArea(e.Scope, e.Seeds)
	if err != nil {
		return nil, err
	}
	r := &reach{area: a, depth: e.Depth, wanted: newFilter(e.Include, e.Exclude), forbidden: newFilter(nil, e.Exclude),
		named: map[string]bool{}}
	for _, seed := range e.Seeds {
		r.named[seed] = true
	}
	return r, nil
}

// notAskedFor reports whether s is the state of an address that was found, but that the settings of
// the crawl exclude.
func notAskedFor(s State) bool { return s == Outside || s == Deep || s == Trapped }

// visits reports whether a crawl visits the address of rec.
func (r *reach) visits(rec *Record) bool {
	if _, _, part := partOf(rec.URL); part {
		return !notAskedFor(rec.State)
	}
	u, err := url.Parse(rec.URL)
	if err != nil {
		return false
	}
	state, _ := r.within(u, rec.URL, rec.Depth)
	return state == Queued
}

// within returns Queued for an address that the crawl visits. Otherwise it returns the state of the
// address and the reason as a sentence. address is u in normal form.
func (r *reach) within(u *url.URL, address string, depth int) (State, string) {
	if state, why := r.holds(u, depth); state != Queued {
		return state, why
	}
	return r.admits(u, address)
}

// holds returns Queued for an address that is in scope and not too deep. Otherwise it returns the
// state and the reason as a sentence.
func (r *reach) holds(u *url.URL, depth int) (State, string) {
	switch {
	case !r.area.holds(u):
		return Outside, fmt.Sprintf("not in the scope of this crawl (%s)", r.area.scope)
	case r.depth >= 0 && depth > r.depth:
		return Deep, fmt.Sprintf("more than %d links away from a seed", r.depth)
	}
	return Queued, ""
}

// admits returns Queued for an address that the patterns admit and that is no crawler trap. Seeds
// need not match an include pattern and are never traps.
func (r *reach) admits(u *url.URL, address string) (State, string) {
	seed, filter := r.named[address], r.wanted
	if seed {
		filter = r.forbidden
	}
	if ok, why := filter.admits(u); !ok {
		return Outside, why
	}
	if why := trap(u); why != "" && !seed {
		return Trapped, why
	}
	return Queued, ""
}

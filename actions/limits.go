package actions

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Limits bound what requests cost (P09); 0 is no limit. Take-downs are under none but Listed: whatever erases something is done, and has
// its row.
type Limits struct {
	Again      time.Duration // between two re-crawls of one resource (P04)
	Pending    int           // re-crawls of an origin under way at once
	PendingAll int           // and of all origins
	Day        int           // re-crawls of an origin that become due within 24 hours
	Listed     int           // requests of an origin that change nothing and have a row all the same, within 24 hours; of others the number is noted
}

// batch is how many requests one transaction of the ledger writes.
const batch = 1000

const day = 24 * time.Hour

// The pauses before what failed is tried again: the first, doubled each time up to the last.
const (
	firstPause = time.Minute
	lastPause  = time.Hour
)

// pause is the pause after so many failures.
func pause(failures int) time.Duration {
	return min(firstPause<<min(failures-1, 16), lastPause)
}

// reconsider is after what time a reading is compared anew that asked for more than Limits permit.
const reconsider = 10 * time.Minute

// heard is what is known of the last reading of an origin.
type heard struct {
	Sum     string    `json:"sum"`              // of what it asked for
	Again   time.Time `json:"again,omitzero"`   // when it is compared anew although it says the same; zero: never
	Revive  time.Time `json:"revive,omitzero"`  // when the first re-crawl that stands is to be made again; zero: never
	Owed    bool      `json:"owed,omitempty"`   // a take-down of it is not executed yet
	Day     time.Time `json:"day,omitzero"`     // since when these are counted:
	Listed  int       `json:"listed,omitempty"` // rows that change nothing
	Crawled int       `json:"crawled,omitempty"`
}

// roll begins a new day where the last one is over.
func (h *heard) roll(now time.Time) {
	if now.Sub(h.Day) >= day || h.Day.After(now) {
		h.Day, h.Listed, h.Crawled = now, 0, 0
	}
}

// come reports whether a time has come, if it is one.
func come(t, now time.Time) bool { return !t.IsZero() && !t.After(now) }

// sooner is the first of two times, if they are.
func sooner(t, u time.Time) time.Time {
	if t.IsZero() || !u.IsZero() && u.Before(t) {
		return u
	}
	return t
}

// crawl takes one re-crawl out of what l leaves an origin with so many pending; else it tells why not.
func (h *heard) crawl(l Limits, pending int) (why string) {
	switch {
	case l.Pending > 0 && pending >= l.Pending:
		return fmt.Sprintf("%d re-crawls of this site are pending", pending)
	case l.Day > 0 && h.Crawled >= l.Day:
		return fmt.Sprintf("%d re-crawls of this site were asked for within 24 hours", h.Crawled)
	}
	h.Crawled++
	return ""
}

// list takes one row out of what l leaves an origin for requests that change nothing.
func (h *heard) list(l Limits) bool {
	if l.Listed > 0 && h.Listed >= l.Listed {
		return false
	}
	h.Listed++
	return true
}

// heard is what is known of the last reading of an origin; what cannot be read is not known, and the next reading is compared anew.
func (t *txn) heard(origin string) (h heard) {
	if data := t.tx.Bucket(bHeard).Get([]byte(origin)); data != nil && json.Unmarshal(data, &h) != nil {
		return heard{}
	}
	return h
}

func (t *txn) hear(origin string, h heard) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return t.tx.Bucket(bHeard).Put([]byte(origin), data)
}

// revive has the re-crawls of an origin looked at again then, or sooner.
func (t *txn) revive(origin string, at time.Time) error {
	h := t.heard(origin)
	h.Revive = sooner(h.Revive, at)
	return t.hear(origin, h)
}

// crawls counts the re-crawls under way.
type crawls struct {
	mu      sync.Mutex
	counted bool
	all     int
	of      map[string]int // by origin
}

// room tells how many more re-crawls of an origin may be under way.
func (l *Ledger) room(origin string, limits Limits) (int, error) {
	c := &l.crawls
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.counted {
		c.of = map[string]int{}
		err := l.view(func(t *txn) error {
			return t.open(func(r Request) error {
				if r.Action == acap.ReCrawl && r.State == Running {
					c.all++
					c.of[r.Origin]++
				}
				return nil
			})
		})
		if err != nil {
			return 0, err
		}
		c.counted = true
	}
	n := batch
	if limits.Pending > 0 {
		n = min(n, limits.Pending-c.of[origin])
	}
	if limits.PendingAll > 0 {
		n = min(n, limits.PendingAll-c.all)
	}
	return max(n, 0), nil
}

// under notes that so many more re-crawls of an origin are under way.
func (c *crawls) under(origin string, more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.counted {
		return
	}
	c.all += more
	if c.of[origin] += more; c.of[origin] <= 0 {
		delete(c.of, origin)
	}
}

// turns lets those who work on one origin go one after the other.
type turns struct {
	mu   sync.Mutex
	of   map[string]*turn
	last map[string]time.Time // since when the version is in force that was observed last, of origins that ask for anything
}

// overtaken reports whether a newer version than that of r was observed before; else r is the last one.
func (ts *turns) overtaken(r *Reading) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if r.Since.Before(ts.last[r.Origin]) && r.Stale != nil && r.Stale() {
		return true
	}
	if ts.last == nil {
		ts.last = map[string]time.Time{}
	}
	ts.last[r.Origin] = r.Since
	return false
}

type turn struct {
	taken chan struct{} // holds one
	users int           // who has it or waits
}

// take waits until nobody else works on the origin, or ctx ends; done gives it back.
func (ts *turns) take(done <-chan struct{}, origin string) (end func(), ok bool) {
	ts.mu.Lock()
	if ts.of == nil {
		ts.of = map[string]*turn{}
	}
	t := ts.of[origin]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		ts.of[origin] = t
	}
	t.users++
	ts.mu.Unlock()
	leave := func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(ts.of, origin)
		}
	}
	end = func() {
		<-t.taken
		leave()
	}
	select {
	case t.taken <- struct{}{}:
		return end, true
	default:
	}
	select {
	case t.taken <- struct{}{}:
		return end, true
	case <-done:
		leave()
		return nil, false
	}
}

package actions

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Limits limit the cost of requests; 0 means no limit. P1 2.6 (P09): re-crawls are limited,
// take-downs are not. Only Listed applies to take-downs, and only to take-downs that erase nothing.
type Limits struct {
	Again      time.Duration // shortest time between two re-crawls of one resource
	Pending    int           // maximal number of concurrent re-crawls of an origin
	PendingAll int           // maximal number of concurrent re-crawls of all origins
	Day        int           // maximal number of re-crawls of an origin that become due within 24 hours
	// how many requests of an origin without effect are listed within 24 hours; further requests
	// are only counted
	Listed int
}

// batch is the maximal number of requests that one transaction writes.
const batch = 1000

const day = 24 * time.Hour

// The pause before a failed request is tried again is doubled each time, from firstPause to
// lastPause.
const (
	firstPause = time.Minute
	lastPause  = time.Hour
)

// pause returns the pause after a number of failures in a row.
func pause(failures int) time.Duration {
	return min(firstPause<<min(failures-1, 16), lastPause)
}

// reconsider is the time after which a reading that exceeded Limits is compared again.
const reconsider = 10 * time.Minute

// heard is the stored state of an origin after its last reading.
type heard struct {
	Sum string `json:"sum"` // digest of the origin's requests, see Reading.sum
	// when to compare the reading again even if it has not changed; zero: never
	Again   time.Time `json:"again,omitzero"`
	Revive  time.Time `json:"revive,omitzero"`  // when the first re-crawl in force must be repeated; zero: never
	Owed    bool      `json:"owed,omitempty"`   // a take-down is not executed yet
	Day     time.Time `json:"day,omitzero"`     // begin of the 24 hours in which Listed and Crawled count
	Listed  int       `json:"listed,omitempty"` // number of listed requests without effect
	Crawled int       `json:"crawled,omitempty"`
}

// roll resets the counters if 24 hours are over.
func (h *heard) roll(now time.Time) {
	if now.Sub(h.Day) >= day || h.Day.After(now) {
		h.Day, h.Listed, h.Crawled = now, 0, 0
	}
}

// reached reports whether t is set and is not later than now.
func reached(t, now time.Time) bool { return !t.IsZero() && !t.After(now) }

// earlier returns the earlier of two times; zero times are ignored.
func earlier(t, u time.Time) time.Time {
	if t.IsZero() || !u.IsZero() && u.Before(t) {
		return u
	}
	return t
}

// allowRecrawl checks whether l permits another re-crawl of an origin that has the given number of
// pending re-crawls. If l permits it, allowRecrawl counts the re-crawl and returns "". Otherwise it
// returns the reason.
func (h *heard) allowRecrawl(l Limits, pending int) (why string) {
	switch {
	case l.Pending > 0 && pending >= l.Pending:
		return fmt.Sprintf("%d re-crawls of this site are pending", pending)
	case l.Day > 0 && h.Crawled >= l.Day:
		return fmt.Sprintf("%d re-crawls of this site were requested within 24 hours", h.Crawled)
	}
	h.Crawled++
	return ""
}

// allowListing reports whether l permits to list another request without effect. If so, it counts
// the request.
func (h *heard) allowListing(l Limits) bool {
	if l.Listed > 0 && h.Listed >= l.Listed {
		return false
	}
	h.Listed++
	return true
}

// heard returns the stored state of an origin. If it cannot be read, the state is empty, so that
// the next reading is compared again.
func (t *txn) heard(origin string) (h heard) {
	if data := t.tx.Bucket(bHeard).Get([]byte(origin)); data != nil && json.Unmarshal(data, &h) != nil {
		return heard{}
	}
	return h
}

// putHeard stores the state of an origin.
func (t *txn) putHeard(origin string, h heard) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return t.tx.Bucket(bHeard).Put([]byte(origin), data)
}

// revive makes sure that the re-crawls of an origin are checked at the time at or earlier.
func (t *txn) revive(origin string, at time.Time) error {
	h := t.heard(origin)
	h.Revive = earlier(h.Revive, at)
	return t.putHeard(origin, h)
}

// crawls counts the running re-crawls. It is safe for concurrent use.
type crawls struct {
	mu      sync.Mutex
	counted bool
	all     int
	of      map[string]int // number of running re-crawls by origin
}

// room returns how many more re-crawls of an origin may be started.
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

// add changes the number of running re-crawls of an origin by more.
func (c *crawls) add(origin string, more int) {
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

// turns serialises the work on each origin.
type turns struct {
	mu   sync.Mutex
	of   map[string]*turn
	last map[string]time.Time // origin → Since of the last observed reading
}

// overtaken reports whether a version newer than r was already observed. If not, overtaken records
// r as the last observed version.
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
	taken chan struct{} // contains one element while the turn is taken
	users int           // number of goroutines that have the turn or wait for it
}

// acquire waits until no other goroutine works on the origin, or until done is closed. If ok is
// true, the caller must call end after its work.
func (ts *turns) acquire(done <-chan struct{}, origin string) (end func(), ok bool) {
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

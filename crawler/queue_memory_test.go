package crawler

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// memoryQueue is a Queue in memory: it follows the rules of a Frontier with maps and one lock. It
// shows that a Queue does not need bbolt.
type memoryQueue struct {
	o FrontierOptions

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	known   map[string]*Record
	hosts   map[string]*memoryHost
	seeds   map[string]uint64
	asked   map[string]bool // addresses that re-crawl requests name
	extent  *Extent
	s       Selection
	from    map[uint64]bool // numbers of the seeds whose addresses this run visits; nil: all
	seq     uint64
	beyond  int
	closed  bool
}

type memoryHost struct {
	due            time.Time
	delay          time.Duration
	met            bool
	failures, size int
	reported       bool
	leased         map[string]*Lease
}

func newMemoryQueue(o FrontierOptions) *memoryQueue {
	o.PerHost, o.Backoff = max(o.PerHost, 1), cmp.Or(o.Backoff, time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Patience = cmp.Or(o.Patience, 5*time.Minute)
	return &memoryQueue{o: o, changed: make(chan struct{}), known: map[string]*Record{},
		hosts: map[string]*memoryHost{},
		seeds: map[string]uint64{}, asked: map[string]bool{}}
}

func (q *memoryQueue) change() {
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *memoryQueue) host(normal string) *memoryHost {
	name, err := address.Host(normal)
	if err != nil {
		panic(err)
	}
	if q.hosts[name] == nil {
		q.hosts[name] = &memoryHost{leased: map[string]*Lease{}}
	}
	return q.hosts[name]
}

func (q *memoryQueue) selected(from uint64) bool { return q.from == nil || q.from[from] }

// due reports whether the current run may visit the queued record r.
func (q *memoryQueue) due(r *Record) bool {
	return q.asked[r.URL] || !q.s.Promoted && q.selected(r.from)
}

func (q *memoryQueue) Begin(s Selection) error {
	var offers []Offer
	for _, seed := range s.Seeds {
		offers = append(offers, Offer{URL: seed, Seed: true, State: Queued})
	}
	if _, err := q.Offer(offers...); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.change()
	if q.s, q.from = s, nil; len(s.Seeds) == 0 {
		return nil
	}
	q.from = map[uint64]bool{RequiredByPages: true}
	for _, seed := range s.Seeds {
		q.from[q.seeds[seed]] = true
	}
	if len(q.seeds) == len(s.Seeds) && q.others() == 0 {
		q.from = nil
		return nil
	}
	for _, seed := range s.Seeds {
		if r := q.known[seed]; !s.Promoted && r.State == Fetched && r.from != q.seeds[seed] {
			r.from = q.seeds[seed]
			q.again(r)
		}
	}
	return nil
}

func (q *memoryQueue) Next(ctx context.Context) (*Lease, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		q.mu.Lock()
		l, pause := q.pick(q.o.Now())
		changed, leased := q.changed, q.leased()
		q.mu.Unlock()
		switch {
		case l != nil:
			return l, nil
		case (pause == 0 || pause > q.o.Patience) && leased == 0:
			return nil, ErrIdle
		case pause == 0 || pause > q.o.Patience:
			pause = q.o.Patience
		}
		select {
		case <-changed:
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

func (q *memoryQueue) leased() (n int) {
	for _, h := range q.hosts {
		n += len(h.leased)
	}
	return n
}

// pick leases the first address of the host that is due first. If no host is due, it returns how
// long to wait, or 0 if nothing is queued.
func (q *memoryQueue) pick(now time.Time) (*Lease, time.Duration) {
	var first *Record
	var at time.Time
	for _, r := range q.known {
		h := q.host(r.URL)
		if r.State != Queued || !q.due(r) || h.leased[r.URL] != nil || len(h.leased) >= q.o.PerHost || !h.met &&
			len(h.leased) > 0 {
			continue
		}
		due := h.due
		if r.place.class == retried {
			due = later(due, instant(int64(r.place.rank)))
		}
		if first == nil || due.Before(at) || due.Equal(at) && r.place.before(first.place) {
			if !q.early(h, r) {
				first, at = r, due
			}
		}
	}
	switch {
	case first == nil:
		return nil, 0
	case at.After(now):
		return nil, at.Sub(now)
	}
	h := q.host(first.URL)
	name, _ := address.Host(first.URL)
	l := &Lease{URL: first.URL, Host: name, Depth: first.Depth, Tries: first.Tries, Met: h.met, Pause: h.delay,
		Recrawl: q.asked[first.URL], From: first.from, before: h.due}
	if _, _, part := partOf(l.URL); part {
		l.Depth = maxDepth
	}
	h.due = now.Add(max(h.delay, q.o.Delay))
	l.after, h.leased[l.URL] = h.due, l
	return l, 0
}

// early reports whether a visit in progress could still find the address of r at a smaller depth.
func (q *memoryQueue) early(h *memoryHost, r *Record) bool {
	for _, l := range h.leased {
		if q.s.Exact && l.Depth < r.Depth-1 {
			return true
		}
	}
	return false
}

// giveBack ends a lease. If no request was made to the host since the lease began, its due time is
// again what it was before the lease.
func (q *memoryQueue) giveBack(l *Lease) *memoryHost {
	h := q.host(l.URL)
	delete(h.leased, l.URL)
	if h.due.Equal(l.after) {
		h.due = l.before
	}
	return h
}

func (q *memoryQueue) Return(l *Lease, p *Pace) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.change()
	h := q.giveBack(l)
	if p != nil {
		h.delay, h.met = p.Delay, true
		h.due = later(h.due, p.Asked.Add(max(h.delay, q.o.Delay)))
	}
	return nil
}

func (q *memoryQueue) Done(l *Lease, e End) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.change()
	h, now := q.giveBack(l), q.o.Now().UTC()
	h.delay, h.met = e.Delay, true
	if !e.Asked.IsZero() {
		h.due, h.failures = later(h.due, e.Asked.Add(max(h.delay, q.o.Delay))), 0
	}
	if e.Trouble {
		h.failures++
		h.due = later(later(h.due, e.Rest), now.Add(q.o.Backoff<<(h.failures-1)))
	}
	q.end(l, &e, now)
	for _, o := range e.Offers {
		if r, effect := q.offer(&o); effect == newlySkipped && q.s.Skipped != nil {
			q.s.Skipped(r)
		}
	}
	for _, o := range l.deferred {
		q.offerPart(&o)
	}
	return nil
}

func (q *memoryQueue) end(l *Lease, e *End, now time.Time) {
	r := q.known[l.URL]
	if r.State != Queued && e.State != Fetched {
		return
	}
	since := r.place.class == promoted && !l.Recrawl
	r.setOutcome(e, now)
	if e.State == Queued {
		q.enqueue(r, retried, uint64(nanos(later(e.Retry, now.Add(q.o.Backoff<<l.Tries)))))
		return
	}
	r.State = e.State
	delete(q.asked, r.URL)
	if since {
		q.promote(r)
	}
	if e.Final == "" || e.Final == r.URL || e.State != Fetched || q.host(e.Final).leased[e.Final] != nil {
		return
	}
	target, found := q.known[e.Final]
	if !found {
		target = &Record{URL: e.Final}
		q.known[e.Final] = target
		q.host(e.Final).size++
	} else if target.State == Fetched {
		return
	}
	target.reachedFrom(r, e, found)
	target.State = Fetched
}

func (q *memoryQueue) enqueue(r *Record, c class, rank uint64) {
	q.seq++
	r.State, r.Again, r.TakenDown, r.place = Queued, time.Time{}, "", place{c, rank, q.seq}
}

func (q *memoryQueue) again(r *Record) {
	r.Tries, r.Status, r.Why, r.Led = 0, 0, "", ""
	q.enqueue(r, ordinary, r.rank())
}

func (q *memoryQueue) promote(r *Record) {
	r.Tries, r.Status, r.Why, r.Led = 0, 0, "", ""
	q.asked[r.URL] = true
	q.enqueue(r, promoted, 0)
}

// Promote queues an address that a re-crawl request names.
func (q *memoryQueue) Promote(address string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.change()
	r := q.known[address]
	if r == nil {
		r = &Record{URL: address, Depth: 1}
		q.known[address] = r
		q.host(address).size++
	}
	if !q.asked[address] {
		q.promote(r)
	}
	return nil
}

func (q *memoryQueue) Offer(offers ...Offer) (added int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.change()
	for _, o := range offers {
		if _, effect := q.offer(&o); effect == newlyQueued {
			added++
		}
	}
	return added, nil
}

func (q *memoryQueue) offer(o *Offer) (Record, effect) {
	r, found := q.known[o.URL]
	if _, _, part := partOf(o.URL); part {
		return Record{}, q.offerPart(o)
	} else if o.Again {
		if !found || r.State == Queued || notAskedFor(r.State) {
			return Record{}, nothingNew
		}
		r.from = cmp.Or(o.From, r.from)
		q.again(r)
		return *r, newlyQueued
	}
	h, from := q.host(o.URL), o.From
	if o.Seed {
		if q.seeds[o.URL] == 0 {
			q.seeds[o.URL] = uint64(FirstSeed + len(q.seeds))
		}
		from = q.seeds[o.URL]
		if h.failures > 0 {
			h.failures, h.due = 0, time.Time{}
		}
	}
	if !found && !o.Seed && q.o.MaxHost > 0 && h.size >= q.o.MaxHost {
		if q.beyond++; h.reported {
			return Record{}, nothingNew
		}
		h.reported = true
		return Record{URL: o.URL, State: Trapped, Why: "too many"}, newlySkipped
	}
	if !found {
		r = &Record{URL: o.URL}
	}
	adopts := !q.selected(r.from) && q.selected(from)
	e := r.offered(o, found, from, offerState{adopts, h.leased[o.URL] != nil, q.o.Now().UTC()})
	if !found && e != nothingNew {
		q.known[o.URL] = r
		h.size++
	}
	switch {
	case e == newlyQueued || e == moved && r.place.class == ordinary:
		q.enqueue(r, ordinary, r.rank())
	case e == moved:
		q.enqueue(r, r.place.class, r.place.rank)
	}
	return *r, e
}

func (q *memoryQueue) offerPart(o *Offer) effect {
	r, found := q.known[o.URL]
	h := q.host(o.URL)
	switch {
	case found && r.State == Queued:
		if l := h.leased[o.URL]; l != nil {
			l.deferred = append(l.deferred, *o)
		}
		return nothingNew
	case found && !newsOfPart(r, o):
		return nothingNew
	case !found:
		r = &Record{URL: o.URL}
		q.known[o.URL] = r
		h.size++
	}
	old, now := r.State, q.o.Now().UTC()
	r.from, r.Tries, r.Status, r.Why, r.Led, r.When = RequiredByPages, 0, 0, "", "", now
	switch {
	case o.State == Queued:
		q.enqueue(r, retried, uint64(nanos(now.Add(q.o.Backoff))))
	case found && old != Outside:
		q.enqueue(r, ordinary, r.rank())
	default:
		r.State, r.Again, r.Interval = Fetched, o.Revisit, o.Interval
		return nothingNew
	}
	return newlyQueued
}

func (q *memoryQueue) Requeue(f Filter) (n int, err error) {
	m, err := f.matcher(q.selected)
	if err != nil {
		return 0, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.change()
	for _, r := range q.inOrder() {
		switch {
		case !strings.HasPrefix(r.URL, f.Prefix) || !m.matches(r),
			!f.DueBy.IsZero() && (r.Again.IsZero() || r.Again.After(f.DueBy)),
			f.Barred != nil && !slices.Contains(f.Barred, r.TakenDown):
			continue
		}
		r.from = cmp.Or(f.From, r.from)
		q.again(r)
		n++
	}
	return n, nil
}

func (q *memoryQueue) inOrder() (list []*Record) {
	for _, address := range slices.Sorted(maps.Keys(q.known)) {
		list = append(list, q.known[address])
	}
	return list
}

func (q *memoryQueue) Get(address string) (r Record, found bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return r, false, errClosed
	}
	if found = q.known[address] != nil; found {
		r = *q.known[address]
	}
	return r, found, nil
}

func (q *memoryQueue) SeedNumbers() (map[string]uint64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.seeds), nil
}

func (q *memoryQueue) Barred(prefix, after string) (down []string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.known {
		if r.TakenDown > after && strings.HasPrefix(r.TakenDown, prefix) {
			down = append(down, r.TakenDown)
		}
	}
	slices.Sort(down)
	return slices.Compact(down), nil
}

func (q *memoryQueue) Extent() (e Extent, found bool, err error) {
	if found = q.extent != nil; found {
		e = *q.extent
	}
	return e, found, nil
}

func (q *memoryQueue) SetExtent(e Extent) error {
	q.extent = &e
	return nil
}

func (q *memoryQueue) Counts() (c Counts) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c.Beyond, c.Leased = q.beyond, q.leased()
	hosts := map[string]bool{}
	for _, r := range q.known {
		*map[State]*int{Queued: &c.Queued, Fetched: &c.Fetched, Refused: &c.Refused, Unreachable: &c.Unreachable,
			Failed:  &c.Failed,
			Outside: &c.Outside, Deep: &c.Deep, Trapped: &c.Trapped}[r.State]++
		if r.State == Queued {
			name, _ := address.Host(r.URL)
			hosts[name] = true
		}
		if !r.Again.IsZero() {
			c.Waiting++
			if c.NextAgain.IsZero() || r.Again.Before(c.NextAgain) {
				c.NextAgain = r.Again
			}
		}
	}
	c.Hosts = len(hosts)
	return c
}

func (q *memoryQueue) others() (n int) {
	for _, r := range q.known {
		if r.State == Queued && !q.selected(r.from) {
			n++
		}
	}
	return n
}

func (q *memoryQueue) Others() (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.others(), nil
}

func (q *memoryQueue) Flush() error { return nil }

func (q *memoryQueue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return nil
}

func TestMemoryQueue(t *testing.T) {
	testQueue(t, func(_ *testing.T, o FrontierOptions) promoter { return newMemoryQueue(o) })
}

func TestFrontierAsQueue(t *testing.T) {
	testQueue(t, func(t *testing.T, o FrontierOptions) promoter { return newFrontier(t, o) })
}

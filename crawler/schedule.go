package crawler

import (
	"bytes"
	"container/heap"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// The largest and the first number of addresses of one host that are read ahead from disk. The
// first number is small, since the host may leave the working set after one lease.
const (
	buffered    = 32
	bufferedNew = 2
)

// host is a host of the working set. It is guarded by Frontier.mu.
type host struct {
	name string
	times
	ready   time.Time         // due time in the index on disk
	unsaved int               // number of changes of the host that were sent to the writer and are not committed
	busy    int               // number of leases that have not ended
	taken   map[string]*Lease // address → its lease, until the end of the lease is committed
	items   []item            // addresses read ahead, in the order of the queue
	ahead   int               // number of addresses to read when addresses were last read ahead
	dry     bool              // the queue on disk has no more addresses to lease, as far as known
	index   int               // index in the heap of due hosts, -1 if not in it

	part  *partition // nil without a journal
	asked bool       // a request to the host may have been made; always false without a journal
}

// touch returns the changed data of h for the writer. h stays in the working set until these data
// are committed.
func (h *host) touch() *touch {
	h.unsaved++
	return &touch{h, h.times, h.asked}
}

// idle reports whether h can leave the working set, because the disk has all its data.
func (h *host) idle() bool { return h.busy == 0 && h.unsaved == 0 && len(h.taken) == 0 }

// dueHeap is a heap of hosts, ordered by the time when they are due.
type dueHeap []*host

func (d dueHeap) Len() int           { return len(d) }
func (d dueHeap) Less(i, j int) bool { return d[i].due.Before(d[j].due) }
func (d dueHeap) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}
func (d *dueHeap) Push(x any) {
	h := x.(*host)
	h.index = len(*d)
	*d = append(*d, h)
}
func (d *dueHeap) Pop() any {
	old := *d
	h := old[len(old)-1]
	old[len(old)-1] = nil
	*d = old[:len(old)-1]
	h.index = -1
	return h
}

// offerHost puts h into the heap of due hosts, or moves it to its new position there. It removes h
// from the heap if h has as many leases as permitted, or if its queue is empty. If the queue is
// empty and no visit is in progress, h leaves the working set. Until the delay of a host is known,
// only one of its addresses is leased at a time. With a journal, no address of the host is leased
// before the journal has what the last lease changed in the record of the host.
func (f *Frontier) offerHost(h *host) {
	empty := h.dry && len(h.items) == 0
	if empty && h.idle() {
		delete(f.hosts, h.name)
	}
	free := !empty && h.busy < f.o.PerHost && (h.met || h.busy == 0)
	if h.part != nil {
		free = free && h.part.open && h.unsaved == 0
	}
	switch {
	case h.index >= 0 && free:
		heap.Fix(&f.due, h.index)
	case h.index >= 0:
		heap.Remove(&f.due, h.index)
	case free:
		heap.Push(&f.due, h)
	}
}

// pick leases an address, or returns how long to wait for one. The caller holds f.mu.
func (f *Frontier) pick(now time.Time) (*Lease, time.Duration, error) {
	if f.closed {
		return nil, 0, errClosed
	}
	if f.foreign {
		return nil, 0, errForeign
	}
	if f.shared() && f.err == nil && !f.o.Journal.Until().After(now) {
		if f.finishing && f.idle(now) {
			return nil, 0, ErrIdle
		}
		return nil, f.o.Patience, nil // Wake ends the pause
	}
	for f.err == nil {
		if len(f.due) == 0 || f.due[0].due.After(now) {
			if f.load(now) {
				continue
			}
			break
		}
		if l := f.lease(heap.Pop(&f.due).(*host), now); l != nil {
			return l, 0, nil
		}
	}
	if f.err != nil {
		return nil, 0, f.err
	}
	if due := f.nextDue(); !due.IsZero() && due.Sub(now) <= f.o.Patience {
		return nil, max(due.Sub(now), time.Millisecond), nil
	}
	if f.pending == 0 && f.leases == 0 && (!f.shared() || f.finishing && len(f.adopting) == 0) {
		return nil, 0, ErrIdle
	}
	return nil, f.o.Patience, nil
}

// nextDue returns when the next host is due, or zero if no host is known to be due. It ignores
// hosts on disk that are due but have no room in the working set; they are loaded when a lease of a
// host in the working set ends.
func (f *Frontier) nextDue() (due time.Time) {
	if len(f.due) > 0 {
		due = f.due[0].due
	}
	if !f.outside.IsZero() && !f.crowded && (due.IsZero() || f.outside.Before(due)) {
		due = f.outside
	}
	return due
}

// lease leases the first address of h. The caller has removed h, which is due, from the heap. If no
// address can be leased now, it returns nil; then h returns to the heap only if it is due at a
// known time.
func (f *Frontier) lease(h *host, now time.Time) *Lease {
	if len(h.items) == 0 && !h.dry {
		again, err := f.read(h, now)
		if err != nil {
			f.err = err
			return nil
		}
		if len(h.items) == 0 && !again.IsZero() {
			h.due = later(h.due, again)
			f.offerHost(h)
			return nil
		}
		h.dry = len(h.items) == 0
	}
	if len(h.items) == 0 {
		f.offerHost(h)
		return nil
	}
	it := h.items[0]
	if f.exact && h.early(it.depth) {
		return nil // the next attempt comes when the end of a lease of this host is committed
	}
	h.items = h.items[1:]
	l := &Lease{URL: it.url, Host: h.name, Depth: it.depth, Tries: it.tries, Met: h.met, Pause: h.asks, host: h,
		Recrawl: it.asked,
		From:    it.from, failures: h.failures, before: h.due}
	f.pacing().begin(&h.times, now)
	l.after = h.due
	h.busy++
	if _, _, part := partOf(it.url); part { // a required resource has no links, so no address waits for its visit
		l.Depth = maxDepth
	}
	h.taken[it.url] = l
	f.leases++
	if h.part != nil {
		h.asked = true
		h.part.leases++
		l.Ended = h.part.ended
		l.announced = &change{part: h.part, touch: h.touch(), done: make(chan error, 1)}
	}
	f.offerHost(h)
	return l
}

// early reports whether a visit under way could still find an address, now at depth, nearer to a
// seed.
func (h *host) early(depth int) bool {
	for _, l := range h.taken {
		if l.Depth < depth-1 {
			return true
		}
	}
	return false
}

// read fills h.items from the queue on disk. If the queue on disk has only addresses to retry
// later, read returns the time of the first retry.
func (f *Frontier) read(h *host, now time.Time) (again time.Time, err error) {
	prefix := append([]byte(h.name), 0)
	h.ahead = min(max(2*h.ahead, bufferedNew), buffered)
	err = f.view(func(tx *bbolt.Tx) error {
		asked, cursor := tx.Bucket(bAsked), tx.Bucket(bQueue).Cursor()
		for _, part := range f.parts(prefix) {
			for k, v := cursor.Seek(part); k != nil && bytes.HasPrefix(k, part) && len(h.items) < h.ahead; k,
				v = cursor.Next() {
				it, err := decodeItem(k, v)
				if err != nil {
					return err
				}
				it.asked = it.place.class != ordinary && asked.Get(askedKey(h.name, it.url)) != nil
				selected := it.asked || !f.only && f.visits(it.from)
				if _, ok := h.taken[it.url]; ok || !selected {
					continue
				}
				if it.place.class == retried && int64(it.place.rank) > now.UnixNano() {
					again = instant(int64(it.place.rank))
					return nil
				}
				h.items = append(h.items, it)
			}
		}
		return nil
	})
	return again, err
}

// load moves hosts from disk into the working set while there is room, and begins with the host
// that is due first. If a host is due now, load makes room for it. load reports whether it moved
// any host.
func (f *Frontier) load(now time.Time) bool {
	f.crowded = false
	if f.outside.IsZero() {
		return false
	}
	if len(f.hosts) >= f.o.Working {
		if f.outside.After(now) {
			return false
		}
		if f.crowded = !f.unloadIdle(now); f.crowded {
			return false
		}
	}
	n := 0
	err := f.view(func(tx *bbolt.Tx) error {
		hosts := tx.Bucket(bHosts)
		for at, name := range f.waiting(tx) {
			if f.hosts[name] != nil {
				continue
			}
			var part *partition
			if f.shared() {
				if part = f.openOf(name); part == nil {
					continue
				}
			}
			if len(f.hosts) >= f.o.Working {
				f.outside = instant(at)
				return nil
			}
			v, err := decodeHost(hosts.Get([]byte(name)))
			if err != nil {
				return err
			}
			h := &host{name: name, times: f.timesOf(&v, instant(at), part), ready: instant(at),
				taken: map[string]*Lease{}, index: -1, part: part, asked: v.asked}
			f.hosts[name] = h
			f.offerHost(h)
			n++
		}
		f.outside = time.Time{}
		return nil
	})
	if err != nil {
		f.err = err
	}
	return n > 0
}

// timesOf returns the times of a host that is stored as v and belongs to part, which is nil without a
// journal. A visit that was not recorded, or a redirect, may have requested the host just before the
// restart or the adoption.
func (f *Frontier) timesOf(v *hostRecord, due time.Time, part *partition) times {
	t := times{due: later(v.due, due), held: v.held, asks: v.delay, met: v.met, pace: v.pace, failures: v.failures}
	if !f.resumed.IsZero() {
		t.holdUntil(f.resumed.Add(f.pacing().gap(&t)))
	}
	if part != nil && part.asked {
		t.holdUntil(part.since.Add(f.pacing().gapAfter(&t)))
	}
	return t
}

// HeldUntil returns the time before which a host must not be requested, by what this machine and
// those that owned the host before have recorded, or the zero time. names are those that the host may
// have as a Lease.Host, at least one. A host that is not known under any of them may have been
// requested all the same, for example because a page of another host redirects there. Visits wait
// for it anyway; it is for other requests.
func (f *Frontier) HeldUntil(names ...string) (until time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var stored []string // those that are not in the working set
	for _, name := range names {
		if h := f.hosts[name]; h != nil {
			until = later(until, h.held)
		} else {
			stored = append(stored, name)
		}
	}
	known := len(stored) < len(names)
	if len(stored) == 0 {
		return until, nil
	}
	err = f.view(func(tx *bbolt.Tx) error {
		for _, name := range stored {
			b := tx.Bucket(bHosts).Get([]byte(name))
			if b == nil {
				continue
			}
			v, err := decodeHost(b)
			if err != nil {
				return err
			}
			known, until = true, later(until, f.timesOf(&v, time.Time{}, f.partOf(name)).held)
		}
		return nil
	})
	if !known {
		until = f.timesOf(&hostRecord{}, time.Time{}, f.partOf(names[0])).held
	}
	return until, err
}

// partOf returns the partition of a host if it is open. It returns nil for a machine that crawls alone.
func (f *Frontier) partOf(host string) *partition {
	if !f.shared() {
		return nil
	}
	return f.openOf(host)
}

// unloadIdle removes idle hosts that are not due from the working set, at most an eighth of the
// working set, beginning with the host that is due last. unloadIdle reports whether it removed any
// host. A host that is due by the index on disk stays, since load would read it again at once.
func (f *Frontier) unloadIdle(now time.Time) bool {
	var resting []*host
	for _, h := range f.hosts {
		if h.idle() && h.due.After(now) && h.ready.After(now) {
			resting = append(resting, h)
		}
	}
	slices.SortFunc(resting, func(a, b *host) int { return b.due.Compare(a.due) })
	resting = resting[:min(len(resting), max(f.o.Working/8, 1))]
	for _, h := range resting {
		if h.index >= 0 {
			heap.Remove(&f.due, h.index)
		}
		delete(f.hosts, h.name)
	}
	return len(resting) > 0
}

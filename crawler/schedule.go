package crawler

import (
	"bytes"
	"container/heap"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// Bounds of how many addresses of a host are read ahead of their lease. It begins with few, since
// the host may leave the working set after one.
const (
	buffered    = 32
	bufferedNew = 2
)

// host is a host of the working set. Guarded by Frontier.mu.
type host struct {
	name     string
	due      time.Time
	held     time.Time     // due, without what is added for not answering
	leased   time.Time     // when the pause after the request of the lease given last is over
	asks     time.Duration // the pause that the host asks for
	met      bool          // asks is known
	pace     time.Duration // the pause that its answers suggest
	failures int
	ready    time.Time         // when it is due by its index on disk
	unsaved  int               // touches handed to the writer and not committed
	busy     int               // leases not given back
	taken    map[string]*Lease // of addresses leased, or given back and not committed
	items    []item            // read ahead, in queue order
	ahead    int               // how many were to be read
	dry      bool              // nothing more on disk, as far as is known
	index    int               // in the heap, -1 outside
}

// touch is what the writer is told of h, which stays in the working set until that is committed.
func (h *host) touch() *touch {
	h.unsaved++
	return &touch{host: h, due: h.due, held: h.held, delay: h.asks, pace: h.pace, failures: h.failures}
}

// idle reports whether h can leave the working set: what is on disk says all.
func (h *host) idle() bool { return h.busy == 0 && h.unsaved == 0 && len(h.taken) == 0 }

// dueHeap orders hosts by when they are due.
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

// offerHost puts h in its place among the due hosts, or out of it while its slots are full or its
// queue is empty; with nothing under way either, h leaves the working set. A host gets one slot
// until its pause is known.
func (f *Frontier) offerHost(h *host) {
	empty := h.dry && len(h.items) == 0
	if empty && h.idle() {
		delete(f.hosts, h.name)
	}
	free := !empty && h.busy < f.o.PerHost && (h.met || h.busy == 0)
	switch {
	case h.index >= 0 && free:
		heap.Fix(&f.due, h.index)
	case h.index >= 0:
		heap.Remove(&f.due, h.index)
	case free:
		heap.Push(&f.due, h)
	}
}

// pick leases an address, or tells how long to wait for one. f.mu is held.
func (f *Frontier) pick(now time.Time) (*Lease, time.Duration, error) {
	if f.closed {
		return nil, 0, errClosed
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
	if f.pending == 0 && f.leases == 0 {
		return nil, 0, ErrIdle
	}
	return nil, f.o.Patience, nil
}

// nextDue is when a host is due next, zero if none is as far as is known. Hosts on disk that are
// due and for which there is no room do not count: they come when one of the working set is given
// back.
func (f *Frontier) nextDue() (due time.Time) {
	if len(f.due) > 0 {
		due = f.due[0].due
	}
	if !f.outside.IsZero() && !f.crowded && (due.IsZero() || f.outside.Before(due)) {
		due = f.outside
	}
	return due
}

// lease takes the first address of h, which is due and out of the heap. It returns nil, and leaves
// h where it belongs, if there is none to be had now.
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
		return nil // looked at again when a lease of this host has been committed
	}
	h.items = h.items[1:]
	l := &Lease{URL: it.url, Host: h.name, Depth: it.depth, Tries: it.tries, Met: h.met, Pause: h.asks, host: h,
		Recrawl: it.asked,
		From:    it.from, failures: h.failures, before: h.due}
	h.due = now.Add(f.gap(h))
	l.after, h.leased = h.due, h.due
	h.busy++
	if _, _, part := partOf(it.url); part { // it leads to nothing
		l.Depth = maxDepth
	}
	h.taken[it.url] = l
	f.leases++
	f.offerHost(h)
	return l
}

// early reports whether a page under way could still show that an address at depth is nearer to a
// seed.
func (h *host) early(depth int) bool {
	for _, l := range h.taken {
		if l.Depth < depth-1 {
			return true
		}
	}
	return false
}

// read fills h.items from its queue on disk. If the queue holds nothing but addresses to be tried
// later, it tells when the first of them may be.
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

// load takes hosts from disk into the working set, those due first, as long as there is room, and
// reports whether it took any. For a host that is due it makes room.
func (f *Frontier) load(now time.Time) bool {
	f.crowded = false
	if f.outside.IsZero() {
		return false
	}
	if len(f.hosts) >= f.o.Working {
		if f.outside.After(now) {
			return false
		}
		if f.crowded = !f.rest(now); f.crowded {
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
			if len(f.hosts) >= f.o.Working {
				f.outside = instant(at)
				return nil
			}
			v, err := decodeHost(hosts.Get([]byte(name)))
			if err != nil {
				return err
			}
			h := &host{name: name, due: later(v.due, instant(at)), held: v.held, asks: v.delay, met: v.met,
				pace:     v.pace,
				failures: v.failures, ready: instant(at), taken: map[string]*Lease{}, index: -1}
			// it may have been asked just before, by a visit that was not recorded or a redirect
			if !f.resumed.IsZero() {
				f.holdUntil(h, f.resumed.Add(f.gap(h)))
			}
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

// rest drops hosts that are not due from the working set, the last due first and at most an eighth
// of it, and reports whether it dropped any. One that is due by the index on disk stays, or it
// would be loaded again at once.
func (f *Frontier) rest(now time.Time) bool {
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

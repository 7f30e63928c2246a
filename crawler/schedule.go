package crawler

import (
	"bytes"
	"container/heap"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// buffered is how many addresses of a host are read ahead of their lease.
const buffered = 32

// host is a host of the working set. Guarded by Frontier.mu.
type host struct {
	name     string
	due      time.Time
	asks     time.Duration // the pause that the host asks for
	met      bool          // asks is known
	failures int
	busy     int            // leases not given back
	taken    map[string]int // addresses leased, or given back and not committed → depth
	items    []item         // read ahead, in queue order
	dry      bool           // nothing more on disk, as far as is known
	index    int            // in the heap, -1 outside
}

func (h *host) touch() touch {
	return touch{host: h.name, due: h.due, delay: h.asks, failures: h.failures}
}

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

// offerHost puts h in its place among the due hosts, or out of it while its slots are full or its queue is empty; with
// nothing under way either, h leaves the working set. A host gets one slot until its pause is known.
func (f *Frontier) offerHost(h *host) {
	empty := h.dry && len(h.items) == 0
	if empty && h.busy == 0 && len(h.taken) == 0 {
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
	pause := f.o.Patience
	if len(f.due) > 0 {
		pause = min(pause, f.due[0].due.Sub(now))
	}
	if f.pending == 0 && f.leases == 0 && (len(f.due) == 0 || f.due[0].due.Sub(now) > f.o.Patience) {
		return nil, 0, ErrIdle
	}
	return nil, pause, nil
}

// lease takes the first address of h, which is due and out of the heap. It returns nil, and leaves h where it belongs,
// if there is none to be had now.
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
	l := &Lease{URL: it.url, Depth: it.depth, Tries: it.tries, Met: h.met, Pause: h.asks, host: h, failures: h.failures, before: h.due}
	h.due = now.Add(f.gap(h))
	l.after = h.due
	h.busy++
	h.taken[it.url] = it.depth
	f.leases++
	f.offerHost(h)
	return l
}

// early reports whether a page under way could still show that an address at depth is nearer to a seed.
func (h *host) early(depth int) bool {
	for _, d := range h.taken {
		if d < depth-1 {
			return true
		}
	}
	return false
}

// read fills h.items from its queue on disk. If the queue holds nothing but addresses to be tried later, it tells when
// the first of them may be.
func (f *Frontier) read(h *host, now time.Time) (again time.Time, err error) {
	prefix := append([]byte(h.name), 0)
	err = f.view(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(bQueue).Cursor()
		for k, v := cursor.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix) && len(h.items) < buffered; k, v = cursor.Next() {
			it, err := decodeItem(v)
			if err != nil {
				return err
			}
			if _, ok := h.taken[it.url]; ok {
				continue
			}
			if p := readPlace(k[len(prefix):]); p.class == retried && int64(p.rank) > now.UnixNano() {
				again = instant(int64(p.rank))
				return nil
			}
			h.items = append(h.items, it)
		}
		return nil
	})
	return again, err
}

// load takes hosts from disk into the working set, those due first, and reports whether it took any. If the working set
// is full it makes room, where the disk holds a host that is due before one that rests.
func (f *Frontier) load(now time.Time) bool {
	if !f.unloaded || len(f.hosts) >= f.o.Working && !f.rest(now) {
		return false
	}
	n := 0
	err := f.view(func(tx *bbolt.Tx) error {
		hosts := tx.Bucket(bHosts)
		cursor := tx.Bucket(bReady).Cursor()
		for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
			at, name := splitReady(k)
			if f.hosts[name] != nil {
				continue
			}
			if len(f.hosts) >= f.o.Working {
				return nil
			}
			v, err := decodeHost(hosts.Get([]byte(name)))
			if err != nil {
				return err
			}
			h := &host{name: name, due: later(v.due, time.Unix(0, at)), asks: v.delay, met: v.met,
				failures: v.failures, taken: map[string]int{}, index: -1}
			f.hosts[name] = h
			f.offerHost(h)
			n++
		}
		f.unloaded = false
		return nil
	})
	if err != nil {
		f.err = err
	}
	return n > 0
}

// rest drops hosts that are not due from the working set, the last due first and at most an eighth of it, as long as
// there is a host on disk that is due earlier.
func (f *Frontier) rest(now time.Time) bool {
	first := f.firstOutside()
	if first.IsZero() {
		f.unloaded = false
		return false
	}
	var idle []*host
	for _, h := range f.hosts {
		if h.busy == 0 && len(h.taken) == 0 && h.due.After(now) && h.due.After(first) {
			idle = append(idle, h)
		}
	}
	slices.SortFunc(idle, func(a, b *host) int { return b.due.Compare(a.due) })
	idle = idle[:min(len(idle), max(f.o.Working/8, 1))]
	for _, h := range idle {
		if h.index >= 0 {
			heap.Remove(&f.due, h.index)
		}
		delete(f.hosts, h.name)
	}
	return len(idle) > 0
}

// firstOutside is when the first host that is not in the working set is due, zero if there is none.
func (f *Frontier) firstOutside() (first time.Time) {
	err := f.view(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(bReady).Cursor()
		for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
			if at, name := splitReady(k); f.hosts[name] == nil {
				first = time.Unix(0, at)
				return nil
			}
		}
		return nil
	})
	if err != nil {
		f.err = err
	}
	return first
}

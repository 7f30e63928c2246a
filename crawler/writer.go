package crawler

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// Bounds of one write transaction: changes, and addresses offered in them.
const (
	maxChanges = 512
	maxOffers  = 20000
)

// offer is one address that may be new.
type offer struct {
	url   string
	depth int
	seed  bool
	force bool   // queue it first, whatever is known of it
	state State  // Queued, or Outside or Deep: recorded, not asked for
	why   string // of Outside and Deep
}

// touch is what a visit taught about a host.
type touch struct {
	host     string
	due      time.Time
	delay    time.Duration
	failures int
}

// change is what one visit, or one call from outside, asks the writer to make durable at once.
type change struct {
	lease   *Lease // given back by this change, or nil
	end     End
	touches []touch
	offers  []offer
	again   func(Record) bool // of the addresses that begin with prefix, from the address from on, queue those it picks
	prefix  string
	from    string
	key     string // of a note, or ""
	value   string

	report func(Record) // called after the commit for every address newly recorded as not asked for, if not nil
	done   chan error   // receives once, after the commit; nil: nobody waits

	added int      // out: addresses queued
	skips []Record // out: what report is called with
	next  string   // out: where again has to go on, "" at the end
}

// write is the writer goroutine: it groups what has come in since the last commit into one transaction.
func (f *Frontier) write() {
	defer close(f.stopped)
	for first := range f.changes {
		group := []*change{first}
		size := len(first.offers)
	gather:
		for len(group) < maxChanges && size < maxOffers {
			select {
			case c, ok := <-f.changes:
				if !ok {
					break gather
				}
				group = append(group, c)
				size += len(c.offers)
			default:
				break gather
			}
		}
		f.commit(group)
	}
}

// commit makes a group durable and tells the schedule and those who wait. After an error nothing is written any
// more: what was not committed is still queued on disk, so the next run repeats it.
func (f *Frontier) commit(group []*change) {
	err := f.fault()
	var b *batch
	if err == nil {
		err = f.update(func(tx *bbolt.Tx) error {
			b = f.newBatch(tx)
			for _, c := range group {
				if err := b.apply(c); err != nil {
					return err
				}
			}
			return b.flush()
		})
		if err != nil {
			err = fmt.Errorf("the frontier cannot be written: %w; free space or check the disk, then run again: nothing is lost", err)
		}
	}
	f.committed(group, b, err)
	for _, c := range group {
		for _, r := range c.skips {
			if err == nil {
				c.report(r)
			}
		}
		if c.done != nil {
			c.done <- err
		}
	}
}

func (f *Frontier) update(fn func(*bbolt.Tx) error) (err error) {
	defer damaged(f.name, &err)
	return f.db.Update(func(tx *bbolt.Tx) error {
		if f.inject != nil {
			if err := f.inject(); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

func (b *batch) apply(c *change) error {
	if c.lease != nil {
		if err := b.end(c.lease, c.end); err != nil {
			return err
		}
	}
	for _, t := range c.touches {
		h, err := b.host(t.host)
		if err != nil {
			return err
		}
		h.due, h.delay, h.failures, h.met = t.due, t.delay, t.failures, true
	}
	for i := range c.offers {
		r, change, err := b.offer(&c.offers[i])
		switch {
		case err != nil:
			return err
		case change == newlyQueued:
			c.added++
		case change == newlySkipped && c.report != nil:
			c.skips = append(c.skips, r)
		}
	}
	if c.key != "" {
		if err := b.meta.Put([]byte(c.key), []byte(c.value)); err != nil {
			return err
		}
	}
	if c.again != nil {
		return b.requeue(c)
	}
	return nil
}

// end records how a visit ended. The address may have been settled meanwhile as the target of another redirect.
func (b *batch) end(l *Lease, e End) error {
	r, found, err := b.get(l.URL)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%s was visited but is not known", l.URL)
	}
	old := r.State
	if old != Queued && e.State != Fetched {
		return nil
	}
	r.Status, r.Why, r.Led, r.When = e.Status, e.Why, e.Led, b.f.now().UTC()
	if e.State == Queued {
		r.Tries++
		return b.enqueue(&r, old, true, retried, uint64(nanos(e.Retry)))
	}
	if err := b.settle(&r, old, true, e.State); err != nil {
		return err
	}
	if e.Final == "" || e.Final == l.URL || e.State != Fetched {
		return nil
	}
	// The redirect led to a page of its own: it need not be fetched again under its own address, unless another
	// worker does so at this moment.
	final, found, err := b.get(e.Final)
	if err != nil || found && final.State == Fetched || b.f.leased(e.Final) {
		return err
	}
	old = final.State
	if !found {
		final.Depth = r.Depth
	}
	final.Status, final.Why, final.When = e.Status, "", r.When
	if found && old == Queued {
		host, err := hostName(final.URL)
		if err != nil {
			return err
		}
		b.moved[host] = -1
	}
	return b.settle(&final, old, found, Fetched)
}

// The effects of an offer.
const (
	nothingNew = iota
	newlyQueued
	newlySkipped
)

// offer queues or records an address that a page, the operator or a request named.
func (b *batch) offer(o *offer) (r Record, effect int, err error) {
	if o.seed {
		if err := b.name(o.url); err != nil {
			return r, nothingNew, err
		}
	}
	r, found, err := b.get(o.url)
	if err != nil {
		return r, nothingNew, err
	}
	old, wasSeed := r.State, r.Seed
	r.Seed = r.Seed || o.seed
	switch {
	case !found || news(old, r.Depth, o) && old != Queued:
		r.Depth = o.depth
	case o.seed && old != Queued && old != Fetched:
		r.Depth = 0
	case o.force && (old != Queued || r.place.class != promoted):
	case old == Queued && news(old, r.Depth, o):
		r.Depth = o.depth
		if r.place.class == ordinary && !b.f.leased(r.URL) {
			return r, nothingNew, b.enqueue(&r, old, true, ordinary, uint64(r.Depth))
		}
		return r, nothingNew, b.put(&r, old, true)
	case r.Seed != wasSeed:
		return r, nothingNew, b.put(&r, old, true)
	default:
		return r, nothingNew, nil
	}
	r.When = b.f.now().UTC()
	if o.state != Queued {
		r.State, r.Why, effect = o.state, o.why, nothingNew
		if !found {
			effect = newlySkipped
		}
		return r, effect, b.put(&r, old, found)
	}
	r.Why, r.Led, r.Tries, r.Status = "", "", 0, 0
	c, rank := ordinary, uint64(r.Depth)
	if o.force {
		c, rank = promoted, 0
	}
	return r, newlyQueued, b.enqueue(&r, old, found, c, rank)
}

// name notes a seed. A host that did not answer in an earlier run is due at once when it is named again.
func (b *batch) name(seed string) error {
	host, err := hostName(seed)
	if err != nil {
		return err
	}
	h, err := b.host(host)
	if err != nil {
		return err
	}
	if h.failures > 0 {
		h.failures, h.due = 0, time.Time{}
	}
	return b.seeds.Put([]byte(seed), nil)
}

// news reports whether a link says something new of an address known in state old at a depth.
func news(old State, depth int, o *offer) bool {
	switch old {
	case Queued:
		return o.state == Queued && o.depth < depth
	case Outside, Deep:
		return o.state == Queued || o.state == old && o.depth < depth
	}
	return false
}

// requeue queues again what c.again picks among the outcomes, a bounded number at a time.
func (b *batch) requeue(c *change) error {
	var picked []Record
	c.next = ""
	err := each(b.known, c.prefix, c.from, func(r Record) error {
		if len(picked) == maxOffers {
			c.next = r.URL
			return errEnough
		}
		if r.State != Queued && c.again(r) {
			picked = append(picked, r)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	for i := range picked {
		r := &picked[i]
		old := r.State
		r.Tries, r.Status, r.Why, r.Led = 0, 0, "", ""
		if err := b.enqueue(r, old, true, ordinary, uint64(r.Depth)); err != nil {
			return err
		}
	}
	c.added = len(picked)
	return nil
}

var errEnough = errors.New("enough")

// each calls fn for the records whose address begins with prefix, in order of address, from the address from on.
func each(known *bbolt.Bucket, prefix, from string, fn func(Record) error) error {
	cursor := known.Cursor()
	for k, v := cursor.Seek([]byte(max(prefix, from))); k != nil && hasPrefix(k, prefix); k, v = cursor.Next() {
		r, err := decodeRecord(string(k), v)
		if err != nil {
			return err
		}
		if err := fn(r); err != nil {
			return err
		}
	}
	return nil
}

func hasPrefix(k []byte, prefix string) bool {
	return len(k) >= len(prefix) && string(k[:len(prefix)]) == prefix
}

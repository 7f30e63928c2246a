package crawler

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/address"
)

// Bounds of one write transaction: changes, and addresses offered in them.
const (
	maxChanges = 512
	maxOffers  = 20000
)

// touch is what a visit taught about a host.
type touch struct {
	host     *host
	due      time.Time
	held     time.Time
	delay    time.Duration
	pace     time.Duration
	failures int
}

// change is what one visit, or one call from outside, asks the writer to make durable at once.
type change struct {
	lease   *Lease // given back by this change, or nil
	end     End
	touch   *touch
	offers  []Offer
	bars    []bar    // addresses that are taken down, or lead there
	promote string   // an address that a re-crawl asks for, or ""
	requeue *matcher // queue what it matches, nil: nothing
	from    string   // where requeue goes on, "" at the beginning
	extent  []byte   // to be stored, or nil

	done chan error // receives once, after the commit; nil: nobody waits

	added int      // out: addresses queued
	full  error    // out: why nothing is noted of promote
	skips []Record // out: links newly noted as not visited
	next  string   // out: where requeue has to go on, "" at the end
}

// company is how long a change waits for others to be written with, where nobody waits for it and
// there is enough to lease.
const company = 20 * time.Millisecond

// write is the writer goroutine: it groups what comes in into transactions.
func (f *Frontier) write() {
	defer close(f.stopped)
	for first := range f.changes {
		f.commit(f.gather(first))
	}
}

// gather collects what has come in since the last commit, and what comes soon.
func (f *Frontier) gather(first *change) []*change {
	group, size := []*change{first}, len(first.offers)
	hurry := first.done != nil
	timer := time.NewTimer(company)
	defer timer.Stop()
	for len(group) < maxChanges && size < maxOffers {
		var c *change
		select {
		case c = <-f.changes:
		default:
			if hurry || f.wanting() {
				return group
			}
			select {
			case c = <-f.changes:
			case <-timer.C:
				return group
			}
		}
		if c == nil { // closed
			return group
		}
		group, size, hurry = append(group, c), size+len(c.offers), hurry || c.done != nil
	}
	return group
}

// wanting reports whether somebody may wait for an address that the next commit could bring.
func (f *Frontier) wanting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed || len(f.due) == 0
}

// commit makes a group durable and tells the schedule and those who wait. After an error nothing is
// written any more: what was not committed is still queued on disk, so the next run repeats it.
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
			err = fmt.Errorf("the frontier cannot be written: %w; free space or check the disk, then run again: "+
				"nothing is lost", err)
		}
	}
	skipped := f.committed(group, b, err)
	for _, c := range group {
		for _, r := range c.skips {
			if err == nil {
				skipped(r)
			}
		}
		if c.done != nil {
			c.done <- err
		}
	}
}

func (f *Frontier) update(fn func(*bbolt.Tx) error) error {
	return guard(f.name, func() error {
		return f.db.Update(func(tx *bbolt.Tx) error {
			if f.inject != nil {
				if err := f.inject(); err != nil {
					return err
				}
			}
			return fn(tx)
		})
	})
}

func (b *batch) apply(c *change) error {
	if c.lease != nil {
		if err := errors.Join(b.end(c.lease, c.end), b.offerDeferred(c.lease)); err != nil {
			return err
		}
	}
	if t := c.touch; t != nil {
		h, err := b.host(t.host.name)
		if err != nil {
			return err
		}
		h.due, h.held, h.delay, h.pace, h.failures, h.met = t.due, t.held, t.delay, t.pace, t.failures, true
	}
	tell := c.lease != nil // of links that others offer nobody is told
	for i := range c.offers {
		r, change, err := b.take(&c.offers[i], tell)
		switch {
		case err != nil:
			return err
		case change == newlyQueued:
			c.added++
		case change == newlySkipped && tell:
			c.skips = append(c.skips, r)
		}
	}
	switch {
	case c.extent != nil:
		return b.meta.Put(kExtent, c.extent)
	case c.promote != "":
		return b.promote(c)
	case c.bars != nil:
		return b.bar(c.bars)
	case c.requeue != nil:
		return b.requeue(c)
	}
	return nil
}

// end records how a visit ended. The address may have been fetched meanwhile as the target of
// another redirect.
func (b *batch) end(l *Lease, e End) error {
	r, found, err := b.get(l.URL)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%s was visited but is not known", l.URL)
	}
	old, since := r.State, r.place.class == promoted && !l.Recrawl // a re-crawl was requested during the visit
	if old != Queued && e.State != Fetched {
		return nil
	}
	r.ended(&e, b.f.now().UTC())
	if e.State == Queued {
		return b.enqueue(&r, old, true, retried, uint64(nanos(e.Retry)))
	}
	if err := b.settle(&r, old, true, e.State); err != nil {
		return err
	}
	if since {
		if err := b.first(&r, r.State, true); err != nil {
			return err
		}
	}
	return b.endTarget(&r, &e)
}

// ended takes the outcome of a visit into r, but for its state.
func (r *Record) ended(e *End, now time.Time) {
	r.Status, r.Why, r.Led, r.When = e.Status, e.Why, e.Led, now
	if e.State == Queued {
		r.Tries++
		return
	}
	r.Again, r.Interval, r.TakenDown = e.Again, e.Interval, ""
	if e.TakenDown {
		r.TakenDown = r.at()
	}
}

// endTarget records the page that redirects of r led to as fetched, so that it is not fetched again
// under its own address, unless another worker does so at this moment.
func (b *batch) endTarget(r *Record, e *End) error {
	if e.Final == "" || e.Final == r.URL || e.State != Fetched {
		return nil
	}
	target, found, err := b.get(e.Final)
	if err != nil || found && target.State == Fetched || b.f.leased(e.Final) {
		return err
	}
	old := target.State
	target.reachedFrom(r, e, found)
	if found && old == Queued {
		host, err := address.Host(target.URL)
		if err != nil {
			return err
		}
		b.moved[host] = place{} // it may have been read ahead
	}
	return b.settle(&target, old, found, Fetched)
}

// reachedFrom takes into r, the target of the redirects of from, what its visit brought.
func (r *Record) reachedFrom(from *Record, e *End, found bool) {
	if !found {
		r.Depth, r.from = from.Depth, from.from
	}
	r.Status, r.Why, r.Led, r.TakenDown, r.When = e.Status, "", "", "", from.When
}

// effect is what an offer changes.
type effect int

const (
	nothingNew   effect = iota
	recorded            // the record, not its place
	moved               // to another place in the queue
	newlyQueued         // also if it was visited before
	newlySkipped        // noted for the first time, and not queued
)

// take does what is to be done with an offer of any kind.
func (b *batch) take(o *Offer, tell bool) (r Record, e effect, err error) {
	queued := false
	switch _, _, part := partOf(o.URL); {
	case part:
		queued, err = b.offerPart(o)
	case o.Again:
		queued, err = b.queueAgain(o)
	default:
		return b.offer(o, tell)
	}
	if queued {
		e = newlyQueued
	}
	return r, e, err
}

// offer queues or notes an address that a page, a sitemap or the operator named. tell says that the
// first one beyond the limit of its host is reported.
func (b *batch) offer(o *Offer, tell bool) (r Record, e effect, err error) {
	from := o.From
	if o.Seed {
		if from, err = b.name(o.URL); err != nil {
			return r, nothingNew, err
		}
	}
	r, found, err := b.get(o.URL)
	if err != nil {
		return r, nothingNew, err
	}
	if !found && !o.Seed && b.f.o.MaxHost > 0 {
		if full, err := b.full(&r, tell); full || err != nil {
			if r.Why != "" {
				e = newlySkipped
			}
			return r, e, err
		}
	}
	old := r.State
	e = r.offered(o, found, from, offerState{b.f.adopts(r.from, from), old == Queued && b.f.leased(r.URL),
		b.f.now().UTC()})
	switch e {
	case recorded, newlySkipped:
		err = b.put(&r, old, found)
	case newlyQueued:
		err = b.enqueue(&r, old, found, ordinary, r.rank())
	case moved:
		class, rank := r.place.class, r.place.rank
		if class == ordinary {
			rank = r.rank()
		}
		err = b.enqueue(&r, old, true, class, rank)
	}
	return r, e, err
}

// offerState is what matters for an offer beside the record of its address.
type offerState struct {
	adopts bool // the record counts as found from a seed that this run does not visit, the offer from one that it does
	leased bool
	now    time.Time
}

// offered takes an offer into r, but for its place in the queue. from is the number of the seed.
func (r *Record) offered(o *Offer, found bool, from uint64, s offerState) effect {
	was := *r
	r.Seed, r.listed = r.Seed || o.Seed, r.listed || o.Listed
	switch {
	case found && was.State == Queued:
		return r.offeredQueued(o, &was, from, s)
	case !found || news(&was, o):
		r.Depth, r.from = o.Depth, from
	case o.Seed && was.State != Fetched:
		r.Depth, r.from = 0, from
	case r.Seed != was.Seed || r.listed != was.listed:
		return recorded
	default:
		return nothingNew
	}
	r.When = s.now
	switch {
	case o.State == Queued:
		r.State, r.Why, r.Led, r.Tries, r.Status = Queued, "", "", 0, 0
		return newlyQueued
	case found:
		r.State, r.Why = o.State, o.Why
		return recorded
	}
	r.State, r.Why = o.State, o.Why
	return newlySkipped
}

// offeredQueued is offered for an address that is queued, as was says.
func (r *Record) offeredQueued(o *Offer, was *Record, from uint64, s offerState) effect {
	switch {
	case (o.Seed && r.from != from || s.adopts) && !s.leased:
		r.Depth, r.from = min(r.Depth, o.Depth), from
		return moved
	case news(was, o):
		r.Depth = min(r.Depth, o.Depth)
		if r.place.class == ordinary && !s.leased {
			return moved
		}
		return recorded
	case r.Seed != was.Seed || r.listed != was.listed:
		return recorded
	}
	return nothingNew
}

// full reports whether as many addresses of the host of r are noted as may be. Then r, which is
// new, is not, but counted; the first time that somebody wants to hear of it, r says why.
func (b *batch) full(r *Record, tell bool) (bool, error) {
	name, h, err := b.hostFor(r.URL)
	if err != nil || h.known < b.f.o.MaxHost {
		return false, err
	}
	h.beyond++
	b.counts[beyondCount]++
	if tell && !h.told {
		h.told = true
		r.State, r.When = Trapped, b.f.now().UTC()
		r.Why = fmt.Sprintf("%d addresses of %s are noted, which is the limit: neither this one nor further ones are",
			h.known, name)
	}
	return true, nil
}

// name stores a seed and returns its number. A host that did not answer in an earlier run is due as
// soon as its delay permits if it is named again.
func (b *batch) name(seed string) (uint64, error) {
	_, h, err := b.hostFor(seed)
	if err != nil {
		return 0, err
	}
	if h.failures > 0 {
		h.failures, h.due = 0, h.held
	}
	if n := seedNumber(b.seeds.Get([]byte(seed))); n != NoSeed {
		return n, nil
	}
	n, err := b.seeds.NextSequence()
	if err != nil {
		return 0, err
	}
	n += FirstSeed - 1 // the first number of a bucket is 1
	return n, b.seeds.Put([]byte(seed), number(n))
}

// news reports whether a link says something new of an address known as r.
func news(r *Record, o *Offer) bool {
	if _, _, part := partOf(o.URL); part {
		return newsOfPart(r, o)
	}
	switch r.State {
	case Queued:
		return o.State == Queued && (o.Depth < r.Depth || o.Depth == r.Depth && o.Listed && !r.listed)
	case Outside, Deep, Trapped:
		return o.State == Queued || o.State == r.State && o.Depth < r.Depth
	}
	return false
}

var errEnough = errors.New("enough")

// each calls fn for the records whose address begins with prefix, in order of address, from the
// address from on.
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

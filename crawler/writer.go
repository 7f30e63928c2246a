package crawler

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// The limits of one write transaction: the number of changes and of addresses offered in them.
const (
	maxChanges = 512
	maxOffers  = 20000
)

// touch is what a visit changes in the record of a host.
type touch struct {
	host *host
	times
	asked bool // a request to the host may have been made; false without a journal
}

// change is what one visit, or one call of a method, asks the writer to make durable in one
// transaction.
type change struct {
	lease   *Lease // the lease that this change ends, or nil
	end     End
	touch   *touch
	offers  []Offer
	bars    []bar    // take-downs to record
	promote string   // address that a re-crawl request names, or ""
	requeue *matcher // filter of the addresses to requeue, or nil
	from    string   // address at which requeue continues, "" for the first
	extent  []byte   // JSON of the Extent to store, or nil

	part    *partition        // the only partition that this change may change; nil: all that are open
	links   uint64            // position of the offers in the stream of links of part, or 0
	restore *chunk            // piece of a journal to apply, or nil
	drop    *int              // number of the partition to remove from the file, or nil
	rewrite *rewriting        // records of part to put into the journal again, or nil
	seeds   map[string]uint64 // numbers of seeds to store, or nil

	done chan error // receives one value after the commit; nil if nobody waits

	added int      // result: number of addresses that this change queued
	full  error    // result: why the address promote was not recorded, or nil
	skips []Record // result: links that are newly recorded as not visited
	next  string   // result: address at which requeue must continue, "" if it is complete

	rewritten rewriting // result: where rewrite must continue
}

// flushes reports whether c changes nothing: it only waits for earlier changes.
func (c *change) flushes() bool {
	return c.lease == nil && c.touch == nil && c.offers == nil && c.bars == nil && c.promote == "" &&
		c.requeue == nil && c.extent == nil
}

// commitDelay is how long the writer waits for further changes to write in the same transaction, if
// nobody waits for the commit and enough addresses can be leased.
const commitDelay = 20 * time.Millisecond

// write is the writer goroutine. It commits the changes that it receives, several in one
// transaction.
func (f *Frontier) write() {
	defer close(f.stopped)
	for first := range f.changes {
		f.commit(f.gather(first))
	}
}

// gather returns first and the changes that have arrived since the last commit or arrive soon.
func (f *Frontier) gather(first *change) []*change {
	group, size := []*change{first}, len(first.offers)
	awaited := first.done != nil
	timer := time.NewTimer(commitDelay)
	defer timer.Stop()
	for len(group) < maxChanges && size < maxOffers {
		var c *change
		select {
		case c = <-f.changes:
		default:
			if awaited || f.commitAwaited() {
				return group
			}
			select {
			case c = <-f.changes:
			case <-timer.C:
				return group
			}
		}
		if c == nil { // the channel is closed
			return group
		}
		group, size, awaited = append(group, c), size+len(c.offers), awaited || c.done != nil
	}
	return group
}

// commitAwaited reports whether a goroutine may be waiting for an address that the next commit
// could queue.
func (f *Frontier) commitAwaited() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed || len(f.due) == 0
}

// commit makes a group of changes durable, updates the schedule and wakes the callers that wait.
// After an error it writes nothing more. Addresses whose outcome is not committed are still queued
// on disk, so the next run visits them again.
func (f *Frontier) commit(group []*change) {
	err := f.fault()
	var b *batch
	if err == nil {
		for again := true; again; again = f.loseAll(err) {
			if group = f.withoutLost(group); len(group) == 0 {
				f.signal()
				return
			}
			b, err = f.attempt(group)
		}
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
	f.checking.Lock()
	defer f.checking.Unlock()
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
		if err := errors.Join(b.recordEnd(c.lease, c.end), b.offerDeferred(c.lease)); err != nil {
			return err
		}
	}
	if t := c.touch; t != nil {
		h, err := b.host(t.host.name)
		if err != nil {
			return err
		}
		h.due, h.held, h.delay, h.pace, h.failures, h.met = t.due, t.held, t.asks, t.pace, t.failures, t.met
		h.asked = h.asked || t.asked
	}
	if c.links > 0 {
		if done, err := b.receive(c); done || err != nil {
			return err
		}
	}
	for i := range c.offers {
		if b.shared != nil {
			if mine, err := b.route(c, &c.offers[i]); err != nil {
				return err
			} else if !mine {
				continue
			}
		}
		// only links that a visit found, here or in another partition, are reported to the caller as not visited
		report := c.lease != nil || c.links > 0 && !c.offers[i].Listed
		r, change, err := b.applyOffer(&c.offers[i], report)
		switch {
		case err != nil:
			return err
		case change == newlyQueued:
			c.added++
		case change == newlySkipped && report:
			c.skips = append(c.skips, r)
		}
	}
	switch {
	case c.extent != nil:
		return b.meta.Put(kExtent, c.extent)
	case c.promote != "" && !b.owns(c.promote):
		b.sendLater(&Offer{URL: c.promote, Promote: true})
		return nil
	case c.promote != "":
		var err error
		c.full, err = b.promote(c.promote)
		return err
	case c.bars != nil:
		return b.bar(c.bars)
	case c.requeue != nil:
		return b.requeue(c)
	case b.shared != nil:
		return b.applyShared(c)
	}
	return nil
}

// recordEnd records the outcome of a visit. A visit of another address may already have recorded
// this address as fetched, as the target of a redirect.
func (b *batch) recordEnd(l *Lease, e End) error {
	r, found, err := b.get(l.URL)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%s was visited but has no record", l.URL)
	}
	// since: a re-crawl request for the address arrived during its visit
	old, since := r.State, r.place.class == promoted && !l.Recrawl
	if old != Queued && e.State != Fetched {
		return nil
	}
	r.setOutcome(&e, b.f.now().UTC())
	if e.State == Queued {
		return b.enqueue(&r, old, true, retried, uint64(nanos(e.Retry)))
	}
	if err := b.writeOutcome(&r, old, true, e.State); err != nil {
		return err
	}
	if since {
		if err := b.enqueueFirst(&r, r.State, true); err != nil {
			return err
		}
	}
	return b.endTarget(&r, &e)
}

// setOutcome sets the fields of r to the outcome of a visit, except the state.
func (r *Record) setOutcome(e *End, now time.Time) {
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

// endTarget records that the redirect target of r was fetched, so that the target is not fetched
// again at its own address. If the target is leased, endTarget does nothing.
func (b *batch) endTarget(r *Record, e *End) error {
	if e.Final == "" || e.Final == r.URL || e.State != Fetched {
		return nil
	}
	if b.shared != nil && !b.together(r.URL, e.Final) { // its owner has its record, and visits it
		b.sendLater(&Offer{URL: e.Final, Depth: r.Depth, From: r.from, State: Queued})
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
		b.moved[host] = place{} // the address may have been read ahead
	}
	return b.writeOutcome(&target, old, found, Fetched)
}

// reachedFrom copies the outcome e of the visit of from into r. from redirects to r.
func (r *Record) reachedFrom(from *Record, e *End, found bool) {
	if !found {
		r.Depth, r.from = from.Depth, from.from
	}
	r.Status, r.Why, r.Led, r.TakenDown, r.When = e.Status, "", "", "", from.When
}

// effect is what an offer changes in the record of its address.
type effect int

const (
	nothingNew   effect = iota
	recorded            // the record changes, its place in the queue does not
	moved               // the address moves to another place in the queue
	newlyQueued         // the address is queued; it was not queued before
	newlySkipped        // the address is recorded for the first time, as not visited
)

// news reports whether an offer o of a link changes the record r of the same address.
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

// each calls fn for the records whose address begins with prefix, in order of address. It starts at
// the address from.
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

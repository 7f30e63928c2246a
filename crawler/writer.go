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
	url    string
	depth  int
	seed   bool
	from   uint64 // the number of the seed from which it was found; of a seed, its own is used
	listed bool   // by a sitemap
	state  State  // Queued, or Outside, Deep or Trapped: recorded, not asked for
	why    string // of these
	anew   bool   // queue it as it was, if it was visited

	again    time.Time     // of a required resource that was had
	interval time.Duration // of it
}

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
	offers  []offer
	bars    []bar             // addresses that are taken down, or lead there
	lift    []string          // keys of what is barred: queue it again
	promote string            // an address that a re-crawl asks for, or ""
	again   func(Record) bool // of the addresses that begin with prefix, from the address from on, queue those it picks
	prefix  string
	from    string
	found   uint64    // count what again picks as found from that seed; foundNowhere: as it was
	revive  time.Time // queue what is to be visited again by then; zero: nothing
	failed  bool      // only what failed
	key     string    // of a note, or ""
	value   string

	report func(Record) // called after the commit for every address newly recorded as not asked for, if not nil
	done   chan error   // receives once, after the commit; nil: nobody waits

	added int      // out: addresses queued
	full  error    // out: why nothing is noted of promote
	skips []Record // out: what report is called with
	next  string   // out: where again has to go on, "" at the end
	more  bool     // out: revive has to go on
}

// company is how long a change waits for others to be written with, where nobody waits for it and there is enough to lease.
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
	for i := range c.offers {
		r, change, err := b.take(&c.offers[i], c.report != nil)
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
	if c.promote != "" {
		return b.promote(c)
	}
	if c.bars != nil {
		return b.bar(c.bars)
	}
	if c.lift != nil {
		return b.lift(c)
	}
	if c.again != nil {
		return b.requeue(c)
	}
	if !c.revive.IsZero() {
		return b.revive(c)
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
	old, since := r.State, r.place.class == promoted && !l.asked // a re-crawl was asked for while it was visited
	if old != Queued && e.State != Fetched {
		return nil
	}
	r.Status, r.Why, r.Led, r.When = e.Status, e.Why, e.Led, b.f.now().UTC()
	if e.State == Queued {
		r.Tries++
		return b.enqueue(&r, old, true, retried, uint64(nanos(e.Retry)))
	}
	r.Again, r.Interval, r.barred = e.Again, e.Interval, ""
	if e.down != nil {
		r.barred = r.at()
	}
	if err := b.settle(&r, old, true, e.State); err != nil {
		return err
	}
	if since {
		if err := b.first(&r, r.State, true); err != nil {
			return err
		}
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
		final.Depth, final.from = r.Depth, r.from
	}
	final.Status, final.Why, final.Led, final.barred, final.When = e.Status, "", "", "", r.When
	if found && old == Queued {
		host, err := hostName(final.URL)
		if err != nil {
			return err
		}
		b.moved[host] = place{} // it may have been read ahead
	}
	return b.settle(&final, old, found, Fetched)
}

// The effects of an offer.
const (
	nothingNew = iota
	newlyQueued
	newlySkipped
)

// take does what is to be done with an offer of any kind.
func (b *batch) take(o *offer, tell bool) (r Record, effect int, err error) {
	queued := false
	switch _, _, part := partOf(o.url); {
	case part:
		queued, err = b.offerPart(o)
	case o.anew:
		queued, err = b.anew(o)
	default:
		return b.offer(o, tell)
	}
	if queued {
		effect = newlyQueued
	}
	return r, effect, err
}

// offer queues or records an address that a page, a sitemap or the operator named. tell says that somebody wants to hear of
// what is not queued.
func (b *batch) offer(o *offer, tell bool) (r Record, effect int, err error) {
	from := o.from
	if o.seed {
		if from, err = b.name(o.url); err != nil {
			return r, nothingNew, err
		}
	}
	r, found, err := b.get(o.url)
	if err != nil {
		return r, nothingNew, err
	}
	if !found && !o.seed && b.f.o.MaxHost > 0 {
		if full, err := b.full(&r, tell); full || err != nil {
			if r.Why != "" {
				effect = newlySkipped
			}
			return r, effect, err
		}
	}
	old, was := r.State, r
	r.Seed, r.listed = r.Seed || o.seed, r.listed || o.listed
	switch {
	case !found || news(&was, o) && old != Queued:
		r.Depth, r.from = o.depth, from
	case o.seed && old != Queued && old != Fetched:
		r.Depth, r.from = 0, from
	case old == Queued && (o.seed && r.from != from || b.f.adopts(r.from, from)) && !b.f.leased(r.URL):
		r.Depth, r.from = min(r.Depth, o.depth), from
		if r.place.class != ordinary {
			return r, nothingNew, b.enqueue(&r, old, true, r.place.class, r.place.rank)
		}
		return r, nothingNew, b.enqueue(&r, old, true, ordinary, r.rank())
	case old == Queued && news(&was, o):
		r.Depth = min(r.Depth, o.depth)
		if r.place.class == ordinary && !b.f.leased(r.URL) {
			return r, nothingNew, b.enqueue(&r, old, true, ordinary, r.rank())
		}
		return r, nothingNew, b.put(&r, old, true)
	case r.Seed != was.Seed || r.listed != was.listed:
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
	return r, newlyQueued, b.enqueue(&r, old, found, ordinary, r.rank())
}

// full reports whether as many addresses of the host of r are noted as may be. Then r, which is new, is not, but counted; the
// first time that somebody wants to hear of it, r says why.
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
		r.Why = fmt.Sprintf("%d addresses of %s are noted, which is the limit: neither this one nor further ones are", h.known, name)
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
	if n := seedNumber(b.seeds.Get([]byte(seed))); n != foundNowhere {
		return n, nil
	}
	n, err := b.seeds.NextSequence()
	if err != nil {
		return 0, err
	}
	n += firstSeed - 1 // the first number of a bucket is 1
	return n, b.seeds.Put([]byte(seed), number(n))
}

// news reports whether a link says something new of an address known as r.
func news(r *Record, o *offer) bool {
	if _, _, part := partOf(o.url); part {
		return newsOfPart(r, o)
	}
	switch r.State {
	case Queued:
		return o.state == Queued && (o.depth < r.Depth || o.depth == r.Depth && o.listed && !r.listed)
	case Outside, Deep, Trapped:
		return o.state == Queued || o.state == r.State && o.depth < r.Depth
	}
	return false
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

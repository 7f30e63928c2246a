package crawler

import (
	"fmt"
	"time"
)

// applyOffer records or queues the address of an offer of any kind.
func (b *batch) applyOffer(o *Offer, report bool) (r Record, e effect, err error) {
	queued := false
	switch _, _, part := partOf(o.URL); {
	case o.Down != "":
		return r, nothingNew, b.barOffered(o)
	case o.Promote:
		_, err = b.promote(o.URL)
	case part:
		queued, err = b.offerPart(o)
	case o.Again:
		queued, err = b.queueAgain(o)
	default:
		return b.offer(o, report)
	}
	if queued {
		e = newlyQueued
	}
	return r, e, err
}

// offer queues or records an address that a page, a sitemap or the operator named. If report is
// true, offer reports the first address that exceeds the limit of its host.
func (b *batch) offer(o *Offer, report bool) (r Record, e effect, err error) {
	from := o.From
	if o.Seed {
		if from, err = b.addSeed(o.URL); err != nil {
			return r, nothingNew, err
		}
	}
	r, found, err := b.get(o.URL)
	if err != nil {
		return r, nothingNew, err
	}
	if !found && !o.Seed && b.f.o.MaxHost > 0 {
		if full, err := b.hostFull(&r, report); full || err != nil {
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

// offerState holds the data for an offer that are not in the record of its address.
type offerState struct {
	adopts bool // the record gets the seed of the offer, because this run does not visit its own seed
	leased bool
	now    time.Time
}

// offered changes the fields of r as the offer o requires, except the place in the queue. from is
// the number of the seed from which the address was found.
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

// offeredQueued does the same as offered for an address that is queued. was is the record before
// the change.
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

// hostFull reports whether the limit of addresses for the host of r is reached. If it is reached,
// hostFull only counts the new address r. The first time for each host, if report is true, hostFull
// writes the reason into r.
func (b *batch) hostFull(r *Record, report bool) (bool, error) {
	name, h, err := b.hostFor(r.URL)
	if err != nil || h.known < b.f.o.MaxHost {
		return false, err
	}
	h.beyond++
	b.counts[beyondCount]++
	if report && !h.reported {
		h.reported = true
		r.State, r.When = Trapped, b.f.now().UTC()
		r.Why = fmt.Sprintf(
			"%d addresses of %s are recorded, which is the limit; this and further addresses are not recorded",
			h.known, name)
	}
	return true, nil
}

// addSeed stores a seed and returns its number. If the host failed in an earlier run, the host is
// now due as soon as its delay permits.
func (b *batch) addSeed(seed string) (uint64, error) {
	_, h, err := b.hostFor(seed)
	if err != nil {
		return 0, err
	}
	if h.failures > 0 {
		h.failures, h.due = 0, h.held
	}
	n := seedNumber(b.seeds.Get([]byte(seed)))
	if n == NoSeed && b.shared != nil { // the caller has checked it
		return 0, fmt.Errorf("the seed %s has no number", seed)
	}
	if n != NoSeed {
		return n, nil
	}
	n, err = b.seeds.NextSequence()
	if err != nil {
		return 0, err
	}
	n += FirstSeed - 1 // the sequence of a bucket begins with 1
	return n, b.seeds.Put([]byte(seed), number(n))
}

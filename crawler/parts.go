package crawler

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/address"
	"github.com/acapcrawl/acapcrawl/defect"
	"github.com/acapcrawl/acapcrawl/gate"
)

// Requirer is a Handler whose pages require other resources (Receipt.Parts), which are visited by
// themselves.
type Requirer interface {
	// Part asks for such a resource through the gate, as what it is, and does what follows from the
	// answer. An error ends the run, and the resource is visited again by the next.
	Part(ctx context.Context, address string) (Part, error)
}

// Part is what became of a visit of a resource that pages require.
type Part struct {
	Hops      []gate.Hop // of the answer
	Err       error      // why there is none
	Unchanged bool       // the same as when it was last had
	Needless  bool       // no page requires it any more: it was not asked for
}

// required begins the address of a resource that pages require, which has a record of its own
// beside that of a page at its address. One that was named in another form than the normal one
// follows that after a blank.
const required = "part:"

// partKey is the address in the frontier of a resource that pages name so.
func partKey(named string) (string, error) {
	address, err := address.Normal(named)
	if err == nil && address != named {
		address += " " + named
	}
	return required + address, err
}

// partOf gives the normal form of the address of a required resource, and how it is named; false
// for a page.
func partOf(key string) (address, named string, is bool) {
	if address, is = strings.CutPrefix(key, required); !is {
		return "", "", false
	}
	address, named, other := strings.Cut(address, " ")
	if !other {
		named = address
	}
	return address, named, true
}

// offerParts adds resources that a page requires, which have been had or are missing.
func offerParts(offers []Offer, had, missing []string, recrawl Recrawl) []Offer {
	interval, again := recrawl.next(0, false, nil, time.Now())
	for _, named := range had {
		if key, err := partKey(named); err == nil {
			offers = append(offers, Offer{URL: key, State: Fetched, Revisit: again, Interval: interval})
		}
	}
	for _, named := range missing {
		if key, err := partKey(named); err == nil {
			offers = append(offers, Offer{URL: key, State: Queued})
		}
	}
	return offers
}

// part is the visit of a resource that pages require. Nothing is kept of it under its own address,
// and no link of it is followed; scope and budget are those of its pages.
func (r *run) part(ctx context.Context, l *Lease, normal, named string) error {
	u, err := address.Parse(normal)
	if err != nil {
		return r.queue.Done(l, End{State: Refused, Why: err.Error()})
	}
	pause, err := r.pause(ctx, u)
	switch {
	case err != nil:
		pause, err = l.Pause, nil // the gate will say why
	case !l.Met:
		return r.queue.Return(l, &Pace{time.Now(), pause})
	}
	if !r.enter(ctx) {
		return r.release(l)
	}
	ctx = r.o.Budget.Require(ctx) // pages that have room may wait for its answer
	start, got := time.Now(), Part{Needless: true}
	if requirer, ok := r.handler.(Requirer); ok {
		got, err = safely(ctx, requirer, named)
	}
	// not what somebody had before
	sent := slices.DeleteFunc(slices.Clone(got.Hops), func(h gate.Hop) bool { return h.Start.Before(start) })
	r.leave(l, false, sent)
	switch {
	case ctx.Err() != nil:
		return r.release(l)
	case err != nil:
		return r.lose(l, err)
	}
	end := outcomeOf(l, normal, got.Hops, got.Err, time.Now())
	if end.Asked.Before(start) { // it was not asked for now
		end.Asked, end.Took = time.Time{}, 0
	}
	if got.Needless {
		end = outcome{End: End{State: Outside, Why: "no page that is held requires it"}}
	}
	end.Delay, end.Final = pause, ""
	if err := r.plan(l, &end, got.Hops, got.Unchanged); err != nil {
		return r.lose(l, err)
	}
	end.TakenDown = end.down != nil
	return r.queue.Done(l, end.End)
}

// safely visits a resource that pages require; a panic is its error.
func safely(ctx context.Context, requirer Requirer, named string) (got Part, err error) {
	defer defect.Catch(&err, named, nil)
	return requirer.Part(ctx, named)
}

// newsOfPart reports whether o says something new of a resource known as r.
func newsOfPart(r *Record, o *Offer) bool {
	switch r.State {
	case Queued:
		return false
	case Fetched:
		return o.State == Queued
	case Outside:
		return true
	}
	return o.State == Fetched
}

// offerPart notes a resource that a page requires. One that could not be had is asked for soon; one
// that could not before, and can now, is visited for those that wait for it.
func (b *batch) offerPart(o *Offer) (queued bool, err error) {
	r, found, err := b.get(o.URL)
	switch {
	case err != nil:
		return false, err
	case found && r.State == Queued:
		b.f.defers(o)
		return false, nil
	case found && !newsOfPart(&r, o):
		return false, nil
	}
	old, now := r.State, b.f.now().UTC()
	r.from = RequiredByPages
	r.Tries, r.Status, r.Why, r.Led, r.When = 0, 0, "", "", now
	switch {
	case o.State == Queued:
		return true, b.enqueue(&r, old, found, retried, uint64(nanos(now.Add(b.f.o.Backoff))))
	case found && old != Outside:
		return true, b.enqueue(&r, old, found, ordinary, r.rank())
	}
	r.Again, r.Interval = o.Revisit, o.Interval
	return false, b.settle(&r, old, found, Fetched)
}

// defers keeps an offer of a queued resource that is visited at this moment, until that visit is
// recorded: it may have begun before the page needed it. A visit yet to come needs no offer, so a
// lease that is released takes its own with it.
func (f *Frontier) defers(o *Offer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l := f.leaseOf(o.URL); l != nil && !slices.ContainsFunc(l.deferred,
		func(d Offer) bool { return d.State == o.State }) {
		l.deferred = append(l.deferred, *o)
	}
}

// offerDeferred notes what was offered while l was visited, whose end was noted just before.
func (b *batch) offerDeferred(l *Lease) error {
	b.f.mu.Lock()
	offers := l.deferred
	b.f.mu.Unlock()
	for i := range offers {
		if _, err := b.offerPart(&offers[i]); err != nil {
			return err
		}
	}
	return nil
}

// AddParts notes resources that pages require as Receipt does: those that were had, to be visited
// again by that interval, and those that are missing.
func (f *Frontier) AddParts(had, missing []string, recrawl Recrawl) error {
	offers := f.fresh(offerParts(nil, had, missing, recrawl))
	if len(offers) == 0 {
		return nil
	}
	return f.wait(&change{offers: offers})
}

// Again queues pages that were visited before at their depth. Those that are queued, or were left
// aside, stay so.
func (f *Frontier) Again(addresses ...string) error {
	c := &change{}
	for _, raw := range addresses {
		if u, err := address.Normal(raw); err == nil {
			c.offers = append(c.offers, Offer{URL: u, Again: true})
		}
	}
	return f.wait(c)
}

// queueAgain queues what o names, if it was visited.
func (b *batch) queueAgain(o *Offer) (queued bool, err error) {
	r, found, err := b.get(o.URL)
	if err != nil || !found || r.State == Queued || notAskedFor(r.State) {
		return false, err
	}
	if o.From != NoSeed {
		r.from = o.From
	}
	return true, b.enqueueAgain([]Record{r})
}

package crawler

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/defect"
)

// Requirer is a Handler that stores resources which pages require (Receipt.Parts). The crawler
// visits each such resource on its own.
type Requirer interface {
	// Part requests a required resource through the gate and stores or erases it, as the response
	// and its policy require. If Part returns an error, the run ends and the next run visits the
	// resource again.
	Part(ctx context.Context, address string) (Part, error)
}

// Part says how the visit of a required resource ended.
type Part struct {
	Hops      []gate.Hop // redirects and response
	Err       error      // why there is no response, or nil
	Unchanged bool       // the resource has not changed since it was last received
	Needless  bool       // no page requires the resource any more, so the resource was not requested
}

// required is the prefix of the key of a required resource, which has a record of its own. A page
// at the same address has another record. If a page names the resource in another form than the
// normal form, the key ends with a space and that form.
const required = "part:"

// partKey returns the key in the frontier of a required resource that pages name as named.
func partKey(named string) (string, error) {
	address, err := address.Normal(named)
	if err == nil && address != named {
		address += " " + named
	}
	return required + address, err
}

// partOf splits the key of a required resource into its address in normal form and the form that
// pages name. The third result is false if key is the address of a page.
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

// offerParts appends to offers one offer for each resource that a page requires. The resources in
// had were received, those in missing were not.
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

// visitPart visits a required resource. Nothing is stored under its own address and its links are
// not followed. The crawler does not check its scope. The limits of the run apply, but its requests
// do not count as page requests.
func (r *run) visitPart(ctx context.Context, l *Lease, normal, named string) error {
	u, err := address.Parse(normal)
	if err != nil {
		return r.queue.Done(l, End{State: Refused, Why: err.Error()})
	}
	pause, err := r.pause(ctx, u)
	switch {
	case err != nil:
		pause, err = l.Pause, nil // the request through the gate fails with the same error and reports the reason
	case !l.Met:
		return r.queue.Return(l, &Pace{time.Now(), pause})
	}
	if !r.enter(ctx) {
		return r.returnLease(l)
	}
	// pages that hold memory may wait for this response, so the response must not wait for memory
	ctx = r.o.Budget.Require(ctx)
	start, got := time.Now(), Part{Needless: true}
	if requirer, ok := r.handler.(Requirer); ok {
		got, err = callPart(ctx, requirer, named)
	}
	// excludes responses that the handler had before this visit
	sent := slices.DeleteFunc(slices.Clone(got.Hops), func(h gate.Hop) bool { return h.Start.Before(start) })
	r.leave(l, false, sent)
	switch {
	case ctx.Err() != nil:
		return r.returnLease(l)
	case err != nil:
		return r.stopOnError(l, err)
	case unleased(got.Err, got.Hops):
		return r.queue.Return(l, &Pace{time.Now(), pause})
	}
	end := outcomeOf(l, normal, got.Hops, got.Err, time.Now())
	if end.Asked.Before(start) { // the resource was not requested during this visit
		end.Asked, end.Took = time.Time{}, 0
	}
	if got.Needless {
		end = outcome{End: End{State: Outside, Why: "no archived page requires it"}}
	}
	end.Delay, end.Final = pause, ""
	if err := r.scheduleRevisit(l, &end, got.Hops, got.Unchanged); err != nil {
		return r.stopOnError(l, err)
	}
	end.TakenDown = end.down != nil
	return r.queue.Done(l, end.End)
}

// callPart calls requirer.Part and returns a panic as an error.
func callPart(ctx context.Context, requirer Requirer, named string) (got Part, err error) {
	defer defect.Catch(&err, named, nil)
	return requirer.Part(ctx, named)
}

// newsOfPart reports whether the offer o changes the record r of a required resource.
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

// offerPart records a resource that a page requires. A resource that could not be received is
// queued to be visited soon. A resource that failed in earlier visits and was now received with a
// page is queued too, because other pages wait for it.
func (b *batch) offerPart(o *Offer) (queued bool, err error) {
	r, found, err := b.get(o.URL)
	switch {
	case err != nil:
		return false, err
	case found && r.State == Queued:
		b.f.deferOffer(o)
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
	return false, b.writeOutcome(&r, old, found, Fetched)
}

// deferOffer keeps an offer of an address whose visit is under way until that visit is recorded: the
// visit may have begun before a page required the resource, or before Again was called. A visit that
// has not begun needs no offer, so a lease that ends with Return drops its deferred offers.
func (f *Frontier) deferOffer(o *Offer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l := f.leaseOf(o.URL); l != nil && !slices.ContainsFunc(l.deferred,
		func(d Offer) bool { return d.State == o.State }) {
		l.deferred = append(l.deferred, *o)
	}
}

// offerDeferred records the offers that were deferred while the address of l was visited. The end
// of that visit is already recorded.
func (b *batch) offerDeferred(l *Lease) error {
	b.f.mu.Lock()
	offers := l.deferred
	b.f.mu.Unlock()
	for i := range offers {
		if _, _, err := b.applyOffer(&offers[i], false); err != nil {
			return err
		}
	}
	return nil
}

// AddParts records resources that pages require, as a Receipt does. The resources in had were
// received and are revisited at the intervals of recrawl. The resources in missing were not
// received.
func (f *Frontier) AddParts(had, missing []string, recrawl Recrawl) error {
	offers := f.fresh(offerParts(nil, had, missing, recrawl))
	if len(offers) == 0 {
		return nil
	}
	return f.wait(&change{offers: offers})
}

// Again requeues visited pages at their depth. A page that is being visited is requeued after the visit. Again
// ignores other addresses that are queued, and those that were never visited. A visit in progress at an address that
// redirects to the page counts as a visit of the page.
func (f *Frontier) Again(addresses ...string) error {
	c := &change{}
	for _, raw := range addresses {
		if u, err := address.Normal(raw); err == nil {
			c.offers = append(c.offers, Offer{URL: u, Again: true})
		}
	}
	return f.wait(c)
}

// queueAgain queues the address of the offer o again if it was visited before.
func (b *batch) queueAgain(o *Offer) (queued bool, err error) {
	r, found, err := b.get(o.URL)
	if err != nil || !found || notAskedFor(r.State) {
		return false, err
	}
	if r.State == Queued {
		b.f.deferOffer(o)
		return false, nil
	}
	if o.From != NoSeed {
		r.from = o.From
	}
	return true, b.enqueueAgain([]Record{r})
}

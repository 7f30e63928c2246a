package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/internal/memory"
	"github.com/acapcrawl/acapcrawl/page"
)

// pageVisit is the state of one visit of a page, from its request to its outcome.
type pageVisit struct {
	ctx         context.Context
	lease       *Lease
	url         *url.URL      // URL of the lease
	pause       time.Duration // delay that the host asks for
	conditional bool          // send conditional requests for archived pages
	memory      *memory.Lease
	trace       gate.Trace

	announced bool     // OnRequest was called for this visit
	asked     bool     // the last request of the visit was conditional
	next      *url.URL // redirect target that the method follow returned
	nextErr   error
	outside   string // redirect target out of scope, which is not requested
	canonical string // canonical address that the page names, if it was not fetched before
	known     string // redirect target or canonical address that was received before and is not requested

	left     bool // the requests of the visit are counted, and its request slot is free again
	stored   func()
	answered bool // the last response was received, and the field end holds the outcome
	end      outcome
	page     *page.Page // the page that the handler received, or nil
	risky    bool       // parsed while no other page is parsed
	receipt  Receipt
	links    []string // links that callbacks requested
	full     bool     // the page was not received, because the run ends
	err      error    // error of the collector
	failed   error    // error of the handler or the queue, which ends the run
}

// work is a worker: it visits leased addresses one after the other. leasing ends when no more
// visits may start; work ends the visits.
func (r *run) work(leasing, work context.Context) {
	v, err := newVisitor(r)
	for err == nil {
		var lease *Lease
		if lease, err = r.queue.Next(leasing); err != nil {
			break
		}
		err = r.visitLeased(work, v, lease)
		if broken, is := errors.AsType[*defect.Error](err); is {
			if err = r.abandon(lease, broken); err == nil {
				v, err = newVisitor(r)
			}
		}
		if errors.Is(err, ErrLost) { // the address now belongs to another owner of the lease, which visits it
			err = nil
		}
	}
	if !errors.Is(err, ErrIdle) && err != leasing.Err() {
		r.fail(err)
	}
}

// visitLeased visits an address until the queue has lost its lease.
func (r *run) visitLeased(ctx context.Context, v *visitor, l *Lease) error {
	if l.Ended != nil {
		var end func()
		ctx, end = untilLost(ctx, l)
		defer end()
	}
	r.mu.Lock()
	r.visiting[l.URL] = true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.visiting, l.URL)
		r.mu.Unlock()
	}()
	return r.visit(ctx, v, l)
}

// untilLost returns a context that ends with the cause ErrLost when the queue has lost the lease l.
// The caller calls end to free its resources.
func untilLost(parent context.Context, l *Lease) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(parent)
	if l.lost() { // without waiting for the goroutine, so that the visit makes no request at all
		cancel(ErrLost)
	}
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-l.Ended:
			cancel(ErrLost)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		watch.Wait()
	}
}

// fail ends the run with an error that is not the fault of a page.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
	r.stop()
}

// visit visits a leased page, from the check of its scope to the queueing of its links. If the
// visit is interrupted, the disk holds either the outcome of the address or its queue entry.
func (r *run) visit(ctx context.Context, v *visitor, l *Lease) (err error) {
	defer defect.Catch(&err, l.URL, nil)
	if address, named, is := partOf(l.URL); is {
		return r.visitPart(ctx, l, address, named)
	}
	u, err := address.Parse(l.URL)
	if err != nil {
		return r.done(l, outcome{End: End{State: Refused, Why: err.Error()}}, Receipt{})
	}
	if err := r.knowSeed(l.From); err != nil {
		return r.stopOnError(l, err)
	}
	// A run of wider scope or a re-crawl request may have queued the address.
	switch state, why, err := r.checkExtent(l, u); {
	case err != nil:
		return r.stopOnError(l, err)
	case state != Queued:
		return r.done(l, outcome{End: End{State: state, Why: why}}, Receipt{})
	}
	// The policy of the origin is read before the first page; it says the delay of the host.
	pause, err := r.pause(ctx, u)
	switch {
	case err != nil:
		pause = l.Pause // the gate refuses the page request with the same error
	case !l.Met:
		return r.queue.Return(l, &Pace{time.Now(), pause})
	}
	return r.requestPage(ctx, v, l, u, pause, true)
}

// requestPage requests the page at u and records the outcome.
func (r *run) requestPage(ctx context.Context, v *visitor, l *Lease, u *url.URL, pause time.Duration,
	conditional bool) error {
	if !r.enter(ctx) {
		return r.returnLease(l)
	}
	p := &pageVisit{lease: l, url: u, pause: pause, conditional: conditional, stored: func() {}}
	// P1 2.2.1 (P11): a re-crawl request confirms a take-down, so the page is requested although it
	// is taken down
	if l.Recrawl {
		p.trace.Confirms = u.String()
	}
	p.ctx, p.memory = r.o.Budget.Lease(ctx)
	defer p.memory.Release()
	defer v.forget()
	defer func() { p.stored() }()
	err := v.request(p)
	r.leaveOnce(p)
	switch {
	case broken(err):
		return err
	case p.failed != nil:
		return r.stopOnError(l, p.failed)
	case p.full:
		return r.returnLease(l)
	case p.receipt.Absent && p.asked: // the archived copy was erased while the conditional request was in progress
		p.memory.Release()
		return r.requestPage(ctx, v, l, u, pause, false)
	case p.page != nil:
		return r.queueLinks(p)
	case p.answered && p.end.State == Fetched:
		return r.endRedirected(p)
	case p.answered:
		return r.endWithoutPage(p)
	case ctx.Err() != nil || spent(err):
		return r.returnLease(l)
	case unleased(err, p.trace.Hops):
		return r.queue.Return(l, &Pace{time.Now(), pause})
	}
	p.end = outcomeOf(l, l.URL, p.trace.Hops, err, time.Now())
	if why := declined(p, err); why != "" {
		p.end.State, p.end.Why, p.end.Again = Outside, why, time.Time{}
	}
	p.end.Delay, p.end.down = pause, cmp.Or(p.end.down, p.trace.TakeDown)
	return r.endWithoutPage(p)
}

// leaveOnce counts the requests of a visit and frees its request slot.
func (r *run) leaveOnce(p *pageVisit) {
	if !p.left {
		p.left = true
		r.leave(p.lease, true, p.trace.Hops)
	}
}

// receive processes the last response of a visit: it passes the page to the handler, which stores
// what the publisher permits. It returns an error if callbacks must not see the page.
func (r *run) receive(p *pageVisit) error {
	hops, ctx := p.trace.Hops, p.ctx
	p.stored = r.awaitStored(hops)
	r.leaveOnce(p)
	runtime.Gosched() // let another worker send its request before this page is parsed
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.answered = true
	p.end = outcomeOf(p.lease, p.lease.URL, hops, nil, time.Now())
	p.end.Delay, p.end.down = p.pause, cmp.Or(p.end.down, p.trace.TakeDown)
	if p.end.State != Fetched || p.known != "" {
		return nil
	}
	pg := page.New(slices.Clone(hops))
	if err := r.reserveMemory(p, pg); err != nil {
		p.full = true
		return err
	}
	if p.end.down == nil {
		canonical, known, err := r.canonical(pg)
		switch {
		case err != nil:
			p.failed = err
			return err
		case known:
			p.known = canonical
			return fmt.Errorf("%s names %s as its canonical address, which was fetched before", pg.URL(), canonical)
		}
		p.canonical = canonical
	}
	return r.handOver(p, pg)
}

// handOver passes a page to the handler. It returns an error if callbacks must not see the page: a
// *gate.Refusal if the page is taken down, or if its own META or header fields prohibit crawl (P2
// 2.2.9.1, X01).
func (r *run) handOver(p *pageVisit, pg *page.Page) error {
	receipt, err := r.handler.Receive(context.WithoutCancel(p.ctx), pg)
	if err != nil {
		p.failed = err
		return err
	}
	p.page, p.receipt = pg, receipt
	if receipt.Stored {
		if r.tally.stored(len(pg.Last().Body)); r.limited() {
			r.stop()
		}
	}
	p.end.down = cmp.Or(p.end.down, receipt.TakenDown)
	switch {
	case receipt.Absent && !p.asked:
		p.end.State, p.end.Why = Failed, fmt.Sprintf("%s answers 304 (not modified) although no copy of it is archived",
			pg.URL())
		return errors.New(p.end.Why)
	case receipt.RefusedCrawl:
		return &gate.Refusal{URL: pg.URL().String(), Decision: receipt.Decision}
	case p.end.down != nil:
		return gate.RefusedTakeDown(pg.URL(), p.end.down)
	}
	return nil
}

// queueLinks ends the visit of a page that the handler received, and queues the links of the page
// in the same transaction.
func (r *run) queueLinks(p *pageVisit) error {
	l, end, receipt := p.lease, &p.end, p.receipt
	receipt.Unchanged = receipt.Unchanged && receipt.Since.Before(r.start)
	if err := r.scheduleRevisit(l, end, p.trace.Hops, receipt.Unchanged); err != nil {
		return r.stopOnError(l, err)
	}
	if receipt.RefusedCrawl { // P2 2.2.9.1 (M06): the page itself prohibits crawl
		end.decision = receipt.Decision
		end.State, end.Why = Refused, fmt.Sprintf("crawl of %s is not permitted by the page itself: %s", l.URL,
			receipt.Decision.Why())
	}
	if end.down != nil { // links of a page that is taken down are not followed
		return r.done(l, *end, receipt)
	}
	links := receipt.Links
	if !receipt.RefusedFollow && !receipt.RefusedCrawl {
		links = slices.Concat(links, p.links)
		for _, more := range []string{p.outside, p.canonical} {
			if more != "" {
				links = append(links, more)
			}
		}
	}
	offers := r.offers(nil, links, l.From, l.Depth+1)
	if r.o.Requisites {
		offers = r.offers(offers, receipt.Requisites, l.From, l.Depth)
	}
	end.Offers = offerParts(offers, receipt.Parts, receipt.Missing, r.o.Recrawl)
	return r.done(l, *end, receipt)
}

// reserveMemory waits until there is room for pg in memory. If the markup needs much memory, it
// parses pg while no other page is parsed. If callbacks are registered, it reserves twice the
// memory, since Colly may parse HTML a second time. For a 304 it does nothing, because the handler
// reads the archived copy.
func (r *run) reserveMemory(p *pageVisit, pg *page.Page) error {
	if p.memory == nil && r.o.Collect == nil || pg.Last().Status == http.StatusNotModified {
		return nil
	}
	weight, risky := pg.Weight()
	if p.risky = risky; r.o.Collect != nil && !risky {
		weight *= 2
	}
	err := p.memory.Hold(p.ctx, weight)
	if err == nil && risky {
		err = p.memory.Alone(p.ctx, pg.Parse)
	}
	return err
}

// received reports whether the page at address, in normal form, was received in this run. Before
// that, received waits for the queue to commit all outcomes: redirects are rare, and fetching a
// page twice costs more.
func (r *run) received(address string) bool {
	err := r.queue.Flush()
	if err != nil {
		return false // the commit of this visit fails with the same error and reports it
	}
	rec, found, err := r.queue.Get(address)
	return err == nil && found && rec.State == Fetched && rec.TakenDown == "" && !rec.When.Before(r.start)
}

// offers appends the links of a page to offers. from is the number of the seed from which the page
// was found. Links in scope are queued, others are recorded as not visited. A link that is only in
// the scope of other seeds stays queued until a run names those seeds, or no seeds.
func (r *run) offers(offers []Offer, links []string, from uint64, depth int) []Offer {
	b := r.bounds.Load()
	for _, raw := range links {
		u, err := link(raw, r.o.Drop)
		if err != nil {
			continue // the link is not an http or https address
		}
		o := Offer{URL: u.String(), Depth: depth}
		if b.own.holds(u) {
			// a page that a re-crawl request names may have no seed; then the seed of the link's
			// host is used
			o.From = cmp.Or(from, b.numbers[u.Host])
		}
		o.State, o.Why = b.reach.within(u, o.URL, depth)
		offers = append(offers, o)
	}
	return offers
}

// checkExtent decides again whether a leased address is visited. If a re-crawl request names an
// archived page, scope and depth do not matter.
func (r *run) checkExtent(l *Lease, u *url.URL) (state State, why string, err error) {
	reach := r.bounds.Load().reach
	state, why = reach.holds(u, l.Depth)
	if state != Queued && l.Recrawl && r.o.Held != nil {
		var held bool
		if held, err = r.o.Held(l.URL); held {
			state = Queued
		}
	}
	if state == Queued {
		state, why = reach.admits(u, l.URL)
	}
	return state, why, err
}

// unleased reports whether the gate refused a request because the lease of this machine has run out,
// or because another machine owns the host of the visit by now. Then the address stays queued and
// the run goes on. If only the host of a redirect has another owner, the visit has an outcome:
// otherwise it would be repeated without end.
func unleased(err error, hops []gate.Hop) bool {
	return errors.Is(err, gate.ErrPaused) || errors.Is(err, gate.ErrForeign) && len(hops) == 0
}

func spent(err error) bool {
	var refusal *gate.Refusal
	return errors.As(err, &refusal) && refusal.Rule == gate.RuleBudget
}

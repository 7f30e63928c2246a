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
	"time"

	"github.com/acapcrawl/acapcrawl/address"
	"github.com/acapcrawl/acapcrawl/defect"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/memory"
	"github.com/acapcrawl/acapcrawl/page"
)

// pageVisit is one visit of a page, from its request to its outcome.
type pageVisit struct {
	ctx         context.Context
	lease       *Lease
	url         *url.URL      // of the lease
	pause       time.Duration // that the host asks for
	conditional bool          // ask whether archived pages have changed
	memory      *memory.Lease
	trace       gate.Trace

	announced bool     // OnRequest was called for it
	asked     bool     // the last request was conditional
	next      *url.URL // what follow returned
	nextErr   error
	outside   string // target of a redirect out of scope; not requested
	canonical string // that the page names, unless it was fetched
	known     string // target of a redirect, or canonical address, that was received before; not requested

	left     bool // its requests are counted, and another visit may send
	stored   func()
	answered bool // the last hop was received; end says what came of it
	end      outcome
	page     *page.Page // what the handler received; nil: nothing
	risky    bool       // parsed alone
	receipt  Receipt
	links    []string // that callbacks requested
	full     bool     // the page was not received, since the run ends
	err      error    // of the collector
	failed   error    // the handler cannot receive: it ends the run
}

// work is a worker: it visits one address after the other.
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
		if errors.Is(err, ErrLost) { // another owner visits it
			err = nil
		}
	}
	if !errors.Is(err, ErrIdle) && err != leasing.Err() {
		r.fail(err)
	}
}

// visitLeased visits a page while its lease lasts.
func (r *run) visitLeased(ctx context.Context, v *visitor, l *Lease) error {
	if !l.Expires.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, l.Expires, ErrLost)
		defer cancel()
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

// fail ends the run for a reason that is none of the pages'.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
	r.stop()
}

// visit is a page's life, from the lease of its address to the links that it leads to. Whatever
// stops it on the way, the address is either still queued on disk or has its outcome there.
func (r *run) visit(ctx context.Context, v *visitor, l *Lease) (err error) {
	defer defect.Catch(&err, l.URL, nil)
	if address, named, is := partOf(l.URL); is {
		return r.part(ctx, l, address, named)
	}
	u, err := address.Parse(l.URL)
	if err != nil {
		return r.done(l, outcome{End: End{State: Refused, Why: err.Error()}}, Receipt{})
	}
	// It may have been queued by a run of wider scope, or asked for by anybody.
	switch state, why, err := r.open(l, u); {
	case err != nil:
		return r.lose(l, err)
	case state != Queued:
		return r.done(l, outcome{End: End{State: state, Why: why}}, Receipt{})
	}
	// The policy of its origin is read before the first page, and tells the pause of the host.
	pause, err := r.pause(ctx, u)
	switch {
	case err != nil:
		pause = l.Pause // the gate will say why
	case !l.Met:
		return r.queue.Return(l, &Pace{time.Now(), pause})
	}
	return r.take(ctx, v, l, u, pause, true)
}

// take requests the page at u and records what came of it.
func (r *run) take(ctx context.Context, v *visitor, l *Lease, u *url.URL, pause time.Duration, conditional bool) error {
	if !r.enter(ctx) {
		return r.release(l)
	}
	p := &pageVisit{lease: l, url: u, pause: pause, conditional: conditional, stored: func() {}}
	if l.Recrawl { // a re-crawl confirms a take-down, so it is requested also while it is taken down (P11)
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
		return r.lose(l, p.failed)
	case p.full:
		return r.release(l)
	case p.receipt.Absent && p.asked: // the copy was erased while the host was asked whether it is still good
		p.memory.Release()
		return r.take(ctx, v, l, u, pause, false)
	case p.page != nil:
		return r.queueLinks(p)
	case p.answered && p.end.State == Fetched:
		return r.lead(p)
	case p.answered:
		return r.miss(p)
	case ctx.Err() != nil || spent(err):
		return r.release(l)
	}
	p.end = outcomeOf(l, l.URL, p.trace.Hops, err, time.Now())
	if why := declined(p, err); why != "" {
		p.end.State, p.end.Why, p.end.Again = Outside, why, time.Time{}
	}
	p.end.Delay, p.end.down = pause, cmp.Or(p.end.down, p.trace.TakeDown)
	return r.miss(p)
}

// leaveOnce counts the requests of a visit and lets another visit send.
func (r *run) leaveOnce(p *pageVisit) {
	if !p.left {
		p.left = true
		r.leave(p.lease, true, p.trace.Hops)
	}
}

// receive takes in the last answer of a visit: it hands a page to the handler, which stores what
// its publisher permits. It returns an error if callbacks must not see the page.
func (r *run) receive(p *pageVisit) error {
	hops, ctx := p.trace.Hops, p.ctx
	p.stored = r.awaitStored(hops)
	r.leaveOnce(p)
	runtime.Gosched() // the next request is sent before this page is parsed
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
	if err := r.hold(p, pg); err != nil {
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

// handOver hands a page to the handler. It returns why callbacks must not see the page: a
// *gate.Refusal for one that says itself that it may not be crawled (X01), and for one that is
// taken down.
func (r *run) handOver(p *pageVisit, pg *page.Page) error {
	receipt, err := r.handler.Receive(context.WithoutCancel(p.ctx), pg)
	if err != nil {
		p.failed = err
		return err
	}
	p.page, p.receipt = pg, receipt
	p.end.down = cmp.Or(p.end.down, receipt.TakenDown)
	switch {
	case receipt.Absent && !p.asked:
		p.end.State, p.end.Why = Failed, fmt.Sprintf("%s answers 304 (not modified) although nothing of it is held",
			pg.URL())
		return errors.New(p.end.Why)
	case receipt.RefusedCrawl:
		return &gate.Refusal{URL: pg.URL().String(), Decision: receipt.Decision}
	case p.end.down != nil:
		return &gate.Refusal{URL: pg.URL().String(), Rule: gate.RuleTakeDown, TakeDown: p.end.down,
			Why: "its publisher asks that it be taken down: " + p.end.down.String()}
	}
	return nil
}

// miss ends a visit that received no page.
func (r *run) miss(p *pageVisit) error {
	err := r.plan(p.lease, &p.end, p.trace.Hops, false)
	if p.end.down != nil && len(p.trace.Hops) > 0 { // its redirects lead nowhere now
		err = errors.Join(err, r.led(p.ctx, p.trace.Hops, p.end.Led))
	}
	if err != nil {
		return r.lose(p.lease, err)
	}
	return r.done(p.lease, p.end, Receipt{})
}

// queueLinks ends the visit of a page that the handler received, and queues the links of the page
// in the same transaction.
func (r *run) queueLinks(p *pageVisit) error {
	l, end, receipt := p.lease, &p.end, p.receipt
	receipt.Unchanged = receipt.Unchanged && receipt.Since.Before(r.start)
	if err := r.plan(l, end, p.trace.Hops, receipt.Unchanged); err != nil {
		return r.lose(l, err)
	}
	if receipt.RefusedCrawl { // P2 2.2.1 (M06): the page itself prohibits crawl
		end.decision = receipt.Decision
		end.State, end.Why = Refused, fmt.Sprintf("crawl of %s is not permitted by the page itself", l.URL)
	}
	if end.down != nil { // it leads nowhere
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

// hold waits until there is room for pg in memory, and parses pg while no other page is parsed if
// its markup requires that. Callbacks may have Colly parse HTML a second time, which takes as much
// again. For a 304 it does nothing: the handler reads the archived copy.
func (r *run) hold(p *pageVisit, pg *page.Page) error {
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

// condition asks those who keep the page what to ask for instead.
func (r *run) condition(address string) http.Header {
	if c, ok := r.handler.(Conditioner); ok {
		return c.Condition(address)
	}
	return nil
}

// canonical gives the address that pg names as its canonical one, if that is another of its host,
// and reports whether it was fetched before.
func (r *run) canonical(pg *page.Page) (to string, known bool, err error) {
	if !r.o.Canonical || pg.Last().Status != http.StatusOK {
		return "", false, nil
	}
	u, err := link(pg.Canonical(), r.o.Drop)
	if err != nil || u.Host != pg.URL().Host || u.String() == pg.URL().String() {
		return "", false, nil
	}
	rec, found, err := r.queue.Get(u.String())
	return u.String(), found && rec.State == Fetched && rec.Status == http.StatusOK && rec.TakenDown == "", err
}

// plan says when an address is visited again.
func (r *run) plan(l *Lease, e *outcome, hops []gate.Hop, unchanged bool) error {
	_, _, part := partOf(l.URL) // that of one refused may change, and its pages wait
	if r.o.Recrawl.Min <= 0 || e.State == Queued || !part && e.State != Fetched && e.State != Failed {
		return nil
	}
	rec, _, err := r.queue.Get(l.URL)
	if err != nil {
		return err
	}
	now := time.Now()
	page := e.Status/100 == 2 || e.Status == http.StatusNotModified
	gone := e.Status == http.StatusNotFound || e.Status == http.StatusGone
	switch {
	case e.State != Fetched || !page && !gone: // says nothing about how often the page changes
		e.Interval = max(rec.Interval, r.o.Recrawl.Min)
		e.Again = now.Add(e.Interval)
	case gone && !part:
		e.Interval, e.Again = r.o.Recrawl.Max, now.Add(r.o.Recrawl.Max)
	default:
		e.Interval, e.Again = r.o.Recrawl.next(rec.Interval, unchanged, hops[len(hops)-1].Header, now)
	}
	return nil
}

// lead ends the visit of an address that redirects to a page which was received before, or names it
// as its canonical address.
func (r *run) lead(p *pageVisit) error {
	p.end.Final = p.known
	err := errors.Join(r.led(p.ctx, p.trace.Hops, p.known), r.plan(p.lease, &p.end, p.trace.Hops, true))
	if err != nil {
		return r.lose(p.lease, err)
	}
	return r.done(p.lease, p.end, Receipt{})
}

// led tells those who want to know where hops led.
func (r *run) led(ctx context.Context, hops []gate.Hop, to string) error {
	leader, ok := r.handler.(Leader)
	if !ok {
		return nil
	}
	return leader.Lead(context.WithoutCancel(ctx), hops, to)
}

// received reports whether the page at address, in normal form, was received in this run. What was
// handed to the frontier just now is waited for: a redirect is rare, and a page more to fetch costs
// more.
func (r *run) received(address string) bool {
	err := r.queue.Flush()
	if err != nil {
		return false // the visit will meet the error
	}
	rec, found, err := r.queue.Get(address)
	return err == nil && found && rec.State == Fetched && rec.TakenDown == "" && !rec.When.Before(r.start)
}

// release leaves an address for the next run, because this one is over.
func (r *run) release(l *Lease) error {
	if l.Expires.IsZero() || time.Now().Before(l.Expires) {
		r.stop() // before it is given back, or another worker would take it again
	}
	return r.queue.Return(l, nil)
}

// lose leaves an address for the next run, because its page could not be taken in, and ends this
// one.
func (r *run) lose(l *Lease, err error) error {
	if broken(err) { // it is a fault of this page alone
		return err
	}
	r.stop() // as for release
	return errors.Join(fmt.Errorf("%s could not be taken in: %w", l.URL, err), r.queue.Return(l, nil))
}

// broken reports whether err is a panic.
func broken(err error) bool {
	_, is := errors.AsType[*defect.Error](err)
	return is
}

// abandon ends the visit of an address on which the program failed. Other addresses are still
// visited.
func (r *run) abandon(l *Lease, because *defect.Error) error {
	o := outcome{End: End{State: Failed, Why: because.Error()}, broken: because}
	if _, _, part := partOf(l.URL); part {
		r.skip(Skip{URL: l.URL, State: o.State, Why: o.Why, When: time.Now(), Defect: because})
		return r.queue.Done(l, o.End)
	}
	return r.done(l, o, Receipt{})
}

// done ends the lease of a page with its outcome, and counts and reports it.
func (r *run) done(l *Lease, o outcome, receipt Receipt) error {
	again := o.State == Fetched && r.again(l, &o.End)
	o.TakenDown = o.down != nil
	if err := r.queue.Done(l, o.End); err != nil {
		return err
	}
	r.tally.end(o, receipt, again)
	if o.State != Fetched && o.State != Queued {
		r.skip(Skip{URL: l.URL, State: o.State, Why: o.Why, When: time.Now(), Final: o.final(), Decision: o.decision,
			TakeDown: o.down, Defect: o.broken})
	}
	return nil
}

// again reports whether another visit of this run counts the page that a visit received or was
// redirected to. If a page is reached by a redirect and at its own address at the same time, one
// visit counts it.
func (r *run) again(l *Lease, e *End) bool {
	page := cmp.Or(e.Final, l.URL)
	direct := page == l.URL
	r.mu.Lock()
	_, counted := r.reached[page]
	switch {
	case counted || direct:
		r.mu.Unlock()
		return counted
	// under r.mu, so that the visit of the page itself, which looks here before it ends, counts it
	case r.visiting[page]:
		r.mu.Unlock()
		return true
	}
	if r.reached == nil {
		r.reached = map[string]struct{}{}
	}
	r.reached[page] = struct{}{}
	r.mu.Unlock()
	return r.received(page) // not under r.mu: the queue may call skip
}

// size is the number of bytes of bodies, as sent.
func size(hops []gate.Hop) (n int64) {
	for _, h := range hops {
		n += int64(len(h.Wire))
	}
	return n
}

// offers adds links of a page that was found from a seed: links in scope are queued, others are
// recorded. A link that is only in the scope of other seeds stays queued until a run names those
// seeds, or none.
func (r *run) offers(offers []Offer, links []string, from uint64, depth int) []Offer {
	for _, raw := range links {
		u, err := link(raw, r.o.Drop)
		if err != nil {
			continue // not an address of the web
		}
		o := Offer{URL: u.String(), Depth: depth}
		if r.own.holds(u) {
			o.From = cmp.Or(from, r.numbers[u.Host]) // a page that a re-crawl names may be found from no seed
		}
		o.State, o.Why = r.reach.within(u, o.URL, depth)
		offers = append(offers, o)
	}
	return offers
}

// open decides again on an address that is leased. An archived page is visited wherever it is if a
// re-crawl requests it.
func (r *run) open(l *Lease, u *url.URL) (state State, why string, err error) {
	state, why = r.reach.holds(u, l.Depth)
	if state != Queued && l.Recrawl && r.o.Held != nil {
		var held bool
		if held, err = r.o.Held(l.URL); held {
			state = Queued
		}
	}
	if state == Queued {
		state, why = r.reach.admits(u, l.URL)
	}
	return state, why, err
}

// holds reports whether a redirect to u is followed at once.
func (r *run) holds(u *url.URL) bool {
	if !r.own.holds(u) {
		return false
	}
	ok, _ := r.reach.wanted.admits(u)
	return ok
}

func (r *run) pause(ctx context.Context, u *url.URL) (time.Duration, error) {
	if r.o.Pause == nil {
		return 0, nil
	}
	d, err := r.o.Pause(ctx, u)
	return min(max(d, 0), gate.MaxCrawlDelay), err
}

// skip counts and tells an address that was not fetched.
func (r *run) skip(s Skip) {
	r.tally.skip(s.State)
	if r.o.Skipped == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.Skipped(s)
}

func spent(err error) bool {
	var refusal *gate.Refusal
	return errors.As(err, &refusal) && refusal.Rule == gate.RuleBudget
}

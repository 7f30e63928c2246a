package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"github.com/acapcrawl/acapcrawl/defect"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/memory"
	"github.com/acapcrawl/acapcrawl/page"
)

// work is a worker: it visits one address after the other.
func (r *run) work(leasing, work context.Context) {
	v := newVisitor(r)
	for {
		lease, err := r.frontier.Next(leasing)
		if err == nil {
			err = r.visit(work, v, lease)
			if broken, is := errors.AsType[*defect.Error](err); is {
				v = newVisitor(r)
				err = r.abandon(lease, broken)
			}
		}
		switch {
		case err == nil:
			continue
		case !errors.Is(err, ErrIdle) && err != leasing.Err():
			r.fail(err)
		}
		return
	}
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

// visit is a page's life, from the lease of its address to the links that it leads to. Whatever stops it on the way, the
// address is either still queued on disk or has its outcome there.
func (r *run) visit(ctx context.Context, v *visitor, l *Lease) (err error) {
	defer defect.Catch(&err, l.URL, nil)
	if address, named, is := partOf(l.URL); is {
		return r.part(ctx, l, address, named)
	}
	u, err := normal(l.URL)
	if err != nil {
		return r.done(l, End{State: Refused, Why: err.Error()}, Receipt{})
	}
	// It may have been queued by a run of wider scope, or asked for by anybody.
	switch state, why, err := r.open(l, u); {
	case err != nil:
		return r.lose(l, err)
	case state != Queued:
		return r.done(l, End{State: state, Why: why}, Receipt{})
	}
	// The policy of its origin is read before the first page, and tells the pause of the host.
	pause, err := r.pause(ctx, u)
	switch {
	case err != nil:
		pause = l.Pause // the gate will say why
	case !l.Met:
		return r.frontier.Postpone(l, time.Now(), pause)
	}
	return r.take(ctx, v, l, u, pause, true)
}

// take requests the page at u and hands it on.
func (r *run) take(ctx context.Context, v *visitor, l *Lease, u *url.URL, pause time.Duration, conditional bool) error {
	// The request and each hop of its redirects pass the gate, which asks the policy (crawl) and keeps the pause.
	if !r.enter(ctx) {
		return r.release(l)
	}
	ctx, lease := r.o.Budget.Lease(ctx)
	defer lease.Release()
	defer v.forget()
	hops, err := v.visit(ctx, u, l.asked, conditional)
	defer r.awaitStored(hops)()
	r.leave(l, true, hops)
	runtime.Gosched() // the next request goes out before this page is taken in
	if broken(err) {
		return err
	}
	if ctx.Err() != nil || spent(err) {
		return r.release(l)
	}
	end := judge(l, l.URL, hops, err, time.Now(), r.frontier.o.Backoff)
	end.Delay, end.down = pause, cmp.Or(end.down, v.trace.TakeDown)
	if end.State != Fetched {
		return r.miss(ctx, l, end, hops)
	}
	if v.led != "" {
		return r.lead(ctx, l, v.led, end, hops)
	}
	pg := newPage(hops)
	if hold(ctx, lease, pg) != nil {
		return r.release(l)
	}
	canonical, known, err := "", false, error(nil)
	if end.down == nil {
		canonical, known, err = r.canonical(pg)
	}
	switch {
	case err != nil:
		return r.lose(l, err)
	case known:
		return r.lead(ctx, l, canonical, end, hops)
	}
	// The page goes to those who keep it, on its own terms; they tell which of its links may be followed.
	receipt, err := r.handler.Receive(context.WithoutCancel(ctx), pg)
	switch {
	case err != nil:
		return r.lose(l, err)
	case receipt.Absent && v.asked: // the copy went while it was asked whether it is still good
		lease.Release()
		return r.take(ctx, v, l, u, pause, false)
	case receipt.Absent:
		end.State, end.Why = Failed, fmt.Sprintf("%s answers 304 (not modified) although nothing of it is held", pg.URL())
	}
	return r.queue(l, v, end, receipt, hops, canonical)
}

// miss ends a visit that received no page.
func (r *run) miss(ctx context.Context, l *Lease, end End, hops []gate.Hop) error {
	err := r.plan(l, &end, hops, false)
	if end.down != nil && len(hops) > 0 { // they lead nowhere by now
		err = errors.Join(err, r.led(ctx, hops, end.Led))
	}
	if err != nil {
		return r.lose(l, err)
	}
	return r.done(l, end, Receipt{})
}

// queue ends the visit of a page that the handler received, and queues what the page leads to in the same transaction.
func (r *run) queue(l *Lease, v *visitor, end End, receipt Receipt, hops []gate.Hop, canonical string) error {
	receipt.Unchanged = receipt.Unchanged && receipt.Since.Before(r.start)
	if err := r.plan(l, &end, hops, receipt.Unchanged); err != nil {
		return r.lose(l, err)
	}
	if receipt.RefusedCrawl { // M06
		end.decision = receipt.Decision
		end.State, end.Why = Refused, fmt.Sprintf("crawl of %s is not permitted by the page itself", l.URL)
	}
	end.down = cmp.Or(end.down, receipt.TakenDown)
	if end.down != nil { // it leads nowhere
		return r.done(l, end, receipt)
	}
	links := receipt.Links
	if !receipt.RefusedFollow && !receipt.RefusedCrawl {
		for _, more := range []string{v.aside, canonical} {
			if more != "" {
				links = append(links[:len(links):len(links)], more)
			}
		}
	}
	offers := r.offers(nil, links, l.from, l.Depth+1)
	if r.o.Requisites {
		offers = r.offers(offers, receipt.Requisites, l.from, l.Depth)
	}
	end.offers = r.frontier.fresh(offerParts(offers, receipt.Parts, receipt.Missing, r.o.Recrawl))
	return r.done(l, end, receipt)
}

// hold waits until there is room for pg in memory, and parses pg while no other page is parsed if
// its markup requires that. For a 304 it does nothing: the handler reads the copy held.
func hold(ctx context.Context, lease *memory.Lease, pg *page.Page) error {
	if lease == nil || pg.Last().Status == http.StatusNotModified {
		return nil
	}
	weight, risky := pg.Weight()
	err := lease.Hold(ctx, weight)
	if err == nil && risky {
		err = lease.Alone(ctx, pg.Parse)
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

// canonical gives the address that pg names as its canonical one, if that is another of its host, and reports whether it was
// fetched before.
func (r *run) canonical(pg *page.Page) (to string, known bool, err error) {
	if !r.o.Canonical || pg.Last().Status != http.StatusOK {
		return "", false, nil
	}
	u, err := link(pg.Canonical(), r.o.Drop)
	if err != nil || u.Host != pg.URL().Host || u.String() == pg.URL().String() {
		return "", false, nil
	}
	rec, found, err := r.frontier.Get(u.String())
	return u.String(), found && rec.State == Fetched && rec.Status == http.StatusOK && rec.barred == "", err
}

// plan says when an address is visited again.
func (r *run) plan(l *Lease, e *End, hops []gate.Hop, unchanged bool) error {
	_, _, part := partOf(l.URL) // that of one refused may change, and its pages wait
	if r.o.Recrawl.Min <= 0 || e.State == Queued || !part && e.State != Fetched && e.State != Failed {
		return nil
	}
	rec, _, err := r.frontier.Get(l.URL)
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

// lead ends the visit of an address that led to a page which was received already.
func (r *run) lead(ctx context.Context, l *Lease, to string, e End, hops []gate.Hop) error {
	e.Final = to
	if err := errors.Join(r.led(ctx, hops, to), r.plan(l, &e, hops, true)); err != nil {
		return r.lose(l, err)
	}
	return r.done(l, e, Receipt{})
}

// led tells those who want to know where hops led.
func (r *run) led(ctx context.Context, hops []gate.Hop, to string) error {
	leader, ok := r.handler.(Leader)
	if !ok {
		return nil
	}
	return leader.Lead(context.WithoutCancel(ctx), newPage(hops).Hops(), to)
}

// received reports whether the page at address, in normal form, was received in this run. What was handed to the frontier just now
// is waited for: a redirect is rare, and a page more to fetch costs more.
func (r *run) received(address string) bool {
	err := r.frontier.Flush()
	if err != nil {
		return false // the visit will meet the error
	}
	rec, found, err := r.frontier.Get(address)
	return err == nil && found && rec.State == Fetched && rec.barred == "" && !rec.When.Before(r.start)
}

// release leaves an address for the next run, because this one is over.
func (r *run) release(l *Lease) error {
	r.stop() // before it is given back, or another worker would take it again
	r.frontier.Release(l)
	return nil
}

// lose leaves an address for the next run, because its page could not be taken in, and ends this one.
func (r *run) lose(l *Lease, err error) error {
	if broken(err) { // it is a fault of this page alone
		return err
	}
	r.stop() // as for release
	r.frontier.Release(l)
	return fmt.Errorf("%s could not be taken in: %w", l.URL, err)
}

// broken reports whether err is a panic.
func broken(err error) bool {
	_, is := errors.AsType[*defect.Error](err)
	return is
}

// abandon ends the visit of an address on which the program failed. Other addresses are still
// visited.
func (r *run) abandon(l *Lease, because *defect.Error) error {
	e := End{State: Failed, Why: because.Error(), broken: because}
	if _, _, part := partOf(l.URL); part {
		r.skip(Skip{URL: l.URL, State: e.State, Why: e.Why, When: time.Now(), Defect: because})
		return r.frontier.Done(l, e)
	}
	return r.done(l, e, Receipt{})
}

// done gives the lease of a page back with its outcome, and counts and tells it.
func (r *run) done(l *Lease, e End, receipt Receipt) error {
	again := e.State == Fetched && r.again(l, &e)
	e.report = func(rec Record) { r.skip(Skip{URL: rec.URL, State: rec.State, Why: rec.Why, When: rec.When}) }
	if err := r.frontier.Done(l, e); err != nil {
		return err
	}
	r.tally.end(e, receipt, again)
	if e.State != Fetched && e.State != Queued {
		r.skip(Skip{URL: l.URL, State: e.State, Why: e.Why, When: time.Now(), Final: e.final(), Decision: e.decision,
			TakeDown: e.down,
			Defect:   e.broken})
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
	case r.frontier.leased(page): // under r.mu, so that the visit of the page itself, which looks here before it ends, counts it
		r.mu.Unlock()
		return true
	}
	if r.reached == nil {
		r.reached = map[string]struct{}{}
	}
	r.reached[page] = struct{}{}
	r.mu.Unlock()
	return r.received(page) // not under r.mu: the frontier may call skip
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
func (r *run) offers(offers []offer, links []string, from uint64, depth int) []offer {
	for _, raw := range links {
		u, err := link(raw, r.o.Drop)
		if err != nil {
			continue // not an address of the web
		}
		o := offer{url: u.String(), depth: depth}
		if r.own.holds(u) {
			o.from = cmp.Or(from, r.numbers[u.Host]) // a page that a re-crawl names may be found from no seed
		}
		o.state, o.why = r.within(u, o.url, depth)
		offers = append(offers, o)
	}
	return offers
}

// within says Queued for an address that this run visits, else what becomes of it, with the sentence that decides. address is u in
// normal form.
func (r *run) within(u *url.URL, address string, depth int) (State, string) {
	if state, why := r.reaches(u, depth); state != Queued {
		return state, why
	}
	return r.admits(u, address)
}

// open is within for an address that is leased. What is held is visited wherever it is, if a re-crawl asks for it.
func (r *run) open(l *Lease, u *url.URL) (state State, why string, err error) {
	state, why = r.reaches(u, l.Depth)
	if state != Queued && l.asked && r.o.Held != nil {
		var held bool
		if held, err = r.o.Held(l.URL); held {
			state = Queued
		}
	}
	if state == Queued {
		state, why = r.admits(u, l.URL)
	}
	return state, why, err
}

// reaches says Queued for an address in the scope of this run and not too deep.
func (r *run) reaches(u *url.URL, depth int) (State, string) {
	switch {
	case !r.area.holds(u):
		return Outside, fmt.Sprintf("not in the scope of this crawl (%s)", r.area.scope)
	case r.o.Depth >= 0 && depth > r.o.Depth:
		return Deep, fmt.Sprintf("more than %d links away from a seed", r.o.Depth)
	}
	return Queued, ""
}

// admits says Queued for an address that no pattern keeps out and that is no trap.
func (r *run) admits(u *url.URL, address string) (State, string) {
	seed, filter := r.named[address], r.wanted
	if seed {
		filter = r.forbidden
	}
	if ok, why := filter.admits(u); !ok {
		return Outside, why
	}
	if why := trap(u); why != "" && !seed {
		return Trapped, why
	}
	return Queued, ""
}

// holds reports whether a redirect to u is followed at once.
func (r *run) holds(u *url.URL) bool {
	if !r.own.holds(u) {
		return false
	}
	ok, _ := r.wanted.admits(u)
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

func newPage(hops []gate.Hop) *page.Page {
	converted := make([]page.Hop, len(hops))
	for i, h := range hops {
		converted[i] = page.Hop(h)
	}
	return page.New(converted)
}

func spent(err error) bool {
	var refusal *gate.Refusal
	return errors.As(err, &refusal) && refusal.Rule == gate.RuleBudget
}

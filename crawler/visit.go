package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
)

// work is a worker: it visits one address after the other.
func (r *run) work(leasing, work context.Context) {
	v := newVisitor(r)
	for {
		lease, err := r.frontier.Next(leasing)
		if err == nil {
			err = r.visit(work, v, lease)
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
func (r *run) visit(ctx context.Context, v *visitor, l *Lease) error {
	u, err := normal(l.URL)
	if err != nil {
		return r.done(l, End{State: Refused, Why: err.Error()}, nil, Receipt{})
	}
	// It may have been queued by a run of wider scope.
	if state, why := r.within(u, l.URL, l.Depth); state != Queued {
		return r.done(l, End{State: state, Why: why}, nil, Receipt{})
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
	select {
	case r.requests <- struct{}{}:
	case <-ctx.Done():
		return r.release(l)
	}
	hops, err := v.visit(ctx, u, conditional)
	<-r.requests
	runtime.Gosched() // the next request goes out before this page is taken in
	if ctx.Err() != nil || spent(err) {
		return r.release(l)
	}
	end := judge(l, hops, err, time.Now(), r.frontier.o.Backoff)
	end.Delay = pause
	if end.State != Fetched {
		if err := r.plan(l, &end, hops, false); err != nil {
			return r.lose(l, err)
		}
		return r.done(l, end, hops, Receipt{})
	}
	if v.led != "" {
		return r.lead(ctx, l, v.led, end, hops)
	}
	pg := newPage(hops)
	canonical, known, err := r.canonical(pg)
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
		r.tally.end(End{State: Queued}, len(hops), size(hops), Receipt{})
		return r.take(ctx, v, l, u, pause, false)
	case receipt.Absent:
		end.State, end.Why = Failed, fmt.Sprintf("%s answers 304 (not modified) although nothing of it is held", pg.URL())
	}
	if err := r.plan(l, &end, hops, receipt.Unchanged); err != nil {
		return r.lose(l, err)
	}
	if receipt.Incomplete {
		r.hasten(&end)
	}
	if receipt.RefusedCrawl { // M06
		end.decision = receipt.Decision
		end.State, end.Why = Refused, fmt.Sprintf("crawl of %s is not permitted by the page itself", l.URL)
	}
	// What they lead to is queued in the same transaction that ends the lease.
	links := receipt.Links
	if !receipt.RefusedFollow && !receipt.RefusedCrawl {
		for _, more := range []string{v.aside, canonical} {
			if more != "" {
				links = append(links[:len(links):len(links)], more)
			}
		}
	}
	offers := r.offers(nil, links, l.Depth+1)
	if r.o.Requisites {
		offers = r.offers(offers, receipt.Requisites, l.Depth)
	}
	end.offers = r.frontier.fresh(offers)
	return r.done(l, end, hops, receipt)
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
	return u.String(), found && rec.State == Fetched && rec.Status == http.StatusOK, err
}

// plan says when an address is visited again.
func (r *run) plan(l *Lease, e *End, hops []gate.Hop, unchanged bool) error {
	if r.o.Recrawl.Min <= 0 || e.State != Fetched && e.State != Failed {
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
	case e.State == Failed || !page && !gone: // says nothing about how often the page changes
		e.Interval = max(rec.Interval, r.o.Recrawl.Min)
		e.Again = now.Add(e.Interval)
	case gone:
		e.Interval, e.Again = r.o.Recrawl.Max, now.Add(r.o.Recrawl.Max)
	default:
		e.Interval, e.Again = r.o.Recrawl.next(rec.Interval, unchanged, hops[len(hops)-1].Header, now)
	}
	return nil
}

// soon is after how long a page is visited again that something is missing of.
const soon = 10 * time.Minute

// hasten has an address visited again soon: by this run where it visits what becomes due, else by the next of its site (retry).
func (r *run) hasten(e *End) {
	at := time.Now()
	if r.o.Recrawl.Min > 0 {
		at = at.Add(min(soon, r.o.Recrawl.Min))
	}
	if e.Again.IsZero() || at.Before(e.Again) {
		e.Again = at
	}
}

// lead ends the visit of an address that led to a page which was received already.
func (r *run) lead(ctx context.Context, l *Lease, to string, e End, hops []gate.Hop) error {
	e.Final = to
	if leader, ok := r.handler.(Leader); ok {
		var from []string
		for _, h := range hops {
			from = append(from, h.URL)
		}
		if err := leader.Lead(context.WithoutCancel(ctx), from, to); err != nil {
			return r.lose(l, err)
		}
	}
	if err := r.plan(l, &e, hops, true); err != nil {
		return r.lose(l, err)
	}
	return r.done(l, e, hops, Receipt{})
}

// received reports whether the page at address, in normal form, was received in this run. What was handed to the frontier just now
// is waited for: a redirect is rare, and a page more to fetch costs more.
func (r *run) received(address string) bool {
	err := r.frontier.Flush()
	if err != nil {
		return false // the visit will meet the error
	}
	rec, found, err := r.frontier.Get(address)
	return err == nil && found && rec.State == Fetched && !rec.When.Before(r.start)
}

// release leaves an address for the next run, because this one is over.
func (r *run) release(l *Lease) error {
	r.frontier.Release(l)
	r.stop()
	return nil
}

// lose leaves an address for the next run, because its page could not be taken in.
func (r *run) lose(l *Lease, err error) error {
	r.frontier.Release(l)
	return fmt.Errorf("%s could not be taken in: %w", l.URL, err)
}

// done gives the lease back with its outcome, and counts and tells it.
func (r *run) done(l *Lease, e End, hops []gate.Hop, receipt Receipt) error {
	e.report = func(rec Record) { r.skip(Skip{URL: rec.URL, State: rec.State, Why: rec.Why, When: rec.When}) }
	if err := r.frontier.Done(l, e); err != nil {
		return err
	}
	r.tally.end(e, len(hops), size(hops), receipt)
	if len(hops) > 0 {
		r.tally.visited(l.host.name)
	}
	if e.State != Fetched && e.State != Queued {
		r.skip(Skip{URL: l.URL, State: e.State, Why: e.Why, When: time.Now(), Final: e.final(), Decision: e.decision})
	}
	if s, _ := r.tally.now(); r.o.MaxPages > 0 && s.Requests >= r.o.MaxPages || r.o.MaxBytes > 0 && s.Bytes >= r.o.MaxBytes {
		r.stop()
	}
	return nil
}

// size is the number of bytes of bodies, as sent.
func size(hops []gate.Hop) (n int64) {
	for _, h := range hops {
		n += int64(len(h.Wire))
	}
	return n
}

// offers adds what the frontier takes of links: those in scope to be queued, others to be recorded.
func (r *run) offers(offers []offer, links []string, depth int) []offer {
	for _, raw := range links {
		u, err := link(raw, r.o.Drop)
		if err != nil {
			continue // not an address of the web
		}
		o := offer{url: u.String(), depth: depth}
		o.state, o.why = r.within(u, o.url, depth)
		offers = append(offers, o)
	}
	return offers
}

// within says Queued for an address that this run visits, else what becomes of it, with the sentence that decides. address is u in
// normal form.
func (r *run) within(u *url.URL, address string, depth int) (State, string) {
	seed := r.named[address]
	switch {
	case !r.area.holds(u):
		return Outside, fmt.Sprintf("not in the scope of this crawl (%s)", r.area.scope)
	case r.o.Depth >= 0 && depth > r.o.Depth:
		return Deep, fmt.Sprintf("more than %d links away from a seed", r.o.Depth)
	}
	filter := r.wanted
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
	if !r.area.holds(u) {
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

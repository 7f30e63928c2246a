package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
)

// Gate sends one hop if it may be sent, notes it in the gate.Trace of the context, and otherwise fails with a
// *gate.Refusal. *gate.Gate is one.
type Gate = http.RoundTripper

// Handler takes a page on the terms of its publisher. The page may have any status but 408, 429 and 5xx, which are tried
// again; 3xx where a redirect leads out of scope or nowhere. Its earlier hops are redirects. When Receive returns without error, what may be kept is durable;
// an error ends the run, and the page is visited again by the next. It is called concurrently.
type Handler interface {
	Receive(context.Context, *page.Page) (Receipt, error)
}

// Leader is a Handler that wants to know of redirects to pages received before in the same run, which are not requested again.
type Leader interface {
	Lead(ctx context.Context, from []string, to string) error
}

// Receipt is what became of a page.
type Receipt struct {
	Links           []string // absolute addresses that may be followed
	Stored, Indexed bool

	Requisites []string // absolute addresses of what the page is shown with, that may be followed
	Canonical  string   // the address that the page names as its canonical one; "" for none
	Unchanged  bool     // the same as when it was last received

	RefusedCrawl    bool // the page itself says that it must not be crawled (M06): it was discarded
	RefusedFollow   bool
	RefusedIndex    bool
	RefusedPreserve bool
}

// Options configure a Crawler. Zero values take the default named.
type Options struct {
	Concurrency int           // visits at once; 1
	Scope       Scope         // ScopeHost
	Depth       int           // links followed from a seed; 0 takes the seeds alone, a negative number has no limit
	MaxPages    int           // page requests after which no more is begun; 0: no limit. The gate keeps it exactly
	Refetch     bool          // visit again what was visited before
	MaxBytes    int64         // bytes of bodies, as sent, after which no more visits are begun; 0: no limit
	MaxTime     time.Duration // after which no more visits are begun; 0: no limit
	Include     []string      // patterns of addresses (Pattern); empty: all in scope
	Exclude     []string      // patterns of addresses not visited
	Requisites  bool          // visit what pages are shown with
	Canonical   bool          // leave a page to its canonical address where that was fetched before
	Drop        []string      // query parameters that make no difference: links are followed without them
	Recrawl     Recrawl       // when pages are visited again; zero: never

	// Pause reads the policy of u's origin, if it is not at hand, and returns the pause that its host asks for between two
	// requests. It is called before a visit, so that the pause after robots.txt holds no worker. nil: hosts ask for none.
	Pause func(ctx context.Context, u *url.URL) (time.Duration, error)

	Grace    time.Duration  // how long visits under way may go on after the context of Run has ended; 3 s
	Skipped  func(Skip)     // told once of each address not fetched; may be nil; one call at a time; must not use the frontier
	Progress func(Progress) // told at intervals; may be nil
	Every    time.Duration  // the interval; 1 s
}

// Conditioner is a Handler that knows what to ask for instead of a page that is held: If-None-Match, If-Modified-Since. Nil: the page
// itself.
type Conditioner interface {
	Condition(address string) http.Header
}

// Crawler visits what a frontier holds. One Run at a time.
type Crawler struct {
	gate     Gate
	handler  Handler
	frontier *Frontier
	o        Options
}

// New makes a crawler. The frontier stays the caller's, who closes it.
func New(g Gate, h Handler, f *Frontier, o Options) *Crawler {
	o.Concurrency = max(o.Concurrency, 1)
	if o.Scope == "" {
		o.Scope = ScopeHost
	}
	if o.Grace <= 0 {
		o.Grace = 3 * time.Second
	}
	if o.Every <= 0 {
		o.Every = time.Second
	}
	return &Crawler{gate: g, handler: h, frontier: f, o: o}
}

// Run queues the seeds and visits what is queued until nothing is due, the budget is spent or ctx ends; the last two are
// no errors. Then visits under way are finished, and what was found out is durable. The error is nil, or says why the run
// could not go on.
func (c *Crawler) Run(ctx context.Context, seeds []string) (Summary, error) {
	r := &run{Crawler: c, start: time.Now()}
	if err := r.prepare(seeds); err != nil {
		return Summary{}, err
	}
	leasing, stop := context.WithCancel(ctx)
	defer stop()
	r.stop = stop
	work, end := graceful(leasing, c.o.Grace)
	defer end()

	var workers sync.WaitGroup
	for range c.o.Concurrency {
		workers.Go(func() { r.work(leasing, work) })
	}
	reported := make(chan struct{})
	var reporter sync.WaitGroup
	if c.o.Progress != nil {
		reporter.Go(func() { r.progress(reported) })
	}
	workers.Wait()
	close(reported)
	reporter.Wait()
	return r.finish(leasing)
}

// run is one Run.
type run struct {
	*Crawler
	start time.Time
	area  *area
	seeds []string
	stop  context.CancelFunc // no more leases
	tally tally

	mu     sync.Mutex // held while Skipped is called
	failed error      // why the run could not go on
}

// work is a worker: it visits one address after the other.
func (r *run) work(leasing, work context.Context) {
	v := newVisitor(r.gate, r.area, r.received)
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
	if state, why := r.within(u, l.Depth); state != Queued {
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
	// The request and each hop of its redirects pass the gate, which asks that policy (crawl) and keeps the pause.
	hops, err := v.visit(ctx, u)
	if ctx.Err() != nil || spent(err) {
		return r.release(l)
	}
	end := judge(l, hops, err, time.Now(), r.frontier.o.Backoff)
	end.Delay = pause
	if end.State != Fetched {
		return r.done(l, end, hops, Receipt{})
	}
	if v.led != "" {
		return r.lead(ctx, l, v.led, end, hops)
	}
	// The page goes to those who keep it, on its own terms; they tell which of its links may be followed.
	receipt, err := r.handler.Receive(context.WithoutCancel(ctx), newPage(hops))
	if err != nil {
		r.frontier.Release(l)
		return fmt.Errorf("%s could not be taken in: %w", l.URL, err)
	}
	if receipt.RefusedCrawl { // M06
		end.State, end.Why = Refused, fmt.Sprintf("crawl of %s is not permitted by the page itself", l.URL)
	}
	// What they lead to is queued in the same transaction that ends the lease.
	links := receipt.Links
	if v.aside != "" && !receipt.RefusedFollow && !receipt.RefusedCrawl {
		links = append(links[:len(links):len(links)], v.aside)
	}
	end.offers = r.offers(links, l.Depth+1)
	return r.done(l, end, hops, receipt)
}

// lead ends the visit of an address that led to a page which this run has received already.
func (r *run) lead(ctx context.Context, l *Lease, to string, e End, hops []gate.Hop) error {
	e.Final = to
	if leader, ok := r.handler.(Leader); ok {
		var from []string
		for _, h := range hops {
			from = append(from, h.URL)
		}
		if err := leader.Lead(context.WithoutCancel(ctx), from, to); err != nil {
			r.frontier.Release(l)
			return fmt.Errorf("%s could not be taken in: %w", l.URL, err)
		}
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

// done gives the lease back with its outcome, and counts and tells it.
func (r *run) done(l *Lease, e End, hops []gate.Hop, receipt Receipt) error {
	if r.o.Skipped != nil {
		e.report = func(rec Record) { r.skipped(rec.URL, rec.State, rec.Why) }
	}
	if err := r.frontier.Done(l, e); err != nil {
		return err
	}
	var bytes int64
	for _, h := range hops {
		bytes += int64(len(h.Wire))
	}
	r.tally.end(e, len(hops), bytes, receipt)
	if e.State != Fetched && e.State != Queued {
		r.skipped(l.URL, e.State, e.Why)
	}
	if s, _ := r.tally.now(); r.o.MaxPages > 0 && s.Requests >= r.o.MaxPages {
		r.stop()
	}
	return nil
}

// offers makes what the frontier takes of the links of a page: those in scope to be queued, others to be recorded, and
// nothing that is known already.
func (r *run) offers(links []string, depth int) []offer {
	offers := make([]offer, 0, len(links))
	for _, link := range links {
		u, err := normal(link)
		if err != nil {
			continue // not an address of the web
		}
		o := offer{url: u.String(), depth: depth}
		o.state, o.why = r.within(u, depth)
		offers = append(offers, o)
	}
	return r.frontier.fresh(offers)
}

// within says Queued for an address in scope, else Outside or Deep with the sentence that decides.
func (r *run) within(u *url.URL, depth int) (State, string) {
	switch {
	case !r.area.holds(u):
		return Outside, fmt.Sprintf("not in the scope of this crawl (%s)", r.area.scope)
	case r.o.Depth >= 0 && depth > r.o.Depth:
		return Deep, fmt.Sprintf("more than %d links away from a seed", r.o.Depth)
	}
	return Queued, ""
}

func (r *run) pause(ctx context.Context, u *url.URL) (time.Duration, error) {
	if r.o.Pause == nil {
		return 0, nil
	}
	d, err := r.o.Pause(ctx, u)
	return min(max(d, 0), gate.MaxCrawlDelay), err
}

func (r *run) skipped(address string, s State, why string) {
	if r.o.Skipped == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.Skipped(Skip{URL: address, State: s, Why: why})
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

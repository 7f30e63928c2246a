package crawler

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/memory"
	"github.com/acapcrawl/acapcrawl/page"
)

// Gate sends one hop if it may be sent, notes it in the gate.Trace of the context, and otherwise
// fails with a *gate.Refusal. *gate.Gate is one.
type Gate = http.RoundTripper

// Handler takes a page on the terms of its publisher. The page may have any status but 408, 429 and
// 5xx, which are tried again; 3xx where a redirect leads out of scope or nowhere. Its earlier hops
// are redirects. When Receive returns without error, what may be kept is durable; an error ends the
// run, and the page is visited again by the next. It is called concurrently.
type Handler interface {
	Receive(context.Context, *page.Page) (Receipt, error)
}

// Leader is a Handler that wants to know of addresses that lead to pages that are not requested:
// those received before, by redirects and as their canonical addresses, and those that are taken
// down.
type Leader interface {
	Lead(ctx context.Context, from []page.Hop, to string) error
}

// Receipt is what became of a page.
type Receipt struct {
	Links           []string // absolute addresses that may be followed
	Stored, Indexed bool

	Requisites []string  // absolute addresses of what the page is shown with, that may be followed
	Cut        bool      // some of it was not kept, read or indexed, because it is too large
	Unchanged  bool      // the same as when it was last received
	Since      time.Time // with Unchanged: when that was; what this run received twice does not count as unchanged
	// absolute addresses of other resources that it requires, which were had: they are visited
	// again by themselves
	Parts   []string
	Missing []string // those that could not be had: they are visited soon
	// the request of its publisher that stands: nothing of it is held, and it leads nowhere (P05)
	TakenDown *acap.Field
	// the answer says that nothing changed, but nothing is held: it is asked for without condition
	Absent bool

	Decide func(acap.Usage) acap.Decision // what the publisher permits, for callbacks (PageOf); nil: it is not known

	Decision        acap.Decision // of the page on crawl, with RefusedCrawl
	RefusedCrawl    bool          // the page itself says that it must not be crawled (M06): it was discarded
	RefusedFollow   bool
	RefusedIndex    bool
	RefusedPreserve bool
}

// Options configure a Crawler. Zero values take the default named.
type Options struct {
	Concurrency int   // visits at once; 1
	Scope       Scope // ScopeHost
	Depth       int   // links followed from a seed; 0 takes the seeds alone, a negative number has no limit
	// page requests after which no more visits are begun; 0: no limit. The gate keeps it exactly
	MaxPages int
	Refetch  bool // visit again what was visited before
	// visit what re-crawls ask for alone (Frontier.Promote), within the scope of the crawl before,
	// if there was one
	Promoted   bool
	MaxBytes   int64         // bytes of bodies, as sent, after which no more visits are begun; 0: no limit
	MaxTime    time.Duration // after which no more visits are begun; 0: no limit
	Include    []string      // patterns of addresses (Pattern); empty: all in scope
	Exclude    []string      // patterns of addresses not visited
	Requisites bool          // visit what pages are shown with
	Canonical  bool          // leave a page to its canonical address where that was fetched before
	Drop       []string      // query parameters that make no difference: links are followed without them
	Recrawl    Recrawl       // when pages are visited again; zero: never

	// Held reports whether anything is held of the page at an address in normal form. A re-crawl
	// asks for such a page also where it is out of scope or too deep. nil: nothing is.
	Held func(address string) (bool, error)

	// Stands reports whether its publisher has the page at an address in normal form taken down, by
	// what is known without a request. What was not visited for a take-down is queued again when
	// that stands no longer (P05): as a run begins, at intervals, and by Frontier.Lift. nil: what
	// stood goes on standing.
	Stands func(address string) bool

	// Pause reads the policy of u's origin, if it is not at hand, and returns the pause that its
	// host asks for between two requests. It is called before a visit, so that the pause after
	// robots.txt holds no worker. nil: hosts ask for none.
	Pause func(ctx context.Context, u *url.URL) (time.Duration, error)

	Budget *memory.Budget // bounds what the pages at hand take in memory; nil: nothing does

	// Room returns why no more visits may begin, as on a full disk; then the run ends as at a
	// limit, and Summary.Stopped is that error. It is called before each visit. pending is the
	// number of bytes of bodies that Receive has not returned for; requests under way count as mean
	// answers. nil: there is always room.
	Room func(pending int64) error

	// Collect registers callbacks for the visits of a crawl: OnRequest, OnResponse, OnHTML, OnError
	// and the others of a colly.Collector. nil: there are none. Run calls it once for each of its
	// workers, with a collector of that worker, and again for a new collector after a callback has
	// panicked, one call at a time. The callbacks of different workers run concurrently.
	//
	//	OnRequest   before the request of a visit; Request.Abort leaves the address out, as Exclude does
	//	OnResponse  a page that may be crawled, after the Handler has stored what may be kept; the body is UTF-8 and
	//	            must not be changed. PageOf returns the page, its links and what its publisher permits
	//	OnHTML      likewise; only then a page is parsed a second time. Markup beyond the limits of package page is
	//	            left out
	//	OnError     everything else: errors, *gate.Refusal of the gate or of the page's own META or header fields, and
	//	            answers with a status other than 2xx, such as 304 or a redirect that is not followed
	//
	// Redirects call no OnRequest, as usual with Colly; Page.Hops names them. Request.Visit queues
	// a link of the page. The settings of the collector that a crawl replaces are listed at type
	// visitor in colly.go. A panic ends the visit, which is reported as failed (Skip.Defect).
	Collect func(*colly.Collector)

	Grace time.Duration // how long visits under way may go on after the context of Run has ended; 3 s
	// told once of each address not fetched; may be nil; one call at a time; must not use the
	// frontier
	Skipped  func(Skip)
	Progress func(Progress) // told at intervals; may be nil
	Every    time.Duration  // the interval; 1 s
}

// Conditioner is a Handler that knows what to ask for instead of a page that is held:
// If-None-Match, If-Modified-Since. Nil: the page itself.
type Conditioner interface {
	Condition(address string) http.Header
}

// Crawler visits what a frontier holds. One Run at a time.
type Crawler struct {
	gate    Gate
	handler Handler
	queue   Queue
	o       Options
}

// New returns a crawler. The caller closes the queue.
func New(g Gate, h Handler, q Queue, o Options) *Crawler {
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
	return &Crawler{gate: g, handler: h, queue: q, o: o}
}

// Run queues the seeds and visits what is queued until nothing is due, the budget is spent or ctx
// ends; the last two are no errors. Then visits under way are finished, and what was found out is
// durable. The error is nil, or says why the run could not go on.
func (c *Crawler) Run(ctx context.Context, seeds []string) (Summary, error) {
	r := &run{Crawler: c, o: c.o, start: time.Now(), requests: make(chan struct{}, c.o.Concurrency),
		visiting: map[string]bool{}}
	if err := r.prepare(seeds); err != nil {
		return Summary{}, err
	}
	leasing, stop := context.WithCancel(ctx)
	defer stop()
	r.stop = stop
	if c.o.MaxTime > 0 {
		defer time.AfterFunc(c.o.MaxTime, stop).Stop()
	}
	work, end := graceful(leasing, c.o.Grace)
	defer end()

	var workers sync.WaitGroup
	for range 2 * c.o.Concurrency { // while some take pages in, others request
		workers.Go(func() { r.work(leasing, work) })
	}
	ended := make(chan struct{})
	var beside sync.WaitGroup
	if c.o.Progress != nil {
		beside.Go(func() { r.progress(ended) })
	}
	beside.Go(func() { r.tend(ended) })
	workers.Wait()
	close(ended)
	beside.Wait()
	return r.finish(leasing)
}

// run is one Run.
type run struct {
	*Crawler
	o      Options
	start  time.Time
	extent Extent
	reach  *reach   // of the extent
	own    *area    // of the seeds of this run; without any, that of reach
	seeds  []string // of this run, in normal form

	numbers map[string]uint64 // the number of a seed, by the seed and by its host

	requests chan struct{} // one element per request under way
	pending  atomic.Int64  // bytes of bodies received that the handler has not stored

	collecting sync.Mutex // held while Options.Collect is called

	stop  context.CancelFunc // no more leases
	tally tally

	mu       sync.Mutex          // held while Skipped is called, and of what follows
	failed   error               // why the run could not go on
	stopped  error               // why it did not
	visiting map[string]bool     // addresses under visit, until their outcome is handed in
	reached  map[string]struct{} // pages that were received first by a redirect to them
}

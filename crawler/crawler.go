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
	"github.com/acapcrawl/acapcrawl/internal/memory"
	"github.com/acapcrawl/acapcrawl/page"
)

// Gate sends one hop if policy permits it, records the hop in the gate.Trace of the context, and
// otherwise returns a *gate.Refusal. *gate.Gate implements it.
type Gate = http.RoundTripper

// Handler stores and indexes what the publisher permits of a page. The page may have any status
// except 408, 429 and 5xx, which the crawler retries. The page has a 3xx status if it redirects out
// of scope or has no usable target. If the page was reached by redirects, they are its earlier
// hops. When Receive returns nil, everything that may be kept of the page is durable. If Receive
// returns an error, the run ends and the next run visits the page again. Receive is called
// concurrently.
type Handler interface {
	Receive(context.Context, *page.Page) (Receipt, error)
}

// Leader is a Handler that records redirects to pages which are not requested. The page was
// received before, or it is taken down. Lead is also called if the page that was visited names such
// a page as its canonical address.
type Leader interface {
	Lead(ctx context.Context, from []page.Hop, to string) error
}

// Receipt says what a Handler did with a page.
type Receipt struct {
	Links           []string // absolute addresses that may be followed
	Stored, Indexed bool
	Rendered        bool // the page is what its scripts made of it
	// requests that were made for the scripts of the page, and the bytes of their bodies, as sent
	Requests int
	Bytes    int64

	// absolute addresses of images, styles and scripts that the page embeds and that may be
	// followed
	Requisites []string
	Cut        bool // part of the page was not kept, read or indexed, because the page is too large
	Unchanged  bool // the page has not changed since it was last received
	// if Unchanged: when the page was last received; a page received twice in this run does not
	// count as unchanged
	Since time.Time
	// absolute addresses of other resources that the page requires and that were received; the
	// crawler revisits each at its own times
	Parts []string
	// absolute addresses of required resources that could not be received; the crawler visits them
	// soon
	Missing []string
	// the take-down request of the publisher that is in force, or nil; P1 2.6.1 (P05): nothing of
	// the page is kept, and its redirects and links are not followed
	TakenDown *acap.Field
	// the response is 304 (not modified), but no copy of the page is archived; the crawler requests
	// the page again without condition
	Absent bool

	// what the publisher permits for a usage, for callbacks (see PageOf); nil: unknown
	Decide func(acap.Usage) acap.Decision

	Decision acap.Decision // if RefusedCrawl: the decision on crawling the page
	// P2 2.2.9.1 (M06): the page's own META or header fields prohibit crawl, so the page was
	// discarded
	RefusedCrawl    bool
	RefusedFollow   bool
	RefusedIndex    bool
	RefusedPreserve bool
	// the decision that keeps nothing of the page because a usage of acap.Crawler.For needs an
	// agreement, or nil
	NeedsLicence *acap.Decision
}

// Options configure a Crawler. The comment of a field names the default that replaces its zero
// value.
type Options struct {
	Concurrency int   // number of visits at the same time; default 1
	Scope       Scope // which addresses are in scope; default ScopeHost
	// how many links away from a seed pages are visited; 0 visits only the seeds, a negative number
	// sets no limit
	Depth int
	// number of page requests after which no more visits start; 0: no limit. The gate ensures that
	// no more pages are requested
	MaxPages int
	Refetch  bool // visit addresses again that an earlier run visited
	// visit only addresses that re-crawl requests name (see Frontier.Promote), in the scope of the
	// previous crawl, if there was one
	Promoted bool
	MaxBytes int64 // bytes of bodies, as sent, after which no more visits start; 0: no limit
	// decoded bytes of bodies that the handler stores, after which no more visits start; 0: no limit. The visits under
	// way end, so that a little more is stored
	MaxStored int64
	MaxTime   time.Duration // duration of the run after which no more visits start; 0: no limit
	// patterns of the addresses to visit (see type filter in scope.go); empty: all addresses in
	// scope
	Include    []string
	Exclude    []string // patterns of addresses that are not visited
	Requisites bool     // visit the images, styles and scripts that pages embed
	Canonical  bool     // do not store a page whose canonical address was fetched before
	Drop       []string // names of query parameters to remove from links, since they do not change the page
	Recrawl    Recrawl  // when pages are revisited; zero: never

	// Held reports whether a copy or an index entry of the page at an address in normal form is
	// kept. If a copy or entry is kept, a re-crawl request makes the crawler visit the page even if
	// it is out of scope or too deep. nil: nothing is kept.
	Held func(address string) (bool, error)

	// Stands reports whether a known take-down of the page at an address in normal form is in
	// force; it makes no request. P1 2.6.1 (P05): when a take-down is no longer in force, the
	// crawler queues the addresses again that were not visited because of it. It checks at the
	// start of a run, at intervals, and in Frontier.Lift. nil: take-downs stay in force.
	Stands func(address string) bool

	// Pause returns the delay that the host of u asks for between two requests. It reads the policy
	// of u's origin if the policy is not cached. The crawler calls it before a visit, so that no
	// worker waits during the delay after robots.txt. nil: no host asks for a delay.
	Pause func(ctx context.Context, u *url.URL) (time.Duration, error)

	// Together reports whether the machine that visits host may also request other, because it
	// keeps the pace of both. Both are named as in Lease.Host. A redirect to a host for which it
	// returns false is not followed but queued. nil: always.
	Together func(host, other string) bool

	Budget *memory.Budget // limits the memory that pages use while they are visited; nil: no limit

	// Room returns an error if no more visits may start, for example because the disk is full. Then
	// the run ends as at a limit, and Summary.Stopped is that error. The crawler calls Room before
	// each visit. pending is the number of bytes of bodies that Receive has not stored; each
	// request in progress counts as a response of mean size. nil: there is always room.
	Room func(pending int64) error

	// Collect registers callbacks for the visits of a crawl: OnRequest, OnResponse, OnHTML, OnError
	// and the others of a colly.Collector. nil: there are none. Run calls it once for each of its
	// workers, with a collector of that worker, and again for a new collector after a callback has
	// panicked, one call at a time. The callbacks of different workers run concurrently.
	//
	//	OnRequest   before the request of a visit; Request.Abort skips the address, as Exclude does
	//	OnResponse  a page that may be crawled, after the Handler has stored what may be kept; the
	//	            body is UTF-8 and must not be changed. PageOf returns the page, its links and
	//	            what its publisher permits
	//	OnHTML      the same; if it is registered, a page is parsed a second time. Markup beyond the
	//	            limits of package page is left out
	//	OnError     all other outcomes: errors, *gate.Refusal of the gate or of the page's own META
	//	            or header fields, and answers with a status other than 2xx, such as 304 or a
	//	            redirect that is not followed
	//
	// OnRequest is not called for redirects, as usual with Colly; Page.Hops lists them.
	// Request.Visit queues a link of the page. The settings of the collector that a crawl replaces
	// are listed at type visitor in colly.go. A panic ends the visit, which is reported as failed
	// (Skip.Defect).
	Collect func(*colly.Collector)

	Grace time.Duration // how long visits under way may continue after the context of Run has ended; default 3 s
	// called once for each address that is not fetched, one call at a time; may be nil; the
	// function must not use the frontier
	Skipped  func(Skip)
	Progress func(Progress) // called at intervals of Every; may be nil
	Every    time.Duration  // interval between calls of Progress; default 1 s
}

// Conditioner is a Handler that returns the conditional header fields for an archived page:
// If-None-Match and If-Modified-Since. If Condition returns nil, the request is unconditional.
type Conditioner interface {
	Condition(address string) http.Header
}

// Crawler visits the addresses of a queue. Only one call of Run may be active at a time.
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

// Run queues the seeds and visits queued addresses until nothing is due, a limit is reached or ctx
// ends. A limit and the end of ctx are not errors. Run then finishes the visits under way and makes
// their results durable. It returns an error if the run could not continue.
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
		defer time.AfterFunc(c.o.MaxTime, func() {
			r.tally.timeUp()
			stop()
		}).Stop()
	}
	work, end := graceful(leasing, c.o.Grace)
	defer end()

	var workers sync.WaitGroup
	// twice as many workers as requests: some parse and store pages while others request
	for range 2 * c.o.Concurrency {
		workers.Go(func() { r.work(leasing, work) })
	}
	ended := make(chan struct{})
	var beside sync.WaitGroup
	if c.o.Progress != nil {
		beside.Go(func() { r.progress(ended) })
	}
	beside.Go(func() { r.requeueDue(ended) })
	workers.Wait()
	close(ended)
	beside.Wait()
	return r.finish(leasing)
}

// run is the state of one call of Crawler.Run.
type run struct {
	*Crawler
	o     Options
	start time.Time
	seeds []string // seeds of this run, in normal form

	widening sync.Mutex // held while bounds is replaced
	bounds   atomic.Pointer[bounds]

	requests chan struct{} // one element per request under way
	pending  atomic.Int64  // bytes of bodies received that the handler has not stored

	collecting sync.Mutex // held while Options.Collect is called

	stop  context.CancelFunc // ends the leasing of further addresses
	tally tally

	mu       sync.Mutex          // guards the fields below; held while Options.Skipped is called
	failed   error               // the error that ended the run, or nil
	stopped  error               // the error of Options.Room that ended the run, or nil
	visiting map[string]bool     // addresses whose visit is in progress, until the queue has the outcome of the visit
	reached  map[string]struct{} // pages that were first received through a redirect to them
	// seeds of which nothing is kept because a usage needs an agreement, with the reason as a
	// sentence
	unlicensed map[string]string
}

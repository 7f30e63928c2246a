package site

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/fetch"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// session is the state of a running crawl. It supplies policies to the crawler, the gate and the
// holdings. Before it supplies a new version of a policy, it executes the requests in that version.
// It passes fetched pages to the holdings.
type session struct {
	site      *Site
	holdings  *holdings.Holdings
	executor  *actions.Executor
	log       *slog.Logger
	received  func(*page.Page, holdings.Receipt) // called for each received page; may be nil
	resources *fetch.Resources
	scripts   *scripts // runs the scripts of pages; nil: none run
	refetch   bool     // visit every page again, even if visited before
	recrawl   crawler.Recrawl
	sitemaps  bool            // read the sitemaps that robots.txt names
	drop      []string        // query parameters to ignore in addresses
	ending    <-chan struct{} // closed when the crawl is to end

	mu         sync.Mutex
	executions map[string]*execution // keyed by origin
	crowd      int                   // when this number of executions is stored, those of forgotten origins are removed
	listed     map[string]bool       // origins whose sitemaps have been read
}

// begin opens what a crawl needs in addition to an open data directory, and executes the requests
// that an interrupted run left open. The function end stops the background goroutines of the crawl;
// it may be called more than once. If o.requests is set, begin also returns the session when the
// error reports only requests that could not be executed.
func (s *Site) begin(ctx context.Context, o crawlOrder) (c *session, end func(), err error) {
	if err := s.openFrontier(o.Backoff); err != nil {
		return nil, nil, err
	}
	browser, draws, endBrowser, err := startBrowser(ctx, s.cfg)
	if err != nil && o.requests { // requests of publishers are executed in any case
		s.o.Log.Warn("the browser cannot be started; pages that need it wait for the next crawl", "error", err)
		browser, draws, endBrowser, err = nil, nil, func() {}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			endBrowser()
		}
	}()
	c = &session{site: s, executions: map[string]*execution{}, listed: map[string]bool{}, log: s.o.Log,
		received: o.Received, ending: ctx.Done(), sitemaps: s.cfg.Sitemaps && !o.requests, drop: s.cfg.DropParameters,
		resources: fetch.NewResources(s.gate, 0), refetch: o.Refetch,
		recrawl: crawler.Recrawl{Min: s.cfg.RecrawlMin, Max: s.cfg.RecrawlMax}}
	if err = s.closeHoldings(); err != nil { // holdings that are already open use other policies than a crawl does
		return nil, nil, err
	}
	c.scripts = c.newScripts(ctx, browser, o.CrawlOptions)
	known := s.lastPolicies()
	c.holdings, err = s.openHoldings(ctx, terms.Sources{Policies: c, Fetcher: c.resources,
		Licences: s.policy}, holdings.Options{
		NoPreserve: !s.cfg.Preserve, NoIndex: !s.cfg.Index, Requisites: s.cfg.Requisites,
		NoArchive: s.cfg.Policy.NoarchivePreserve, Drawer: draws, Known: known, Version: known.version,
		Swept: c.noteSwept, Hasten: c.crawlSoon, Parts: c.queueParts})
	if err != nil {
		return nil, nil, err
	}
	if err = s.changeQueue(s.queueErased); err != nil {
		return nil, nil, err
	}
	c.executor = s.executor(s.frontier)
	s.session = nil
	if err = s.resumeRequests(ctx, c.executor, s.frontier); err != nil && !(o.requests && unexecuted(err)) {
		return nil, nil, err
	}
	s.gate.Use(c)
	earlier, err := s.frontier.Seeds()
	if err != nil {
		return nil, nil, err
	}
	nameHosts(s.gate, append(earlier, o.Seeds...))
	if s.expired != "" {
		s.o.Notice(s.expired)
		s.expired = ""
	}
	endUpkeep := c.keepCompacting(ctx, s.compactWithin())
	s.session = c
	if o.Ready != nil {
		o.Ready()
	}
	return c, sync.OnceFunc(func() {
		endUpkeep()
		endBrowser()
	}), nil
}

// openFrontier opens the queue for a crawl, if it is not open.
func (s *Site) openFrontier(backoff time.Duration) (err error) {
	s.queue.Lock()
	defer s.queue.Unlock()
	if s.frontier != nil {
		return nil
	}
	o := crawler.FrontierOptions{Delay: s.cfg.Delay, PerHost: s.cfg.PerHost, Backoff: backoff, Adaptive: s.cfg.Adaptive,
		MaxHost: max(s.cfg.MaxHostURLs, 0)}
	if n := s.node.Load(); n != nil {
		o.Journal, o.Lost, o.Skew = n, n.Lost, n.Settings().Margin
	}
	s.frontier, err = crawler.Open(frontierFile(s.cfg), o)
	s.erasedPages.direct.Store(err == nil)
	return err
}

// diskPerByte is the largest number of bytes that archive and index use on disk for one byte of a
// page, before segments of the index are merged.
const diskPerByte = 3

// crawler returns a crawler that visits the pages selected by o.
func (s *session) crawler(cfg *config.Config, o crawlOrder) *crawler.Crawler {
	st, progress := s.site, o.Progress
	if !o.requests {
		progress = st.progress.note(progress)
	}
	return crawler.New(st.gate, s, st.frontier, crawler.Options{Concurrency: cfg.Concurrency,
		Scope: crawler.Scope(cfg.Scope), Depth: cfg.Depth, MaxPages: int(st.ownLimit(int64(cfg.MaxPages))),
		MaxBytes: st.ownLimit(cfg.MaxBytes), MaxStored: o.left,
		MaxTime: cfg.MaxTime, Include: cfg.Include, Exclude: cfg.Exclude, Requisites: cfg.Requisites,
		Canonical: cfg.Canonical, Drop: cfg.DropParameters, Recrawl: s.recrawl, Refetch: o.Refetch,
		Promoted: o.promoted, Together: st.together, Held: s.holdings.Holds, Stands: st.mayBeTakenDown, Pause: s.pause,
		Progress: progress, Every: o.Every, Budget: st.o.Budget, Collect: o.Collect,
		Skipped: func(skip crawler.Skip) {
			if skip.Defect != nil {
				st.defect(skip.Defect)
			}
			if o.Skipped != nil {
				o.Skipped(skip)
			}
		},
		Room: func(pending int64) error { return st.room.Check(s.holdings.Unwritten() + pending*diskPerByte) }})
}

// keepCompacting starts a goroutine that compacts archive and index after erasures, when compaction
// is due. The goroutine runs until the caller calls end.
func (s *session) keepCompacting(ctx context.Context, within holdings.Within) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		s.holdings.Upkeep(ctx, within, func(n holdings.CompactStats, err error) {
			if err != nil {
				s.log.Error("erased data could not be removed from the files by a compaction; this is tried again",
					"error", err)
				return
			}
			s.log.Info("compacted", "before", n.Before, "after", n.After)
			if err := s.executor.Compacted(ctx, n.Began); err != nil && ctx.Err() == nil {
				s.log.Error("the ledger could not record what is removed from every file; the next run records it",
					"error",
					err)
			}
		})
	})
	return func() {
		stop()
		wg.Wait()
	}
}

// Policy returns the policy of u's origin for the gate and for terms. It reads robots.txt if
// necessary.
func (s *session) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	o, err := s.site.policy.Origin(ctx, u)
	if err != nil {
		return nil, err
	}
	if err := s.executeRequests(ctx, o); err != nil {
		return nil, fmt.Errorf("action requests of %s: %w", o.Key, err)
	}
	return s.site.ledger.Bind(o.Key, o.Policy)
}

// At implements terms.Past.
func (s *session) At(u *url.URL, t time.Time) *acap.Policy { return s.site.policy.At(u, t) }

// Current returns the last read policy of u's origin, with the take-downs in force at this moment.
// The gate calls it immediately before it sends a request.
func (s *session) Current(u *url.URL) (*acap.Policy, error) {
	o, err := s.site.policy.CurrentOrigin(u)
	if err != nil {
		return nil, err
	}
	return s.site.ledger.Bind(o.Key, o.Policy)
}

// noteSwept logs that item was erased because a policy changed or a time limit passed, and records
// take-downs in the ledger.
func (s *session) noteSwept(item holdings.Swept) {
	if item.TakenDown {
		if err := noteTakenDown(s.executor, item.URL, item.Line); err != nil {
			s.log.Error("the ledger could not record what a take-down erased", "url", item.URL, "error", err)
		}
	}
	s.log.Info("swept", "url", item.URL, "what", item.What, "version", item.Version, "anew", item.Anew, "why", item.Why,
		"line", item.Line)
}

// pause returns the Crawl-delay of u's host. The crawler calls it before the first page of an
// origin, so pause also reads the origin's sitemaps.
func (s *session) pause(ctx context.Context, u *url.URL) (time.Duration, error) {
	if _, err := policy.Key(u); err != nil {
		return 0, nil // the gate refuses an address without an origin
	}
	p, err := s.Policy(ctx, u)
	if err != nil || !s.sitemaps || !s.firstCall(u) {
		return p.CrawlDelay(), err
	}
	return p.CrawlDelay(), s.readSitemaps(ctx, u, p.Sitemaps())
}

// firstCall reports whether firstCall has not been called before for the origin of u.
func (s *session) firstCall(u *url.URL) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := u.Scheme + "://" + u.Host
	if s.listed[key] {
		return false
	}
	s.listed[key] = true
	return true
}

// Receive stores those parts of a fetched page that its terms permit, and returns what the crawler
// needs to know. If the setting render selects the page, its scripts run first.
func (s *session) Receive(ctx context.Context, pg *page.Page) (crawler.Receipt, error) {
	if !s.site.owns(pg.URL()) {
		return crawler.Receipt{}, crawler.ErrLost
	}
	ran, err := s.scripts.run(ctx, pg)
	if err != nil {
		return crawler.Receipt{}, err
	}
	if ran.why != nil {
		s.scripts.reportFailed(ran.page, ran.why)
	}
	out, err := s.receive(ctx, ran.page)
	out.Rendered, out.Requests, out.Bytes = ran.page.Rendered(), ran.requests, ran.bytes
	out.Requisites = slices.DeleteFunc(out.Requisites, func(address string) bool {
		return slices.Contains(ran.had, address)
	})
	return out, err
}

// receive does the work of Receive after the scripts of the page have run. It also stores what they requested.
func (s *session) receive(ctx context.Context, pg *page.Page) (crawler.Receipt, error) {
	var r holdings.Receipt
	if err := s.store(pg.URL(), func() (err error) {
		r, err = s.holdings.Receive(ctx, pg)
		return err
	}); err != nil {
		return crawler.Receipt{}, err
	}
	if r.TakenDown != nil { // if the policy changed during the fetch, the page may have been stored for a moment
		if err := noteTakenDown(s.executor, pg.URL().String(), r.TakenDown.String()); err != nil {
			return crawler.Receipt{}, err
		}
	}
	if r.Absent {
		return crawler.Receipt{Absent: true}, nil
	}
	if r.Undrawn != nil {
		s.log.Info("not rendered", "url", pg.URL().String(), "why", r.Undrawn)
	}
	if s.received != nil {
		s.received(pg, r)
	}
	for _, why := range r.Cuts {
		s.log.Warn("a page is cut", "url", pg.URL().String(), "why", why)
	}
	return s.receipt(pg, r), nil
}

// receipt converts r, the result of storing pg, to the crawler's form.
func (s *session) receipt(pg *page.Page, r holdings.Receipt) crawler.Receipt {
	out := crawler.Receipt{Links: r.Links, Cut: len(r.Cuts) > 0, Stored: r.Stored, Indexed: r.Indexed,
		Requisites: r.Requisites, Unchanged: r.Unchanged, Since: r.Since,
		Parts: r.Parts, Missing: r.Missing, RefusedCrawl: r.Discarded, TakenDown: r.TakenDown,
		Decide: r.Decide}
	// a policy line that prohibits crawl also prohibits every other usage, so one line is enough
	if r.Discarded && len(r.Refused) > 0 {
		out.Decision = r.Refused[0]
		out.Decision.Usage = acap.Crawl
	}
	for i, d := range r.Refused {
		if d.For != "" && d.Reason == acap.ByAgreement {
			out.NeedsLicence = &r.Refused[i]
		}
		s.log.Debug("refused", "usage", d.Usage, "url", pg.URL().String(), "why", d.Why())
		switch d.Usage {
		case acap.Follow:
			out.RefusedFollow = true
		case acap.Index:
			out.RefusedIndex = true
		case acap.Preserve:
			out.RefusedPreserve = true
		}
	}
	return out
}

// crawlSoon queues pages for another crawl because their stored data is not enough to apply a new
// policy.
func (s *session) crawlSoon(_ context.Context, pages []string) error {
	return s.site.frontier.Again(pages...)
}

// Part fetches a resource that stored pages require, such as an image.
func (s *session) Part(ctx context.Context, address string) (crawler.Part, error) {
	needed, err := s.holdings.Needed(ctx, address)
	if err != nil || !needed {
		return crawler.Part{Needless: true}, err
	}
	condition := s.holdings.PartCondition(address)
	// this run visits the pages that require the resource, and these need a response with a body
	// instead of 304
	if s.refetch {
		condition = nil
	}
	t, failed := s.resources.Visit(ctx, address, condition)
	if ctx.Err() != nil {
		return crawler.Part{}, nil
	}
	got := crawler.Part{Hops: t.Hops, Err: failed}
	u, err := url.Parse(address)
	if err != nil {
		return got, err
	}
	return got, s.store(u, func() (err error) {
		got.Unchanged, err = s.holdings.ReceivePart(context.WithoutCancel(ctx), address, fetch.PageOf(t),
			fetch.NoAnswer(failed))
		return err
	})
}

// queueParts queues resources that stored pages require. It is called for pages that were checked
// again without a visit.
func (s *session) queueParts(_ context.Context, parts, missing []string) error {
	return s.site.frontier.AddParts(parts, missing, s.recrawl)
}

// Condition returns a header for a conditional request: the site sends the page only if it has
// changed since it was archived. It returns nil for a page whose scripts run.
func (s *session) Condition(address string) http.Header {
	// scripts can make another document of the same response
	if u, err := url.Parse(address); err == nil && s.scripts.selects(u) {
		return nil
	}
	return s.holdings.Condition(address)
}

// Lead records that the addresses in from redirect to the page at to, which this run has already
// received.
func (s *session) Lead(ctx context.Context, from []page.Hop, to string) error {
	u, err := url.Parse(to)
	if err != nil {
		return err
	}
	return s.store(u, func() error { return s.holdings.Lead(ctx, from, to) })
}

package site

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/page"
)

// CrawlOptions are the settings of one crawl, in addition to those of the site. Functions may be
// nil.
type CrawlOptions struct {
	// start addresses, crawled with the pages that they link to; none: crawl everything in the
	// queue
	Seeds []string
	Job   string // name of the job whose crawl this is; its run is recorded; "": none
	// after the crawl, erase what was fetched longer ago, of pages found from Seeds or from earlier seeds of Job,
	// unless another job keeps it longer; 0: nothing
	Keep    time.Duration
	Quota   int64         // the most decoded bytes of bodies that may be kept of these pages; 0: no limit
	Refetch bool          // also visit pages that were visited before
	Backoff time.Duration // length of the first pause after a host that does not answer; 0: the default

	Ready    func()                 // called once other methods of the site may be used
	Progress func(crawler.Progress) // called at regular intervals with the progress of the crawl
	Every    time.Duration          // interval between calls of Progress; 0: the default
	// called if stored pages are still being checked when the last visit has ended
	Judging  func()
	Skipped  func(crawler.Skip)                 // called once for each address that is not fetched
	Received func(*page.Page, holdings.Receipt) // called for each page that was received

	// called for each request of the scripts of pages that was not made or not answered; may be called
	// concurrently
	Blocked func(crawler.Skip)
	// called for each page that could not be rendered, with the reason; may be called concurrently
	Unrendered func(*page.Page, error)

	// Collect registers Colly callbacks for the visits: OnRequest, OnResponse, OnHTML and OnError,
	// as described at crawler.Options.Collect. Colly calls them only for pages that the gate
	// permits; crawler.PageOf returns the terms of such a page.
	Collect func(*colly.Collector)
}

// crawlOrder selects what a crawl visits: everything in the queue, or only the pages that
// publishers request to be crawled again.
type crawlOrder struct {
	CrawlOptions
	promoted bool  // visit only pages that publishers request to be crawled again
	requests bool  // continue if a publisher's request cannot be executed
	left     int64 // decoded bytes of bodies that may still be stored; 0: no limit
	limits   jobLimits
}

// CrawlSummary is the result of a crawl.
type CrawlSummary struct {
	crawler.Summary
	// data erased during the crawl because of new policies, time limits and requests
	Erased []archive.Erasure `json:"erased"`
	Data   string            `json:"data"` // the data directory
	// what the scripts of pages could not do
	Scripts ScriptCounts `json:"scripts,omitzero"`
	// the crawl has ended because the settings of the cluster have changed; it goes on if it is started again
	Changed bool `json:"-"`
}

// ScriptCounts counts what the scripts of pages could not do in a crawl.
type ScriptCounts struct {
	Blocked int `json:"blocked"` // requests that were not made, or not answered
	Failed  int `json:"failed"`  // pages that could not be rendered, so that only the page as sent is used
}

// patience is how long the end of a crawl waits for pages that are still being checked before the
// crawl calls Judging.
const patience = 200 * time.Millisecond

// Crawl visits pages until no visit is due, a limit is reached or ctx ends; the last two are not
// errors. For each site it first reads the policy and executes the requests in it, then archives,
// indexes and follows what the policy permits. The next crawl continues an interrupted one. Only
// one Crawl may run at a time.
func (s *Site) Crawl(ctx context.Context, o CrawlOptions) (sum CrawlSummary, err error) {
	erased, endWatch := s.erased.watch()
	defer func() {
		endWatch()
		sum.Data, sum.Erased = s.cfg.Data, erased.List()
	}()
	if err := recordCrawler(s.cfg.Data, s.who); err != nil {
		return sum, err
	}
	order := crawlOrder{CrawlOptions: o}
	if order.limits, err = s.jobLimits(o); err != nil {
		return sum, err
	}
	if o.Job != "" {
		defer s.recordJob(ctx, o.Job, time.Now().UTC(), &sum, &err)
	}
	if err := s.joinCluster(ctx); err != nil {
		return sum, err
	}
	defer s.leaveCluster()
	if order.left, err = s.applyLimits(ctx, order); err != nil {
		return sum, err
	}
	c, end, err := s.begin(ctx, order)
	switch {
	// the crawl was interrupted while it completed the work that a crash left unfinished
	case err != nil && ctx.Err() != nil && s.frontier != nil:
		sum.Interrupted, sum.Queued = true, s.frontier.Counts().Queued
		return sum, nil
	case err != nil:
		return sum, err
	}
	defer end()
	endOrders, err := c.followOrders(ctx)
	if err != nil {
		return sum, err
	}
	defer endOrders()
	defer s.keepCopyingPolicies(ctx)()
	c.holdings.Rejudge("") // check the stored pages that are due, because time limits may have passed
	endReading := c.keepReading(ctx, s.cfg.Actions.SeenWithin)
	defer endReading()
	if s.node.Load() != nil {
		sum.Summary, err = s.crawlShared(ctx, c, order)
		sum.Changed = s.SettingsChanged()
	} else {
		sum.Summary, err = c.crawler(s.cfg, order).Run(ctx, o.Seeds)
	}
	s.progress.end()
	endReading()
	sum.Scripts = c.scripts.counts()
	return sum, s.endCrawl(ctx, c, order, end, err)
}

// endCrawl does what follows the visits of a crawl, which ended with err.
func (s *Site) endCrawl(ctx context.Context, c *session, o crawlOrder, end func(), err error) error {
	err = errors.Join(err, s.queueErased(), s.frontier.Flush(), c.executor.Settle(context.WithoutCancel(ctx)))
	if err == nil {
		c.awaitJudged(ctx, o.Judging)
	}
	_ = c.holdings.Flush() // Close returns this error too
	if err == nil && ctx.Err() == nil {
		err = s.retain(ctx, c.holdings, o)
	}
	if end(); err == nil && ctx.Err() == nil {
		err = s.compactBeforeEnd(ctx, c.executor, time.Time{})
	}
	return err
}

// awaitJudged waits until all stored pages have been checked against the policies that were read.
// It calls judging, which may be nil, if that takes longer than patience.
func (s *session) awaitJudged(ctx context.Context, judging func()) {
	soon, cancel := context.WithTimeout(ctx, patience)
	s.holdings.AwaitRejudged(soon)
	if soon.Err() != nil && judging != nil {
		judging()
	}
	cancel()
	s.holdings.AwaitRejudged(ctx)
}

// progress is the last progress that a running crawl has reported. It is safe for concurrent use.
type progress struct{ last atomic.Pointer[running] }

// running is the progress of a crawl that runs since the time began.
type running struct {
	crawler.Progress
	began time.Time
}

// note returns a function that stores the progress and passes it to next, which may be nil.
func (p *progress) note(next func(crawler.Progress)) func(crawler.Progress) {
	began := time.Now().UTC()
	return func(now crawler.Progress) {
		p.last.Store(&running{now, began})
		if next != nil {
			next(now)
		}
	}
}

func (p *progress) end() { p.last.Store(nil) }

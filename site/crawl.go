package site

import (
	"context"
	"errors"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/holdings"
	"github.com/acapcrawl/acapcrawl/page"
)

// CrawlOptions say what one crawl visits in addition to the settings of the site. Functions may be
// nil.
type CrawlOptions struct {
	Seeds   []string      // visited with what they lead to; none: everything that is queued
	Refetch bool          // visit again what was visited before
	Backoff time.Duration // first pause of a host that does not answer; 0: the usual

	Ready    func()                             // is called once other methods of the site may be used
	Progress func(crawler.Progress)             // is called at intervals
	Every    time.Duration                      // the interval; 0: the usual
	Judging  func()                             // is called if pages are still judged after the last visit
	Skipped  func(crawler.Skip)                 // is called once for each address that is not fetched
	Received func(*page.Page, holdings.Receipt) // is called for each page that was received

	// Collect registers callbacks of Colly for the visits, as crawler.Options.Collect describes:
	// OnRequest, OnResponse, OnHTML and OnError. They run behind the gate; crawler.PageOf returns
	// the terms of their page.
	Collect func(*colly.Collector)
}

// crawlOrder is a crawl of all that is queued, or of what requests ask for alone.
type crawlOrder struct {
	CrawlOptions
	promoted bool // visit only what re-crawls ask for
	requests bool // requests that fail do not end it
}

// CrawlSummary is the result of a crawl.
type CrawlSummary struct {
	crawler.Summary
	Erased []archive.Erasure `json:"erased"` // during the crawl, for policies that it read, time limits and requests
	Data   string            `json:"data"`   // the data directory
}

// patience is how long the end of a crawl waits for pages that are still judged before Judging is
// called.
const patience = 200 * time.Millisecond

// Crawl visits pages until nothing is due, a limit is reached or ctx ends; the last two are no
// errors. It reads policies and executes the requests in them first, and archives, indexes and
// follows what policy permits. An interrupted crawl continues with the next one. Only one Crawl may
// run at a time.
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
	c, end, err := s.begin(ctx, order)
	switch {
	case err != nil && ctx.Err() != nil && s.frontier != nil: // interrupted while it finished what a crash left
		sum.Interrupted, sum.Queued = true, s.frontier.Counts().Queued
		return sum, nil
	case err != nil:
		return sum, err
	}
	defer end()
	c.holdings.Rejudge("") // time limits may have passed
	endReading := c.keepReading(ctx, s.cfg.Actions.SeenWithin)
	defer endReading()
	sum.Summary, err = c.crawler(s.cfg, order).Run(ctx, o.Seeds)
	endReading()
	err = errors.Join(err, s.frontier.Flush(), c.executor.Settle(context.WithoutCancel(ctx)))
	if err == nil {
		c.awaitJudged(ctx, o.Judging)
	}
	_ = c.holdings.Flush() // Close returns its error too
	if end(); err == nil && ctx.Err() == nil {
		err = s.compactBeforeEnd(ctx, c.executor, time.Time{})
	}
	return sum, err
}

// awaitJudged waits until the pages held are judged by the policies that were read. It calls
// judging, which may be nil, if that takes longer than a moment.
func (s *session) awaitJudged(ctx context.Context, judging func()) {
	soon, cancel := context.WithTimeout(ctx, patience)
	s.holdings.AwaitRejudged(soon)
	if soon.Err() != nil && judging != nil {
		judging()
	}
	cancel()
	s.holdings.AwaitRejudged(ctx)
}

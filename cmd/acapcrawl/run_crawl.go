package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/disk"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/holdings"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

func (c *Command) runCrawl(ctx context.Context, cfg *config.Config, r crawlRequest) (err error) {
	defer c.collectLess(cfg)()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := &watch{screen: newProgress(c.Stderr), asJSON: r.JSON, every: r.Status, stopping: func() bool { return ctx.Err() != nil }}
	defer w.listen()()
	order := crawlOrder{refetch: r.Refetch, log: logger(w.screen, cfg), progress: w.progress, every: redraw}
	order.judging = func() {
		w.screen.Set("What is held is judged again; what an interrupt leaves of that, the next run does.")
	}
	for _, u := range r.Seeds {
		order.seeds = append(order.seeds, u.String())
	}
	summary := c.Stdout
	if r.Report != "" {
		report, e := openReport(r.Report, c.Stdout, stop)
		if e != nil {
			return e
		}
		if r.Report == "-" {
			summary = w.screen
		}
		order.skipped, order.received = report.skipped, report.received
		order.progress = func(p crawler.Progress) {
			report.flush()
			w.progress(p)
		}
		defer func() { err = errors.Join(err, report.Close()) }()
	}
	if cfg.Metrics != "" {
		at, end, err := serveMetrics(ctx, cfg.Metrics, w.state)
		if err != nil {
			return err
		}
		defer end()
		fmt.Fprintf(w.screen, "Metrics are answered at http://%s/metrics.\n", at)
	}
	sum, err := c.crawl(ctx, cfg, order)
	w.screen.Done()
	switch {
	case disk.Full(err):
		return failure("", fmt.Errorf("the disk of %s is full: free space there, and run again; nothing is lost (%w)", cfg.Data, err))
	case err != nil && !errors.Is(err, errGuests):
		return err
	}
	if r.JSON {
		err = errors.Join(err, c.printJSON(sum))
	} else {
		err = errors.Join(err, printSummary(summary, sum, time.Now()))
	}
	return errors.Join(err, outcome(sum.Summary))
}

// gcPercent is how much the heap of a crawl that does not index may grow between two collections: little of it lives long.
const gcPercent = 300

// collectLess sets gcPercent until the function that it returns is called. An index keeps enough in memory for the usual, and GOGC
// goes before.
func (c *Command) collectLess(cfg *config.Config) (undo func()) {
	if cfg.Index || slices.ContainsFunc(c.Env, func(pair string) bool { return strings.HasPrefix(pair, "GOGC=") }) {
		return func() {}
	}
	before := debug.SetGCPercent(gcPercent)
	return func() { debug.SetGCPercent(before) }
}

// outcome is the error of a crawl that came to an end and reached nothing.
func outcome(sum crawler.Summary) error {
	switch {
	case sum.Stopped != nil:
		return sum.Stopped
	case sum.Interrupted:
		return nil
	case sum.SeedsRefused:
		return refusal(fmt.Errorf("every seed was refused by policy: %s", sum.RefusedWhy))
	case sum.SeedsUnreachable:
		return failure("", fmt.Errorf("no seed could be reached: %s", sum.UnreachableWhy))
	}
	return nil
}

// crawlOrder is one crawl into the data directory.
type crawlOrder struct {
	seeds    []string
	refetch  bool
	promoted bool          // what re-crawls ask for alone
	requests bool          // it is for action requests: one that fails keeps nothing else from being done
	backoff  time.Duration // first pause of a host that does not answer; 0: the frontier's own
	log      *slog.Logger
	progress func(crawler.Progress)
	every    time.Duration // between two calls of progress; 0: the crawler's own
	judging  func()        // is told that the crawl is over, and what is held is still being judged; may be nil
	skipped  func(crawler.Skip)
	received func(*page.Page, holdings.Receipt)
}

// crawl opens the data directory, crawls, and closes it.
func (c *Command) crawl(ctx context.Context, cfg *config.Config, o crawlOrder) (sum crawlSummary, err error) {
	sum.Data, sum.Erased = cfg.Data, []archive.Erasure{}
	who, err := recorded(cfg, config.Environment, config.File)
	if err != nil {
		return sum, err
	}
	anew := policy.Options{}
	if o.refetch {
		anew.Anew = time.Now()
	}
	s, err := c.openStore(cfg, who, anew, true)
	if err != nil {
		return sum, err
	}
	erased, endWatch := s.erased.watch()
	defer func() {
		err = errors.Join(err, s.Close())
		endWatch()
		sum.Erased = erased.List()
	}()
	if err := record(cfg.Data, who); err != nil {
		return sum, err
	}
	h, end, err := s.begin(ctx, cfg, o)
	switch {
	case err != nil && ctx.Err() != nil && s.frontier != nil: // while it was finishing what a crash left
		sum.Interrupted, sum.Queued = true, s.frontier.Counts().Queued
		return sum, nil
	case err != nil:
		return sum, err
	}
	defer end()
	h.holdings.Rejudge("") // time has passed
	endReading := h.keepReading(ctx, cfg.Actions.SeenWithin)
	defer endReading()
	sum.Summary, err = h.crawler(cfg, o).Run(ctx, o.seeds)
	endReading()
	err = errors.Join(err, s.frontier.Flush(), h.executor.Settle(context.WithoutCancel(ctx)))
	if err == nil {
		soon, cancel := context.WithTimeout(ctx, 2*redraw) // less than that need not be told, and no line is drawn right after another
		h.holdings.AwaitRejudged(soon)
		if soon.Err() != nil && o.judging != nil {
			o.judging()
		}
		cancel()
		h.holdings.AwaitRejudged(ctx)
	}
	if end(); err == nil && ctx.Err() == nil {
		err = s.settle(ctx, cfg, h.executor, time.Time{})
	}
	return sum, err
}

// begin makes of an open data directory all that a crawl needs, and lets the verbs of other processes in. It is the one place where all
// parts of the program meet. What runs beside the crawl ends with end, which may be called twice.
func (s *store) begin(ctx context.Context, cfg *config.Config, o crawlOrder) (h *handler, end func(), err error) {
	if s.frontier, err = crawler.Open(filepath.Join(cfg.Data, "frontier.db"), crawler.FrontierOptions{Delay: cfg.Delay, PerHost: cfg.PerHost,
		Backoff: o.backoff, Adaptive: cfg.Adaptive, MaxHost: max(cfg.MaxHostURLs, 0)}); err != nil {
		return nil, nil, err
	}
	draws, endDrawing, err := drawer(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			endDrawing()
		}
	}()
	h = &handler{store: s, heeded: map[string]*heeded{}, listed: map[string]bool{}, log: o.log, told: o.received,
		sitemaps: cfg.Sitemaps, drop: cfg.DropParameters, parts: newParts(s.gate), refetch: o.refetch,
		recrawl: crawler.Recrawl{Min: cfg.RecrawlMin, Max: cfg.RecrawlMax}}
	h.holdings, err = s.hold(ctx, terms.Sources{Policies: h, Fetcher: h.parts}, holdings.Options{NoPreserve: !cfg.Preserve, NoIndex: !cfg.Index,
		Requisites: cfg.Requisites, NoArchive: cfg.Policy.NoarchivePreserve, Drawer: draws, Known: s.held(), Version: s.held().version, Swept: h.swept,
		Hasten: h.hasten, Parts: h.require})
	if err != nil {
		return nil, nil, err
	}
	h.executor = s.executor(cfg, s.frontier)
	if err = s.resume(ctx, h.executor, s.frontier); err != nil && !(o.requests && unexecuted(err)) {
		return nil, nil, err
	}
	s.gate.Use(h)
	earlier, err := s.frontier.Seeds()
	if err != nil {
		return nil, nil, err
	}
	name(s.gate, append(earlier, o.seeds...))
	endUpkeep := h.upkeep(ctx, forgetting(cfg))
	s.crawl = h
	s.serve()
	return h, sync.OnceFunc(func() {
		endUpkeep()
		endDrawing()
	}), nil
}

// diskPerByte is how many bytes of the disk a byte of a page takes at most, in archive and index, until segments of the index are merged.
const diskPerByte = 3

// crawler visits pages as cfg and o say.
func (h *handler) crawler(cfg *config.Config, o crawlOrder) *crawler.Crawler {
	return crawler.New(h.store.gate, h, h.store.frontier, crawler.Options{Concurrency: cfg.Concurrency, Scope: crawler.Scope(cfg.Scope), Depth: cfg.Depth,
		MaxPages: max(cfg.MaxPages, 0), MaxBytes: max(cfg.MaxBytes, 0), MaxTime: cfg.MaxTime, Include: cfg.Include, Exclude: cfg.Exclude,
		Requisites: cfg.Requisites, Canonical: cfg.Canonical, Drop: cfg.DropParameters, Recrawl: h.recrawl,
		Refetch: o.refetch, Promoted: o.promoted, Held: h.holdings.Holds, Stands: h.store.stands, Pause: h.pause, Progress: o.progress, Every: o.every,
		Skipped: func(skip crawler.Skip) {
			if skip.Defect != nil {
				h.store.defects(skip.Defect)
			}
			if o.skipped != nil {
				o.skipped(skip)
			}
		}, Budget: h.store.budget,
		Room: func(pending int64) error { return h.store.room.Check(h.holdings.Unwritten() + pending*diskPerByte) }})
}

// upkeep has archive and index compacted so soon after an erasure, until the function that it returns is called.
func (h *handler) upkeep(ctx context.Context, within holdings.Within) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		h.holdings.Upkeep(ctx, within, func(n holdings.CompactStats, err error) {
			if err != nil {
				h.log.Error("what was erased could not be compacted away; it is tried again", "error", err)
				return
			}
			h.log.Info("compacted", "before", n.Before, "after", n.After)
			if err := h.executor.Compacted(ctx, n.Began); err != nil && ctx.Err() == nil {
				h.log.Error("it could not be noted what is gone from every file; the next run does it", "error", err)
			}
		})
	})
	return func() {
		stop()
		wg.Wait()
	}
}

// handler is the crawl's view of policies and holdings: a policy that has been read anew has its action requests executed before
// it is used, and pages go to the holdings.
type handler struct {
	store    *store
	holdings *holdings.Holdings
	executor *actions.Executor
	log      *slog.Logger
	told     func(*page.Page, holdings.Receipt)
	parts    *parts
	refetch  bool // everything is visited again
	recrawl  crawler.Recrawl
	sitemaps bool     // read those that robots.txt names
	drop     []string // query parameters that make no difference

	mu     sync.Mutex
	heeded map[string]*heeded // by origin
	crowd  int                // of which many it is looked whether they are needed
	listed map[string]bool    // whose sitemaps have been read
}

// name opens the hosts of the seeds of this and earlier runs: a named host is fetched even where its address is private.
func name(g *gate.Gate, seeds []string) {
	for _, seed := range seeds {
		if u, err := url.Parse(seed); err == nil {
			g.Name(u)
		}
	}
}

// nameSeeds opens the hosts of the seeds of a data directory.
func (c *Command) nameSeeds(dir string, g *gate.Gate) error {
	return c.withFrontier(dir, 0, func(f *crawler.Frontier) error {
		seeds, err := f.Seeds()
		name(g, seeds)
		return err
	})
}

// withFrontier calls fn with the frontier of a data directory, if there is one. It notes at most maxHost addresses of a host; 0: no limit.
func (c *Command) withFrontier(dir string, maxHost int, fn func(*crawler.Frontier) error) (err error) {
	if c.owner != nil && c.owner.frontier != nil {
		return fn(c.owner.frontier)
	}
	file := filepath.Join(dir, "frontier.db")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	f, err := crawler.Open(file, crawler.FrontierOptions{MaxHost: max(maxHost, 0)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return fn(f)
}

// Policy gives the policy of u's origin for the gate and for terms.
func (h *handler) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	o, err := h.store.policy.Origin(ctx, u)
	if err != nil {
		return nil, err
	}
	if err := h.heed(ctx, o); err != nil {
		return nil, fmt.Errorf("action requests of %s: %w", o.Key, err)
	}
	return h.store.ledger.Bind(o.Key, o.Policy)
}

// Current returns the policy of u's origin as it was last read, with the take-downs in force at
// this moment.
func (h *handler) Current(u *url.URL) (*acap.Policy, error) {
	o, err := h.store.policy.CurrentOrigin(u)
	if err != nil {
		return nil, err
	}
	return h.store.ledger.Bind(o.Key, o.Policy)
}

// swept hears what is no longer held since a policy has changed or a time limit has passed.
func (h *handler) swept(s holdings.Swept) {
	if s.TakenDown {
		if err := takenDown(h.executor, s.URL, s.Line); err != nil {
			h.log.Error("it could not be noted what a take-down erased", "url", s.URL, "error", err)
		}
	}
	h.log.Info("swept", "url", s.URL, "what", s.What, "version", s.Version, "anew", s.Anew, "why", s.Why, "line", s.Line)
}

// pause tells the Crawl-delay of u's host. It comes before the first page of an origin, and so do its sitemaps.
func (h *handler) pause(ctx context.Context, u *url.URL) (time.Duration, error) {
	if _, err := policy.Key(u); err != nil {
		return 0, nil // an address without an origin: the gate refuses it
	}
	p, err := h.Policy(ctx, u)
	if err != nil || !h.sitemaps || !h.first(u) {
		return p.CrawlDelay(), err
	}
	return p.CrawlDelay(), h.readSitemaps(ctx, u, p.Sitemaps())
}

// first reports whether it is asked for the origin of u for the first time in this run.
func (h *handler) first(u *url.URL) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := u.Scheme + "://" + u.Host
	if h.listed[key] {
		return false
	}
	h.listed[key] = true
	return true
}

// Receive hands a page to the holdings.
func (h *handler) Receive(ctx context.Context, pg *page.Page) (crawler.Receipt, error) {
	r, err := h.holdings.Receive(ctx, pg)
	if err != nil {
		return crawler.Receipt{}, err
	}
	if r.TakenDown != nil { // it may have been kept for a moment, while the policy changed
		if err := takenDown(h.executor, pg.URL().String(), r.TakenDown.String()); err != nil {
			return crawler.Receipt{}, err
		}
	}
	if r.Absent {
		return crawler.Receipt{Absent: true}, nil
	}
	if r.Undrawn != nil {
		h.log.Info("not drawn", "url", pg.URL().String(), "why", r.Undrawn)
	}
	if h.told != nil {
		h.told(pg, r)
	}
	for _, why := range r.Cuts {
		h.log.Warn("a page is cut", "url", pg.URL().String(), "why", why)
	}
	out := crawler.Receipt{Links: r.Links, Cut: len(r.Cuts) > 0, Stored: r.Stored, Indexed: r.Indexed,
		Requisites: r.Requisites, Unchanged: r.Unchanged, Since: r.Since,
		Parts: r.Parts, Missing: r.Missing, RefusedCrawl: r.Discarded, TakenDown: r.TakenDown, Decide: r.Decide}
	if r.Discarded && len(r.Refused) > 0 { // the line that prohibits crawl prohibits all else
		out.Decision = r.Refused[0]
		out.Decision.Usage = acap.Crawl
	}
	for _, d := range r.Refused {
		h.log.Debug("refused", "usage", d.Usage, "url", pg.URL().String(), "why", d.Why())
		switch d.Usage {
		case acap.Follow:
			out.RefusedFollow = true
		case acap.Index:
			out.RefusedIndex = true
		case acap.Preserve:
			out.RefusedPreserve = true
		}
	}
	return out, nil
}

// hasten has pages crawled again whose copies do not suffice to judge them again.
func (h *handler) hasten(_ context.Context, pages []string) error {
	return h.store.frontier.Again(pages...)
}

// require hears what pages require that were judged beside the crawl.
func (h *handler) require(_ context.Context, parts, missing []string) error {
	return h.store.frontier.AddParts(parts, missing, h.recrawl)
}

// Condition gives the header that asks for a page that is held only if it has changed.
func (h *handler) Condition(address string) http.Header { return h.holdings.Condition(address) }

// Lead notes a redirect to a page that this run has received already.
func (h *handler) Lead(ctx context.Context, from []page.Hop, to string) error {
	return h.holdings.Lead(ctx, from, to)
}

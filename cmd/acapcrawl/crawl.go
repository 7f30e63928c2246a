package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/site"
)

// crawlRequest holds the arguments of crawl that are not settings.
type crawlRequest struct {
	Seeds   []*url.URL // addresses at which the crawl begins; empty: continue with the queue of the data directory
	Job     config.Job // the job that names the seeds; without a name: none
	Refetch bool
	Status  time.Duration // interval at which the crawl prints its state to standard error; 0: never
	Serve   string        // address:port at which readers are answered during the crawl; "": none
	Report  string        // name of the report file; "-": standard output; "": no report
	JSON    bool

	// returns the settings after those of the cluster have changed
	Reload func(context.Context) (*config.Config, error)
}

// crawlSettings are the settings that the verb crawl has as flags, in the order in which its help
// lists them.
const crawlSettings = "scope include exclude depth sitemaps requisites render canonical drop-parameters " +
	"allow-private max-pages max-bytes max-time max-host-urls max-body memory min-free delay adaptive concurrency " +
	"per-host per-address timeout recrawl-min recrawl-max crawler purpose preferences for strict dialect contact " +
	"signature-key signature-agent credentials cookies preserve index chromium metrics cluster node " +
	"cluster-credentials cluster-tls-ca cluster-tls-certificate cluster-tls-key cluster-key-file partitions lease " +
	"lease-margin wait"

func (c *Command) crawlVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crawl [URL… | JOB]",
		Short: "Crawl, archive and index pages as their publishers permit",
		Long: `Crawl from the URLs given, or from the seeds of a job of the configuration file, or continue where
the last crawl stopped. Archive and index pages, and execute the requests in robots.txt, as their publishers
permit.

The first Ctrl-C completes the visits under way and prints the summary; the second stops at once. Neither
loses data, and acapcrawl crawl continues. The signal SIGUSR1 prints the status.`,
		Example: `  acapcrawl crawl https://example.com/
  acapcrawl crawl --depth 1 --scope prefix https://example.com/news/
  acapcrawl crawl
  acapcrawl crawl news
  acapcrawl crawl --cluster nats://n1:4222,nats://n2:4222,nats://n3:4222 --node a https://example.com/`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	refetch := flags.Bool("refetch", false, "visit archived pages again, and read robots.txt again")
	out := jsonFlag(cmd)
	status := flags.Duration("status", 0, "print the status to standard error every `DURATION`; with --json as a "+
		"line of JSON")
	report := flags.String("report", "", "append to `FILE` a line of JSON for every page that is not fetched, "+
		"followed, archived or indexed; - is standard output")
	serve := flags.String("serve", "", "show the archive and the crawl in browsers at `ADDRESS`, while it runs")
	for name := range strings.FieldsSeq(crawlSettings) {
		setting(flags, name)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := crawlRequest{Refetch: *refetch, Status: *status, Report: *report, Serve: *serve, JSON: out.JSON()}
		switch {
		case r.Status < 0:
			return misuse("--status 10s", "--status: %s is not a positive duration", r.Status)
		case r.Report == "-" && r.JSON:
			return misuse("--report FILE", "--report -: with --json the summary goes to standard output")
		}
		if err := c.readSeeds(cmd, args, &r); err != nil {
			return err
		}
		cfg, err := c.joinSettings(cmd.Context(), cmd, false)
		if err != nil {
			return err
		}
		r.Reload = func(ctx context.Context) (*config.Config, error) { return c.joinSettings(ctx, cmd, true) }
		if len(r.Seeds) == 0 && cfg.Cluster.Servers == "" {
			if _, err := os.Stat(filepath.Join(cfg.Data, "frontier.db")); err != nil {
				return misuse("acapcrawl crawl https://example.com/",
					"no URL is given, and the data directory %s has no crawl to continue", cfg.Data)
			}
		}
		return c.runCrawl(cmd.Context(), cfg, r)
	}
	return cmd
}

// readSeeds reads the arguments of crawl: addresses, or the name of a job.
func (c *Command) readSeeds(cmd *cobra.Command, args []string, r *crawlRequest) error {
	name := slices.IndexFunc(args, func(arg string) bool { return !strings.ContainsAny(arg, ":/.") })
	if name >= 0 && len(args) > 1 {
		if j, err := c.namedJob(cmd, args[name]); err == nil {
			return misuse("acapcrawl crawl "+j.Name, "%s takes either one job or URLs, not %q", cmd.CommandPath(),
				strings.Join(args, " "))
		}
	} else if name >= 0 {
		j, err := c.namedJob(cmd, args[0])
		if err != nil {
			return err
		}
		c.job, r.Job, args = j.Name, j, j.Seeds
	}
	for _, arg := range args {
		u, err := webURL(arg)
		if err != nil {
			return err
		}
		r.Seeds = append(r.Seeds, u)
	}
	return nil
}

func (c *Command) runCrawl(ctx context.Context, cfg *config.Config, r crawlRequest) (err error) {
	defer c.collectLess(cfg)()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := &watch{screen: newProgress(c.Stderr), asJSON: r.JSON, every: r.Status,
		stopping: func() bool { return ctx.Err() != nil }}
	defer w.listen()()
	o := site.CrawlOptions{Job: r.Job.Name, Keep: r.Job.Keep, Quota: r.Job.Quota, Refetch: r.Refetch,
		Progress: w.progress, Every: redraw, Judging: func() {
			w.screen.Set("Judging archived pages again; if you interrupt this, the next run continues it.")
		}}
	for _, u := range r.Seeds {
		o.Seeds = append(o.Seeds, u.String())
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
		o.Skipped, o.Received = report.skipped, report.received
		o.Blocked, o.Unrendered = report.skipped, report.unrendered
		o.Progress = func(p crawler.Progress) {
			report.flush()
			w.progress(p)
		}
		defer func() { err = errors.Join(err, report.Close()) }()
	}
	end, err := c.serveCrawl(ctx, cfg, r, w)
	if err != nil {
		return err
	}
	defer end()
	sum, err := c.crawl(ctx, cfg, logger(w.screen, cfg), o)
	for err == nil && sum.Changed && ctx.Err() == nil {
		fmt.Fprintln(w.screen, "The settings of the cluster have changed; the crawl goes on with the new ones.")
		if cfg, err = r.Reload(ctx); err == nil {
			sum, err = c.crawl(ctx, cfg, logger(w.screen, cfg), o)
		}
	}
	w.screen.Done()
	switch {
	case disk.Full(err):
		return failure("", fmt.Errorf("the disk of %s is full: free space there, and run again; nothing is lost (%w)",
			cfg.Data, err))
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

// serveCrawl starts what a crawl answers over HTTP: metrics, and the pages for readers. The caller must call
// end.
func (c *Command) serveCrawl(ctx context.Context, cfg *config.Config, r crawlRequest, w *watch) (end func(),
	err error) {
	endMetrics := func() {}
	if cfg.Metrics != "" {
		var at string
		if at, endMetrics, err = serveMetrics(ctx, cfg.Metrics, w.state); err != nil {
			return nil, err
		}
		fmt.Fprintf(w.screen, "Metrics are answered at http://%s/metrics.\n", at)
	}
	if r.Serve == "" {
		return endMetrics, nil
	}
	shown := *cfg
	shown.Listen = r.Serve
	at, endReaders, err := c.serveBeside(ctx, &shown, w.screen)
	if err != nil {
		endMetrics()
		return nil, err
	}
	fmt.Fprintf(w.screen, "The archive is shown at %s while the crawl runs.\n", at)
	return func() {
		_ = endReaders() // the crawl has ended, so nobody waits for these answers
		endMetrics()
	}, nil
}

// gcPercent is the value of GOGC, in percent, for a crawl that does not index. A crawl without an
// index keeps little in memory, so garbage collections can be rare.
const gcPercent = 300

// collectLess sets the garbage collector to gcPercent. It does nothing if the crawl indexes,
// because indexing keeps more in memory, or if the user has set GOGC. undo restores the previous
// value.
func (c *Command) collectLess(cfg *config.Config) (undo func()) {
	if cfg.Index || slices.ContainsFunc(c.Env, func(pair string) bool { return strings.HasPrefix(pair, "GOGC=") }) {
		return func() {}
	}
	before := debug.SetGCPercent(gcPercent)
	return func() { debug.SetGCPercent(before) }
}

// outcome returns an error if a crawl ended without an error but fetched no page.
func outcome(sum crawler.Summary) error {
	switch {
	case sum.Stopped != nil:
		return sum.Stopped
	case sum.SeedsFailed() == "":
		return nil
	case sum.SeedsRefused:
		return refusal(errors.New(sum.SeedsFailed()))
	}
	return failure("", errors.New(sum.SeedsFailed()))
}

// crawl opens the data directory, crawls, and closes it.
func (c *Command) crawl(ctx context.Context, cfg *config.Config, log *slog.Logger, o site.CrawlOptions) (
	sum site.CrawlSummary, err error) {
	sum.Data, sum.Erased = cfg.Data, []archive.Erasure{}
	who, err := site.RecordedCrawler(cfg, config.Environment, config.File)
	if err != nil {
		return sum, faultOf(err)
	}
	open := site.Options{Create: true, Crawler: &who, Log: log, Clock: c.clock}
	if o.Refetch {
		open.Reread = time.Now()
	}
	d, err := c.open(cfg, open)
	if err != nil {
		return sum, err
	}
	erased, endWatch := d.WatchErased() // verbs of other processes may erase pages until the directory is closed
	o.Ready = d.serve
	sum, err = d.Crawl(ctx, o)
	err = errors.Join(faultOf(err), d.Close())
	endWatch()
	sum.Erased = erased.List()
	return sum, err
}

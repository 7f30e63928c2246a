package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// crawlRequest holds the arguments of crawl that are not settings.
type crawlRequest struct {
	Seeds   []*url.URL // empty: continue with the frontier of the data directory
	Refetch bool
	Status  time.Duration // between two statuses on standard error; 0: none
	Report  string        // the file of the report, "-" for standard output, "" for none
	JSON    bool
}

// crawlSettings are the settings that crawl takes as flags, in the order of its help.
const crawlSettings = "scope include exclude depth sitemaps requisites canonical drop-parameters allow-private max-pages max-bytes" +
	" max-time max-host-urls max-body memory min-free delay adaptive concurrency per-host per-address timeout recrawl-min" +
	" recrawl-max crawler purpose strict dialect contact signature-key signature-agent preserve index chromium metrics"

func (c *Command) crawlVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crawl [URL…]",
		Short: "Crawl, archive and index pages as their publishers permit",
		Long: `Crawl from the URLs given, or continue where the last crawl stopped. Archive and index pages, and execute the requests in robots.txt,
as their publishers permit.

The first Ctrl-C completes the visits under way and prints the summary; the second stops at once. Neither loses data, and acapcrawl crawl
continues. The signal SIGUSR1 prints the status.`,
		Example: `  acapcrawl crawl https://example.com/
  acapcrawl crawl --depth 1 --scope prefix https://example.com/news/
  acapcrawl crawl`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	refetch := flags.Bool("refetch", false, "visit archived pages again, and read robots.txt again")
	out := jsonFlag(cmd)
	status := flags.Duration("status", 0, "print the status to standard error every `DURATION`; with --json as a line of JSON")
	report := flags.String("report", "", "append to `FILE` a line of JSON for every page that is not fetched, followed, archived or indexed; - is standard output")
	for name := range strings.FieldsSeq(crawlSettings) {
		setting(flags, name)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := crawlRequest{Refetch: *refetch, Status: *status, Report: *report, JSON: out.JSON()}
		switch {
		case r.Status < 0:
			return misuse("--status 10s", "--status: %s is not a positive duration", r.Status)
		case r.Report == "-" && r.JSON:
			return misuse("--report FILE", "--report -: with --json the summary goes to standard output")
		}
		for _, arg := range args {
			u, err := webURL(arg)
			if err != nil {
				return err
			}
			r.Seeds = append(r.Seeds, u)
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		if len(r.Seeds) == 0 {
			if _, err := os.Stat(filepath.Join(cfg.Data, "frontier.db")); err != nil {
				return misuse("acapcrawl crawl https://example.com/", "no URL is given, and the data directory %s has no crawl to continue", cfg.Data)
			}
		}
		return c.runCrawl(cmd.Context(), cfg, r)
	}
	return cmd
}

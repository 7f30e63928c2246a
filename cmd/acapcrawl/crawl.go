package main

import (
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// crawlRequest is what crawl was asked for, beside the configuration.
type crawlRequest struct {
	Seeds   []*url.URL // empty: go on with the frontier of the data directory
	Refetch bool
	Status  time.Duration // between two statuses on standard error; 0: none
	Report  string        // the file of the report, "-" for standard output, "" for none
	JSON    bool
}

// crawlFlags are the flags of crawl as its help groups them.
var crawlFlags = []flagGroup{
	{"Scope", []string{"scope", "include", "exclude", "depth", "sitemaps", "requisites", "canonical", "drop-parameters", "allow-private"}},
	{"Limits", []string{"max-pages", "max-bytes", "max-time", "max-host-urls", "max-body", "memory", "min-free"}},
	{"Speed", []string{"delay", "adaptive", "concurrency", "per-host", "per-address", "timeout"}},
	{"Revisits", []string{"refetch", "recrawl-min", "recrawl-max"}},
	{"Identity and policy", []string{"crawler", "purpose", "strict", "dialect", "contact", "signature-key",
		"signature-agent"}},
	{"Archiving", []string{"preserve", "index", "chromium"}},
	{"Output", []string{"format", "json", "status", "report", "metrics"}},
}

func (c *Command) crawlVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crawl [URL…]",
		Short: "Crawl from the seeds, or go on where the last crawl stopped, as the publishers permit",
		Long: `Crawl from the seeds, or go on where the last crawl stopped, as the publishers permit.

The first Ctrl-C lets the visits under way end and prints the summary; the second stops at once. Nothing that was
acknowledged is lost by either, and acapcrawl crawl goes on. The signal SIGUSR1 has the status printed.`,
		Example: `  acapcrawl crawl https://example.com/
  acapcrawl crawl --depth 1 --scope prefix https://example.com/news/
  acapcrawl crawl`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	refetch := flags.Bool("refetch", false, "visit again what is held, and read robots.txt again")
	out := jsonFlag(cmd)
	status := flags.Duration("status", 0, "print the status every `DURATION` on standard error, with --json as a line of JSON")
	report := flags.String("report", "", "add to `FILE` a line of JSON for all that is not fetched, followed, kept or indexed; - is standard output")
	for _, group := range crawlFlags {
		for _, name := range group.names {
			if flags.Lookup(name) == nil {
				setting(flags, name)
			}
		}
	}
	groupFlags(cmd, crawlFlags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := crawlRequest{Refetch: *refetch, Status: *status, Report: *report, JSON: out.JSON()}
		switch {
		case r.Status < 0:
			return misuse("--status 10s", "--status: %s is no time to wait", r.Status)
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
				return misuse("acapcrawl crawl https://example.com/", "no seed is given, and the data directory %s has nothing to go on with", cfg.Data)
			}
		}
		return c.runCrawl(cmd.Context(), cfg, r)
	}
	return cmd
}

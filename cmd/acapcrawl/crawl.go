package main

import (
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// crawlRequest is what crawl was asked for, beside the configuration.
type crawlRequest struct {
	Seeds   []*url.URL // empty: go on with the frontier of the data directory
	Refetch bool
	JSON    bool
}

func (c *Command) crawlVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crawl [URL…]",
		Short: "Crawl from the seeds, or go on where the last crawl stopped, as the publishers permit",
		Example: `  acapcrawl crawl https://example.com/
  acapcrawl crawl --depth 1 --scope prefix https://example.com/news/
  acapcrawl crawl`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	for _, name := range []string{"crawler", "purpose", "scope", "include", "exclude", "depth", "max-pages", "max-bytes", "max-time", "max-host-urls",
		"sitemaps", "requisites", "canonical", "drop-parameters", "recrawl-min", "recrawl-max", "delay", "adaptive", "concurrency", "per-host",
		"per-address", "timeout", "preserve", "index", "allow-private", "strict", "dialect", "signature-key", "signature-agent", "metrics"} {
		setting(flags, name)
	}
	refetch := flags.Bool("refetch", false, "visit again what is held, and read robots.txt again")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := crawlRequest{Refetch: *refetch, JSON: *asJSON}
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

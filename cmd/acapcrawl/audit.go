package main

import (
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// auditRequest is what conformance audit was asked for, beside the configuration.
type auditRequest struct {
	URLs  []*url.URL
	Pages int
	Now   time.Time
	Out   *output
}

func (c *Command) conformanceAudit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit URL…",
		Short: "Look at a publisher's site, and say what its policy says, to whom, and where it contradicts itself",
		Long: `Look at a publisher's site: robots.txt, the files that it refers to, and some pages, which are chosen so that as many
statements as can be have an effect on one of them. The report says what is expressed, what is wrong with it, where a page contradicts
its site, and what that comes to for every usage and every crawler that is named. Nothing is requested that may not be crawled, and
nothing more of a site that answers with 429, or with 503 and Retry-After.
With --format html the report is a page that can be handed on or printed.
The exit status is 1 where something should be mended, 3 where no page may be crawled, and 4 where the site cannot be read.`,
		Example: `  acapcrawl conformance audit --format html -o report.html https://example.com/
  acapcrawl conformance audit --pages 5 --json https://example.com/news/`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	pages := flags.Int("pages", 20, "request at most `N` pages")
	judgedCrawler(flags)
	for _, name := range []string{"purpose", "delay", "timeout", "allow-private", "dialect"} {
		setting(flags, name)
	}
	flags.String("as-of", "", "judge dates as of `TIME` (RFC 3339)")
	out := c.reportFlags(cmd, textForm, jsonForm, htmlForm)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := auditRequest{Pages: *pages, Out: out}
		switch {
		case len(args) == 0:
			return misuse(cmd.CommandPath()+" https://example.com/", "%s takes URLs", cmd.CommandPath())
		case r.Pages < 1:
			return misuse("--pages 20", "--pages: %d is not a number of pages", r.Pages)
		}
		for _, arg := range args {
			u, err := webURL(arg)
			if err != nil {
				return err
			}
			r.URLs = append(r.URLs, u)
		}
		var err error
		if r.Now, err = timeFlag(flags, "as-of"); err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runAudit(cmd.Context(), cfg, r)
	}
	return cmd
}

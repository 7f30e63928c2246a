package main

import (
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// auditRequest holds the arguments of conformance audit that are not settings.
type auditRequest struct {
	URLs  []*url.URL
	Pages int
	Now   time.Time
	Out   *output
}

func (c *Command) conformanceAudit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit URL…",
		Short: "Report what a site's policy says to whom, and where it contradicts itself",
		Long: `Read a publisher's robots.txt, the files that it refers to, and some pages, chosen so that as many statements as possible apply to one of
them. The report lists the statements, their mistakes, the contradictions between pages and robots.txt, and the decisions for every usage
and every crawler that is named. The command requests no page that may not be crawled, and nothing more from a site that answers with
429, or with 503 and Retry-After. With --format html the report is a page to hand on or print.

The exit status is 1 if something should be corrected, 3 if no page may be crawled, and 4 if the site cannot be read.`,
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
	flags.String("as-of", "", "apply dates as of `TIME` (RFC 3339)")
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

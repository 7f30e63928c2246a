package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/conformance"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/site"
)

func (c *Command) conformanceVerb() *cobra.Command {
	return c.group("conformance", "Test engines, crawlers and sites against the specifications",
		c.conformanceRun(), c.conformanceSite(), c.conformanceAudit())
}

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
		Short: "Report what a site's policy says, and its contradictions",
		Long: `Read a publisher's robots.txt, the files that it refers to, and some pages, chosen so that as
many statements as possible apply to one of them. The report lists the statements, their mistakes, the
contradictions between pages and robots.txt, and the decisions for every usage and every crawler that is
named. Of newer preferences it reports train-ai, ai-use, ai-index and tdm, and what each vocabulary says where
they differ; --preferences none leaves this out. The command requests no page that may not be crawled, and
nothing more from a site that answers with 429, or with 503 and Retry-After. With --format html the report is
a page to hand on or print.

The exit status is 1 if something should be corrected, 3 if no page may be crawled, and 4 if the site cannot
be read.`,
		Example: `  acapcrawl conformance audit --format html -o report.html https://example.com/
  acapcrawl conformance audit --pages 5 --json https://example.com/news/`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	pages := flags.Int("pages", 20, "request at most `N` pages")
	judgedCrawler(flags)
	for _, name := range []string{"purpose", "preferences", "delay", "timeout", "allow-private", "dialect"} {
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

// runAudit audits the sites of the given URLs one after another. When ctx ends, runAudit reports
// what was found until then.
func (c *Command) runAudit(ctx context.Context, cfg *config.Config, r auditRequest) error {
	o := check.Options{Now: r.Now, Pilot: cfg.Policy.Dialect == config.DialectPilot,
		Vocabularies: site.CrawlerOf(cfg).Vocabularies}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	starts, err := byOrigin(r.URLs)
	if err != nil {
		return err
	}
	audits := []*conformance.Audit{}
	for i, start := range starts {
		if ctx.Err() != nil {
			fmt.Fprintf(c.Stderr, "%s not checked.\n", several(len(starts)-i, "site"))
			break
		}
		a, err := c.audit(ctx, cfg, r, o, start)
		if err != nil {
			return err
		}
		audits = append(audits, a)
	}
	if err := c.writeReport(r.Out, func(w io.Writer) error { return printAudits(w, r.Out.Form, audits) }); err != nil {
		return err
	}
	return verdictOf(audits)
}

// byOrigin returns a list of URLs for each origin in urls.
func byOrigin(urls []*url.URL) (out [][]*url.URL, err error) {
	at := map[string]int{}
	for _, u := range urls {
		key, err := policy.Key(u)
		if err != nil {
			return nil, misuse("", "%w", err)
		}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], u)
	}
	return out, nil
}

func (c *Command) audit(ctx context.Context, cfg *config.Config, r auditRequest, o check.Options,
	start []*url.URL) (*conformance.Audit, error) {
	limited := *cfg
	limited.MaxPages = r.Pages // the limit also counts requests that follow redirects
	s, err := c.openLiveSite(&limited, start)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.Fetcher = budgeted{s.Fetcher}
	tell := func(requested, of int, address string) {
		fmt.Fprintf(c.Stderr, "page %d of at most %d: %s\n", requested+1, of, strings.Map(visible, address))
	}
	return conformance.AuditSiteOf(ctx, start, conformance.AuditSite{Site: s.Site, Sitemap: s.sitemap},
		conformance.AuditOptions{Pages: r.Pages, Check: o, Tell: tell})
}

// budgeted returns conformance.ErrSpent if the gate permits no more page requests because the limit
// is reached. If the limit is reached only at a redirect of the page, the page is reported as
// unavailable.
type budgeted struct{ check.Fetcher }

func (b budgeted) Page(ctx context.Context, rawurl string) (*page.Page, error) {
	pg, err := b.Fetcher.Page(ctx, rawurl)
	if r, refused := errors.AsType[*gate.Refusal](err); refused && r.Rule == gate.RuleBudget && r.URL == rawurl {
		return nil, fmt.Errorf("%w: %w", conformance.ErrSpent, err)
	}
	return pg, err
}

// sitemap fetches and reads a sitemap in the same way as a crawl.
func (s *liveSite) sitemap(ctx context.Context, address string) (pages, more []string, err error) {
	t, err := s.gate.Get(ctx, gate.Sitemap, address)
	if err != nil {
		return nil, nil, err
	}
	last := t.Hops[len(t.Hops)-1]
	if last.Status != http.StatusOK {
		return nil, nil, fmt.Errorf("it answers with status %d", last.Status)
	}
	return crawler.Sitemap(last.Body)
}

func printAudits(w io.Writer, as form, audits []*conformance.Audit) error {
	switch as {
	case htmlForm:
		return conformance.WriteAuditHTML(w, audits)
	case jsonForm:
		return display.Encoder(w).Encode(map[string]any{"sites": audits})
	}
	for i, a := range audits {
		var b strings.Builder
		if i > 0 {
			b.WriteString("\n")
		}
		if err := a.WriteText(&b); err != nil {
			return err
		}
		if _, err := io.WriteString(w, strings.Map(visible, b.String())); err != nil {
			return err
		}
	}
	return nil
}

// verdictOf returns the error that sets the exit status of conformance audit. Sites that cannot be
// read take precedence over sites that permit nothing.
func verdictOf(audits []*conformance.Audit) error {
	var weighs, refused bool
	for _, a := range audits {
		switch {
		case !a.Complete:
		case a.Status == string(policy.Unreachable), !a.Fetched() && !a.Refused():
			return failure("", fmt.Errorf("%s: none of its pages was available", a.Site))
		case a.Refused():
			refused = true
		}
		weighs = weighs || a.Weighs()
	}
	switch {
	case refused:
		return refusal(errors.New("no page may be crawled"))
	case weighs:
		return nothing("")
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/site"
)

// sweepRequest holds the arguments of sweep that are not settings.
type sweepRequest struct {
	judging
	DryRun bool
	JSON   bool
}

func (c *Command) sweepVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Erase what time limits and today's policy no longer permit",
		Long: `Erase copies and index entries whose time limit has passed, that the policy last read
prohibits, or that were taken down. Data that may stay in another form is rewritten. The dates of a page stay,
so that no limit starts again. Nothing is erased of a site whose policy could not be read.

A sweep checks only the pages that are due: pages that have changed since they were last checked, that
have reached a time limit, or whose policy has changed. It checks all pages if the crawler that the
policies apply to, or this program, has changed.`,
		Example: `  acapcrawl sweep --dry-run
  acapcrawl sweep --refresh
  acapcrawl sweep --dry-run --as-of 2027-01-01T00:00:00Z`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	dryRun := flags.Bool("dry-run", false, "print what would be erased, and by which line; change nothing")
	judgedCrawler(flags)
	setting(flags, "purpose")
	setting(flags, "preferences")
	setting(flags, "for")
	judge := judgingFlags(cmd, "from-now", "refresh")
	clusterFlags(cmd)
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := sweepRequest{DryRun: *dryRun, JSON: out.JSON()}
		var err error
		if r.judging, err = judge(); err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		if c.asksNodes(cfg) {
			return c.onEachNode(cmd.Context(), cfg, callOf(cmd, nil), r.JSON)
		}
		return c.runSweep(cmd.Context(), cfg, r)
	}
	return cmd
}

func (c *Command) runSweep(ctx context.Context, cfg *config.Config, r sweepRequest) (err error) {
	d, err := c.openHeld(ctx, cfg, r.Refresh)
	if err != nil {
		return c.orNothing(r.JSON, site.SweepSummary{DryRun: r.DryRun, Erased: []archive.Erasure{}}, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	screen := newProgress(c.Stderr)
	o := site.SweepOptions{AsOf: r.AsOf, DryRun: r.DryRun, Progress: func(done int) {
		screen.Count(done, 0, "page")
	}}
	if !r.JSON {
		o.Each = func(item holdings.Swept) {
			screen.Done()
			fmt.Fprintln(c.Stdout, sweptInWords(item, r.DryRun))
		}
	}
	sum, err := d.Sweep(ctx, o)
	screen.Done()
	switch {
	case err != nil: // print no counts: they would not include the items that were not examined
		return err
	case r.JSON:
		return c.printJSON(sum)
	}
	if err := printSwept(c.Stdout, sum.SweepCounts, r.DryRun); err != nil || r.DryRun {
		return err
	}
	if len(sum.Erased) > 0 {
		fmt.Fprintln(c.Stdout)
		return printErased(c.Stdout, sum.Erased)
	}
	return nil
}

// sweptInWords returns one swept item as one line.
func sweptInWords(s holdings.Swept, dry bool) string {
	what := s.What
	if s.Version != 0 {
		what = fmt.Sprintf("%s %d", what, s.Version)
	}
	became := "is erased"
	switch {
	case s.Anew && dry:
		became = "would be rebuilt"
	case s.Anew:
		became = "is rebuilt"
	case dry:
		became = "would be erased"
	}
	why := s.Why
	if s.Line != "" && !strings.Contains(why, s.Line) {
		why += ", by " + s.Line
	}
	return fmt.Sprintf("%s: %s %s: %s", s.URL, what, became, why)
}

// printSwept prints the counts of a sweep.
func printSwept(w io.Writer, n holdings.SweepCounts, dry bool) error {
	heading := "Erased"
	if dry {
		heading = "Would be erased"
	}
	var b strings.Builder
	checked := several(n.Pages, "page") + " checked"
	if n.Pages == 0 {
		checked = "No page is due."
	}
	b.WriteString(checked + "\n")
	if n == (holdings.SweepCounts{Pages: n.Pages, Unjudged: n.Unjudged}) {
		b.WriteString("Everything that is archived may be kept.\n")
	}
	b.WriteString(block(heading,
		row{n.Copies, "copies"},
		row{n.Entries, "index entries"},
		row{n.Excerpts, "excerpts, or what else is kept to present a page"},
		row{n.Pictures, "thumbnails that are stored in addition to a page"},
		row{n.Records, "records of pages without anything else"}))
	b.WriteString(block("Not erased",
		row{n.Renewed, "index entries rebuilt"},
		row{n.Unjudged, "pages left unchanged, because the policy of their site could not be read"}))
	_, err := io.WriteString(w, b.String())
	return err
}

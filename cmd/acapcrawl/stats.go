package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/site"
)

func (c *Command) statsVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use: "stats", Short: "Report on a data directory: by site, over time, and by reason", Args: noArgs,
		Long: `Count what the data directory contains: pages, captures and bytes by site and by month, the sizes of its
files, what policy refuses and by which line, what has failed, and what was erased. With --format html, write a
report that can be passed on; it contains addresses and policy lines, but nothing of the pages. A crawl may run
meanwhile.`,
		Example: "  acapcrawl stats\n  acapcrawl stats --format html -o report.html",
	}
	out := c.reportFlags(cmd, textForm, jsonForm, htmlForm)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runStats(cmd.Context(), cfg, out)
	}
	localOnly(cmd, "each node has the pages of its own hosts",
		"acapcrawl archive stats --cluster …, which counts those of all nodes")
	return cmd
}

func (c *Command) runStats(ctx context.Context, cfg *config.Config, out *output) (err error) {
	d, err := c.openHeld(ctx, cfg, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	screen := newProgress(c.Stderr)
	defer screen.Done()
	s, err := d.Stats(ctx, func(done int) { screen.Count(done, 0, "address") })
	if err != nil {
		return err
	}
	screen.Done()
	return c.writeReport(out, func(w io.Writer) error {
		switch out.Form {
		case jsonForm:
			return display.Encoder(w).Encode(s)
		case htmlForm:
			return printStatsPage(w, s)
		}
		return printStats(w, s)
	})
}

// shownReasons is the number of reasons that are printed as text.
const shownReasons = 20

func printStats(w io.Writer, s site.Stats) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s, %s\n", s.Data, s.Made.Format(time.RFC3339))
	fmt.Fprintf(out, "%s, %s; %s in the index\n", several(s.Archive.Captures, "capture"), size(s.Archive.Bytes),
		several(s.Indexed, "page"))
	fmt.Fprintf(out, "on disk: archive %s, index %s, queue %s, other %s\n", size(s.Disk.Archive), size(s.Disk.Index),
		size(s.Disk.Queue), size(s.Disk.Other))
	lines := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(lines, "\npages\tcaptures\tbytes\tqueued\trefused\tfailed\t  site")
	for _, one := range s.Sites {
		fmt.Fprintf(lines, "%s\t%s\t%s\t%s\t%s\t%s\t  %s\n", number(one.Pages), number(one.Captures), size(one.Bytes),
			number(one.Queued), number(one.Refused+one.Unreachable), number(one.Failed), display.Line(one.Site))
	}
	lines.Flush() // out keeps the error
	lines = tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(lines, "\ncaptures\tbytes\t  month")
	for _, m := range s.Months {
		fmt.Fprintf(lines, "%s\t%s\t  %s\n", number(m.Captures), size(m.Bytes), m.Month)
	}
	lines.Flush()
	printReasons(out, "Refused by policy", s.Refusals)
	printReasons(out, "Failed", s.Failures)
	if len(s.Erased) > 0 {
		fmt.Fprintln(out)
		_ = printErased(out, s.Erased) // out keeps the error
	}
	if len(s.Jobs) > 0 {
		fmt.Fprintln(out, "\nJobs")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Jobs)) {
		fmt.Fprintf(out, "  %s: %s\n", display.Line(name), display.Line(runInWords(s.Jobs[name])))
	}
	return out.Flush()
}

func printReasons(w io.Writer, title string, list []site.ReasonStats) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for i, r := range list {
		if i == shownReasons {
			fmt.Fprintf(w, "  and %s more: --format json lists all\n", several(len(list)-i, "reason"))
			return
		}
		fmt.Fprintf(w, "  %s %s\n", number(r.Addresses), display.Line(strings.TrimSpace(r.Usage+" "+r.Why)))
	}
}

// runInWords says how the last run of a job ended.
func runInWords(r site.JobRun) string {
	if r.Ended.IsZero() {
		return "no crawl has ended"
	}
	text := several(r.Summary.Fetched, "page") + " fetched, " + r.Ended.Format(time.DateOnly)
	switch {
	case r.Error != "":
		return text + ", failed: " + r.Error
	case !r.Complete:
		return text + ", interrupted"
	}
	return text
}

//go:embed stats.html
var statsPage string

// printStatsPage writes the statistics as a page that needs nothing else.
func printStatsPage(w io.Writer, s site.Stats) error {
	page, err := template.New("stats").Funcs(template.FuncMap{"number": number[int], "size": size,
		"shown": display.Line, "date": func(t time.Time) string { return t.Format(time.DateOnly) },
		"bar": barOf(s.Months), "run": runInWords, "noun": func(n int, noun string) string {
			_, noun, _ = strings.Cut(several(n, noun), " ")
			return noun
		}}).Parse(statsPage)
	if err != nil {
		return err
	}
	return page.Execute(w, s)
}

// barOf returns a function that says how long the bar of a month is, in percent of the longest.
func barOf(months []site.MonthStats) func(captures int) int {
	most := 1
	for _, m := range months {
		most = max(most, m.Captures)
	}
	return func(captures int) int { return (100*captures + most - 1) / most }
}

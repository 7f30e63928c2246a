package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/holdings"
)

// sweepSummary is what sweep --json prints.
type sweepSummary struct {
	holdings.SweepCounts
	Erased []archive.Erasure `json:"erased"` // with DryRun: what would be
	DryRun bool              `json:"dry_run"`
}

func (c *Command) runSweep(ctx context.Context, cfg *config.Config, r sweepRequest) (err error) {
	s, err := c.openHeld(ctx, cfg, r.Refresh)
	if err != nil {
		return c.orNothing(r.JSON, sweepSummary{DryRun: r.DryRun, Erased: []archive.Erasure{}}, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if !r.DryRun {
		if err := c.withFrontier(cfg.Data, cfg.MaxHostURLs, s.barLed); err != nil {
			return err
		}
	}
	erased, endWatch := s.erased.watch()
	defer endWatch()
	if r.DryRun {
		erased = &archive.Erasures{}
	}
	taken, screen := map[string]string{}, newProgress(c.Stderr)
	told := func(item holdings.Swept) {
		if r.DryRun && item.What == holdings.SweptCopy {
			erased.Add(archive.Tombstone{URL: item.URL, Captures: 1, Reason: item.Reason, Line: item.Line})
		}
		if item.TakenDown {
			taken[item.URL] = item.Line
		}
		if !r.JSON {
			screen.Done()
			fmt.Fprintln(c.Stdout, sweptInWords(item, r.DryRun))
		}
	}
	held, err := s.archive.Stats()
	if err != nil {
		return err
	}
	counts, err := s.holdings.Sweep(ctx, holdings.SweepOptions{AsOf: r.AsOf, DryRun: r.DryRun, Policies: s.held(),
		Progress: func(n int) { screen.Count(n, held.Resources, "page") }}, told)
	screen.Done()
	if err == nil && !r.DryRun {
		err = c.execute(ctx, cfg, s)
		for address, line := range taken {
			err = errors.Join(err, takenDown(s.executor(cfg, nil), address, line))
		}
	}
	if err == nil && !r.DryRun && c.owner == nil { // the process that has the directory does it in its own time
		err = s.settle(ctx, cfg, s.executor(cfg, nil), time.Time{})
	}
	switch {
	case err != nil: // what is gone was told, and what is left was not judged
		return err
	case r.JSON:
		return c.printJSON(sweepSummary{counts, erased.List(), r.DryRun})
	}
	if err := printSwept(c.Stdout, counts, r.DryRun); err != nil || r.DryRun {
		return err
	}
	if list := erased.List(); len(list) > 0 {
		fmt.Fprintln(c.Stdout)
		return printErased(c.Stdout, list)
	}
	return nil
}

// execute has the action requests noted and done that the policies last read make: sweep --refresh may have read new ones.
func (c *Command) execute(ctx context.Context, cfg *config.Config, s *store) error {
	done := false
	err := c.withFrontier(cfg.Data, cfg.MaxHostURLs, func(f *crawler.Frontier) error {
		done = true
		return s.resume(ctx, s.executor(cfg, f), f)
	})
	if err != nil || done {
		return err
	}
	return s.resume(ctx, s.executor(cfg, nil), nil)
}

// version names the version of policy that is in force for u.
func (h held) version(u *url.URL) archive.PolicyVersion {
	o, known := h.Held(u)
	if !known || o.Since.IsZero() {
		return archive.PolicyVersion{}
	}
	return archive.PolicyVersion{Origin: o.Key, Since: o.Since}
}

// sweptInWords is one item on one line.
func sweptInWords(s holdings.Swept, dry bool) string {
	what := s.What
	if s.Version != 0 {
		what = fmt.Sprintf("%s %d", what, s.Version)
	}
	became := "is gone"
	switch {
	case s.Anew && dry:
		became = "would be made anew"
	case s.Anew:
		became = "is made anew"
	case dry:
		became = "would go"
	}
	why := s.Why
	if s.Line != "" && !strings.Contains(why, s.Line) {
		why += ", by " + s.Line
	}
	return fmt.Sprintf("%s: %s %s: %s", s.URL, what, became, why)
}

// printSwept prints the counts of a sweep.
func printSwept(w io.Writer, n holdings.SweepCounts, dry bool) error {
	heading := "Gone"
	if dry {
		heading = "Would go"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s judged\n", several(n.Pages, "page"))
	if n == (holdings.SweepCounts{Pages: n.Pages, Unjudged: n.Unjudged}) {
		b.WriteString("Everything that is held may be held.\n")
	}
	b.WriteString(block(heading,
		row{n.Copies, "copies"},
		row{n.Entries, "index entries"},
		row{n.Excerpts, "excerpts, or what else is kept to present a page"},
		row{n.Pictures, "thumbnails that are held beside a page"},
		row{n.Records, "records of pages of which nothing else was left"}))
	b.WriteString(block("Otherwise",
		row{n.Renewed, "index entries made anew"},
		row{n.Unjudged, "pages left as they are, since the policy of their site could not be read"}))
	_, err := io.WriteString(w, b.String())
	return err
}

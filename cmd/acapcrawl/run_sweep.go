package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/holdings"
)

// sweepSummary is what sweep --json prints.
type sweepSummary struct {
	holdings.SweepCounts
	DryRun bool `json:"dry_run"`
}

func (c *Command) runSweep(ctx context.Context, cfg *config.Config, r sweepRequest) (err error) {
	s, err := c.openHeld(ctx, cfg, r.Refresh)
	if err != nil {
		return c.orNothing(r.JSON, sweepSummary{DryRun: r.DryRun}, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	taken, screen := map[string]int{}, newProgress(c.Stderr)
	told := func(item holdings.Swept) {
		if item.TakenDown && item.What == holdings.SweptCopy {
			taken[item.URL]++
		}
		if !r.JSON {
			screen.Done()
			fmt.Fprintln(c.Stdout, sweptInWords(item, r.DryRun))
		}
	}
	counts, err := s.holdings.Sweep(ctx, holdings.SweepOptions{AsOf: r.AsOf, DryRun: r.DryRun, Policies: held{s.policy},
		Progress: func(n int) { screen.Set("%s judged", several(n, "page")) }}, told)
	screen.Done()
	if err == nil && !r.DryRun {
		err = c.execute(ctx, cfg, s, sweptEraser{eraser{s.holdings}, taken})
	}
	if err == nil && !r.DryRun && c.owner == nil { // the process that has the directory does it in its own time
		_, _, err = s.holdings.Settle(ctx, cfg.CompactWithin)
	}
	switch {
	case err != nil: // what is gone was told, and what is left was not judged
		return err
	case r.JSON:
		return c.printJSON(sweepSummary{counts, r.DryRun})
	}
	return printSwept(c.Stdout, counts, r.DryRun)
}

// execute has the action requests noted and done that the policies last read make: sweep --refresh may have read new ones.
func (c *Command) execute(ctx context.Context, cfg *config.Config, s *store, e actions.Eraser) error {
	origins, err := s.policy.Origins()
	if err != nil {
		return err
	}
	var queue actions.Recrawler = noQueue{}
	all := func() error {
		for _, key := range origins {
			u, err := url.Parse(key)
			if err != nil {
				return err
			}
			o, known := s.policy.Held(u)
			if !known || o.Since.IsZero() {
				continue
			}
			if err := s.ledger.Run(ctx, key, o.Policy.Actions(), e, queue); err != nil {
				return err
			}
		}
		return nil
	}
	done := false
	err = c.withFrontier(cfg.Data, func(f *crawler.Frontier) error {
		queue, done = f, true
		return all()
	})
	if err != nil || done {
		return err
	}
	return all()
}

// noQueue is the frontier of a data directory that has none.
type noQueue struct{}

func (noQueue) Promote(string) error {
	return errors.New("no crawl has begun here; it is done with the next one")
}

// sweptEraser erases what a take-down names, and counts what the sweep erased of it before.
type sweptEraser struct {
	eraser
	taken map[string]int // copies by URL
}

func (e sweptEraser) Erase(ctx context.Context, rawurl, why, line string) (int, error) {
	n, err := e.eraser.Erase(ctx, rawurl, why, line)
	if address, e2 := crawler.Normal(rawurl); e2 == nil {
		n += e.taken[address]
	}
	return n, err
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

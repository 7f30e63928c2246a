package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/site"
	"github.com/spf13/cobra"
)

func (c *Command) archiveVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every digest and reference, and what may still be kept",
		Long: `Check every page, record, digest, reference, thumbnail and key of the archive and every
segment of the index. Check that archive and index agree, and that nothing is kept that may no longer be kept.
With --sample, read only a random part of the bodies; check everything
else completely. With --resume, continue the reading of bodies where an interrupted check has ended.
With --repair, erase what was lost and leave a tombstone, update the index, remove what nothing needs, print
each change, and check everything again.`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	repair := flags.Bool("repair", false, "repair what can be repaired, and print what was done")
	erased := flags.String("erased", "", "check that everything archived of `URL` was erased")
	sample := flags.String("sample", "", "read only `PART` of the bodies, for example 1%")
	resume := flags.Bool("resume", false, "do not read the bodies again that an interrupted check has read")
	clusterFlags(cmd)
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if flags.Changed("erased") && *erased == "" {
			return misuse("acapcrawl archive verify --erased https://example.com/page.html", "--erased needs a URL")
		}
		o := archive.VerifyOptions{Resume: *resume}
		if flags.Changed("sample") {
			var ok bool
			if o.Sample, ok = percentage(*sample); !ok {
				return misuse("acapcrawl archive verify --sample 1%",
					"--sample is a percentage above 0 and up to 100, not %q",
					*sample)
			}
		}
		kinds := 0
		for _, set := range []bool{*repair, *resume, flags.Changed("sample"), flags.Changed("erased")} {
			if set {
				kinds++
			}
		}
		if kinds > 1 {
			return misuse("acapcrawl archive verify", "--repair, --resume, --sample and --erased cannot be combined")
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		if c.asksNodes(cfg) {
			return c.onEachNode(cmd.Context(), cfg, callOf(cmd, nil), out.JSON())
		}
		return c.runArchiveVerify(cmd.Context(), cfg,
			archiveRequest{JSON: out.JSON(), Repair: *repair, Erased: *erased, Verify: o})
	}
	return cmd
}

// percentage returns a percentage as a fraction. ok is false if text is not a percentage above 0
// and up to 100.
func percentage(text string) (fraction float64, ok bool) {
	number, ok := strings.CutSuffix(text, "%")
	p, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	return p / 100, ok && err == nil && p > 0 && p <= 100
}

// printStats prints counts and sizes, and the verdicts on the newer usages, as JSON.
func (c *Command) printStats(ctx context.Context, cfg *config.Config, r archiveRequest) (err error) {
	d, err := c.openHeld(ctx, cfg, r.Refresh)
	if err != nil {
		return c.orNothing(true, present.Totals{}, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	d.serve()
	out, err := d.Totals(ctx)
	if err != nil {
		return err
	}
	if !r.Shard {
		return c.printJSON(out)
	}
	erased, pages, err := erasedInAll(d.Archive())
	if err != nil {
		return err
	}
	return c.printJSON(shardStats{out, erased, pages})
}

func (c *Command) runArchiveStats(ctx context.Context, cfg *config.Config, r archiveRequest) (err error) {
	if c.asksNodes(cfg) {
		return c.statsOfNodes(ctx, cfg, r)
	}
	if r.JSON || r.Shard {
		return c.printStats(ctx, cfg, r)
	}
	a, done, err := c.openArchive(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	st, err := a.Stats()
	if err != nil {
		return err
	}
	erased, pages, err := erasedInAll(a)
	if err != nil {
		return err
	}
	return c.printStatsText(st, erased, pages)
}

func (c *Command) printStatsText(st archive.Stats, erased, pages int) error {
	_, err := fmt.Fprintf(c.Stdout, "%8d captures of %d resources, %s\n%8d bodies, %s as sent, %s stored\n%8d "+
		"thumbnails that cannot be made from a copy\n"+
		"%8d addresses that redirect to another\n%8d copies of %d pages erased\n",
		st.Captures, st.Resources, size(st.Bytes), st.Bodies, size(st.Raw), size(st.Stored), st.Pictures, st.Aliases,
		erased, pages)
	return err
}

// verified is what archive verify --repair --json prints.
type verified struct {
	Repaired []archive.Repaired `json:"repaired"`
	Problems []archive.Problem  `json:"problems"`
}

func (c *Command) runArchiveVerify(ctx context.Context, cfg *config.Config, r archiveRequest) (err error) {
	if r.Erased != "" {
		return c.runArchiveErased(ctx, cfg, r)
	}
	if c.owner == nil && site.Empty(cfg.Data) {
		err := faultOf(&site.EmptyError{Dir: cfg.Data})
		if r.JSON {
			err = errors.Join(c.printVerified(verified{Repaired: []archive.Repaired{}, Problems: []archive.Problem{}},
				r.Repair), err)
		}
		return err
	}
	out := verified{Repaired: []archive.Repaired{}, Problems: []archive.Problem{}}
	told := func(done archive.Repaired) {
		out.Repaired = append(out.Repaired, done)
		if !r.JSON {
			fmt.Fprintf(c.Stdout, "Repaired: %s\n", done)
		}
	}
	if r.Repair {
		if err := c.clearIndex(ctx, cfg, told); err != nil {
			return err
		}
	}
	problems, err := c.verify(ctx, cfg, r, told)
	switch damaged := errors.Is(err, archive.ErrCorrupt) || errors.Is(err, index.ErrCorrupt); {
	case damaged && r.Repair:
		return failure(restoreVerb+"; this cannot be repaired", err)
	case damaged:
		return failure(repairVerb, err)
	case err != nil && !r.JSON:
		for _, p := range problems { // what was found before the check was interrupted
			fmt.Fprintln(c.Stdout, p)
		}
		return err
	case err != nil:
		return err
	}
	out.Problems = append(out.Problems, problems...)
	if r.JSON {
		err = c.printVerified(out, r.Repair)
	} else {
		for _, p := range problems {
			fmt.Fprintln(c.Stdout, p)
		}
		if len(problems) == 0 {
			sentence := "Every digest and reference is correct."
			if r.Verify.Sample > 0 && r.Verify.Sample < 1 {
				sentence = "Every reference is correct, and every digest of the bodies in the sample."
			}
			if r.Verify.Resume {
				sentence = "Every reference is correct, and every digest that the interrupted check had not read."
			}
			fmt.Fprintln(c.Stdout, sentence)
		}
	}
	if err != nil || len(problems) == 0 {
		return err
	}
	return findings(problems, r.Repair)
}

// printVerified prints as JSON the problems that were found and, if repair is true, what was
// repaired.
func (c *Command) printVerified(out verified, repair bool) error {
	if repair {
		return c.printJSON(out)
	}
	return c.printJSON(out.Problems)
}

// findings returns the error for a verb that found problems. repaired says that a repair was made
// and that these problems remained.
func findings(problems []archive.Problem, repaired bool) error {
	sentence := "1 problem was found."
	if n := len(problems); n != 1 {
		sentence = number(n) + " problems were found."
	}
	return &fault{status: statusNothing, err: errors.New(sentence), try: remedy(problems, repaired)}
}

// remedy returns what the user should do about the problems. If several remedies are possible,
// remedy returns only the strongest one.
func remedy(problems []archive.Problem, repaired bool) string {
	try := ""
	for _, p := range problems {
		switch {
		case p.Repairable && repaired, p.Remedy != "" && strings.HasPrefix(p.Remedy, "restore ") && try != repairVerb:
			try = restoreVerb
		case p.Repairable && strings.HasPrefix(p.Where, "capture "):
			return repairVerb + ", which erases what was lost; or restore a backup"
		case p.Repairable:
			try = repairVerb
		case try == "" && p.Remedy == holdings.SweepRemedy:
			try = "acapcrawl sweep"
		case p.Remedy != "" && p.Remedy != holdings.SweepRemedy && try != repairVerb && try != restoreVerb:
			try = p.Remedy
		}
	}
	return try
}

// verify verifies the data directory. If r.Repair is true, verify repairs the directory first, and
// calls told for each repair that was made.
func (c *Command) verify(ctx context.Context, cfg *config.Config, r archiveRequest, told func(archive.Repaired)) (
	problems []archive.Problem, err error) {
	if !r.Repair {
		told = nil
	}
	d, err := c.open(cfg, site.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	screen := newProgress(c.Stderr)
	defer screen.Done()
	r.Verify.Progress = func(done, total int) { screen.Count(done, total, "digest") }
	problems, err = d.Verify(ctx, r.Verify, told, d.serve)
	if err != nil && ctx.Err() != nil && told == nil && r.Verify.Sample == 0 {
		err = failure("acapcrawl archive verify --resume", fmt.Errorf("the check was interrupted: %w", err))
	}
	return problems, err
}

// clearIndex removes a damaged index. When the data directory is opened the next time, the index is
// rebuilt from the archived copies. If another process has the data directory open, clearIndex does
// nothing.
func (c *Command) clearIndex(ctx context.Context, cfg *config.Config, told func(archive.Repaired)) error {
	if c.owner != nil {
		return nil
	}
	return faultOf(c.unlocked(cfg.Data, func() error { return site.ClearDamagedIndex(ctx, cfg, told) }))
}

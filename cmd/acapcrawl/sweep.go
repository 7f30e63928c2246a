package main

import (
	"github.com/spf13/cobra"
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
		Long: `Erase copies and index entries whose time limit has passed, that the policy last read prohibits, or that were taken down. Data that may
stay in another form is rewritten. The dates of a page stay, so that no limit starts again. Nothing is erased of a site whose policy could
not be read.`,
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
	judge := judgingFlags(cmd, "from-now", "refresh")
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
		return c.runSweep(cmd.Context(), cfg, r)
	}
	return cmd
}

package main

import (
	"github.com/spf13/cobra"
)

// sweepRequest is what sweep was asked for, beside the configuration.
type sweepRequest struct {
	judging
	DryRun bool
	JSON   bool
}

func (c *Command) sweepVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "End what may no longer be held, by time limit and by today's policy",
		Long: `End what may no longer be held: copies and index entries whose time limit has passed, or which the policy last read prohibits,
and what was taken down. What may stay in another form is made anew. The dates of a page stay, so that no limit starts again.
A site whose policy could not be read loses nothing.`,
		Example: `  acapcrawl sweep --dry-run
  acapcrawl sweep --refresh
  acapcrawl sweep --dry-run --as-of 2027-01-01T00:00:00Z`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	dryRun := flags.Bool("dry-run", false, "say what would go, and by which line; change nothing")
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

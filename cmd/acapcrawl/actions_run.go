package main

import (
	"time"

	"github.com/spf13/cobra"
)

// actionsRunRequest is what actions run was asked for, beside the configuration.
type actionsRunRequest struct {
	Origins   []string      // that alone are read anew; none: all of which anything is held or asked
	NoRefresh bool          // nothing is read anew
	OlderThan time.Duration // read anew so that what is asked for is seen within that time; 0: everything
	Soon      []string      // origins to be read anew before that
	Only      bool          // no other origin is read anew
	AtMost    time.Duration // after that time no origin and no visit is begun; 0: no limit
	JSON      bool
}

// The hidden flags by which watch has what is due done.
const (
	olderThanFlag = "older-than"
	atMostFlag    = "at-most"
	soonFlag      = "soon"
	onlyFlag      = "only-soon"
)

func (c *Command) actionsRunVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Read anew what publishers ask for, and execute it",
		Long: `Read anew what publishers ask for, and execute it.

The robots.txt of every site of which anything is held, or that asks for something, is read anew. What it says to take
down is erased, what it says to crawl again is visited, and archive and index are written anew, without what was
erased. No other page is requested. While a crawl has the data directory, the crawl makes the visits.

--origin and --no-refresh say what is read anew. What is noted and not done yet is executed in any case.`,
		Example: `  acapcrawl actions run
  acapcrawl actions run --origin https://example.com`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	origins := flags.StringArray("origin", nil, "read anew only what the site `URL` asks for (repeatable)")
	noRefresh := flags.Bool("no-refresh", false, "read nothing anew")
	out := jsonFlag(cmd)
	visiting(flags)
	olderThan := flags.Duration(olderThanFlag, 0, "read anew what was read longer ago than `DURATION`, or somewhat less")
	atMost := flags.Duration(atMostFlag, 0, "begin no visit after `DURATION`")
	soon := flags.StringArray(soonFlag, nil, "read `ORIGIN` anew before that")
	only := flags.Bool(onlyFlag, false, "read no other origin anew")
	flags.MarkHidden(onlyFlag)
	flags.MarkHidden(soonFlag)
	flags.MarkHidden(olderThanFlag)
	flags.MarkHidden(atMostFlag)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := actionsRunRequest{NoRefresh: *noRefresh, OlderThan: *olderThan, Soon: *soon, Only: *only,
			AtMost: *atMost, JSON: out.JSON()}
		if r.NoRefresh && len(*origins) > 0 {
			return misuse("one of them", "--origin and --no-refresh do not go together")
		}
		var err error
		if r.Origins, err = originKeys(*origins); err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runActionsRun(cmd.Context(), cfg, r)
	}
	return cmd
}

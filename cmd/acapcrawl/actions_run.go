package main

import (
	"time"

	"github.com/spf13/cobra"
)

// actionsRunRequest holds the arguments of actions run that are not settings.
type actionsRunRequest struct {
	Origins   []string      // to be read again; none: all with archived pages or requests
	NoRefresh bool          // read nothing again
	OlderThan time.Duration // read only policies so old that a request would otherwise be seen later than this; 0: all
	Soon      []string      // origins to be read again before that
	Only      bool          // read no other origin again
	AtMost    time.Duration // start no origin and no visit after this time; 0: no limit
	JSON      bool
}

// The hidden flags that watch uses.
const (
	olderThanFlag = "older-than"
	atMostFlag    = "at-most"
	soonFlag      = "soon"
	onlyFlag      = "only-soon"
)

func (c *Command) actionsRunVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Read publishers' requests again, and execute them",
		Long: `Read publishers' requests again, and execute them.

The command reads the robots.txt of every site with archived pages or requests. It erases the pages to be taken down, visits the pages
to be crawled again, and rewrites archive and index without the erased data. It requests no other page. If a crawl uses the data directory,
the crawl makes the visits.

--origin and --no-refresh limit what is read again. Requests that were recorded earlier are executed in any case.`,
		Example: `  acapcrawl actions run
  acapcrawl actions run --origin https://example.com`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	origins := flags.StringArray("origin", nil, "read only robots.txt of the site `URL` again (repeatable)")
	noRefresh := flags.Bool("no-refresh", false, "read no robots.txt again")
	out := jsonFlag(cmd)
	visiting(flags)
	olderThan := flags.Duration(olderThanFlag, 0, "read only policies older than about `DURATION` again")
	atMost := flags.Duration(atMostFlag, 0, "start no visit after `DURATION`")
	soon := flags.StringArray(soonFlag, nil, "read `ORIGIN` again before that")
	only := flags.Bool(onlyFlag, false, "read no other origin again")
	flags.MarkHidden(onlyFlag)
	flags.MarkHidden(soonFlag)
	flags.MarkHidden(olderThanFlag)
	flags.MarkHidden(atMostFlag)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := actionsRunRequest{NoRefresh: *noRefresh, OlderThan: *olderThan, Soon: *soon, Only: *only,
			AtMost: *atMost, JSON: out.JSON()}
		if r.NoRefresh && len(*origins) > 0 {
			return misuse("one of them", "--origin and --no-refresh contradict each other")
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

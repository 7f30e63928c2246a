package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// watchRequest holds the arguments of watch that are not settings.
type watchRequest struct {
	JSON  bool
	Flags []string // flags to pass to actions run

	Wake <-chan string // receives an origin to read at once, or "" to execute only what is due; may be nil
}

func (c *Command) watchVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Execute publishers' requests as they appear, until Ctrl-C",
		Long: `Read publishers' requests in robots.txt again and again, and execute them, until Ctrl-C.

The command does what actions run does: first for every archived site, then again for each site within the time of the setting
actions.seen_within. If a robots.txt cannot be read, the pauses grow, and a Retry-After is obeyed. Between two runs the data directory is
free for other verbs. A crawl executes requests by itself. The command prints a line for everything that it did.`,
		Example: `  acapcrawl watch
  acapcrawl watch --json`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	out := jsonFlag(cmd)
	visiting(flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runWatch(cmd.Context(), cfg, watchRequest{JSON: out.JSON(), Flags: given(cmd)})
	}
	return cmd
}

// visiting adds the flags for visits to pages that are to be crawled again.
func visiting(flags *pflag.FlagSet) {
	for _, name := range []string{"delay", "concurrency", "per-host", "timeout", "allow-private", "chromium"} {
		setting(flags, name)
	}
}

// given returns the flags that set settings of cmd, to pass them to another verb.
func given(cmd *cobra.Command) (args []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if len(f.Annotations[keyOfFlag]) > 0 || f.Name == "config" {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

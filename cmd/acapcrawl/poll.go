package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// watchRequest is what watch was asked for, beside the configuration.
type watchRequest struct {
	JSON  bool
	Flags []string // that were given, for actions run

	Wake <-chan string // what is due is done at once, and the lines of the origin that it tells are read, unless that is ""; nil: nothing is
}

func (c *Command) watchVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Keep reading what publishers ask for, and execute it, until Ctrl-C",
		Long: `Keep reading what publishers ask for, and execute it, until Ctrl-C.

It does what actions run does, at first for every site of which anything is held, then for each site again within the time
of the key actions.seen_within. Sites whose robots.txt cannot be read are asked more and more seldom, and not before their
Retry-After. Between that it leaves the data directory to others: crawls can begin and end meanwhile, and while one runs,
it sees to that by itself. A line is printed for everything that was done.`,
		Example: `  acapcrawl watch
  acapcrawl watch --json`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	asJSON := flags.Bool("json", false, "print a line of JSON for everything that was done")
	visiting(flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runWatch(cmd.Context(), cfg, watchRequest{JSON: *asJSON, Flags: given(cmd)})
	}
	return cmd
}

// visiting adds the flags that say how pages are visited that publishers ask to be crawled again.
func visiting(flags *pflag.FlagSet) {
	for _, name := range []string{"delay", "concurrency", "per-host", "timeout", "allow-private", "chromium"} {
		setting(flags, name)
	}
}

// given are the flags by which cmd was given its settings, for another verb that has them.
func given(cmd *cobra.Command) (args []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if len(f.Annotations[keyOfFlag]) > 0 || f.Name == "config" {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

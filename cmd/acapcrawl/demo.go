package main

import "github.com/spf13/cobra"

// demoRequest holds the arguments of demo.
type demoRequest struct {
	Data  string // the data directory to fill; "": a new temporary one
	All   bool   // list uneventful rows too
	Serve bool   // keep serving the newspaper until Ctrl-C
	JSON  bool
}

func (c *Command) demoVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Crawl a bundled newspaper, and print what was refused and why",
		Example: `  acapcrawl demo
  acapcrawl demo --serve`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	all := flags.Bool("all", false, "list pages without a refusal too")
	serve := flags.Bool("serve", false, "keep serving the newspaper until Ctrl-C")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.runDemo(cmd.Context(), demoRequest{Data: cmd.Flag("data").Value.String(), All: *all, Serve: *serve, JSON: out.JSON()})
	}
	return cmd
}

package main

import "github.com/spf13/cobra"

// demoRequest is what demo was asked for.
type demoRequest struct {
	Data string // the data directory to fill, "" when none was named
	JSON bool
}

func (c *Command) demoVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Crawl a bundled newspaper on loopback and say what was done, what was refused, and by which line",
		Args:  noArgs,
	}
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.runDemo(cmd.Context(), demoRequest{Data: cmd.Flag("data").Value.String(), JSON: out.JSON()})
	}
	return cmd
}

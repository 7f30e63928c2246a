package main

import "github.com/spf13/cobra"

// actionsRequest is what a verb of actions was asked for, beside the configuration.
type actionsRequest struct {
	JSON bool
}

func (c *Command) actionsVerb() *cobra.Command {
	return c.group("actions", "List what publishers asked for: take-downs and re-crawls", c.actionsListVerb())
}

func (c *Command) actionsListVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "ls", Short: "List the action requests, by whom and by which line, and what came of them", Args: noArgs}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runActionsList(cmd.Context(), cfg, actionsRequest{JSON: *asJSON})
	}
	return cmd
}

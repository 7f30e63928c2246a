package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
)

// archiveRequest is what a verb of archive was asked for, beside the configuration.
type archiveRequest struct {
	judging
	JSON bool
}

func (c *Command) archiveVerb() *cobra.Command {
	return c.group("archive", "List, count and verify what is held",
		c.archivePart("ls", "List the captures, and until when each may be kept", c.runArchiveList, true),
		c.archivePart("stats", "Count what is held, and its size", c.runArchiveStats, false),
		c.archivePart("verify", "Check every digest and reference", c.runArchiveVerify, false))
}

// archivePart is one verb of archive; judges says whether it goes by today's policy.
func (c *Command) archivePart(use, short string, run func(context.Context, *config.Config, archiveRequest) error, judges bool) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: noArgs}
	flags := cmd.Flags()
	flags.SortFlags = false
	judge := func() (judging, error) { return judging{}, nil }
	if judges {
		setting(flags, "crawler")
		setting(flags, "purpose")
		judge = judgingFlags(cmd, "reader", "refresh")
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		j, err := judge()
		if err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return run(cmd.Context(), cfg, archiveRequest{judging: j, JSON: *asJSON})
	}
	return cmd
}

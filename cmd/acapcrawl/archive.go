package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
)

// archiveRequest holds the arguments of the verbs of archive that are not settings.
type archiveRequest struct {
	judging
	JSON   bool
	Repair bool   // verify also repairs what can be repaired
	Erased string // URL, as typed, whose erasure verify checks
	Verify archive.VerifyOptions
	Shard  bool     // another process of a cluster asks for counts
	call   nodeCall // for the nodes of a cluster
}

func (c *Command) archiveVerb() *cobra.Command {
	return c.group("archive", "List, count, verify, compact, copy and exchange archived pages",
		c.archivePart("ls", "List the captures and until when each may be kept", c.runArchiveList, true),
		c.archivePart("stats", "Print counts and sizes", c.runArchiveStats, false),
		c.archiveVerify(),
		c.archivePart("erasures", "List what was erased, why, and by which line", c.runArchiveErasures, false),
		c.archivePart("compact", "Rewrite archive and index without erased data", c.runArchiveCompact, false),
		c.archiveForget(), c.archiveExport(), c.archiveImport(), c.archiveBackup(), c.archiveRestore(),
		c.archiveRecover(), c.archiveShardVerb())
}

// archivePart returns a verb of the command archive. If judges is true, the verb gets the flags
// that say for which crawler, purposes and reader it decides, and whether it reads the policies
// again.
func (c *Command) archivePart(use, short string, run func(context.Context, *config.Config, archiveRequest) error,
	judges bool) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: noArgs}
	flags := cmd.Flags()
	flags.SortFlags = false
	judge := func() (judging, error) { return judging{}, nil }
	if judges {
		judgedCrawler(flags)
		setting(flags, "purpose")
		setting(flags, "preferences")
		setting(flags, "for")
		judge = judgingFlags(cmd, "reader", "refresh")
	}
	clusterFlags(cmd)
	shard := shardOnly(flags)
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		j, err := judge()
		if err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return run(cmd.Context(), cfg, archiveRequest{judging: j, JSON: out.JSON(), Shard: *shard,
			call: callOf(cmd, nil)})
	}
	return cmd
}

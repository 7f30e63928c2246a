package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
)

// archiveRequest is what a verb of archive was asked for, beside the configuration.
type archiveRequest struct {
	judging
	JSON   bool
	Repair bool   // of verify
	Erased string // of verify: the URL to be shown to be gone, as typed
}

func (c *Command) archiveVerb() *cobra.Command {
	return c.group("archive", "List, count, check, compact, copy and exchange what is held",
		c.archivePart("ls", "List the captures, and until when each may be kept", c.runArchiveList, true),
		c.archivePart("stats", "Count what is held, and its size", c.runArchiveStats, false),
		c.archiveVerify(),
		c.archivePart("erasures", "List what was erased, why and by which line", c.runArchiveErasures, false),
		c.archivePart("compact", "Write archive and index anew, without what was erased", c.runArchiveCompact, false),
		c.archiveExport(), c.archiveImport(), c.archiveBackup(), c.archiveRestore())
}

// archivePart is one verb of archive; judges says whether it goes by today's policy.
func (c *Command) archivePart(use, short string, run func(context.Context, *config.Config, archiveRequest) error, judges bool) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: noArgs}
	flags := cmd.Flags()
	flags.SortFlags = false
	judge := func() (judging, error) { return judging{}, nil }
	if judges {
		judgedCrawler(flags)
		setting(flags, "purpose")
		judge = judgingFlags(cmd, "reader", "refresh")
	}
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
		return run(cmd.Context(), cfg, archiveRequest{judging: j, JSON: out.JSON()})
	}
	return cmd
}

func (c *Command) archiveVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every digest and reference, and what may still be held",
		Long: `Check every page, record, digest, reference, thumbnail and key of the archive, every segment of the index, that both agree, and that
nothing is held that may no longer be. With --repair, deal with what is found: what was lost is erased, with a tombstone, the index is made
to agree, and what nothing needs is removed; each thing done is told, and all is checked again.`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	repair := flags.Bool("repair", false, "repair what can be, and say what was done")
	erased := flags.String("erased", "", "say whether everything of `URL` that was held is gone")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch given := flags.Changed("erased"); {
		case given && *repair:
			return misuse("--erased alone", "--repair and --erased are two things to do")
		case given && *erased == "":
			return misuse("acapcrawl archive verify --erased https://example.com/page.html", "--erased needs a URL")
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runArchiveVerify(cmd.Context(), cfg,
			archiveRequest{JSON: out.JSON(), Repair: *repair, Erased: *erased})
	}
	return cmd
}

func (c *Command) archiveBackup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the data directory into a file, while a crawl goes on too",
		Long: `Copy the data directory into FILE, a tar archive, as it is at one instant; a crawl may go on meanwhile. With - as FILE, it goes to
standard output.

A backup holds what was held when it was made: nothing that was erased before, for which the data directory is compacted first where
that is due, but all that is erased afterwards. Keep it no longer than you may keep what is in it, and run acapcrawl sweep --refresh
after restoring it.`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	force := flags.Bool("force", false, "replace FILE if it exists")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return misuse(cmd.CommandPath()+" backup.tar", "%s takes the name of one file", cmd.CommandPath())
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runBackup(cmd.Context(), cfg, backupRequest{File: args[0], Force: *force, JSON: out.JSON()})
	}
	return cmd
}

func (c *Command) archiveRestore() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a data directory from a backup",
		Long: `Make the data directory, which must not hold anything yet, from the backup FILE, and check it.

A backup holds what was held when it was made. Run acapcrawl sweep --refresh before anything of it is used: what publishers have asked
for since then is not known to it.`,
	}
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return misuse(cmd.CommandPath()+" backup.tar", "%s takes the name of one file", cmd.CommandPath())
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runRestore(cmd.Context(), cfg, backupRequest{File: args[0], JSON: out.JSON()})
	}
	return cmd
}

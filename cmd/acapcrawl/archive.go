package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
)

// archiveRequest holds the arguments of the verbs of archive that are not settings.
type archiveRequest struct {
	judging
	JSON   bool
	Repair bool   // of verify
	Erased string // of verify: the URL whose erasure is to be checked, as typed
}

func (c *Command) archiveVerb() *cobra.Command {
	return c.group("archive", "List, count, verify, compact, copy and exchange archived pages",
		c.archivePart("ls", "List the captures and until when each may be kept", c.runArchiveList, true),
		c.archivePart("stats", "Print counts and sizes", c.runArchiveStats, false),
		c.archiveVerify(),
		c.archivePart("erasures", "List what was erased, why, and by which line", c.runArchiveErasures, false),
		c.archivePart("compact", "Rewrite archive and index without erased data", c.runArchiveCompact, false),
		c.archiveExport(), c.archiveImport(), c.archiveBackup(), c.archiveRestore())
}

// archivePart returns a verb of archive. With judges it takes the flags of decisions by today's policy.
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
		Short: "Check every digest and reference, and what may still be kept",
		Long: `Check every page, record, digest, reference, thumbnail and key of the archive and every segment of the index. Check that archive and index
agree, and that nothing is kept that may no longer be kept. With --repair, erase what was lost and leave a tombstone, update the index,
remove what nothing needs, print each change, and check everything again.`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	repair := flags.Bool("repair", false, "repair what can be repaired, and print what was done")
	erased := flags.String("erased", "", "check that everything archived of `URL` was erased")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch given := flags.Changed("erased"); {
		case given && *repair:
			return misuse("--erased alone", "--repair and --erased cannot be combined")
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
		Short: "Copy the data directory into a file, also during a crawl",
		Long: `Copy the data directory into FILE, a tar archive, in its state at one instant; a crawl may continue meanwhile. If FILE is -, write to
standard output.

A backup contains nothing that was erased before: the data directory is compacted first if necessary. It does contain what is erased
afterwards. Keep it no longer than you may keep its content, and run acapcrawl sweep --refresh after restoring it.`,
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
		Short: "Restore a data directory from a backup",
		Long: `Restore the data directory, which must be empty, from the backup FILE, and verify it.

A backup does not know what publishers have requested since it was made. Run acapcrawl sweep --refresh before you use it.`,
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

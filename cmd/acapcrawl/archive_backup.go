package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/site"
	"github.com/spf13/cobra"
)

func (c *Command) archiveRestore() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE...",
		Short: "Restore a data directory from a backup",
		Long: `Restore the data directory, which must be empty, from the backup FILE, and verify it. If backups
were made with --since, give all of them in the order in which they were made, the complete one first.

A backup does not know what publishers have requested since it was made. Run acapcrawl sweep --refresh before
you use it.`,
	}
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || slices.Contains(args, "") {
			return misuse(cmd.CommandPath()+" backup.tar", "%s takes the names of backup files", cmd.CommandPath())
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runRestore(cmd.Context(), cfg, args, out.JSON())
	}
	localOnly(cmd, "it makes one data directory, on this machine",
		"acapcrawl archive restore FILE --data DIR on the machine of the node, or acapcrawl archive recover --cluster "+
			"… --node b --data DIR")
	return cmd
}

func (c *Command) archiveBackup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the data directory into a file, also during a crawl",
		Long: `Copy the data directory into FILE, a tar archive, in its state at one instant; a crawl may
continue meanwhile. If FILE is -, write to standard output.

A backup contains nothing that was erased before: the data directory is compacted first if necessary. It does
contain what is erased afterwards. Keep it no longer than you may keep its content, and run acapcrawl sweep
--refresh after restoring it.

With --since, FILE leaves out bodies and index segments that the backup EARLIER contains. To restore FILE,
you then also need EARLIER and every backup that EARLIER needs.`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	force := flags.Bool("force", false, "replace FILE if it exists")
	since := flags.String("since", "", "leave out what the backup `EARLIER` contains")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return misuse(cmd.CommandPath()+" backup.tar", "%s takes the name of one file", cmd.CommandPath())
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runBackup(cmd.Context(), cfg, backupRequest{File: args[0], Since: *since, Force: *force,
			JSON: out.JSON()})
	}
	localOnly(cmd, "a backup contains the keys of one data directory, which nodes do not send",
		"acapcrawl archive backup FILE --data DIR on the machine of each node")
	return cmd
}

// backupRequest holds the arguments of backup that are not settings.
type backupRequest struct {
	File  string // name of the backup file, as typed
	Since string // name of an earlier backup, as typed; "": none
	Force bool
	JSON  bool
}

// backedUp is what archive backup --json prints.
type backedUp struct {
	File     string    `json:"file"`
	Made     time.Time `json:"made"`
	Captures int       `json:"captures"`
	Bytes    int64     `json:"bytes"` // size of the backup file
}

func (c *Command) runBackup(ctx context.Context, cfg *config.Config, r backupRequest) (err error) {
	name := c.path(r.File)
	if name == "-" && r.JSON {
		return misuse("a file", "with --json the backup cannot go to standard output")
	}
	if err := site.CheckOutput(cfg.Data, name, r.Force); err != nil {
		return faultOf(err)
	}
	if same(c.path(r.Since), name) {
		return misuse("another name for the new backup",
			"%s is needed to restore the new backup, and cannot be replaced by it",
			r.Since)
	}
	since, err := c.backupDigests(r.Since)
	if err != nil {
		return err
	}
	d, err := c.openHeld(ctx, cfg, false)
	if err != nil {
		return c.orNothing(r.JSON, nil, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if cfg.S3.Bucket != "" {
		fmt.Fprintf(c.Stderr, "Notice: the backup has no bodies, because they are in the bucket %s. It can be "+
			"restored while the bucket has them.\n", cfg.S3.Bucket)
	}
	if name == "-" {
		_, err := d.Backup(ctx, c.raw(), since)
		return err
	}
	var sum site.BackupSummary
	err = site.WriteFile(name, r.File, r.Force, func(w io.Writer) error {
		sum, err = d.Backup(ctx, w, since)
		return err
	})
	var exists *site.UsageError
	switch {
	case errors.As(err, &exists):
		return faultOf(err)
	case errors.Is(err, syscall.ENOSPC):
		return failure("the same command again after freeing disk space, or another file",
			fmt.Errorf("the backup cannot be made: %w", err))
	case err != nil:
		return fmt.Errorf("the backup cannot be made: %w", err)
	case r.JSON:
		return c.printJSON(backedUp{File: r.File, Made: sum.Made, Captures: sum.Captures, Bytes: sum.Bytes})
	}
	_, err = fmt.Fprintf(c.Stdout, "%s contains the data directory as of %s: %s, %s.\n", r.File,
		sum.Made.Format(time.RFC3339),
		several(sum.Captures, "capture"), size(sum.Bytes))
	return err
}

// same reports whether two names are those of the same file.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// backupDigests returns the digests of the files of a backup; nil if name is "".
func (c *Command) backupDigests(name string) (map[string]string, error) {
	if name == "" {
		return nil, nil
	}
	in, err := c.openBackup(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	digests, err := site.BackupDigests(in)
	if err != nil {
		return nil, misuse("another backup for --since", "%s cannot be used: %v", name, err)
	}
	return digests, nil
}

func (c *Command) runRestore(ctx context.Context, cfg *config.Config, names []string, asJSON bool) error {
	var files []site.BackupFile
	for _, name := range names {
		in, err := c.openBackup(name)
		if err != nil {
			return err
		}
		defer in.Close()
		files = append(files, site.BackupFile{Name: name, Reader: in})
	}
	out, err := site.Restore(ctx, cfg, files...)
	if err != nil {
		return faultOf(err)
	}
	return c.printRestored(out, asJSON)
}

func (c *Command) openBackup(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.Stdin), nil
	}
	f, err := os.Open(c.path(name))
	if err != nil {
		return nil, misuse("", "the backup cannot be read: %v", err)
	}
	return f, nil
}

// printRestored prints what was restored, and what the user should do next.
func (c *Command) printRestored(out site.Restored, asJSON bool) error {
	var err error
	if asJSON {
		err = c.printJSON(out)
	} else {
		for _, p := range out.Problems {
			fmt.Fprintln(c.Stdout, p)
		}
		_, err = fmt.Fprintf(c.Stdout, "%s contains the data directory as of %s.\n", out.Data,
			out.Made.Format(time.RFC3339))
	}
	if err != nil {
		return err
	}
	if len(out.Problems) > 0 {
		return findings(out.Problems, false)
	}
	if out.Due > 0 {
		fmt.Fprintf(c.Stderr, "Notice: %s may no longer be kept.\n", several(out.Due, "item"))
	}
	fmt.Fprintln(c.Stderr, "Notice: requests of publishers since then are not known yet.\nTry: acapcrawl "+
		"sweep --refresh")
	return nil
}

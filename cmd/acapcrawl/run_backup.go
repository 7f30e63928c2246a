package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/site"
)

// backupRequest is what backup or restore was asked for, beside the configuration.
type backupRequest struct {
	File  string // as typed
	Force bool
	JSON  bool
}

// backedUp is what archive backup --json prints.
type backedUp struct {
	File     string    `json:"file"`
	Made     time.Time `json:"made"`
	Captures int       `json:"captures"`
	Bytes    int64     `json:"bytes"` // of the file
}

func (c *Command) runBackup(ctx context.Context, cfg *config.Config, r backupRequest) (err error) {
	name := c.path(r.File)
	if name == "-" && r.JSON {
		return misuse("a file", "with --json the backup cannot go to standard output")
	}
	if err := site.CheckOutput(cfg.Data, name, r.Force); err != nil {
		return faultOf(err)
	}
	d, err := c.openHeld(ctx, cfg, false)
	if err != nil {
		return c.orNothing(r.JSON, nil, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if name == "-" {
		_, err := d.Backup(ctx, c.raw())
		return err
	}
	var sum site.BackupSummary
	err = site.WriteFile(name, r.File, r.Force, func(w io.Writer) error {
		sum, err = d.Backup(ctx, w)
		return err
	})
	var exists *site.UsageError
	switch {
	case errors.As(err, &exists):
		return faultOf(err)
	case errors.Is(err, syscall.ENOSPC):
		return failure("the same again with more space, or another file", fmt.Errorf("the backup cannot be made: %w", err))
	case err != nil:
		return fmt.Errorf("the backup cannot be made: %w", err)
	case r.JSON:
		return c.printJSON(backedUp{File: r.File, Made: sum.Made, Captures: sum.Captures, Bytes: sum.Bytes})
	}
	_, err = fmt.Fprintf(c.Stdout, "%s holds what was held at %s: %s, %s.\n", r.File, sum.Made.Format(time.RFC3339),
		several(sum.Captures, "capture"), size(sum.Bytes))
	return err
}

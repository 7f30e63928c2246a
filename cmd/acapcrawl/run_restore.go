package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/site"
)

func (c *Command) runRestore(ctx context.Context, cfg *config.Config, r backupRequest) error {
	in, err := c.openBackup(r.File)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := site.Restore(ctx, cfg, in, r.File)
	if err != nil {
		return faultOf(err)
	}
	return c.printRestored(out, r.JSON)
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

// printRestored prints what was restored, and what is to be done about it.
func (c *Command) printRestored(out site.Restored, asJSON bool) error {
	var err error
	if asJSON {
		err = c.printJSON(out)
	} else {
		for _, p := range out.Problems {
			fmt.Fprintln(c.Stdout, p)
		}
		_, err = fmt.Fprintf(c.Stdout, "%s holds what was held at %s.\n", out.Data, out.Made.Format(time.RFC3339))
	}
	if err != nil {
		return err
	}
	if len(out.Problems) > 0 {
		return findings(out.Problems, false)
	}
	if out.Due > 0 {
		fmt.Fprintf(c.Stderr, "Notice: %s may no longer be held.\n", several(out.Due, "thing"))
	}
	fmt.Fprintln(c.Stderr, "Notice: what publishers have asked for since then is not known yet.\nTry: acapcrawl sweep --refresh")
	return nil
}

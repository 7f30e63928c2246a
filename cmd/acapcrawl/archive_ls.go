package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

func (c *Command) runArchiveList(ctx context.Context, cfg *config.Config, r archiveRequest) (err error) {
	if c.asksNodes(cfg) {
		return c.listNodes(ctx, cfg, r)
	}
	d, _, err := c.openPresenter(ctx, cfg, &r.judging)
	if err != nil {
		return c.orNothing(r.JSON, []struct{}{}, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	d.serve()
	out := bufio.NewWriter(c.Stdout)
	values, lines := jsonArray{w: out}, tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	n := 0
	err = d.Captures(ctx, r.Reader, func(cp archive.Capture, decision acap.Decision, f acap.Facts) error {
		l := present.NewEntry(cp, decision, f)
		if r.JSON {
			return values.add(l)
		}
		printEntry(lines, l)
		if n++; n%aligned == 0 {
			return lines.Flush()
		}
		return nil
	})
	switch {
	case err != nil:
	case r.JSON:
		err = values.end()
	default:
		err = lines.Flush()
	}
	if rest := out.Flush(); err == nil {
		err = rest
	}
	return err
}

// aligned is the number of captures that are printed as one table with aligned columns.
const aligned = 1000

// printEntry prints an entry as one line of a table.
func printEntry(w io.Writer, l present.Entry) {
	until := ""
	switch {
	case !l.Permitted:
		until = "no longer permitted"
	case l.Until != nil:
		until = "until " + l.Until.Format(time.RFC3339)
	case l.Recrawled:
		until = "until crawled again"
	}
	bytes := size(l.Bytes)
	if l.Truncated || len(l.Cuts) > 0 {
		bytes += " (cut)"
	}
	fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\t%s\n", l.Fetched.Format(time.RFC3339), l.Version, l.URL, l.Status, l.MIME,
		bytes, until)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/display"
	"github.com/acapcrawl/acapcrawl/holdings"
	"github.com/acapcrawl/acapcrawl/site"
)

func (c *Command) runExport(ctx context.Context, cfg *config.Config, r exportRequest) (err error) {
	name := c.path(r.File)
	for _, each := range []string{name, site.IndexName(name)} {
		if err := site.CheckOutput(cfg.Data, each, r.Force); err != nil {
			return faultOf(err)
		}
	}
	d, err := c.openHeld(ctx, cfg, r.Refresh)
	if err != nil {
		return c.orNothing(r.JSON, holdings.ExportCounts{}, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	screen := newProgress(c.Stderr)
	defer screen.Done()
	o := site.ExportOptions{Under: r.Under, Plain: strings.HasSuffix(name, ".warc"),
		Progress: func(done, total int) { screen.Count(done, total, "capture") },
		Each: func(e holdings.Exported) {
			if e.Why != "" {
				fmt.Fprintln(screen, display.Line(fmt.Sprintf("Not exported: version %d of %s: %s", e.Version, e.URL, e.Why)))
			}
		}}
	var counts holdings.ExportCounts
	if name == "-" {
		counts, err = d.Export(ctx, c.raw(), o)
	} else {
		counts, err = d.ExportFile(ctx, name, r.Force, o)
	}
	screen.Done()
	switch {
	case err != nil:
		return faultOf(err)
	case r.JSON:
		return c.printJSON(counts)
	case name == "-":
		return printExported(c.Stderr, "Written", counts)
	}
	return printExported(c.Stdout, r.File, counts)
}

// printExported prints what was exported.
func printExported(w io.Writer, file string, n holdings.ExportCounts) error {
	text := fmt.Sprintf("%s: %s, %s, %s\n", file, several(n.Captures, "capture"), several(n.Records, "record"), size(n.Bytes))
	text += block("Of them", row{n.Duplicates, "with a body that another has too"})
	text += block("In addition", row{n.Redirects, "redirects"})
	text += block("Not exported", row{n.Withheld, "refused by policy"})
	_, err := io.WriteString(w, text)
	return err
}

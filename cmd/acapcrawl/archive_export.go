package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/site"
)

// exportRequest holds the arguments of archive export that are not settings.
type exportRequest struct {
	judging
	File  string   // name of the WARC file, as typed; "-" is standard output
	Under []string // export only addresses that begin with one of these URLs; empty: all addresses
	Force bool
	JSON  bool
	Plain bool     // another process of a cluster asks for records that are not compressed
	call  nodeCall // for the nodes of a cluster
}

func (c *Command) archiveExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export -o FILE",
		Short: "Write the captures that may be kept today to a WARC or WACZ file",
		Long: `Write to FILE, as WARC 1.1, the captures that the policy read last permits to be preserved. FILE is
compressed unless its name ends with .warc. Write an index with the same name and the extension .cdxj next to
it. If FILE is -, write the records to standard output, without an index. If the name of FILE ends with .wacz,
write WACZ 1.1.1 instead: one file with the WARC file, its index, a list of pages, and their digests.

A body that several captures of one URL share is written once; the other captures are revisit records. Redirects
are written with their bodies. A metadata record for each capture contains the policy that decided, the lines, and
the statements of the page. The keys of the index are those of pywb. Later take-downs cannot erase exported
data.

With --cluster, FILE contains the captures of all nodes that run, one node after the other, each with its body.
A page that one node refuses to export is exported from no node. If a node does not send all its captures, none of
them are in FILE; the command and the first record of FILE name such nodes.`,
		Example: `  acapcrawl archive export -o news.warc.gz --url https://example.com/news/
  acapcrawl archive export -o news.wacz
  acapcrawl archive export -o - | warcio index /dev/stdin`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	file := flags.StringP("output", "o", "", "write to `FILE`; - is standard output")
	under := flags.StringArray("url", nil, "export only addresses that begin with `PREFIX` (repeatable)")
	force := flags.Bool("force", false, "replace FILE if it exists")
	judgedCrawler(flags)
	setting(flags, "purpose")
	setting(flags, "preferences")
	setting(flags, "for")
	judge := judgingFlags(cmd, "refresh")
	clusterFlags(cmd)
	shard := shardOnly(flags)
	plain := flags.Bool(plainFlag, false, "do not compress the records")
	flags.MarkHidden(plainFlag)
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := exportRequest{File: *file, Force: *force, JSON: out.JSON(), Plain: *plain}
		var err error
		if r.Under, err = exportedUnder(*under); err != nil {
			return err
		}
		if !*shard { // the parts go to standard output
			if err := r.check(cmd.CommandPath()); err != nil {
				return err
			}
		}
		if r.judging, err = judge(); err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		if *shard {
			return c.exportParts(cmd.Context(), cfg, r)
		}
		r.call = callOf(cmd, nil)
		return c.runExport(cmd.Context(), cfg, r)
	}
	return cmd
}

// check returns an error if the arguments do not say where to write.
func (r exportRequest) check(verb string) error {
	switch {
	case r.File == "":
		return misuse("--output archive.warc.gz", "%s needs the name of a file", verb)
	case strings.HasSuffix(r.File, ".cdxj"):
		return misuse("--output archive.warc.gz", "--output %s: this is the name of the index that export writes next "+
			"to FILE", r.File)
	case r.File == "-" && r.JSON:
		return misuse("--output FILE", "--output -: --json writes the counts to standard output")
	}
	return nil
}

// exportedUnder returns the normal forms of the URLs with which exported addresses begin.
func exportedUnder(prefixes []string) (under []string, err error) {
	for _, prefix := range prefixes {
		u, err := webURL(prefix)
		if err != nil {
			return nil, err
		}
		normal, err := address.Normal(u.String())
		if err != nil {
			return nil, err
		}
		under = append(under, normal)
	}
	return under, nil
}

func (c *Command) runExport(ctx context.Context, cfg *config.Config, r exportRequest) (err error) {
	name := c.path(r.File)
	for _, each := range []string{name, site.IndexName(name)} {
		if each == "" {
			continue
		}
		if err := site.CheckOutput(cfg.Data, each, r.Force); err != nil {
			return faultOf(err)
		}
	}
	if c.asksNodes(cfg) {
		return c.exportNodes(ctx, cfg, r)
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
				fmt.Fprintln(screen, display.Line(fmt.Sprintf("Not exported: version %d of %s: %s", e.Version, e.URL,
					e.Why)))
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
	text := fmt.Sprintf("%s: %s, %s, %s\n", file, several(n.Captures, "capture"), several(n.Records, "record"),
		size(n.Bytes))
	text += block("Of them", row{n.Duplicates, "with the same body as another capture of their URL"})
	text += block("In addition", row{n.Redirects, "redirects"})
	text += block("Not exported", row{n.Withheld, "refused by policy"})
	_, err := io.WriteString(w, text)
	return err
}

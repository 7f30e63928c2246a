package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/crawler"
)

// exportRequest holds the arguments of archive export that are not settings.
type exportRequest struct {
	judging
	File  string   // as typed; "-" is standard output
	Under []string // addresses that begin with one of these; none: all
	Force bool
	JSON  bool
}

// importRequest holds the arguments of archive import that are not settings.
type importRequest struct {
	Files  []string // as typed
	Assume string   // a file, assumeNone, or "" for no assumption
	JSON   bool
}

// assumeNone means a site without a robots.txt.
const assumeNone = "none"

func (c *Command) archiveExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export -o FILE",
		Short: "Write the captures that may be kept today to a WARC file",
		Long: `Write the captures that the policy last read permits to preserve to FILE as WARC 1.1, compressed unless the name ends with .warc. Write an
index with the same name and the extension .cdxj next to it. If FILE is -, write the records to standard output, without an index.

A body that several captures share is written once; the other captures are revisit records. Redirects are written with their bodies. A
metadata record for each capture contains the policy that decided, the lines, and the statements of the page. The keys of the index are
those of pywb. Later take-downs cannot erase exported data.`,
		Example: `  acapcrawl archive export -o news.warc.gz --url https://example.com/news/
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
	judge := judgingFlags(cmd, "refresh")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := exportRequest{File: *file, Force: *force, JSON: out.JSON()}
		switch {
		case r.File == "":
			return misuse("--output archive.warc.gz", "%s needs the name of a file", cmd.CommandPath())
		case strings.HasSuffix(r.File, ".cdxj"):
			return misuse("--output archive.warc.gz", "--output %s: this is the name of the index that export writes next to FILE", r.File)
		case r.File == "-" && r.JSON:
			return misuse("--output FILE", "--output -: --json writes the counts to standard output")
		}
		for _, prefix := range *under {
			u, err := webURL(prefix)
			if err != nil {
				return err
			}
			normal, err := crawler.Normal(u.String())
			if err != nil {
				return err
			}
			r.Under = append(r.Under, normal)
		}
		var err error
		if r.judging, err = judge(); err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runExport(cmd.Context(), cfg, r)
	}
	return cmd
}

func (c *Command) archiveImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE…",
		Short: "Import the pages of WARC files that may be kept today",
		Long: `Import the pages of WARC files (1.0 and 1.1, compressed or not; - is standard input) as past captures, if the policy last read of their
sites permits to crawl and to preserve them. The command makes no request. A page of a site whose policy was never read is refused, unless
--assume-policy names a robots.txt for such sites, or none. The assumption is used until the real robots.txt is read.

Redirects are imported too, with or without their target. Every record that is not imported is printed to standard error, with the reason.
Files may be imported again: existing captures stay unchanged.`,
		Example: `  acapcrawl archive import crawl.warc.gz
  acapcrawl archive import --assume-policy none *.warc.gz`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	assume := flags.String("assume-policy", "", "assume the robots.txt in `FILE` for sites whose robots.txt was never read; none: assume that they have none")
	judgedCrawler(flags)
	setting(flags, "purpose")
	setting(flags, "max-body")
	setting(flags, "memory")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || strings.Join(args, "") == "" {
			return misuse(cmd.CommandPath()+" crawl.warc.gz", "%s needs the name of a file", cmd.CommandPath())
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runImport(cmd.Context(), cfg, importRequest{Files: args, Assume: *assume, JSON: out.JSON()})
	}
	return cmd
}

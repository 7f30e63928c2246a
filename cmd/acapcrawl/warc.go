package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/crawler"
)

// exportRequest is what archive export was asked for, beside the configuration.
type exportRequest struct {
	judging
	File  string   // as typed; "-" is standard output
	Under []string // addresses that begin with one of these; none: all
	Force bool
	JSON  bool
}

// importRequest is what archive import was asked for, beside the configuration.
type importRequest struct {
	Files  []string // as typed
	Assume string   // a file, assumeNone, or "" where nothing is assumed
	JSON   bool
}

// assumeNone stands for a site without a robots.txt.
const assumeNone = "none"

func (c *Command) archiveExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export -o FILE",
		Short: "Write the captures that may be kept today into a WARC file",
		Long: `Write the captures that may be preserved by the policy last read into FILE as WARC 1.1, compressed unless its name ends with .warc,
and beside it an index of the same name that ends with .cdxj. With - as FILE the records go to standard output, without an index.

A body that several captures have in common is written once; each further one is a revisit of it. Redirects are written with their
bodies. A metadata record says of each capture which policy decided, by which lines, and what the page said itself. The keys of the index
are those of pywb. What is exported is out of reach of later take-downs.`,
		Example: `  acapcrawl archive export -o news.warc.gz --url https://example.com/news/
  acapcrawl archive export -o - | warcio index /dev/stdin`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	file := flags.StringP("output", "o", "", "write to `FILE`; - is standard output")
	under := flags.StringArray("url", nil, "only addresses that begin with `PREFIX` (repeatable)")
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
			return misuse("--output archive.warc.gz", "--output %s: the index beside FILE is called so", r.File)
		case r.File == "-" && r.JSON:
			return misuse("--output FILE", "--output -: with --json the counts go to standard output")
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
		Short: "Take in the pages of WARC files, as far as they may be kept today",
		Long: `Take in the pages of WARC files (1.0 and 1.1, compressed or not, - is standard input) as captures of the past, as far as the policy
last read of their sites permits to crawl and to keep them. Nothing is requested: a page of a site whose policy was never read is
refused, unless --assume-policy names a robots.txt for such sites, or says none. It counts until the real one is read.

Redirects are kept too, with or without the page that they lead to. Every record that is not taken in is printed to standard error, with
the reason. Files may be imported again: what is held stays as it is.`,
		Example: `  acapcrawl archive import crawl.warc.gz
  acapcrawl archive import --assume-policy none *.warc.gz`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	assume := flags.String("assume-policy", "", "assume the robots.txt in `FILE` for sites whose own was never read; none: that they have none")
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

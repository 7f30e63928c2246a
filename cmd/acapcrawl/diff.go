package main

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
)

// diffRequest is what diff was asked for, beside the configuration.
type diffRequest struct {
	Args     []string // one or two, files or URLs
	Against  string   // conventional or temoto
	Alone    bool     // read the ACAP records as if they stood alone
	Site     *url.URL // that files are the robots.txt of; nil: not said
	URLs     string   // file of addresses; "-" is standard input
	Held     bool     // ask about what the data directory holds of the site
	Case     bool     // ask about the other case too
	Crawlers []string // empty: those that are named, and any other
	Purposes []string // nil: undeclared
	Usages   []acap.Usage
	History  bool // compare two versions that the data directory knows of a site
	From, To time.Time
	All      bool
	Out      *output
}

// The readings that can be held against that of ACAP.
const (
	againstConventional = "conventional"
	againstTemoto       = "temoto"
)

func (c *Command) diffVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff FILE|URL [FILE|URL]",
		Short: "Say where two readings or two versions of a robots.txt disagree, for whom and by which lines",
		Long: `With one robots.txt: say for which crawlers and URLs its ACAP reading and its conventional one disagree, and by which lines. The ACAP reading
is that of a crawler that honours ACAP and the conventional records beside it; the conventional one is that of a crawler that knows only
them (RFC 9309). Of other usages than crawl that says nothing, so there the question is what ACAP withholds of what such a crawler may fetch.
With --against temoto it is a crawler built on the library temoto/robotstxt that is asked instead, and why it answers otherwise is said.

With two: say what changed for whom from the first to the second. With --history URL they are two versions that the data directory knows
of that site.

The URLs are examples that the patterns of the files cover; --urls or --held name others. A URL as argument stands for the robots.txt of its
site; - is standard input. The exit status is 0 where there is no difference, and 1 where there is one.`,
		Example: `  acapcrawl diff robots.txt
  acapcrawl diff --against temoto --crawler examplebot https://example.com/
  acapcrawl diff old.txt new.txt
  acapcrawl diff --history --from 2026-01-31T12:00:00Z https://example.com/`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	r := diffRequest{}
	flags.StringVar(&r.Against, "against", againstConventional, "compare with how `READER` reads: conventional (or blind), or temoto")
	flags.BoolVar(&r.Alone, "alone", false, "take the ACAP records as if the conventional ones were not there")
	flags.StringVar(&r.URLs, "urls", "", "ask about the URLs or paths in `FILE`, one a line")
	flags.BoolVar(&r.Held, "held", false, "ask about what the data directory holds of the site")
	flags.BoolVar(&r.Case, "case", false, "ask about examples in the other case too, which ACAP alone does not tell apart")
	flags.StringArrayVar(&r.Crawlers, "crawler", nil, "only crawler `NAME` (repeatable; * is one that is not named)")
	flags.StringArrayVar(&r.Purposes, "purpose", nil, "for a crawler that collects for purpose `P` (repeatable)")
	usages := flags.StringArray("usage", nil, "only usage type `U` (repeatable)")
	site := flags.String("site", "", "a FILE is the robots.txt of the site `URL`")
	flags.BoolVar(&r.History, "history", false, "compare two versions that the data directory knows of the site")
	flags.String("from", "", "with --history: from the version in force at `TIME` (default: the one before)")
	flags.String("to", "", "with --history: to the version in force at `TIME` (default: the last)")
	flags.BoolVar(&r.All, "all", false, "list all URLs of a difference, not one example")
	setting(flags, "strict")
	setting(flags, "allow-private")
	out := c.reportFlags(cmd, textForm, jsonForm)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.Args, r.Out = args, out
		if r.Against == "blind" {
			r.Against = againstConventional
		}
		var err error
		if r.Usages, err = usagesNamed(*usages); err != nil {
			return err
		}
		if *site != "" {
			if r.Site, err = webURL(*site); err != nil {
				return err
			}
		}
		if r.From, err = timeFlag(flags, "from"); err != nil {
			return err
		}
		if r.To, err = timeFlag(flags, "to"); err != nil {
			return err
		}
		if err := r.check(cmd); err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runDiff(cmd.Context(), cfg, r)
	}
	return cmd
}

// check refuses flags that do not go together.
func (r *diffRequest) check(cmd *cobra.Command) error {
	two := len(r.Args) == 2 || r.History
	switch {
	case len(r.Args) == 0 || len(r.Args) > 2:
		return misuse(cmd.CommandPath()+" robots.txt", "%s takes one or two files or URLs", cmd.CommandPath())
	case r.History && len(r.Args) != 1:
		return misuse(cmd.CommandPath()+" --history https://example.com/", "--history takes one URL")
	case !r.History && (!r.From.IsZero() || !r.To.IsZero()):
		return misuse("", "--from and --to need --history")
	case !r.From.IsZero() && !r.To.IsZero() && !r.From.Before(r.To):
		return misuse("", "--from is not before --to")
	case r.Against != againstConventional && r.Against != againstTemoto:
		return unknown("--against", r.Against, "a reader", []string{againstConventional, againstTemoto, "blind"})
	case two && (r.Against != againstConventional || r.Alone || r.Case):
		return misuse("", "--against, --alone and --case compare readings of one file, not two versions")
	case r.URLs != "" && r.Held:
		return misuse("", "--urls and --held both name the URLs")
	case r.Case && (r.URLs != "" || r.Held):
		return misuse("", "--case adds to the examples, and with --urls or --held there are none")
	}
	given := append(slices.Clone(r.Args), r.URLs)
	if n := len(slices.DeleteFunc(given, func(s string) bool { return s != "-" })); n > 1 {
		return misuse("", "standard input can be read only once")
	}
	if r.Held && r.Site == nil && !slices.ContainsFunc(r.Args, isURL) {
		return misuse("--site https://example.com/", "--held needs to know the site")
	}
	return nil
}

// isURL tells a URL from the name of a file.
func isURL(arg string) bool {
	lower := strings.ToLower(arg)
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

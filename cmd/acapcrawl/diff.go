package main

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
)

// diffRequest holds the arguments of diff that are not settings.
type diffRequest struct {
	Args []string // one or two names of files or URLs, or the names of up to three files of one site
	// the way of reading robots.txt with which the ACAP reading is compared: conventional or
	// temoto; preferences: only vocabularies are compared with each other
	Against string
	Alone   bool     // the ACAP reading ignores the conventional records
	Site    *url.URL // the site to which the files belong; nil: not known
	URLs    string   // name of a file with addresses; "-" is standard input
	Held    bool     // compare the decisions for the archived addresses of the site
	Case    bool     // also compare the decisions for the addresses with the other letter case
	// names of the crawlers to compare for; empty: the crawlers that the files name, and any other
	// crawler
	Crawlers []string
	Purposes []string // purposes of the crawlers; nil: undeclared
	Usages   []acap.Usage
	History  bool // compare two stored versions of a site's policy
	From, To time.Time
	All      bool
	Out      *output
}

// The ways of reading robots.txt that can be compared with the ACAP reading.
const (
	againstConventional = "conventional"
	againstTemoto       = "temoto"
	againstPreferences  = "preferences"
)

const diffLong = `With one robots.txt: print for which crawlers and URLs the ACAP reading and the conventional
reading disagree, and by which lines. The ACAP reading is that of a crawler that obeys ACAP and conventional
records. The conventional reading is that of a crawler that obeys only conventional records (RFC 9309). These
say nothing about usages other than crawl: for these, diff prints what ACAP prohibits of the pages that such a
crawler may fetch. With --against temoto, compare with a crawler that uses the library temoto/robotstxt, and
print why it decides differently.

With two files: print what changed for whom from the first to the second. With --history URL, compare two
versions of robots.txt that the data directory has of that site.

If the file has statements in the newer vocabularies of preferences, print also where ACAP and these
vocabularies say different things about a usage of a URL, and by which lines; --against preferences prints
only this. For a URL, tdmrep.json and licence documents are requested. Up to three files of one site can be
given: robots.txt, tdmrep.json and a licence document. Two versions of one of them are compared in each
vocabulary.

The URLs are examples that the patterns of the files match; --urls or --held select others. A URL as argument
names the robots.txt of its site; - is standard input. The exit status is 0 if there is no difference, and 1
if there is one.`

func (c *Command) diffVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff FILE|URL [FILE|URL]",
		Short: "Compare two readings or two versions of permissions",
		Long:  diffLong,
		Example: `  acapcrawl diff robots.txt
  acapcrawl diff --against temoto --crawler examplebot https://example.com/
  acapcrawl diff --against preferences robots.txt tdmrep.json
  acapcrawl diff old.txt new.txt
  acapcrawl diff --history --from 2026-01-31T12:00:00Z https://example.com/`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	r := diffRequest{}
	flags.StringVar(&r.Against, "against", againstConventional, "compare with the reading of `READER`: conventional, "+
		"temoto; preferences: compare only the newer vocabularies and ACAP with each other")
	flags.BoolVar(&r.Alone, "alone", false, "ignore the conventional records in the ACAP reading")
	flags.StringVar(&r.URLs, "urls", "", "compare on the URLs or paths in `FILE`, one per line")
	flags.BoolVar(&r.Held, "held", false, "compare on the archived URLs of the site")
	flags.BoolVar(&r.Case, "case", false, "compare on examples in the other letter case too, which ACAP ignores")
	flags.StringArrayVar(&r.Crawlers, "crawler", nil, "only the crawler `NAME` (repeatable; *: one that no file names)")
	flags.StringArrayVar(&r.Purposes, "purpose", nil, "for a crawler that declares the purpose `P` (repeatable)")
	usages := flags.StringArray("usage", nil, "only the usage type `U` (repeatable)")
	site := flags.String("site", "", "read each FILE as the robots.txt of the site `URL`")
	flags.BoolVar(&r.History, "history", false, "compare two versions that the data directory has of the site")
	flags.String("from", "", "with --history: from the version in force at `TIME` (default: the one before)")
	flags.String("to", "", "with --history: to the version in force at `TIME` (default: the last)")
	flags.BoolVar(&r.All, "all", false, "list all URLs of a difference instead of one example")
	setting(flags, "preferences")
	setting(flags, "strict")
	setting(flags, "allow-private")
	out := c.reportFlags(cmd, textForm, jsonForm)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.Args, r.Out = args, out
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

// check returns an error if arguments and flags contradict each other.
func (r *diffRequest) check(cmd *cobra.Command) error {
	if n := len(r.Args); n == 0 || n > 3 || n == 3 && slices.ContainsFunc(r.Args, isURL) {
		return misuse(cmd.CommandPath()+" robots.txt", "%s takes one or two files or URLs", cmd.CommandPath())
	}
	readers := []string{againstConventional, againstTemoto, againstPreferences}
	if !slices.Contains(readers, r.Against) {
		return unknown("--against", r.Against, "a reader", readers)
	}
	if err := r.checkVersions(cmd); err != nil {
		return err
	}
	return r.checkExamples()
}

// checkVersions checks the flags about versions.
func (r *diffRequest) checkVersions(cmd *cobra.Command) error {
	switch {
	case r.History && len(r.Args) != 1:
		return misuse(cmd.CommandPath()+" --history https://example.com/", "--history takes one URL")
	case !r.History && (!r.From.IsZero() || !r.To.IsZero()):
		return misuse("", "--from and --to need --history")
	case !r.From.IsZero() && !r.To.IsZero() && !r.From.Before(r.To):
		return misuse("", "--from is not before --to")
	case r.History && (r.Against != againstConventional || r.Alone || r.Case):
		return misuse("", "--against, --alone and --case compare readings of one file, not two versions")
	}
	return nil
}

// checkExamples checks the flags that select the URLs.
func (r *diffRequest) checkExamples() error {
	given := append(slices.Clone(r.Args), r.URLs)
	switch {
	case r.URLs != "" && r.Held:
		return misuse("", "--urls and --held both select the URLs; give one of them")
	case r.Case && (r.URLs != "" || r.Held):
		return misuse("", "--case adds examples, but --urls and --held replace the examples")
	case len(slices.DeleteFunc(given, func(s string) bool { return s != "-" })) > 1:
		return misuse("", "standard input can be read only once")
	case r.Held && r.Site == nil && !slices.ContainsFunc(r.Args, isURL):
		return misuse("--site https://example.com/", "--held needs to know the site")
	}
	return nil
}

// isURL reports whether an argument is a URL and not the name of a file.
func isURL(arg string) bool {
	lower := strings.ToLower(arg)
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

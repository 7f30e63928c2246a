package main

import (
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/check"
)

// convertRequest is what convert was asked for.
type convertRequest struct {
	check.Convert
	Name string // of the file; "-" is standard input
	To   string
	Dir  string // where the results go; "": to standard output
	JSON bool
}

// The languages that convert knows.
const (
	toACAP         = "acap"
	toConventional = "conventional"
)

func (c *Command) convertVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Say in ACAP what a conventional robots.txt says, or the other way round",
		Long: `Say in ACAP what a conventional robots.txt says: its records stay, and ACAP records stand behind them, or in a file of their
own with --reference. With --to conventional, say what the ACAP records of a robots.txt say of crawl in records for crawlers
that know no ACAP. FILE may be - for standard input. The result goes to standard output; what could not be said, or is said otherwise,
to standard error. Where one language cannot say what the other does, the result prohibits.

Before anything is printed both files are compared, for every crawler that is named and one that is not, on examples of all patterns
and of what they have in common. The exit status is 0 where crawlers may do the same as before, and 1 where a warning says what
changes. ACAP knows no letter case: without --any-case a conversion to ACAP prohibits other spellings of a path too, which is a change;
a conversion to conventional records says once, in a notice, that rules hold in the letter case of the file alone.`,
		Example: `  acapcrawl convert robots.txt > with-acap.txt
  acapcrawl convert --reference /acap.txt --ignore-conventional -o site robots.txt
  acapcrawl convert --to conventional robots.txt`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	to := flags.String("to", toACAP, "convert to `LANGUAGE`: "+toACAP+", "+toConventional)
	usages := flags.StringSlice("usages", nil, "say it of `USAGES` too, as in crawl,index; else of crawl alone; with --ignore-conventional of crawl in any case")
	reference := flags.String("reference", "", "put the ACAP records into a file at `PATH` of the site, which robots.txt refers to")
	ignore := flags.Bool("ignore-conventional", false, "tell crawlers that read ACAP to ignore the conventional records")
	anyCase := flags.Bool("any-case", false, "say nothing of letter case: the site takes /A for /a, or has one of them alone")
	dir := flags.StringP("output", "o", "", "write robots.txt, and the file it refers to, into `DIR`")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := convertRequest{To: *to, Dir: *dir, JSON: out.JSON(),
			Convert: check.Convert{Reference: *reference, Ignore: *ignore, AnyCase: *anyCase}}
		for _, name := range *usages {
			u := acap.Usage(strings.ToLower(strings.TrimSpace(name)))
			if !u.Standard() || u == acap.Other {
				return unknown("--usages", name, "a usage type that a rule can be said of", usageNames())
			}
			if !slices.Contains(r.Usages, u) {
				r.Usages = append(r.Usages, u)
			}
		}
		switch {
		case len(args) != 1:
			return misuse(cmd.CommandPath()+" robots.txt", "%s takes one file", cmd.CommandPath())
		case r.To != toACAP && r.To != toConventional:
			return unknown("--to", r.To, "a language", []string{toACAP, toConventional})
		case r.To == toConventional && (r.Reference != "" || r.Ignore || len(r.Usages) > 0):
			return misuse("", "--reference, --ignore-conventional and --usages are for a conversion to ACAP")
		case r.Reference != "" && !isSitePath(r.Reference):
			return misuse("--reference /acap.txt", "--reference: %q is not the path of a file on the site", r.Reference)
		case r.Reference != "" && r.Dir == "" && !r.JSON:
			return misuse("-o DIR", "with --reference there are two files to write")
		}
		r.Name = args[0]
		return c.runConvert(r)
	}
	return cmd
}

// isSitePath reports whether a path names a file below the root of a site, other than robots.txt, and below any directory.
func isSitePath(p string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	return strings.HasPrefix(p, "/") && path.Clean(p) == p && localFile(p[1:]) && !strings.EqualFold(top, "robots.txt")
}

package main

import (
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/convert"
	"github.com/acapcrawl/acapcrawl/policy"
)

// convertRequest holds the arguments of the verb convert.
type convertRequest struct {
	convert.Options
	Name string // name of the file to convert; "-" is standard input
	From string // "": recognised
	To   string
	Dir  string // the directory for the results; "": standard output
	JSON bool
}

// The policy languages that convert reads and writes, in addition to convert.Vocabularies.
const (
	toACAP         = "acap"
	toConventional = "conventional"
)

const convertLong = `Translate the conventional records of a robots.txt into ACAP. The conventional records stay,
and the ACAP records follow them, or are written to a file of their own with --reference. With --to
conventional, translate what the ACAP records say about crawling into records for crawlers without ACAP. If
FILE is -, read standard input. The result is written to standard output; what could not be translated, or is
expressed differently, to standard error. If one language cannot express what the other does, the result
prohibits.

Before anything is printed, both files are compared for every named crawler and one that is not named, on
examples of all patterns and of their intersections. The exit status is 0 if crawlers may do the same as
before, and 1 if a warning says what changes. ACAP ignores letter case: without --any-case a conversion to
ACAP prohibits other spellings of a path too, which is a change. A conversion to conventional records prints
one notice that rules apply only in the letter case of the file.

With --to aipref, content-signal, tdmrep or rsl, translate an ACAP robots.txt into a newer vocabulary: a
robots.txt without ACAP for the first two, tdmrep.json, or a licence document. The result never permits what
the file prohibits. What it cannot say is lost, and where it can only say more, it restricts more. Both are
listed with the lines they come from, and the exit status is 0.

A tdmrep.json, a licence document, or a robots.txt with Content-Usage or Content-Signal lines is translated
into ACAP; --from selects one vocabulary if a robots.txt has several, or conventional for its Allow and
Disallow lines. ACAP can prohibit the four uses train-ai, ai-use, ai-index and tdm only together. What needs an
agreement is prohibited.`

func (c *Command) convertVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Translate ACAP from and to conventional records and others",
		Long:  convertLong,
		Example: `  acapcrawl convert robots.txt > with-acap.txt
  acapcrawl convert --reference /acap.txt --ignore-conventional -o site robots.txt
  acapcrawl convert --to conventional robots.txt
  acapcrawl convert --to aipref robots.txt
  acapcrawl convert --from tdmrep tdmrep.json`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	languages := append([]string{toACAP, toConventional}, convert.Vocabularies()...)
	to := flags.String("to", toACAP, "convert to `LANGUAGE`: "+strings.Join(languages, ", "))
	from := flags.String("from", "", "convert to ACAP from `LANGUAGE`: "+strings.Join(languages[1:], ", ")+
		" (default: recognised by the content)")
	usages := flags.StringSlice("usages", nil, "apply the rules to `USAGES`, for example crawl,index; default: "+
		"crawl; with --ignore-conventional crawl is always included")
	reference := flags.String("reference", "", "write the ACAP records to a file at `PATH` of the site, to which "+
		"robots.txt refers")
	ignore := flags.Bool("ignore-conventional", false, "make crawlers with ACAP ignore the conventional records")
	anyCase := flags.Bool("any-case", false, "ignore letter case: the site treats /A as /a, or has only one of them")
	site := flags.String("site", "", "the site `URL` to which a licence document belongs (default: the first that it "+
		"names)")
	dir := flags.StringP("output", "o", "", "write the resulting files to `DIR`, below which they have the paths that "+
		"they have on the site")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := convertRequest{To: *to, From: *from, Dir: *dir, JSON: out.JSON(),
			Options: convert.Options{Reference: *reference, Ignore: *ignore, AnyCase: *anyCase}}
		for _, name := range *usages {
			u := acap.Usage(strings.ToLower(strings.TrimSpace(name)))
			if !u.Standard() || u == acap.Other {
				return unknown("--usages", name, "a usage type for a rule", usageNames(acap.Usages()))
			}
			if !slices.Contains(r.Usages, u) {
				r.Usages = append(r.Usages, u)
			}
		}
		if len(args) != 1 {
			return misuse(cmd.CommandPath()+" robots.txt", "%s takes one file", cmd.CommandPath())
		}
		if err := r.check(languages, *site); err != nil {
			return err
		}
		r.Name = args[0]
		return c.runConvert(r)
	}
	return cmd
}

// check returns an error if flags contradict each other. It sets the options that depend on several
// flags.
func (r *convertRequest) check(languages []string, site string) error {
	toRecords := r.Reference != "" || r.Ignore || len(r.Usages) > 0
	if toRecords && r.From == "" {
		r.From = toConventional
	}
	switch {
	case !slices.Contains(languages, r.To):
		return unknown("--to", r.To, "a language", languages)
	case r.From != "" && !slices.Contains(languages[1:], r.From) && (r.From != toACAP || r.To == toACAP):
		return unknown("--from", r.From, "a language", languages[1:])
	case toRecords && (r.To != toACAP || r.From != toConventional):
		return misuse("", "--reference, --ignore-conventional and --usages are for a conversion of conventional "+
			"records to ACAP")
	case r.To != toACAP && r.From != "" && r.From != toACAP:
		return misuse("--to "+toACAP, "only ACAP is converted to %s; convert to ACAP first", r.To)
	case r.Reference != "" && !isSitePath(r.Reference):
		return misuse("--reference /acap.txt", "--reference: %q is not the path of a file on the site", r.Reference)
	case r.Reference != "" && r.Dir == "" && !r.JSON:
		return misuse("-o DIR", "with --reference there are two files to write")
	case site != "" && r.From != convert.RSL:
		return misuse("--from "+convert.RSL, "--site is for a licence document")
	case site == "":
		return nil
	}
	u, err := webURL(site)
	if err != nil {
		return err
	}
	r.Site, err = policy.Key(u)
	return err
}

// isSitePath reports whether p is a path on a site under which a file can be stored in a local
// directory. It is false for /robots.txt and everything below /robots.txt.
func isSitePath(p string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	return strings.HasPrefix(p, "/") && path.Clean(p) == p && localFile(p[1:]) && !strings.EqualFold(top, "robots.txt")
}

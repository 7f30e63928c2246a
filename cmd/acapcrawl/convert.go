package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/convert"
	"github.com/acapcrawl/acapcrawl/display"
)

// convertRequest holds the arguments of the verb convert.
type convertRequest struct {
	convert.Options
	Name string // name of the file to convert; "-" is standard input
	To   string
	Dir  string // the directory for the results; "": standard output
	JSON bool
}

// The policy languages that convert reads and writes.
const (
	toACAP         = "acap"
	toConventional = "conventional"
)

func (c *Command) convertVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Translate a robots.txt between conventional records and ACAP",
		Long: `Translate the conventional records of a robots.txt into ACAP. The conventional records stay,
and the ACAP records follow them, or are written to a file of their own with --reference. With --to
conventional, translate what the ACAP records say about crawling into records for crawlers without ACAP. If
FILE is -, read standard input. The result is written to standard output; what could not be translated, or is
expressed differently, to standard error. If one language cannot express what the other does, the result
prohibits.

Before anything is printed, both files are compared for every named crawler and one that is not named, on
examples of all patterns and of their intersections. The exit status is 0 if crawlers may do the same as
before, and 1 if a warning says what changes. ACAP ignores letter case: without --any-case a conversion to
ACAP prohibits other spellings of a path too, which is a change. A conversion to conventional records prints
one notice that rules apply only in the letter case of the file.`,
		Example: `  acapcrawl convert robots.txt > with-acap.txt
  acapcrawl convert --reference /acap.txt --ignore-conventional -o site robots.txt
  acapcrawl convert --to conventional robots.txt`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	to := flags.String("to", toACAP, "convert to `LANGUAGE`: "+toACAP+", "+toConventional)
	usages := flags.StringSlice("usages", nil, "apply the rules to `USAGES`, for example crawl,index; default: "+
		"crawl; with --ignore-conventional crawl is always included")
	reference := flags.String("reference", "", "write the ACAP records to a file at `PATH` of the site, to which "+
		"robots.txt refers")
	ignore := flags.Bool("ignore-conventional", false, "make crawlers with ACAP ignore the conventional records")
	anyCase := flags.Bool("any-case", false, "ignore letter case: the site treats /A as /a, or has only one of them")
	dir := flags.StringP("output", "o", "", "write robots.txt, and the file that it refers to, to `DIR`")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := convertRequest{To: *to, Dir: *dir, JSON: out.JSON(),
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

// isSitePath reports whether p is a path on a site under which a file can be stored in a local
// directory. It is false for /robots.txt and everything below /robots.txt.
func isSitePath(p string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	return strings.HasPrefix(p, "/") && path.Clean(p) == p && localFile(p[1:]) && !strings.EqualFold(top, "robots.txt")
}

// runConvert converts a file. It prints to standard error what changes for crawlers, even if the
// result cannot be written.
func (c *Command) runConvert(r convertRequest) error {
	src, err := c.readChecked(r.Name)
	if err != nil {
		return err
	}
	translate, other := convert.ToACAP, "--to conventional"
	if r.To == toConventional {
		translate, other = convert.ToConventional, "--to acap"
	}
	out, err := translate(src, r.Options)
	name := called(r.Name)
	switch {
	case errors.Is(err, convert.ErrSpeaksACAP), errors.Is(err, convert.ErrNoACAP):
		return misuse(other, "%s: %w", name, err)
	case err != nil:
		return failure("", fmt.Errorf("%s: %w", name, err))
	}
	if r.Dir != "" {
		if err := c.writeConverted(r, out); err != nil {
			return err
		}
	}
	switch {
	case r.JSON:
		if out.Remarks == nil {
			out.Remarks = []convert.Remark{}
		}
		err = c.printJSON(out)
	case r.Dir == "":
		_, err = io.WriteString(c.raw(), out.Robots)
	}
	if err != nil {
		return err
	}
	for _, remark := range out.Remarks {
		fmt.Fprintln(c.Stderr, display.Line(name+": "+remark.String()))
	}
	if out.Exact() {
		return nil
	}
	return nothing("")
}

// writeConverted writes the resulting files to a directory, and makes the directory if necessary.
// It never overwrites a file. It writes robots.txt last, after the file to which robots.txt refers.
func (c *Command) writeConverted(r convertRequest, out *convert.Conversion) error {
	dir := c.path(r.Dir)
	type file struct{ name, text string }
	files := []file{{filepath.Join(dir, "robots.txt"), out.Robots}}
	if r.Reference != "" {
		files = []file{{filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(r.Reference, "/"))), out.Reference},
			files[0]}
	}
	for _, f := range files {
		if _, err := os.Lstat(f.name); !errors.Is(err, fs.ErrNotExist) {
			return misuse("another directory", "%s is there already, and is not overwritten", f.name)
		}
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.name), 0o755); err != nil {
			return fmt.Errorf("the result could not be written: %w", err)
		}
		if err := createFile(f.name, []byte(f.text)); err != nil {
			return fmt.Errorf("the result could not be written: %w", err)
		}
	}
	return nil
}

// localFile reports whether a slash-separated path, joined to the name of a directory, always names
// a file below that directory.
func localFile(path string) bool {
	return path != "" && !strings.HasSuffix(path, "/") && !strings.ContainsAny(path, "\\%?#* \t\r\n") &&
		filepath.IsLocal(filepath.FromSlash(path))
}

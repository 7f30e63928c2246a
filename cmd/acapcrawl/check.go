package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/check"
)

// checkRequest holds the arguments of check that are not settings.
type checkRequest struct {
	Names  []string   // files, "-" for standard input, and URLs
	As     check.Kind // "": the name or the content of a file decides
	Out    *output
	Now    time.Time
	All    bool // every finding in full
	Fix    bool // correct files
	DryRun bool // with Fix: change no file
}

func (c *Command) checkVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE|URL…",
		Short: "Find mistakes in a robots.txt, a page, a header or a site",
		Long: `Find mistakes in a robots.txt, a page or a header, and print how to correct them. If FILE is -, read standard input. The type of a file is
taken from its name, otherwise from its first bytes. For a URL, check reads the robots.txt of its site, the files that robots.txt refers
to, the page, and the resources that the page requires; it requests nothing that may not be crawled. The exit status is 1 if there is an
error or a warning, and 0 if there are only notices.

With --fix, check corrects a robots.txt in place if the meaning is beyond doubt, and prints a diff; a corrected standard input is
written to standard output. Decisions stay the same, except for a line that was not read as it is written. The remaining findings are
printed to standard error.

Each finding has a code; --explain CODE prints its documentation. The settings check.ignore, check.notice, check.warning and check.error
list codes to suppress, or to report with that severity. A comment line in a robots.txt does the same for that file, but it can only
lower a severity:
  # acapcrawl: ignore CODE, CODE -- reason     (or notice, or warning)
The report says how many findings are suppressed.`,
		Example: `  acapcrawl check robots.txt
  curl -s https://example.com/robots.txt | acapcrawl check --as robots -
  acapcrawl check https://example.com/news/a.html
  acapcrawl check --explain missing-colon`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	as := flags.String("as", "", "read files as `KIND`: robots, reference, page, header")
	code := flags.String("explain", "", "print the documentation of the finding `CODE`, and check nothing")
	all := flags.Bool("all", false, "print every finding in full")
	fix := flags.Bool("fix", false, "correct files if that is safe, and print what changes")
	dryRun := flags.Bool("dry-run", false, "with --fix: change no file")
	judgedCrawler(flags)
	for _, name := range []string{"dialect", "purpose", "delay", "timeout", "allow-private"} {
		setting(flags, name)
	}
	flags.String("as-of", "", "apply dates as of `TIME` (RFC 3339)")
	out := c.reportFlags(cmd, textForm, jsonForm, sarifForm, junitForm, githubForm)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := checkRequest{Names: args, As: check.Kind(*as), Out: out, All: *all, Fix: *fix, DryRun: *dryRun}
		if flags.Changed("explain") {
			if len(args) > 0 || *fix {
				return misuse("acapcrawl check --explain "+*code, "--explain checks nothing: it takes neither files nor --fix")
			}
			if out.Form != textForm && out.Form != jsonForm {
				return misuse("", "--explain writes text or json, not %s", out.Form)
			}
			return c.runCheckExplain(*code, out)
		}
		switch {
		case len(args) == 0:
			return misuse(cmd.CommandPath()+" robots.txt", "%s takes files or URLs", cmd.CommandPath())
		case *as != "" && !slices.Contains(check.Kinds(), r.As):
			return unknown("--as", *as, "a kind of text", words(check.Kinds()))
		}
		switch {
		case r.DryRun && !r.Fix:
			return misuse("--fix --dry-run", "--dry-run needs --fix")
		case r.Fix && (out.Form != textForm || out.File != ""):
			return misuse("", "--fix prints what it changes: --format, --json and -o need a report without --fix")
		}
		var err error
		if r.Now, err = timeFlag(flags, "as-of"); err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runCheck(cmd.Context(), cfg, r)
	}
	return cmd
}

func words[T ~string](list []T) []string {
	var out []string
	for _, w := range list {
		out = append(out, string(w))
	}
	return out
}

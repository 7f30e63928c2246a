package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/check"
)

// checkRequest is what check was asked for, beside the configuration.
type checkRequest struct {
	Names  []string   // files, "-" for standard input, and URLs
	As     check.Kind // "": each file is what its name or its content says
	Out    *output
	Now    time.Time
	All    bool // every finding in full
	Fix    bool // mend files
	DryRun bool // and only show how
}

func (c *Command) checkVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE|URL…",
		Short: "Say what is wrong with a robots.txt, a page, a header or a site, and how to mend it",
		Long: `Say what is wrong with a robots.txt, a page or a header, and how to mend it. FILE may be - for standard input. The type of a
file is taken from its name, otherwise from its first bytes. For a URL check reads the robots.txt of its site, the files that this
refers to, the page, and the resources that are required to use the page; it requests nothing that may not be crawled. The exit
status is 1 if there is an error or a warning, and 0 if there are only notices.

With --fix a robots.txt is mended in place, where what was meant is beyond doubt, and a diff shows how; standard input comes out
mended. No decision changes by that, but for a line that was not read as it is written. What is left is said on standard error.

Each finding has a code, and docs/findings.md explains it. The settings check.ignore, check.notice, check.warning and check.error
list codes to suppress, or to report with that severity. A comment line in a robots.txt does the same for that file, but it can only
lower a severity:
  # acapcrawl: ignore CODE, CODE -- reason     (or notice, or warning)
The report says how many findings are suppressed.`,
		Example: `  acapcrawl check robots.txt
  curl -s https://example.com/robots.txt | acapcrawl check --as robots -
  acapcrawl check https://example.com/news/a.html`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	as := flags.String("as", "", "read files as `KIND`: robots, reference, page, header")
	all := flags.Bool("all", false, "show every finding in full, however many there are")
	fix := flags.Bool("fix", false, "mend files where that is safe, and show what changes")
	dryRun := flags.Bool("dry-run", false, "with --fix: change no file")
	judgedCrawler(flags)
	for _, name := range []string{"dialect", "purpose", "delay", "timeout", "allow-private"} {
		setting(flags, name)
	}
	flags.String("as-of", "", "judge dates as of `TIME` (RFC 3339)")
	out := c.reportFlags(cmd, textForm, jsonForm, sarifForm, junitForm, githubForm)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := checkRequest{Names: args, As: check.Kind(*as), Out: out, All: *all, Fix: *fix, DryRun: *dryRun}
		switch {
		case len(args) == 0:
			return misuse(cmd.CommandPath()+" robots.txt", "%s takes files or URLs", cmd.CommandPath())
		case *as != "" && !slices.Contains(check.Kinds(), r.As):
			return unknown("--as", *as, "a kind of text", words(check.Kinds()))
		}
		switch {
		case r.DryRun && !r.Fix:
			return misuse("--fix --dry-run", "--dry-run is for --fix")
		case r.Fix && (out.Form != textForm || out.File != ""):
			return misuse("", "--fix shows what it changes: --format, --json and -o are for a report without it")
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

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/preference"
	"github.com/acapcrawl/acapcrawl/site"
)

// checkRequest holds the arguments of check that are not settings.
type checkRequest struct {
	Names  []string   // files, "-" for standard input, and URLs
	As     check.Kind // kind of the files; "": decide by file name or content
	Out    *output
	Now    time.Time
	All    bool // print every finding in full
	Fix    bool // correct the files
	DryRun bool // with Fix: print the changes, but change no file
	Watch  bool // check again when a file changes
}

func (c *Command) checkVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE|URL…",
		Short: "Find mistakes in a robots.txt, a page, a header or a site",
		Long: `Find mistakes in a robots.txt, a page, a header, a tdmrep.json or a licence document of RSL, and
print how to correct them. If FILE is -, read standard input. The type of a file is taken from its name,
otherwise from its first bytes. For a URL, check reads the robots.txt of its site, the files that robots.txt
refers to, the page, and the resources that the page requires; it requests nothing that may not be crawled.
The exit status is 1 if there is an error or a warning, and 0 if there are only notices.

Statements in the newer vocabularies of preferences are checked too, including tdmrep.json and licence
documents; --preferences none turns that off.

With --fix, check corrects a file, but no page and no header, in place if the meaning is beyond doubt, and
prints a diff; a corrected standard input is written to standard output. Decisions stay the same, except for
a line that was not read as it is written. The remaining findings are printed to standard error.

With --watch, check runs again whenever a file changes, until Ctrl-C. It also watches the files that a
robots.txt refers to, if they are in its directory. The exit status is that of the last check.

Each finding has a code; --explain CODE prints its documentation. The settings check.ignore, check.notice,
check.warning and check.error list codes to suppress, or to report with that severity. A comment line in a
robots.txt does the same for that file, but it can only lower a severity:
  # acapcrawl: ignore CODE, CODE -- reason     (or notice, or warning)
The report says how many findings are suppressed.`,
		Example: `  acapcrawl check robots.txt
  curl -s https://example.com/robots.txt | acapcrawl check --as robots -
  acapcrawl check https://example.com/news/a.html
  acapcrawl check --watch robots.txt
  acapcrawl check --explain missing-colon`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	as := flags.String("as", "", "read files as `KIND`: robots, reference, page, header, tdmrep, rsl")
	code := flags.String("explain", "", "print the documentation of the finding `CODE`, and check nothing")
	all := flags.Bool("all", false, "print every finding in full")
	fix := flags.Bool("fix", false, "correct files if that is safe, and print what changes")
	dryRun := flags.Bool("dry-run", false, "with --fix: change no file")
	watch := flags.Bool("watch", false, "check again whenever a file changes, until Ctrl-C")
	judgedCrawler(flags)
	for _, name := range []string{"preferences", "dialect", "purpose", "delay", "timeout", "allow-private"} {
		setting(flags, name)
	}
	flags.String("as-of", "", "apply dates as of `TIME` (RFC 3339)")
	out := c.reportFlags(cmd, textForm, jsonForm, sarifForm, junitForm, githubForm)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := checkRequest{Names: args, As: check.Kind(*as), Out: out, All: *all, Fix: *fix, DryRun: *dryRun,
			Watch: *watch}
		if flags.Changed("explain") {
			if len(args) > 0 || *fix || *watch {
				return misuse("acapcrawl check --explain "+*code, "--explain checks nothing: it takes no files, "+
					"no --fix and no --watch")
			}
			if out.Form != textForm && out.Form != jsonForm {
				return misuse("", "--explain writes text or json, not %s", out.Form)
			}
			return c.runCheckExplain(*code, out)
		}
		err := c.checkArguments(cmd, r)
		if err != nil {
			return err
		}
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

// checkArguments returns an error if arguments are missing or wrong, or contradict each other.
func (c *Command) checkArguments(cmd *cobra.Command, r checkRequest) error {
	switch {
	case len(r.Names) == 0:
		return misuse(cmd.CommandPath()+" robots.txt", "%s takes files or URLs", cmd.CommandPath())
	case r.As != "" && !slices.Contains(check.Kinds(), r.As):
		return unknown("--as", string(r.As), "a kind of text", words(check.Kinds()))
	case r.DryRun && !r.Fix:
		return misuse("--fix --dry-run", "--dry-run needs --fix")
	case r.Fix && (r.Out.Form != textForm || r.Out.File != ""):
		return misuse("", "--fix prints what it changes: --format, --json and -o need a report without --fix")
	case r.Watch:
		return c.checkWatchable(r)
	}
	return nil
}

func words[T ~string](list []T) []string {
	var out []string
	for _, w := range list {
		out = append(out, string(w))
	}
	return out
}

// maxChecked is the maximum size of a file in bytes.
const maxChecked = 16 << 20

// stdinName is the name of standard input in findings.
const stdinName = "stdin"

// runCheck checks the named files and URLs, with Watch again and again. It reports the findings even
// if some files or URLs cannot be read.
func (c *Command) runCheck(ctx context.Context, cfg *config.Config, r checkRequest) error {
	levels, err := checkLevels(cfg)
	if err != nil {
		return err
	}
	switch {
	case r.Fix:
		return c.runFix(ctx, checkOptions(cfg, r), levels, r)
	case r.Watch:
		return c.runCheckWatch(ctx, cfg, levels, r)
	}
	files, err := c.checkOnce(ctx, cfg, levels, r)
	if err != nil {
		return err
	}
	return checked(files.report, files.faults)
}

func checkOptions(cfg *config.Config, r checkRequest) check.Options {
	o := check.Options{Now: r.Now, Pilot: cfg.Policy.Dialect == config.DialectPilot,
		Vocabularies: site.CrawlerOf(cfg).Vocabularies}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	return o
}

// checkOnce checks the named files and URLs, and writes the report. An error means that ctx ended
// or that the report could not be written.
func (c *Command) checkOnce(ctx context.Context, cfg *config.Config, levels check.Levels,
	r checkRequest) (*checkedFiles, error) {
	report, o := &check.Report{}, checkOptions(cfg, r)
	files := &checkedFiles{report: report, o: o, as: r.As, read: map[string]content{}}
	var urls []*url.URL
	for i, name := range r.Names {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if slices.Contains(r.Names[:i], name) {
			continue
		}
		var err error
		if strings.Contains(name, "://") {
			var u *url.URL
			if u, err = webURL(name); err == nil {
				urls = append(urls, u)
			}
		} else {
			err = c.checkFile(files, name)
		}
		if err != nil {
			files.faults = append(files.faults, err)
		}
	}
	report.Contradictions(files.site, o)
	if err := c.checkURLs(ctx, cfg, report, o, urls); err != nil {
		files.faults = append(files.faults, err)
	}
	report.Apply(levels)
	if len(report.Texts) == 0 {
		return files, nil
	}
	return files, c.writeReport(r.Out, func(w io.Writer) error { return c.printReport(w, report, r) })
}

// checkLevels returns the levels of findings that the configuration sets.
func checkLevels(cfg *config.Config) (check.Levels, error) {
	levels := check.Levels{}
	for _, l := range []struct {
		key   string
		level acap.Severity
		codes []string
	}{
		{"check.ignore", check.Ignored, cfg.Check.Ignore}, {"check.notice", acap.Notice, cfg.Check.Notice},
		{"check.warning", acap.Warning, cfg.Check.Warning}, {"check.error", acap.Error, cfg.Check.Error},
	} {
		if err := levels.Set(l.level, l.codes...); err != nil {
			return nil, misuse("the codes that docs/findings.md lists", "the setting %s: %w", l.key, err)
		}
	}
	return levels, nil
}

// checked returns the error with which the verb check ends: the faults, if there are any, otherwise
// an error that sets the exit status if there are findings of level warning or higher.
func checked(report *check.Report, faults []error) error {
	if w := report.Worst(); len(faults) == 0 && (w == acap.Error || w == acap.Warning) {
		return nothing("")
	}
	return errors.Join(faults...)
}

func (c *Command) printReport(w io.Writer, report *check.Report, r checkRequest) error {
	if r.Out.Form == textForm {
		return report.WriteText(w, check.Style{Colour: c.Bold && r.Out.File == "", All: r.All})
	}
	for _, note := range report.Notes {
		fmt.Fprintln(c.Stderr, display.Line(note))
	}
	switch r.Out.Form {
	case sarifForm:
		return report.WriteSARIF(w, site.Version)
	case junitForm:
		return report.Tests().WriteJUnit(w)
	case githubForm:
		return report.WriteGitHub(w)
	}
	list := jsonArray{w: w}
	for _, f := range report.Findings {
		if err := list.add(findingJSON{f, check.Behind(f.Code), check.Help(f.Code)}); err != nil {
			return err
		}
	}
	return list.end()
}

// findingJSON is a finding with the paragraphs of the documents on which it is based, and the
// address of the documentation about this kind of finding.
type findingJSON struct {
	acap.Finding
	Behind []string `json:"behind,omitempty"`
	Help   string   `json:"help"`
}

// readChecked reads a file to be checked.
func (c *Command) readChecked(name string) ([]byte, error) {
	in := c.Stdin
	if name != "-" {
		if err := c.readable(name); err != nil {
			return nil, err
		}
		f, err := os.Open(c.path(name))
		if err != nil {
			return nil, misuse("", "%s cannot be read: %w", name, bare(err))
		}
		defer f.Close()
		in = f
	}
	src, err := io.ReadAll(io.LimitReader(in, maxChecked+1))
	switch {
	case err != nil:
		return nil, misuse("", "%s cannot be read: %w", name, bare(err))
	case len(src) > maxChecked:
		return nil, misuse("", "%s cannot be checked: it has more than %d bytes", name, maxChecked)
	}
	return src, nil
}

// called returns the name under which findings mention a file.
func called(name string) string {
	if name == "-" {
		return stdinName
	}
	return name
}

// checkedFiles are the files checked so far.
type checkedFiles struct {
	report *check.Report
	o      check.Options
	as     check.Kind // kind of the files; "": decide by file name or content
	// the site of the last robots.txt: files that come later on the command line are checked as
	// files of the same site; nil if there is none
	site   *check.LocalSite
	read   map[string]content // what was read of each file, and of the files to which a robots.txt refers
	faults []error            // why files could not be read
}

// content is what was read of a file. The zero value means that the file could not be read.
type content struct {
	text string
	ok   bool
}

func (c *Command) checkFile(files *checkedFiles, name string) error {
	src, err := c.readChecked(name)
	files.read[name] = content{string(src), err == nil}
	if err != nil {
		return err
	}
	called, report, o := called(name), files.report, files.o
	var robots *acap.File
	var refs []acap.Reference
	if files.site != nil {
		robots, refs = files.site.Robots, files.site.References
	}
	switch kind := cmp.Or(files.as, check.Guess(called, src)); kind {
	case check.RobotsKind:
		report.Contradictions(files.site, o)
		robots = check.Parse(called, src)
		refs = c.beside(files, name, robots.References(check.Everyone(robots, o)))
		report.Robots(called, src, o, refs...)
		files.site = check.NewLocalSite(called, robots, refs)
	case check.ReferenceKind:
		report.Referred(called, src, o)
	case check.PageKind:
		report.PageAlone(called, check.PageOf(called, src), o, robots, refs...)
	case check.HeaderKind:
		report.Header(called, src, o, robots, refs...)
	case check.TDMRepKind:
		report.TDMRep(called, src, o)
		files.site.Add(called, kind, src)
	case check.RSLKind:
		report.Licence(preference.LicenceText{Name: called, Text: src, Line: 1, Column: 1,
			Naming: files.site.Naming(called)}, o)
		files.site.Add(called, kind, src)
	}
	return nil
}

// beside reads the files to which a robots.txt refers. It looks for them in the directory that
// contains the robots.txt, as in a local copy of a site.
func (c *Command) beside(files *checkedFiles, name string, refs []acap.Reference) []acap.Reference {
	if filepath.Base(name) != "robots.txt" {
		return nil
	}
	for i := range refs {
		_, locator, _ := strings.Cut(refs[i].Field.Text, ":")
		locator = strings.TrimPrefix(strings.TrimSpace(locator), "/")
		if strings.Contains(locator, "://") || !filepath.IsLocal(filepath.FromSlash(locator)) {
			continue
		}
		file := filepath.Join(filepath.Dir(name), filepath.FromSlash(locator))
		files.read[file] = content{}
		if info, err := os.Stat(c.path(file)); err != nil || !info.Mode().IsRegular() {
			continue
		}
		src, err := c.readChecked(file)
		files.read[file] = content{string(src), err == nil}
		if err != nil {
			refs[i].Err = err
			continue
		}
		refs[i].File = acap.ParseReferred(file, src)
	}
	return refs
}

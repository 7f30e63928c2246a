package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/acapcrawl/acapcrawl/internal/conformance"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// conformanceRunRequest holds the arguments of conformance run.
type conformanceRunRequest struct {
	Corpora   []string // names of the corpora, as typed; none: the project's own corpus
	Engine    string   // command that starts the engine; "": this program's own engine
	Jobs      int
	Timeout   time.Duration
	Decisions bool
	FailFast  bool
	Only      []string // patterns (path.Match) that select cases by name
	List      bool
	Min       float64
	HasMin    bool
	Require   []string
	Failures  int // number of failures printed in full
	All       bool
	Out       *output
}

func (c *Command) conformanceRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [CORPUS…]",
		Short: "Run a corpus of cases against a policy engine",
		Long: `Run a corpus of cases against a policy engine, and compare its answers with the expected ones.
Without CORPUS, run the corpus of this project, which is part of the program. CORPUS is a directory of .txtar
files in the same form, one such file, or a file of JSON Lines; - is standard input. Each line has the form

  {"case": {…}, "want": {…}, "reason": "…", "paragraph": "P1 2.4.6"}

"case" is the input of acapcrawl decide. "want" is the expected part of its answer: objects are compared by
the keys in "want", other values must be equal, and "<absent>" requires that a key is missing. "reason" and
"paragraph" (or "reading": "F07") are optional. --list --json prints the corpus of this project in this form.

Without --engine this program answers. With --engine, sh runs COMMAND. COMMAND reads cases as JSON Lines from
standard input, and writes for each a line of JSON with the id of the case and its answer to standard output.
If a case ends COMMAND, it is started again without this case. An answer after --timeout is an error, and so
is {"id": …, "error": "…"}.

If an engine passes no case in which a newer preference (AIPREF, RSL and others) restricts a use, the cases
that need these are skipped. --require AIPREF,SIGNALS,TDMREP,RSL,PREF demands them.

The exit status is 0 if every case passes, or with --min or --require if these are met. Otherwise it is 1,
also if the engine prints lines that answer no case.`,
		Example: `  acapcrawl conformance run --engine './myengine --decide' --jobs 4
  acapcrawl conformance run --engine ./myengine --min 95 --require 'P1 2.4,F07' --format junit -o result.xml
  acapcrawl conformance run --only 'F07*' --list --json > f07.jsonl`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	var r conformanceRunRequest
	flags.StringVar(&r.Engine, "engine", "", "test the engine that `COMMAND` runs; default: this program")
	flags.IntVar(&r.Jobs, "jobs", 0, "run `N` engines at the same time (default: 1; of this program one for each "+
		"processor)")
	flags.DurationVar(&r.Timeout, "timeout", 10*time.Second, "wait at most `DURATION` for each answer of --engine")
	flags.BoolVar(&r.Decisions, "decisions-only", false, "compare only whether a use is permitted, not the reason, "+
		"limits and line")
	flags.StringArrayVar(&r.Only, "only", nil, "run only cases whose name, file or paragraph matches `GLOB`, for "+
		"example 'F07*' (repeatable)")
	flags.BoolVar(&r.FailFast, "fail-fast", false, "stop at the first case that fails")
	flags.BoolVar(&r.List, "list", false, "list the cases without running them")
	flags.Float64Var(&r.Min, "min", 0, "succeed if at least `PERCENT` of the cases pass")
	flags.StringSliceVar(&r.Require, "require", nil, "succeed if all cases of the documents, paragraphs and readings "+
		"in `LIST` pass, for example 'P1 2.4,F07'")
	flags.IntVar(&r.Failures, "failures", 20, "print `N` failed cases in full")
	flags.BoolVar(&r.All, "all", false, "list passed paragraphs too, and requirements that cannot be observed")
	r.Out = c.reportFlags(cmd, textForm, jsonForm, junitForm)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.Corpora, r.HasMin = args, flags.Changed("min")
		if err := r.check(flags); err != nil {
			return err
		}
		return c.runConformance(cmd.Context(), r)
	}
	return cmd
}

func (r *conformanceRunRequest) check(flags *pflag.FlagSet) error {
	switch {
	case flags.Changed("engine") && r.Engine == "":
		return misuse("--engine ./myengine", "--engine needs a command")
	case flags.Changed("jobs") && r.Jobs < 1:
		return misuse("--jobs 2", "--jobs: %d is not a number of engines", r.Jobs)
	case r.Timeout <= 0:
		return misuse("--timeout 10s", "--timeout: %s is not a positive duration", r.Timeout)
	case r.HasMin && !(r.Min > 0 && r.Min <= 100):
		return misuse("--min 95", "--min: %v is not a percentage above 0 and up to 100", r.Min)
	case r.Failures < 0:
		return misuse("--failures 20", "--failures: %d is negative", r.Failures)
	case r.List && r.Out.Form == junitForm:
		return misuse("", "--list writes the cases as text or json, not as junit")
	}
	for _, glob := range r.Only {
		if _, err := path.Match(glob, ""); err != nil {
			return misuse("--only 'F07*'", "--only: %q is not a pattern", glob)
		}
	}
	for _, name := range r.Require {
		if name == "" {
			return misuse("--require F07", "--require contains an empty name")
		}
	}
	if r.Jobs == 0 {
		r.Jobs = 1
		if r.Engine == "" {
			r.Jobs = runtime.GOMAXPROCS(0)
		}
	}
	return nil
}

// runConformance runs every case and reports the results.
func (c *Command) runConformance(ctx context.Context, r conformanceRunRequest) error {
	samples, err := c.corpora(r.Corpora)
	if err != nil {
		return err
	}
	if samples = chosen(samples, r.Only); len(samples) == 0 {
		return misuse("acapcrawl conformance run --list", "no case is like %s", strings.Join(r.Only, " or "))
	}
	if r.List {
		return c.writeReport(r.Out, func(w io.Writer) error { return listCases(w, samples, r.Out.JSON()) })
	}
	docs, err := conformance.Requirements()
	if err != nil {
		return err
	}
	if err := shownBy(docs, samples, r.Require); err != nil {
		return err
	}
	var engine conformance.Engine = conformance.Own{}
	if r.Engine != "" {
		engine = &conformance.Command{Line: r.Engine, Timeout: r.Timeout, Env: c.Env}
	}
	line := newProgress(c.Stderr)
	o := conformance.RunOptions{Jobs: r.Jobs, Decisions: r.Decisions, FailFast: r.FailFast,
		Newer:    slices.ContainsFunc(r.Require, conformance.DemandsPreferences),
		Progress: func(asked int) { line.Count(asked, len(samples), "case") }}
	results, trouble, err := conformance.Run(ctx, samples, engine, o)
	line.Done()
	if errors.Is(err, conformance.ErrNoEngine) {
		return misuse("", "--engine: %w", err)
	}
	if err != nil {
		return err
	}
	report := conformance.NewReport(r.Engine, docs, results, trouble)
	if err := c.writeReport(r.Out, func(w io.Writer) error { return printConformance(w, report, r) }); err != nil {
		return err
	}
	if short := shortfall(report, r); short != "" {
		return nothing(short)
	}
	return nil
}

// corpora reads the named corpora, or the project's own.
func (c *Command) corpora(names []string) ([]conformance.Sample, error) {
	if len(names) == 0 {
		return conformance.Corpus()
	}
	var out []conformance.Sample
	for _, name := range names {
		samples, err := c.corpus(name)
		if err != nil {
			return nil, misuse("", "the corpus cannot be read: %w", err)
		}
		if len(samples) == 0 {
			return nil, misuse("", "%s contains no case", name)
		}
		out = append(out, samples...)
	}
	return out, nil
}

func (c *Command) corpus(name string) ([]conformance.Sample, error) {
	if name == "-" {
		return conformance.ReadCases("standard input", c.Stdin)
	}
	file := c.path(name)
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return conformance.ReadCorpus(os.DirFS(file))
	case filepath.Ext(file) == ".txtar":
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return conformance.ParseCorpus(strings.TrimSuffix(filepath.ToSlash(name), ".txtar"), src)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return conformance.ReadCases(filepath.ToSlash(name), f)
}

// chosen returns the samples that match at least one of the globs. A glob can match the name of a
// sample, its file, FILE/NAME, or the requirements that the sample tests. Without globs chosen
// returns all samples.
func chosen(samples []conformance.Sample, globs []string) []conformance.Sample {
	if len(globs) == 0 {
		return samples
	}
	return slices.DeleteFunc(samples, func(s conformance.Sample) bool {
		return !slices.ContainsFunc(globs, func(glob string) bool {
			matches := func(glob, name string) bool {
				is, err := path.Match(glob, name)
				return err == nil && is
			}
			return slices.ContainsFunc([]string{s.Name, s.File, s.File + "/" + s.Name},
				func(name string) bool { return matches(glob, name) }) ||
				matches(strings.ReplaceAll(glob, " ", "-"), s.Shows())
		})
	})
}

// listCases prints the cases as a corpus in JSON Lines or, if asJSON is false, a line with file,
// name and reason for each case.
func listCases(w io.Writer, samples []conformance.Sample, asJSON bool) error {
	out := bufio.NewWriter(w)
	for _, s := range samples {
		if asJSON {
			if err := s.WriteCase(out); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintln(out, display.Line(fmt.Sprintf("%s/%s: %s", s.File, s.Name, s.Reason)))
	}
	return out.Flush()
}

// shownBy returns an error if no selected case tests one of the requirements named with --require.
func shownBy(docs []conformance.Document, samples []conformance.Sample, require []string) error {
	if len(require) == 0 {
		return nil
	}
	asked := make([]conformance.Result, len(samples))
	for i := range samples {
		asked[i] = conformance.Result{Sample: &samples[i], Name: samples[i].Name, File: samples[i].File,
			Outcome: conformance.Passed}
	}
	tree := conformance.Tree(docs, asked)
	for _, name := range require {
		if !slices.ContainsFunc(conformance.Find(tree, name), func(n conformance.Node) bool { return n.Cases > 0 }) {
			return misuse("--require P1,F07", "--require: no selected case shows %q", name)
		}
	}
	return nil
}

// shortfall returns in words the criteria of the command line that report does not meet, or "" if
// all criteria are met.
func shortfall(report *conformance.Report, r conformanceRunRequest) string {
	if report.Cases == 0 {
		return "nothing was compared: no selected case expects a decision"
	}
	var out []string
	if n := report.Trouble.Stray; n > 0 {
		out = append(out, fmt.Sprintf("the engine printed %s that answer no case", several(n, "line")))
	}
	if report.Stopped() && (r.HasMin || len(r.Require) > 0) {
		out = append(out, "not all cases were asked, because one did not pass")
	}
	if r.HasMin && 100*float64(report.Passed)/float64(report.Cases) < r.Min {
		out = append(out, fmt.Sprintf("%v %% of the cases passed, and --min demands %v", report.Percent, r.Min))
	}
	for _, name := range r.Require {
		nodes := conformance.Find(report.Tree, name)
		if !slices.ContainsFunc(nodes, func(n conformance.Node) bool { return n.Cases > 0 }) {
			out = append(out, fmt.Sprintf("no case of %s, which --require names, was asked", name))
		}
		for _, n := range nodes {
			if !n.Whole() {
				out = append(out, fmt.Sprintf("%s, which --require names, passed %d of %d cases", n.Name, n.Passed,
					n.Cases))
			}
		}
	}
	if !r.HasMin && len(r.Require) == 0 && report.Passed < report.Cases {
		out = append(out, fmt.Sprintf("%s not passed", several(report.Cases-report.Passed, "case")))
	}
	return strings.Join(out, "; ")
}

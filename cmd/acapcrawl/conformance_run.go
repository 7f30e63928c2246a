package main

import (
	"path"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// conformanceRunRequest is what conformance run was asked for.
type conformanceRunRequest struct {
	Corpora   []string // as typed; none: the project's own
	Engine    string   // a command; "": this program's own
	Jobs      int
	Timeout   time.Duration
	Decisions bool
	FailFast  bool
	Only      []string // globs
	List      bool
	Min       float64
	HasMin    bool
	Require   []string
	Failures  int // how many are printed in full
	All       bool
	Out       *output
}

func (c *Command) conformanceRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [CORPUS…]",
		Short: "Ask an engine the cases of a corpus, and compare its answers with what is wanted",
		Long: `Ask an engine the cases of a corpus, and compare its answers with what is wanted. Without CORPUS it is the project's own,
which stands in the program. CORPUS is a folder of .txtar files in the form of that, one such file, or a file in JSON Lines,
- being standard input, with on each line

  {"case": {…}, "want": {…}, "reason": "…", "paragraph": "P1 2.4.6"}

Case is what acapcrawl decide reads, want the part of its answer that must be so: objects are compared by the keys that are
wanted, all else must be equal, and "<absent>" wants that nothing is there. Reason and paragraph (or reading: F07) may be absent.
--list --json prints the project's own corpus in this form.

Without --engine this program answers. With it, COMMAND does, which sh runs: it reads cases as JSON Lines from its standard input
until that ends, and writes for each a line of JSON with its answer, and the id of the case, to its standard output. It is
started once, and again without the case that it does not survive; an answer that takes longer than --timeout is an error, and so is
{"id": …, "error": "…"}.

The status is 0 when every case has passed; with --min or --require, when what these demand has. Else it is 1, also when the
engine prints lines that answer nothing.`,
		Example: `  acapcrawl conformance run --engine './myengine --decide' --jobs 4
  acapcrawl conformance run --engine ./myengine --decisions-only --min 95 --require 'P1 2.4,F07' --format junit -o result.xml
  acapcrawl conformance run --only 'F07*' --list --json > f07.jsonl`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	var r conformanceRunRequest
	flags.StringVar(&r.Engine, "engine", "", "ask `COMMAND` instead of this program")
	flags.IntVar(&r.Jobs, "jobs", 0, "have `N` engines answer at once (1; of this program one for each processor)")
	flags.DurationVar(&r.Timeout, "timeout", 10*time.Second, "wait at most `DURATION` for each answer of --engine")
	flags.BoolVar(&r.Decisions, "decisions-only", false, "compare only whether a use is allowed, not why, how far and by which line")
	flags.StringArrayVar(&r.Only, "only", nil, "only cases whose name, file or paragraph is like `GLOB`, as in 'F07*' (repeatable)")
	flags.BoolVar(&r.FailFast, "fail-fast", false, "stop at the first case that does not pass")
	flags.BoolVar(&r.List, "list", false, "list the cases, and ask none")
	flags.Float64Var(&r.Min, "min", 0, "be content with `PERCENT` of the cases")
	flags.StringSliceVar(&r.Require, "require", nil, "be content when all cases of `LIST` pass: documents, paragraphs, readings, as in 'P1 2.4,F07'")
	flags.IntVar(&r.Failures, "failures", 20, "tell `N` of the cases that do not pass in full")
	flags.BoolVar(&r.All, "all", false, "show the paragraphs that passed too, and what cannot be observed")
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
		return misuse("--jobs 2", "--jobs: %d engines cannot answer", r.Jobs)
	case r.Timeout <= 0:
		return misuse("--timeout 10s", "--timeout: %s leaves no time to answer", r.Timeout)
	case r.HasMin && !(r.Min > 0 && r.Min <= 100):
		return misuse("--min 95", "--min: %v is no percentage from above 0 to 100", r.Min)
	case r.Failures < 0:
		return misuse("--failures 20", "--failures: %d is less than none", r.Failures)
	case r.List && r.Out.Form == junitForm:
		return misuse("", "--list writes the cases as text or json, not as junit")
	}
	for _, glob := range r.Only {
		if _, err := path.Match(glob, ""); err != nil {
			return misuse("--only 'F07*'", "--only: %q is no pattern", glob)
		}
	}
	for _, name := range r.Require {
		if name == "" {
			return misuse("--require F07", "--require holds an empty name")
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

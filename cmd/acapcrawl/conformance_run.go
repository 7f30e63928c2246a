package main

import (
	"path"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// conformanceRunRequest holds the arguments of conformance run.
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
	Failures  int // number of failures printed in full
	All       bool
	Out       *output
}

func (c *Command) conformanceRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [CORPUS…]",
		Short: "Run a corpus of cases against a policy engine",
		Long: `Run a corpus of cases against a policy engine, and compare its answers with the expected ones. Without CORPUS, run the corpus of this
project, which is part of the program. CORPUS is a directory of .txtar files in the same form, one such file, or a file of JSON Lines;
- is standard input. Each line has the form

  {"case": {…}, "want": {…}, "reason": "…", "paragraph": "P1 2.4.6"}

"case" is the input of acapcrawl decide. "want" is the expected part of its answer: objects are compared by the keys in "want", other
values must be equal, and "<absent>" requires that a key is missing. "reason" and "paragraph" (or "reading": "F07") are optional.
--list --json prints the corpus of this project in this form.

Without --engine this program answers. With --engine, sh runs COMMAND. COMMAND reads cases as JSON Lines from standard input, and
writes for each a line of JSON with the id of the case and its answer to standard output. If a case ends COMMAND, it is started
again without this case. An answer after --timeout is an error, and so is {"id": …, "error": "…"}.

The exit status is 0 if every case passes, or with --min or --require if these are met. Otherwise it is 1, also if the engine prints
lines that answer no case.`,
		Example: `  acapcrawl conformance run --engine './myengine --decide' --jobs 4
  acapcrawl conformance run --engine ./myengine --decisions-only --min 95 --require 'P1 2.4,F07' --format junit -o result.xml
  acapcrawl conformance run --only 'F07*' --list --json > f07.jsonl`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	var r conformanceRunRequest
	flags.StringVar(&r.Engine, "engine", "", "test the engine that `COMMAND` runs; default: this program")
	flags.IntVar(&r.Jobs, "jobs", 0, "run `N` engines at the same time (default: 1; of this program one for each processor)")
	flags.DurationVar(&r.Timeout, "timeout", 10*time.Second, "wait at most `DURATION` for each answer of --engine")
	flags.BoolVar(&r.Decisions, "decisions-only", false, "compare only whether a use is permitted, not the reason, limits and line")
	flags.StringArrayVar(&r.Only, "only", nil, "run only cases whose name, file or paragraph matches `GLOB`, for example 'F07*' (repeatable)")
	flags.BoolVar(&r.FailFast, "fail-fast", false, "stop at the first case that fails")
	flags.BoolVar(&r.List, "list", false, "list the cases without running them")
	flags.Float64Var(&r.Min, "min", 0, "succeed if at least `PERCENT` of the cases pass")
	flags.StringSliceVar(&r.Require, "require", nil, "succeed if all cases of the documents, paragraphs and readings in `LIST` pass, for example 'P1 2.4,F07'")
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

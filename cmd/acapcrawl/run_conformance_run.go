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
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/conformance"
	"github.com/acapcrawl/acapcrawl/display"
)

// runConformance asks every case and says what came of it.
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

// corpora reads what is named, or the project's own corpus.
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
			return nil, misuse("", "%s holds no case", name)
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

// chosen are the samples that one of the globs matches: by name, by file, by both, or by what they show. Without globs it is all.
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
			return slices.ContainsFunc([]string{s.Name, s.File, s.File + "/" + s.Name}, func(name string) bool { return matches(glob, name) }) ||
				matches(strings.ReplaceAll(glob, " ", "-"), s.Shows())
		})
	})
}

// listCases prints the cases: as a corpus in JSON Lines, or by name and reason.
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

// shownBy refuses names of --require that no case to be asked shows.
func shownBy(docs []conformance.Document, samples []conformance.Sample, require []string) error {
	if len(require) == 0 {
		return nil
	}
	asked := make([]conformance.Result, len(samples))
	for i := range samples {
		asked[i] = conformance.Result{Sample: &samples[i], Name: samples[i].Name, File: samples[i].File, Outcome: conformance.Passed}
	}
	tree := conformance.Tree(docs, asked)
	for _, name := range require {
		if !slices.ContainsFunc(conformance.Find(tree, name), func(n conformance.Node) bool { return n.Cases > 0 }) {
			return misuse("--require P1,F07", "--require: no case that is to be asked shows %q", name)
		}
	}
	return nil
}

// shortfall says what of the demands was not met; it is empty where all were.
func shortfall(report *conformance.Report, r conformanceRunRequest) string {
	if report.Cases == 0 {
		return "nothing was compared: no case that is to be asked wants a decision"
	}
	var out []string
	if n := report.Trouble.Stray; n > 0 {
		out = append(out, fmt.Sprintf("the engine printed %s that answer no case", several(n, "line")))
	}
	if report.Stopped() && (r.HasMin || len(r.Require) > 0) {
		out = append(out, "not all cases were asked, since one did not pass")
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
				out = append(out, fmt.Sprintf("%s, which --require names, passed %d of %d cases", n.Name, n.Passed, n.Cases))
			}
		}
	}
	if !r.HasMin && len(r.Require) == 0 && report.Passed < report.Cases {
		out = append(out, fmt.Sprintf("%s not passed", several(report.Cases-report.Passed, "case")))
	}
	return strings.Join(out, "; ")
}

// Command mutants checks that the cases of conformance/corpus notice small errors in the policy
// engine.
//
// Each mutant is the engine with one change. The change inverts a condition, leaves out an operand,
// a case or a row of a table, or adds or removes a usage in a set. One build contains all mutants,
// made from changed copies of the source. While the cases are decided, one mutant at a time is
// active. The run fails if no case notices a mutant of a table, of a branch whose comment names a
// reading, or of package preference. It also fails if a case notices no mutant at all. Only branches
// in functions that a case can call count. A mutant that changes only findings is counted
// separately, because findings are not part of the corpus.
//
//	go run ./internal/test/mutants                 tries all mutants
//	go run ./internal/test/mutants -only 'F17'     tries those whose line matches
//
// equivalent.txt lists the mutants that change no answer, each with its reason.
// TestConformanceRunFindsMutants builds programs from some mutants; acapcrawl conformance run must
// find their errors.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "try only mutants whose line matches this `regexp`; cases are not judged then")
	flag.IntVar(&o.jobs, "j", runtime.NumCPU(), "how many workers run at once")
	flag.StringVar(&o.corpus, "corpus", "internal/conformance/corpus", "the `folder` of the cases")
	flag.BoolVar(&o.full, "full", false, "try each mutant on all cases")
	flag.BoolVar(&o.verbose, "v", false, "print each mutant and the cases that catch it, and what no case can reach")
	flag.Parse()
	bad, err := run(o, os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	case bad:
		os.Exit(1)
	}
}

type options struct {
	only, corpus  string
	jobs          int
	full, verbose bool
}

// run tries the mutants of the module in the current folder. bad is true if no case notices a
// mutant that must be noticed, or if some case notices no mutant.
func run(o options, out io.Writer) (bad bool, err error) {
	began := time.Now()
	only, err := regexp.Compile(o.only)
	if err != nil {
		return false, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return false, err
	}
	pkgs, err := load(dir)
	if err != nil {
		return false, err
	}
	x := find(pkgs, root)
	equivalent, err := readEquivalent(filepath.Join(dir, "internal/test/mutants/equivalent.txt"))
	if err != nil {
		return false, err
	}
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(folder)
	exe, err := build(dir, folder, pkgs, x)
	if err != nil {
		return false, err
	}
	w := &worker{exe: exe, corpus: o.corpus}
	base, err := w.start()
	if err != nil {
		return false, err
	}
	w.stop()
	fmt.Fprintf(out, "%d mutants, %d cases, ready after %s\n", len(x.mutants), len(base.Names),
		time.Since(began).Round(time.Second))
	c := &crew{base: base, full: o.full, served: map[int]bool{}, weak: map[int]bool{}, out: map[int]*result{},
		common: map[int]bool{}}
	for i := range base.Names {
		if base.Failed[i] == nil {
			c.all = append(c.all, i)
		}
	}
	for id, cases := range base.Reach {
		base.Reach[id] = slices.DeleteFunc(cases, func(i int) bool { return base.Failed[i] != nil })
	}
	named, wide := chosen(x, only, o.only == "")
	if err := c.try(named, exe, o.corpus, o.jobs); err != nil {
		return false, err
	}
	if o.only == "" && !o.full {
		wide = slices.DeleteFunc(wide, func(m *Mutant) bool { return !c.wanted(m) })
	}
	if err := c.try(wide, exe, o.corpus, o.jobs); err != nil {
		return false, err
	}
	if o.only == "" {
		if err := c.last(exe, o.corpus); err != nil {
			return false, err
		}
	}
	r := report{out: out, crew: c, finder: x, equivalent: equivalent, verbose: o.verbose}
	bad = r.write(named, wide, o.only == "")
	fmt.Fprintf(out, "%s\n", time.Since(began).Round(time.Second))
	return bad, nil
}

// chosen returns the mutants to try. named are the mutants that some case must notice. wide are
// other mutants, which show whether each case notices at least one mutant.
func chosen(x *finder, only *regexp.Regexp, judge bool) (named, wide []*Mutant) {
	for _, m := range x.mutants {
		switch {
		case !only.MatchString(m.String()):
		case m.strict:
			named = append(named, m)
		case !judge || m.How == "flipped" || len(m.Readings) > 0:
			wide = append(wide, m)
		}
	}
	return named, wide
}

// readEquivalent reads a file of mutants that no case can notice. Each line has five columns,
// separated by " | ". The first four are the key of a mutant: file, function or table, source, and
// change. The last one is the reason. A "*" as source or change matches any text.
func readEquivalent(path string) (map[string]string, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for i, line := range strings.Split(string(src), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndex(line, " | ")
		if at < 0 || strings.Count(line, " | ") < 4 {
			return nil, fmt.Errorf("%s:%d: write file | function | source | change | reason", path, i+1)
		}
		out[line[:at]] = line[at+3:]
	}
	return out, nil
}

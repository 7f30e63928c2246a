package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// perKind is the number of mutants of each kind that TestConformanceRunFindsMutants uses from each package. .ci/nightly
// sets it to 2.
var perKind = flag.Int("perkind", 0, "use `N` mutants of each kind and package")

// enough is the number of mutants that must be observable for the test.
const enough = 10

// TestConformanceRunFindsMutants checks that the command conformance run finds errors in each
// program that contains a mutant, and none in the unchanged engine.
func TestConformanceRunFindsMutants(t *testing.T) {
	if *perKind < 1 {
		t.Skip("it builds the engine, and runs it some fifty times, so it runs only with -perkind 1 or more")
	}
	t.Chdir("../../..")
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	pkgs, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	x := find(pkgs, root)
	engine, err := build(dir, folder, pkgs, x)
	if err != nil {
		t.Fatal(err)
	}
	acapcrawl := filepath.Join(folder, "acapcrawl")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", acapcrawl,
		"./cmd/acapcrawl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	mutants := observable(t, spread(t, x), engine)
	if len(mutants) < enough {
		t.Fatalf("%d mutants are to be found, want %d", len(mutants), enough)
	}
	began := time.Now()
	mutants = append([]*Mutant{{}}, mutants...)
	var wg sync.WaitGroup
	const jobs = 2
	for job := range jobs {
		wg.Go(func() {
			for i := job; i < len(mutants); i += jobs {
				m, want, limit := mutants[i], 1, "5s" // if the mutant does not end, a short time limit is enough
				if m.ID == 0 {
					want, limit = 0, "2m"
				}
				if status, out := conformanceRun(t.Context(), acapcrawl, fmt.Sprintf("%s -decide %d", engine, m.ID),
					limit); status != want {
					t.Errorf("mutant %d: %s: status %d, want %d\n%s", m.ID, m, status, want, out)
				}
			}
		})
	}
	wg.Wait()
	kinds := map[string]int{}
	for _, m := range mutants[1:] {
		kinds[kind(m)]++
	}
	t.Logf("%d engines that are wrong, each tried until it failed, in %s: %v", len(mutants)-1,
		time.Since(began).Round(time.Second), kinds)
}

// conformanceRun runs acapcrawl conformance run with an engine, and returns its exit status and
// output.
func conformanceRun(ctx context.Context, acapcrawl, engine, limit string) (int, string) {
	cmd := exec.CommandContext(ctx, acapcrawl, "conformance", "run", "--fail-fast", "--timeout", limit, "--engine",
		engine)
	out, err := cmd.CombinedOutput()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return exit.ExitCode(), string(out)
	}
	if err != nil {
		return -1, err.Error()
	}
	return 0, string(out[max(0, len(out)-1000):])
}

// kind returns the package of a mutant and the kind of its change.
func kind(m *Mutant) string {
	how := strings.Fields(m.How)[0]
	what, _, _ := strings.Cut(m.File, "/")
	return what + " " + how
}

// spread returns mutants that some case must notice, evenly chosen from each kind.
func spread(t *testing.T, x *finder) []*Mutant {
	t.Helper()
	equivalent, err := readEquivalent("internal/test/mutants/equivalent.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := report{equivalent: equivalent}
	byKind := map[string][]*Mutant{}
	var kinds []string
	for _, m := range x.mutants {
		if _, excused := r.excuse(m); excused || !m.strict {
			continue
		}
		if byKind[kind(m)] == nil {
			kinds = append(kinds, kind(m))
		}
		byKind[kind(m)] = append(byKind[kind(m)], m)
	}
	var out []*Mutant
	for _, k := range kinds {
		all := byKind[k]
		n := min(*perKind, len(all))
		for i := range n {
			out = append(out, all[i*len(all)/n])
		}
	}
	return out
}

// observable removes the mutants that change only findings, which no case checks.
func observable(t *testing.T, mutants []*Mutant, engine string) []*Mutant {
	t.Helper()
	w := &worker{exe: engine, corpus: "internal/conformance/corpus"}
	base, err := w.start()
	if err != nil {
		t.Fatal(err)
	}
	w.stop()
	c := &crew{base: base, served: map[int]bool{}, weak: map[int]bool{}, out: map[int]*result{}, common: map[int]bool{}}
	for i := range base.Names {
		c.all = append(c.all, i)
	}
	if err := c.try(mutants, engine, w.corpus, 2); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(mutants, func(m *Mutant) bool {
		got := c.out[m.ID]
		told := !got.Died && len(got.Caught)+len(got.Changed) == 0 && len(got.Told) > 0
		if told {
			t.Logf("changes findings alone: %s", m)
		}
		return told
	})
}

// The worker with -decide answers cases.
func TestWorkerDecides(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program")
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "./worker", "-decide", "0")
	cmd.Stdin = strings.NewReader(`{"id": "a", "web": {}, "url": "http://example.com/", "usages": ["index"]}` + "\n" +
		`{"id": "b"}`)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != 2 || !bytes.Contains(lines[0], []byte(`"allowed":true`)) ||
		!bytes.Contains(lines[1], []byte(`"error"`)) {
		t.Errorf("it answers %s", out)
	}
}

package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
)

// withSh skips the test if there is no sh, and checks at the end that no goroutine is left.
func withSh(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh to run engines with")
	}
	goleak.VerifyNone(t)
	t.Cleanup(func() { goleak.VerifyNone(t) })
}

// some returns n cases to which "permitted" is the correct answer.
func some(t *testing.T, n int) []Sample {
	t.Helper()
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"case": {"id": "c%d", "web": {}, "url": "http://example.com/%d"}, `+
			`"want": {"decisions": {"index": {"allowed": true}}}}`+"\n", i, i)
	}
	samples, err := ReadCases("some", strings.NewReader(lines.String()))
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

const permit = `echo '{"decisions": {"index": {"allowed": true}}}'`

// long is a time limit for engines. No engine in these tests reaches it unless it hangs.
const long = 5 * time.Minute

func TestRunOwn(t *testing.T) {
	results, trouble, err := Run(t.Context(), some(t, 5), Own{}, RunOptions{Jobs: 3})
	if err != nil || trouble.Ended+trouble.Stray != 0 {
		t.Fatal(trouble, err)
	}
	for i, r := range results {
		if r.Outcome != Passed || r.Name != fmt.Sprintf("c%d", i) || r.Took == 0 {
			t.Errorf("%d: %+v", i, r)
		}
	}
}

// Whatever an engine does, every case has one result, and no process is left running.
func TestRunCommand(t *testing.T) {
	withSh(t)
	for name, c := range map[string]struct {
		engine                 string
		jobs, cases            int
		passed, ended, strayed int
		why                    string // reason of the first error
	}{
		"good":    {engine: `while read x; do ` + permit + `; done`, cases: 100, passed: 100},
		"several": {engine: `while read x; do ` + permit + `; done`, cases: 101, jobs: 3, passed: 101},
		"all at once": {
			engine: `n=0; while read x; do n=$((n+1)); done; while test $n -gt 0; do n=$((n-1)); ` + permit +
				`; done`, cases: 50, passed: 50},
		"one each": {engine: `read x; ` + permit, cases: 3, passed: 3, ended: 1},
		"crash": {engine: `while read x; do case $x in *'"c1"'*) exit 9;; esac; ` + permit + `; done`,
			cases: 3, passed: 2, ended: 2, why: "exit status 9"},
		"killed": {engine: `while read x; do case $x in *'"c1"'*) kill -9 $$;; esac; ` + permit +
			`; done`, cases: 3, passed: 2, ended: 2, why: "signal: killed"},
		"a crash in a row": {engine: `while read x; do case $x in *'"c'[1-8]'"'*) exit 9;; esac; ` + permit +
			`; done`, cases: 10, passed: 2, ended: 10, why: "exit status 9"},
		"mute": {engine: `while read x; do :; done`, cases: 12, ended: 11,
			why: "the engine ended before it answered: exit status 0"},
		"a closed output": {engine: `exec >&-; sleep 1000`, cases: 1, ended: 1,
			why: "the engine closed its standard output"},
		"a closed input": {engine: `exec <&-; ` + permit + `; ` + permit, cases: 2, passed: 2},
		"no more": {engine: `while read x; do ` + permit + `; done; ` + permit, cases: 2, passed: 2,
			strayed: 1},
		"blank lines": {engine: `while read x; do echo; ` + permit + `; echo '  '; done`, cases: 2, passed: 2},
		"no end of line": {engine: `read x; printf '{"decisions": {"index": {"allowed": true}}}'`, cases: 1,
			passed: 1},
		"not at its end":     {engine: `while read x; do ` + permit + `; done; sleep 1000`, cases: 1, passed: 1},
		"a child that stays": {engine: `sleep 1000 & while read x; do ` + permit + `; done`, cases: 1, passed: 1},
		"null": {engine: `while read x; do echo null; done`, cases: 1,
			why: "the answer is no JSON object: null"},
		"a number": {engine: `while read x; do echo 42; done`, cases: 1,
			why: "the answer is no JSON object: 42"},
		"another's id": {engine: `read x; echo '{"id": "c7"}'`, cases: 1, strayed: 2, ended: 1,
			why: "ended before"},
		"an id that is none": {engine: `read x; echo '{"id": 7, "decisions": {"index": {"allowed": true}}}'`,
			cases: 1, strayed: 2, ended: 1, why: "ended before"},
		"an error of the wire": {engine: `while read x; do echo '{"id": "c0", "error": "I cannot"}'; done`, cases: 1,
			why: "the engine answers with an error: I cannot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results, trouble, err := Run(t.Context(), some(t, c.cases), &Command{Line: c.engine, Timeout: long},
				RunOptions{Jobs: c.jobs})
			if err != nil {
				t.Fatal(err)
			}
			passed, why := 0, ""
			for _, r := range results {
				switch {
				case r.Outcome == Passed:
					passed++
				case r.Outcome == Skipped:
					t.Errorf("%s was skipped", r.Name)
				case why == "":
					why = r.Why
				}
			}
			if passed != c.passed || c.ended != trouble.Ended && c.ended+1 != trouble.Ended ||
				trouble.Stray > c.strayed || !strings.Contains(why, c.why) {
				t.Errorf("%d passed, %+v, %q; want %d, %d, %d, %q", passed, trouble, why, c.passed, c.ended, c.strayed,
					c.why)
			}
		})
	}
}

// The last lines of the engine's standard error are kept.
func TestRunStderr(t *testing.T) {
	withSh(t)
	e := &Command{Line: `i=0; while test $i -lt 2000; do i=$((i+1)); echo "line $i" >&2; done; exit 1`, Timeout: long}
	results, _, err := Run(t.Context(), some(t, 1), e, RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := results[0].Stderr; len(s) > maxTail || !strings.HasPrefix(s, "line ") ||
		!strings.HasSuffix(s, "\nline 2000") {
		t.Errorf("kept: %q", s)
	}
}

func TestRunNoEngine(t *testing.T) {
	withSh(t)
	if _, _, err := Run(t.Context(), some(t, 1), &Command{Line: "no-such-program", Timeout: long},
		RunOptions{Jobs: 2}); !errors.Is(err, ErrNoEngine) {
		t.Errorf("the error is %v", err)
	}
}

func TestRunFailFast(t *testing.T) {
	samples := some(t, 5)
	samples[2].Want = map[string]any{"text": "none is wanted"}
	results, _, err := Run(t.Context(), samples, Own{}, RunOptions{FailFast: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []Outcome
	for _, r := range results {
		got = append(got, r.Outcome)
	}
	if want := []Outcome{Passed, Passed, Failed, Skipped, Skipped}; !slices.Equal(got, want) {
		t.Errorf("the outcomes are %v, want %v", got, want)
	}
}

// The embedded corpus equals the corpus in the folder, and the corpus in JSON Lines equals the
// corpus in files.
func TestReadCases(t *testing.T) {
	own, err := Corpus()
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, s := range own {
		if err := s.WriteCase(&lines); err != nil {
			t.Fatal(err)
		}
	}
	again, err := ReadCases("again.jsonl", strings.NewReader(lines.String()))
	if err != nil || len(again) != len(own) || len(own) != len(corpus(t)) {
		t.Fatalf("%d of %d cases, %v", len(again), len(own), err)
	}
	for i, s := range again {
		if s.Name != own[i].Name || s.Reason != own[i].Reason || s.Shows() != own[i].Shows() ||
			string(s.Line) != string(own[i].Line) {
			t.Fatalf("%s is %+v", own[i].Name, s)
		}
	}
	for line, want := range map[string]string{
		`{"case": {"web": {}, "url": "http://a/"}, "want": {"text": "x"}} {}`: "something follows",
		`{"want": {"text": "x"}}`:                                  `has no "case"`,
		`{"case": {"web": {}, "url": "a"}, "want": {"text": "x"}}`: "not an absolute",
		`{"case": {"web": {}, "url": "http://a/"}, "want": {}}`:    "no answer is expected",
		`{"case": {"web": {}, "url": "http://a/"}, "wants": {}}`:   "unknown field",
		`[]`:                         "no line of a corpus",
		strings.Repeat(" ", 17<<20):  "longer than 16 MiB",
		`{"case": {"web": {}, "url"`: "no line of a corpus",
	} {
		if _, err := ReadCases("x", strings.NewReader("\n"+line+"\n")); err == nil ||
			!strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x:2: ") {
			t.Errorf("%.60s: the error is %v", line, err)
		}
	}
}

// Each case of the corpus is in the tree, and each node counts it at most once.
func TestTree(t *testing.T) {
	samples, docs := corpus(t), requirements(t)
	results := make([]Result, len(samples))
	for i := range samples {
		results[i] = Result{Sample: &samples[i], Name: samples[i].Name, File: samples[i].File, Outcome: Passed}
		if samples[i].Name == "F07-order" {
			results[i].Outcome = Failed
		}
	}
	tree := Tree(docs, results)
	placed := map[*Result]bool{}
	for _, n := range tree {
		for r := range n.results {
			placed[r] = true
		}
		if n.Passed > n.Cases || n.Cases != len(n.results) {
			t.Errorf("%s has %d of %d", n.Name, n.Passed, n.Cases)
		}
	}
	if len(placed) != len(samples) {
		t.Errorf("%d of %d cases stand in the tree", len(placed), len(samples))
	}
	for name, want := range map[string]struct {
		nodes  int
		missed bool
	}{
		"P1": {1, true}, "P1 2.4": {9, false}, "P1-2.4.6": {1, false}, "P1-2.2.1-06": {1, true}, "P1-2.2.1-05": {1,
			false}, "F07": {1, true}, "F08": {1, false},
		"F": {25, true}, "P1-2.40": {0, false}, "P1-2.4.6-1": {0, false}, "readings": {1, true}, "F0": {0,
			false}, "": {0, false},
	} {
		nodes := Find(tree, name)
		missed := slices.ContainsFunc(nodes, func(n Node) bool { return !n.Whole() })
		if len(nodes) != want.nodes || missed != want.missed {
			t.Errorf("%q names %d nodes, missed %v; want %d, %v", name, len(nodes), missed, want.nodes, want.missed)
		}
	}
	if n := Find(tree, "F07")[0]; !slices.Equal(n.NotPassed, []string{"F07-order"}) {
		t.Errorf("F07 names %q", n.NotPassed)
	}
}

// If an engine gets only one case, a line that it prints afterwards is not used as the answer to
// another case.
func TestRunAlone(t *testing.T) {
	withSh(t)
	engine := `while read x; do case $x in *'"c0"'*) read y && exit 9; ` + permit + `;; esac; ` + permit + `; done`
	results, trouble, err := Run(t.Context(), some(t, 3), &Command{Line: engine, Timeout: long}, RunOptions{})
	if err != nil || trouble.Stray != 1 {
		t.Errorf("%+v, %v: the second answer to c0 alone answers nothing", trouble, err)
	}
	for _, r := range results {
		if r.Outcome != Passed {
			t.Errorf("%s: %s", r.Name, r.Why)
		}
	}
}

// Only the part of a long answer that shows the difference is kept.
func TestRunKeepsLittle(t *testing.T) {
	want := map[string]any{"decisions": map[string]any{"index": map[string]any{"allowed": true}}, "text": "a"}
	answer := []byte(`{"decisions": {"index": {"allowed": "` + strings.Repeat("no ", 1<<20) + `"}}, "text": "b"}`)
	r := Result{Sample: &Sample{Want: want}}
	r.judge(Reply{Answer: answer}, false)
	text, err := json.Marshal(r)
	if err != nil || r.Outcome != Failed || len(r.Differences) != 2 || r.Differences[1].Got != "b" || len(text) > 2000 {
		t.Errorf("%d bytes, %v: %+.500v", len(text), err, r)
	}
	short := append([]byte(`{"text": "`+"\xff"+`"}`), make([]byte, 1<<20)...)[:13]
	r = Result{Sample: &Sample{Want: want}}
	if r.judge(Reply{Answer: short}, false); !utf8.Valid(r.Got) || cap(r.Got) > 1000 {
		t.Errorf("%q is kept, of %d bytes", r.Got, cap(r.Got))
	}
}

// An error that the engine reports is recognised in every form. It is never the right answer, not
// even to a case that expects a key to be absent.
func TestRunErrors(t *testing.T) {
	for answer, want := range map[string]Outcome{
		`{"error": {"code": 5}}`:              Errored,
		`{"error": "no", "decisions": null}`:  Errored,
		`{"error": null}`:                     Passed,
		`{"error": "", "decisions": {}}`:      Passed,
		`{"error": "no", "decisions": {}}`:    Passed,
		`{"error": false, "decisions": null}`: Passed,
	} {
		r := Result{Sample: &Sample{Want: map[string]any{"links": "<absent>"}}}
		if r.judge(Reply{Answer: []byte(answer)}, false); r.Outcome != want {
			t.Errorf("%s: %s %s", answer, r.Outcome, r.Why)
		}
	}
}

// No two questions have the same id, whatever the ids of the cases.
func TestRunIDs(t *testing.T) {
	samples := some(t, 4)
	samples[0].Case.ID, samples[2].Case.ID, samples[3].Case.ID = "some/c2#3", "", "some/c2#3"
	r := runner{results: make([]Result, len(samples))}
	questions, _, err := r.questions(samples)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, q := range questions {
		ids[q.ID] = true
	}
	if len(ids) != len(samples) {
		t.Errorf("the ids are %v", ids)
	}
}

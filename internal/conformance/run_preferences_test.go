package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// older is this program without newer preferences. It reports an error for a question about a newer
// usage, and gives no answer to the cases in mute. It knows the preferences of the cases in knows.
type older struct{ knows, mute []string }

func (e older) Answer(ctx context.Context, questions []Question, reply func(int, Reply)) (Trouble, error) {
	return Own{}.Answer(ctx, questions, func(i int, r Reply) {
		c := *questions[i].Case
		switch {
		case slices.Contains(e.knows, c.ID):
		case slices.Contains(e.mute, c.ID):
			r = Reply{Fault: "the engine ended"}
		case slices.ContainsFunc(c.Usages, acap.Usage.Newer) || c.Preferences != nil || c.Held != nil:
			r = Reply{Answer: []byte(`{"error": "the case is malformed"}`)}
		default:
			c.Preferences = &[]string{}
			one := Question{ID: questions[i].ID, Case: &c}
			_, _ = Own{}.Answer(ctx, []Question{one}, func(_ int, a Reply) { r = a })
		}
		reply(i, r)
	})
}

// An engine that knows no newer preferences is compared by the other cases alone.
func TestRunWithoutPreferences(t *testing.T) {
	var samples []Sample
	for _, s := range corpus(t) {
		if strings.HasPrefix(s.File, "preferences/") || strings.HasPrefix(s.File, "F") {
			samples = append(samples, s)
		}
	}
	run := func(e Engine, o RunOptions) (of map[Outcome]int, r *Report) {
		results, trouble, err := Run(t.Context(), samples, e, o)
		if err != nil {
			t.Fatal(err)
		}
		of = map[Outcome]int{}
		for _, one := range results {
			of[one.Outcome]++
			if one.Outcome == Skipped && one.Why == noPreferences &&
				(!strings.HasPrefix(one.File, "preferences/") || one.Got != nil || one.Differences != nil) {
				t.Errorf("%s/%s was skipped: %+v", one.File, one.Name, one)
			}
		}
		return of, NewReport("", nil, results, trouble)
	}
	for _, decisions := range []bool{false, true} {
		of, r := run(older{}, RunOptions{Decisions: decisions})
		if of[Failed]+of[Errored] > 0 || r.Unknown < 200 || r.Unknown > r.Skipped || r.Percent != 100 {
			t.Errorf("decisions only %t: %v, %d skipped as unknown", decisions, of, r.Unknown)
		}
	}
	if of, _ := run(older{mute: []string{"vocab-4-train", "F07-order"}}, RunOptions{}); of[Errored] != 2 {
		t.Errorf("cases without an answer: %v", of)
	}
	if of, r := run(older{knows: []string{"vocab-4-train"}}, RunOptions{}); of[Skipped] > 0 || r.Unknown > 0 ||
		of[Failed]+of[Errored] < 200 {
		t.Errorf("an engine that passes one case: %v", of)
	}
	if of, r := run(Own{}, RunOptions{}); of[Passed] != len(samples) || r.Unknown > 0 {
		t.Errorf("this program: %v", of)
	}
	if of, _ := run(older{}, RunOptions{FailFast: true}); of[Failed]+of[Errored] != 1 {
		t.Errorf("with FailFast: %v", of)
	}
	if of, r := run(older{}, RunOptions{Newer: true}); of[Failed]+of[Errored] < 200 || r.Unknown > 0 {
		t.Errorf("with Newer: %v", of)
	}
	for name, want := range map[string]bool{"AIPREF": true, "AIPREF vocab-6": true, "RSL-3.3-02": true, "P1": false,
		"F07": false, "AIP": false} {
		if DemandsPreferences(name) != want {
			t.Errorf("%s demands preferences: %t", name, !want)
		}
	}
	few := slices.DeleteFunc(slices.Clone(samples),
		func(s Sample) bool { return s.File != "preferences/AIPREF-vocab-5.1" })
	if samples = few; len(few) > minRestricted {
		t.Fatalf("%d cases are not few", len(few))
	}
	if of, r := run(older{}, RunOptions{}); r.Unknown > 0 || of[Errored] == 0 {
		t.Errorf("of a few chosen cases: %v", of)
	}
}

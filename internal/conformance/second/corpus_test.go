package second

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/conformance"
)

// TestCorpus checks that both engines answer the cases about preferences in the same way, and that
// the answer of the second engine is the one that the corpus wants.
func TestCorpus(t *testing.T) {
	samples, err := conformance.ReadCorpus(os.DirFS("../corpus/preferences"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		var q question
		if err := json.Unmarshal(s.Line, &q); err != nil {
			t.Fatal(err)
		}
		if d := difference(&q); d != "" {
			t.Errorf("%s/%s (%s): %s", s.File, s.Name, s.Reason, d)
		}
		for _, d := range unwanted(t, &q, s.Want) {
			t.Errorf("%s/%s (%s): second: %s", s.File, s.Name, s.Reason, d)
		}
	}
	t.Logf("%d cases", len(samples))
}

// unwanted returns how decisions of the second engine differ from those that a case wants. Lines
// are not compared, because the second engine knows several.
func unwanted(t *testing.T, q *question, want map[string]any) []string {
	t.Helper()
	mine, err := second(q)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := json.Marshal(mine)
	if err != nil {
		t.Fatal(err)
	}
	found, err := conformance.Compare(map[string]any{"decisions": withoutLines(want["decisions"])}, answer)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range found {
		out = append(out, d.String())
	}
	return out
}

func withoutLines(decisions any) map[string]any {
	out := map[string]any{}
	wanted, _ := decisions.(map[string]any)
	for u, d := range wanted {
		out[u] = map[string]any{"allowed": d.(map[string]any)["allowed"]}
	}
	return out
}

// TestPreferences compares the engines on random cases about newer vocabularies.
func TestPreferences(t *testing.T) { compareEngines(t, makePreferences) }

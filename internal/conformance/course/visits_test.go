package course

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recorded is a log of visits by a program, together with the results that a person determined
// before the judge saw the log.
type recorded struct {
	Program    string      `json:"program"`
	Command    string      `json:"command"`
	Judgements []judgement `json:"judgements"`
}

type judgement struct {
	Reason   string    `json:"reason"`
	Crawler  []string  `json:"crawler"`
	Purposes []string  `json:"purposes"`
	Started  bool      `json:"started"`
	Visitors []visitor `json:"visitors"`
}

// visitor is the expected result of one visitor. Violated and NotHeeded are complete; Kept and
// Untested list examples.
type visitor struct {
	Agent     string   `json:"agent"`
	Unjudged  bool     `json:"unjudged"`
	Violated  []string `json:"violated"`
	NotHeeded []string `json:"not_heeded"`
	Kept      []string `json:"kept"`
	Untested  []string `json:"untested"`
}

func TestRecordedVisits(t *testing.T) {
	names, err := filepath.Glob("testdata/visits/*.want.json")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d recorded logs, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".want.json"), func(t *testing.T) {
			t.Parallel()
			var want recorded
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			d := json.NewDecoder(bytes.NewReader(src))
			d.DisallowUnknownFields()
			if err := d.Decode(&want); err != nil {
				t.Fatal(err)
			}
			visits := readLog(t, strings.TrimSuffix(name, ".want.json")+".jsonl")
			for _, j := range want.Judgements {
				for i := range visits {
					visits[i].Run = ""
					if j.Started {
						visits[i].Run = "1"
					}
				}
				r, err := Judge(t.Context(), visits, Told{Crawler: j.Crawler, Purposes: j.Purposes,
					Protocols: Protocols()})
				if err != nil {
					t.Fatal(err)
				}
				j.compare(t, r)
			}
		})
	}
}

func readLog(t *testing.T, name string) []Visit {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	visits, err := ReadVisits(filepath.Base(name), f)
	if err != nil {
		t.Fatal(err)
	}
	return visits
}

func (j judgement) compare(t *testing.T, r *Report) {
	t.Helper()
	if len(r.Visitors) != len(j.Visitors) {
		t.Fatalf("%d visitors, want %d", len(r.Visitors), len(j.Visitors))
	}
	for _, want := range j.Visitors {
		i := slices.IndexFunc(r.Visitors, func(v *Visitor) bool { return v.Agent == want.Agent })
		if i < 0 {
			t.Errorf("%q did not come", want.Agent)
			continue
		}
		got := r.Visitors[i]
		if (got.Unjudged != "") != want.Unjudged {
			t.Errorf("%s: judged is %v", want.Agent, got.Unjudged == "")
			continue
		}
		for o, ids := range map[Outcome][]string{Violated: want.Violated, Unheeded: want.NotHeeded} {
			for _, res := range got.Results {
				if (res.Outcome == o) != slices.Contains(ids, res.ID) {
					t.Errorf("%s, %s: %s is %s (%s %v)", want.Agent, j.Reason, res.ID, res.Outcome, res.Why,
						res.Evidence)
				}
			}
		}
		for o, ids := range map[Outcome][]string{Kept: want.Kept, Untested: want.Untested} {
			for _, id := range ids {
				k := slices.IndexFunc(got.Results, func(res Result) bool { return res.ID == id })
				if k < 0 {
					t.Errorf("there is no station %s", id)
				} else if res := got.Results[k]; res.Outcome != o {
					t.Errorf("%s, %s: %s is %s (%s), want %s", want.Agent, j.Reason, id, res.Outcome, res.Why, o)
				}
			}
		}
	}
}

package course

import (
	"flag"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write docs/site.md anew")

func TestPage(t *testing.T) {
	const name = "../../docs/site.md"
	if *update {
		if err := os.WriteFile(name, []byte(Markdown()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Markdown() {
		t.Errorf("%s is not what the table says; run go test ./conformance/course -update", name)
	}
}

// Every station has an ID that no other station has, and the fields that a report needs.
func TestStationsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Stations() {
		switch {
		case seen[s.ID]:
			t.Errorf("there are two stations %s", s.ID)
		case s.Rests == "" || s.Says == "" || !known(s.Origin):
			t.Errorf("%s lacks what it rests on, what it says or its origin", s.ID)
		case s.Level == Must && s.watch == nil && !s.Whole &&
			(len(s.Traps) == 0 || len(s.Controls) == 0 || s.Because == ""):
			t.Errorf("%s has no trap, no control or no line that refuses", s.ID)
		case s.Level == May && (len(s.Controls) == 0 || len(s.Traps) > 0):
			t.Errorf("%s is a freedom, and has traps or no control", s.ID)
		}
		seen[s.ID] = true
		presumed := func(o *Station) bool { return o.ID == s.Presumes && o.Category == s.Category }
		if s.Presumes != "" && !slices.ContainsFunc(Stations(), presumed) {
			t.Errorf("%s presumes %s, which is no station of its category", s.ID, s.Presumes)
		}
	}
	if len(seen) < 80 {
		t.Errorf("there are %d stations", len(seen))
	}
}

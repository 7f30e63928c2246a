package course

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/site.md anew")

//go:embed testdata/site_head.md
var pageHead string

// markdown returns docs/site.md: the page that lists the stations and the requirement that each of
// them tests.
func markdown() string {
	var b strings.Builder
	b.WriteString(pageHead)
	stations := Stations()
	for _, category := range Categories() {
		fmt.Fprintf(&b, "\n### %s\n\n| station | requirement | source | the line that prohibits |\n|---|---|---|---|\n",
			strings.ToUpper(category[:1])+category[1:])
		for _, s := range stations {
			if s.Category != category {
				continue
			}
			says := s.Says
			switch s.Level {
			case Advice:
				says += " (advice)"
			case May:
				says += " (optional)"
			}
			if s.Needs != "" {
				says += "; needs " + string(s.Needs)
			}
			because := ""
			if s.Because != "" {
				because = "`" + strings.ReplaceAll(strings.ReplaceAll(s.Because, "|", `\|`), "\t", " ") + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.ID, strings.ReplaceAll(says, "|", `\|`),
				s.Protocol.basis(s.Rests), because)
		}
	}
	b.WriteString("\n## What no server can see\n\nRequests cannot show whether a crawler obeys these rules, so no " +
		"visitor is judged by them:\n\n")
	for _, u := range Unobservable() {
		fmt.Fprintf(&b, "- %s: %s\n", u[0], u[1])
	}
	b.WriteString("\n## The origins\n\n| origin | contents |\n|---|---|\n")
	for _, o := range origins {
		fmt.Fprintf(&b, "| `%s` | %s |\n", o.name, o.says)
	}
	return b.String()
}

func TestPage(t *testing.T) {
	const name = "../../../docs/site.md"
	if *update {
		if err := os.WriteFile(name, []byte(markdown()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != markdown() {
		t.Errorf("%s is not what the table says; run go test ./internal/conformance/course -update", name)
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

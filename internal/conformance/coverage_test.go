package conformance

import (
	"bytes"
	"errors"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write docs/conformance.md anew")

const pageFile = "../../docs/conformance.md"

// counts is the number of requirements in each document.
var counts = map[string]int{"P1": 382, "P2": 65, "PILOT": 31, "REP": 20, "RTAG": 37,
	"AIPREF": 57, "SIGNALS": 20, "TDMREP": 40, "RSL": 71, "PREF": 32, readings: 226 + 91}

func requirements(t *testing.T) []Document {
	t.Helper()
	docs, err := ReadRequirements(os.DirFS("requirements"))
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// TestRequirementsAreCovered checks that every requirement and every reading has a corpus case that
// it decides and a case with the opposite result, or a Go test, or a reason why it cannot be
// observed.
func TestRequirementsAreCovered(t *testing.T) {
	docs := requirements(t)
	for _, d := range docs {
		if len(d.Requirements) != counts[d.Name] {
			t.Errorf("%s has %d requirements, want %d", d.Name, len(d.Requirements), counts[d.Name])
		}
		for _, r := range d.Requirements {
			if r.Section == "" || r.Level == "" || d.Name != readings && !strings.HasPrefix(r.ID, d.Name+"-") {
				t.Errorf("%s of %s lacks its section or its level, or has another document's id", r.ID, d.Name)
			}
		}
	}
	for _, gap := range Gaps(docs, corpus(t), goTests(t)) {
		t.Error(gap)
	}
}

// goTests returns a function that reports whether the module has a test with a given name:
// directory, dot, function name. The directory may be below internal.
func goTests(t *testing.T) func(string) bool {
	known := map[string]map[string]bool{}
	return func(name string) bool {
		i := strings.LastIndex(name, ".")
		if i < 0 {
			return false
		}
		dir, function := name[:i], name[i+1:]
		if known[dir] == nil {
			known[dir] = map[string]bool{}
			public, err := filepath.Glob(filepath.Join("../..", filepath.FromSlash(dir), "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			inner, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range slices.Concat(public, inner) {
				parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range parsed.Decls {
					if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
						known[dir][f.Name.Name] = true
					}
				}
			}
		}
		return known[dir][function]
	}
}

func TestConformancePage(t *testing.T) {
	want := Page(requirements(t), corpus(t))
	if *update {
		if err := os.WriteFile(pageFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not up to date: run go test ./internal/conformance -run TestConformancePage -update", pageFile)
	}
}

// Gaps reports everything that a requirement lacks.
func TestGaps(t *testing.T) {
	samples := []Sample{{Name: "yes"}, {Name: "no"}}
	hasTest := func(name string) bool { return name == "acap.TestDecide" }
	whole := Requirement{ID: "P1-x", Says: "a field is one line", Decides: []string{"yes"}, Contrary: []string{"no"}}
	for name, c := range map[string]struct {
		change func(*Requirement)
		want   string
	}{
		"nothing": {func(r *Requirement) {}, ""},
		"a test alone": {func(r *Requirement) { r.Decides, r.Contrary, r.Test = nil, nil, "acap.TestDecide" },
			""},
		"unobservable": {func(r *Requirement) { r.Decides, r.Contrary, r.Unobservable = nil, nil, "advice" },
			""},
		"nothing at all":       {func(r *Requirement) { r.Decides, r.Contrary = nil, nil }, "shown by nothing"},
		"no contrary case":     {func(r *Requirement) { r.Contrary = nil }, "both kinds"},
		"no deciding case":     {func(r *Requirement) { r.Decides = nil }, "both kinds"},
		"an unknown case":      {func(r *Requirement) { r.Decides = []string{"yes", "perhaps"} }, `"perhaps"`},
		"an unknown test":      {func(r *Requirement) { r.Test = "acap.TestNothing" }, "does not exist"},
		"the same case twice":  {func(r *Requirement) { r.Contrary = []string{"yes"} }, "decided and not decided"},
		"cases of the unseen":  {func(r *Requirement) { r.Unobservable = "advice" }, "unobservable and has cases"},
		"no words":             {func(r *Requirement) { r.Says = "" }, "0 characters"},
		"many words":           {func(r *Requirement) { r.Says = strings.Repeat("ü", 141) }, "141 characters"},
		"no id":                {func(r *Requirement) { r.ID = "" }, "no id"},
		"an example":           {func(r *Requirement) { r.Level, r.Readings = "example", []string{"A07"} }, ""},
		"an unsettled example": {func(r *Requirement) { r.Level = "example" }, "names no reading"},
		"an unknown reading":   {func(r *Requirement) { r.Readings = []string{"Z01"} }, `"Z01"`},
	} {
		r := whole
		c.change(&r)
		reading := whole
		reading.ID = "A07"
		docs := []Document{{Name: "P1", Requirements: []Requirement{r}},
			{Name: readings, Requirements: []Requirement{reading}}}
		gaps := Gaps(docs, samples, hasTest)
		if c.want == "" && len(gaps) != 0 || c.want != "" && (len(gaps) != 1 || !strings.Contains(gaps[0], c.want)) {
			t.Errorf("%s: the gaps are %q, want %q", name, gaps, c.want)
		}
	}
	twice := []Document{{Name: "P1", Requirements: []Requirement{whole, whole}}}
	if gaps := Gaps(twice, samples, hasTest); len(gaps) != 2 || !strings.Contains(gaps[0], "stands twice") {
		t.Errorf("twice the same: the gaps are %q", gaps)
	}
}

func TestReadRequirements(t *testing.T) {
	files := func(p1 string) fstest.MapFS {
		fsys := fstest.MapFS{}
		for name := range counts {
			fsys[name+".jsonl"] = &fstest.MapFile{Data: []byte(`{"id": "` + name + `-1", "says": "a rule"}` + "\n")}
		}
		fsys["P1.jsonl"].Data = append(fsys["P1.jsonl"].Data, p1...)
		return fsys
	}
	docs, err := ReadRequirements(files(`{"id": "P1-2", "decides": ["a"], "contrary": ["b", "c"]}`))
	if err != nil || len(docs) != len(counts) || docs[0].Name != "P1" || len(docs[0].Requirements) != 2 ||
		len(docs[0].Requirements[1].Contrary) != 2 {
		t.Errorf("read %+v, %v", docs, err)
	}
	for name, line := range map[string]string{"an unknown key": `{"id": "P1-2", "sais": "a rule"}`,
		"an empty line": "\n", "two on a line": `{"id": "P1-2"} {"id": "P1-3"}`} {
		if _, err := ReadRequirements(files(line)); err == nil || !strings.Contains(err.Error(), "P1.jsonl:2") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	fsys := files("")
	delete(fsys, "REP.jsonl")
	if _, err := ReadRequirements(fsys); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file the error is %v", err)
	}
}

package check

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/acapcrawl/acapcrawl/acap"
)

// written removes the marks from a text of testdata: "␍" stands for a CR before the LF of a line,
// "⟨CR⟩" for a CR that ends a line, "⟨BOM⟩" for a byte-order mark. A last line "⟨no end⟩" means
// that the line before it has no line end.
func written(data []byte) []byte {
	text := strings.NewReplacer("␍", "\r", "⟨CR⟩", "\r", "⟨BOM⟩", "\ufeff").Replace(string(data))
	return []byte(strings.TrimSuffix(text, "\n⟨no end⟩\n"))
}

// broken returns the report about the files of an archive, like the command check.
func broken(t *testing.T, a *txtar.Archive) *Report {
	r, o := &Report{}, everyVocabulary(t)
	o.Now = time.Time{}
	var site *acap.File
	for _, f := range a.Files {
		src := written(f.Data)
		switch kind := Guess(f.Name, src); {
		case strings.HasPrefix(f.Name, "want."):
		case f.Name == "reference.txt":
			r.Referred(f.Name, src, o)
		case kind == RobotsKind:
			site = r.Robots(f.Name, src, o)
		case kind == PageKind:
			r.PageAlone(f.Name, PageOf(f.Name, src), o, site)
		default:
			r.Header(f.Name, src, o, site)
		}
	}
	return r
}

// TestBroken tests the reports about broken files, as text and as SARIF. The comment of each
// archive says what is wrong with it.
func TestBroken(t *testing.T) {
	names, err := filepath.Glob("testdata/broken/*.txtar")
	if err != nil || len(names) < 30 {
		t.Fatal(len(names), err)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(a.Comment)) == 0 {
			t.Errorf("%s gives no reason", name)
		}
		r := broken(t, a)
		if len(r.Findings) == 0 {
			t.Errorf("%s: nothing is told", name)
		}
		var text, sarif bytes.Buffer
		if err := r.WriteText(&text, Style{}); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteSARIF(&sarif, ""); err != nil {
			t.Fatal(err)
		}
		got := []txtar.File{{Name: "want.txt", Data: text.Bytes()}, {Name: "want.sarif", Data: sarif.Bytes()}}
		if *update {
			a.Files = append(slices.DeleteFunc(a.Files, func(f txtar.File) bool {
				return strings.HasPrefix(f.Name,
					"want.")
			}), got...)
			if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, g := range got {
			i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == g.Name })
			if i < 0 || !bytes.Equal(a.Files[i].Data, g.Data) {
				t.Errorf("%s: %s is now\n%s", name, g.Name, g.Data)
			}
		}
	}
}

// schemaVariable is the environment variable with the path of the published schema of SARIF 2.1.0.
const schemaVariable = "ACAPCRAWL_SARIF_SCHEMA"

// TestSARIFSchema tests that SARIF logs are valid according to the published schema.
func TestSARIFSchema(t *testing.T) {
	file := os.Getenv(schemaVariable)
	if file == "" {
		t.Skipf("%s does not name the schema of SARIF 2.1.0", schemaVariable)
	}
	schema, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob("testdata/broken/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	valid := func(name string, log []byte) error {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(log))
		if err != nil {
			t.Fatal(name, err)
		}
		return schema.Validate(v)
	}
	if valid("an empty object", []byte(`{"version": "2.0.0"}`)) == nil {
		t.Fatal("the schema takes anything")
	}
	var empty bytes.Buffer
	if err := new(Report).WriteSARIF(&empty, "1"); err != nil {
		t.Fatal(err)
	}
	if err := valid("an empty report", empty.Bytes()); err != nil {
		t.Errorf("an empty report: %v", err)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if f.Name != "want.sarif" {
				continue
			}
			if err := valid(name, f.Data); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestSARIFFixes tests that the replacements in a SARIF log, applied by line and column, give the
// same text as the word corrections of Repair.
func TestSARIFFixes(t *testing.T) {
	for _, c := range fixCases(t) {
		r := &Report{}
		src := c.text("before")
		if c.kind == ReferenceKind {
			r.Referred("f", src, Options{})
		} else {
			r.Robots("f", src, Options{})
		}
		var b bytes.Buffer
		if err := r.WriteSARIF(&b, ""); err != nil {
			t.Fatal(err)
		}
		var log sarifLog
		if err := json.Unmarshal(b.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		s := newSource(src)
		offset := func(line, column int) int {
			if line == len(s.starts) {
				return len(s.text)
			}
			at := s.starts[line-1]
			for range column - 1 {
				at += len(string([]rune(s.text[at:])[0]))
			}
			return at
		}
		words, moves := Fixes(src, r.Findings)
		var want, got [][]Edit
		for _, f := range append(words, moves...) {
			want = append(want, f.Edits)
		}
		for _, result := range log.Runs[0].Results {
			for _, fix := range result.Fixes {
				var edits []Edit
				for _, rep := range fix.Changes[0].Replacements {
					e := Edit{From: offset(rep.Deleted.StartLine, rep.Deleted.StartColumn),
						To: offset(rep.Deleted.EndLine, rep.Deleted.EndColumn)}
					if rep.Inserted != nil {
						e.Text = rep.Inserted.Text
					}
					edits = append(edits, e)
				}
				got = append(got, edits)
			}
		}
		order := func(a, b []Edit) int { return a[0].From - b[0].From }
		slices.SortStableFunc(want, order)
		slices.SortStableFunc(got, order)
		if !slices.EqualFunc(got, want, slices.Equal[[]Edit]) {
			t.Errorf("%s: got %v, want %v", c.name, got, want)
		}
	}
}

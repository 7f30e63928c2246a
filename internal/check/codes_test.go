package check

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	findingsPage = "../../docs/findings.md"
	requirements = "../conformance/requirements"

	preferenceCases = "../conformance/corpus/preferences"
)

// TestCodes tests that docs/findings.md has a section for each code in the table codes, and no
// other sections.
func TestCodes(t *testing.T) {
	src, err := os.ReadFile(findingsPage)
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for line := range strings.Lines(string(src)) {
		if code, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
			explained[code] = true
			if codes[code] == "" {
				t.Errorf("%s explains %s: codes.go does not say what it rests on", findingsPage, code)
			}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		if !explained[code] {
			t.Errorf("%s does not explain %s", findingsPage, code)
		}
	}
}

// TestBehind tests that the paragraphs and readings of each code are in the list of requirements,
// or that there are cases for them.
func TestBehind(t *testing.T) {
	known := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(requirements, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		document := strings.TrimSuffix(filepath.Base(name), ".jsonl")
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var r struct{ ID, Section string }
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatal(name, err)
			}
			if document == "readings" {
				known[r.ID] = true
			} else {
				known[document+" "+r.Section] = true
			}
		}
		if lines.Err() != nil {
			t.Fatal(name, lines.Err())
		}
	}
	cases, err := filepath.Glob(filepath.Join(preferenceCases, "*.txtar"))
	if err != nil || len(cases) == 0 {
		t.Fatal(cases, err)
	}
	for _, name := range cases { // the parts of newer vocabularies have files of cases
		known[strings.ReplaceAll(strings.TrimSuffix(filepath.Base(name), ".txtar"), "-", " ")] = true
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		for _, p := range Behind(code) {
			if !known[p] {
				t.Errorf("%s rests on %q, which is neither a paragraph nor a reading", code, p)
			}
		}
	}
}

var toldCode = regexp.MustCompile(
	`"([a-z]+(?:-[a-z]+)*)", (?:Severity: )?(?:acap\.(?:Error|Warning|Notice)|severity)[,})]`)

// TestToldCodes tests that the source of this package reports only codes that are in the table
// codes. Remarks of conversions are not findings, so their codes are not in the table.
func TestToldCodes(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "convert") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range toldCode.FindAllStringSubmatch(string(src), -1) {
			told++
			if codes[m[1]] == "" {
				t.Errorf("%s tells %s: codes.go does not say what it rests on", name, m[1])
			}
		}
	}
	if told < 15 {
		t.Errorf("%d codes are told: the source is written otherwise than this test reads it", told)
	}
}

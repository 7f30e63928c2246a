package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateMap = flag.Bool("update-map", false, "write map.md")

const mapIntro = `# Map: from rules to code

Each row names a paragraph of a document, or a reading of this project (a letter and two digits), and the functions whose
comments cite it. A reading is our decision where the document leaves a choice; its row follows that of its paragraph.
Code that decides comes first, checkers, converters and tests of conformance last. An empty cell means that no comment cites
the rule: it needs no code of its own, or follows from the code of another rule.
[conformance.md](conformance.md) lists the statements and cases of each, [readings.md](readings.md) the rules behind the readings.

This page is generated from the comments of the source: ` + "`go test ./docs -update-map`" + ` writes it.

| question | rule | decided in |
|---|---|---|
`

// questions are what readers ask most, each with a rule, and the function that decides it.
var questions = []struct{ ask, rule, file, function string }{
	{"Which field wins?", "P1 2.4.6", "acap/decide.go", "Policy.prevailing"},
	{"What happens if a field cannot be interpreted?", "P1 2.4.3", "acap/usages.go", "expander.replace"},
	{"How are other files with permissions read?", "P1 2.3.2", "acap/policy.go", "File.policy"},
	{"How do the records for `*` and for a named crawler merge?", "P1 2.2.1", "acap/admit.go", "Policy.admit"},
	{"When does a permission end (until-dates, days)?", "P1 2.5.3.1", "acap/facts.go", "statement.until"},
	{"How long may a snippet be?", "P1 2.5.5.4", "snippet/snippet.go", "Build"},
	{"What must be shown with a page?", "P1 2.5.5.6", "terms/content.go", "Terms.included"},
	{"How are pages taken down and crawled again?", "P1 2.6", "actions/execute.go", "Executor.executeOrigin"},
	{"What happens to statements on elements that are not supported?", "P2 2.2.6", "acap/part.go", "narrowing.mark"},
	{"What if robots.txt answers with 5xx?", "RFC 9309 2.3.1.4", "policy/origin.go", "Authority.unreachable"},
}

// writeQuestions writes the table of questions. It is an error if the function does not cite the
// rule.
func writeQuestions(t *testing.T, page *strings.Builder, cited map[string][]place) {
	t.Helper()
	for _, q := range questions {
		at := place{q.file, q.function}
		if !slices.Contains(cited[q.rule], at) {
			t.Errorf("%s of %s does not cite %s", at.name, at.file, q.rule)
		}
		fmt.Fprintf(page, "| %s | [%s](#%s) | %s |\n", q.ask, q.rule, anchor(q.rule), links([]place{at}))
	}
}

// anchor returns the anchor of the row of a rule.
func anchor(rule string) string {
	return strings.ToLower(strings.NewReplacer(" ", "-", ".", "").Replace(rule))
}

// mapDocuments are the documents in the order of the page, with their paragraphs.
var mapDocuments = []struct{ name, title, paragraphs string }{
	{"P1", "ACAP 1.1 Part 1: robots.txt", `2.1 Overview
2.2 General
2.2.1 Order and merging of records and fields, comments
2.3 Records and sub-records
2.3.1 Crawler identification: names and *
2.3.2 References to other files with permissions
2.3.3 Usage purposes
2.4 Permissions and prohibitions
2.4.1 Permissions
2.4.1.1 Unqualified permissions
2.4.1.2 Qualified permissions
2.4.1.3 Permissions of a locally defined usage
2.4.2 Prohibitions
2.4.3 Fallback for fields that cannot be interpreted
2.4.4 Resource specifications
2.4.5 Resource sets
2.4.6 Conflict resolution: which field wins
2.5 Usage types and qualifiers
2.5.1 crawl
2.5.2 follow
2.5.3 index
2.5.3.1 time-limit: until a date, a number of days, until recrawled
2.5.3.2 index with must-use-resource
2.5.4 preserve
2.5.4.1 preserve with time-limit
2.5.5 present
2.5.5.1 Usage types based on present
2.5.5.2 present with time-limit
2.5.5.3 present with must-use-resource
2.5.5.4 max-length of snippets
2.5.5.5 prohibited-modification
2.5.5.6 must-include-resource: what must be shown with a page
2.5.5.7 prohibited-context: frames
2.5.5.8 required-context
2.5.5.9 target-condition: readers
2.5.6 other usages
2.5.6.1 usage-ref of other usages
2.6 Action requests
2.6.1 Take-down
2.6.2 Re-crawl
2.7 Definitions
2.7.1 Qualified usages
2.7.2 Composite usages
2.7.3 Resource sets
2.8 Versions
2.9 Pattern matching
2.10 Conventional records next to ACAP
2.10.1 Ignoring conventional records
2.10.2 Combining ACAP and conventional records
2.10.3 Comments that announce ACAP
3 Grammar
4 Limits and further work`},
	{"P2", "ACAP 1.1 Part 2: META tags and class attributes", `2.1 Overview
2.2 META tags
2.2.1 Addressing crawlers
2.2.2 Usage purposes
2.2.3 Permissions
2.2.4 Prohibitions
2.2.5 Statements on elements
2.2.6 Fallback if statements on elements are not supported
2.2.7 Version
2.2.8 Conflicts, also with robots.txt
2.2.9 Usage types and qualifiers
2.2.9.1 location
3 Grammar`},
	{"PILOT", "The pilot of 2007", `1.3.1 Permissions
1.3.2 Prohibitions
1.3.3 Conflicts
1.3.4 Definitions
1.3.5 Grammar
2.1 The class attribute
2.2 Grammar of the class attribute`},
	{"REP", "The search engines' documents of 2008", `1 robots.txt
2 META tags and headers`},
	{"RTAG", "The Robots-Tag draft", `3.1 Rules
3.1.1 Response header
3.1.2 META element
3.1.3 Combination
3.1.4 Caching`},
	{"RFC 9309", "The Robots Exclusion Protocol", `2.2 Syntax
2.2.1 User-agent lines: groups and their merging
2.2.2 Allow and Disallow: the longest pattern wins
2.2.3 Special characters
2.2.4 Other records
2.3 Access
2.3.1 Answers for robots.txt
2.3.1.2 Redirects
2.3.1.3 Unavailable: 4xx
2.3.1.4 Unreachable: 5xx and network errors
2.3.1.5 Parsing errors
2.4 Caching
2.5 Size limit`},
}

// reading is a line of conformance/requirements/readings.jsonl.
type reading struct{ ID, Section, Says string }

// row returns the row of a reading.
func (r reading) row(about string, places []place) string {
	return fmt.Sprintf("| <a id=%q></a>%s | %s | %s |\n", strings.ToLower(r.ID), r.ID, strings.ReplaceAll(about, "|",
		"\\|"), links(places))
}

// TestMap: map.md lists for every paragraph and reading the functions that cite it.
func TestMap(t *testing.T) {
	readings := readReadings(t)
	cited := citations(t, readings)
	var page strings.Builder
	page.WriteString(mapIntro)
	writeQuestions(t, &page, cited)
	for _, d := range mapDocuments {
		fmt.Fprintf(&page, "\n## %s: %s\n\n| rule | about | code |\n|---|---|---|\n", d.name, d.title)
		for line := range strings.SplitSeq(d.paragraphs, "\n") {
			number, title, _ := strings.Cut(line, " ")
			rule := d.name + " " + number
			fmt.Fprintf(&page, "| <a id=%q></a>**%s** | **%s** | %s |\n", anchor(rule), rule, title, links(cited[rule]))
			delete(cited, rule)
			for _, r := range readings {
				if r.Section == rule {
					page.WriteString(r.row(r.Says, cited[r.ID]))
					delete(cited, r.ID)
				}
			}
		}
	}
	page.WriteString("\n## Readings of other paragraphs\n\n| rule | about | code |\n|---|---|---|\n")
	for _, r := range readings {
		if cited[r.ID] != nil {
			page.WriteString(r.row(r.Says+" ("+r.Section+")", cited[r.ID]))
			delete(cited, r.ID)
		}
	}
	for rule, places := range cited {
		t.Errorf("%s cite %s, which is not a paragraph of mapDocuments", places, rule)
	}
	old, _ := os.ReadFile("map.md")
	switch {
	case *updateMap:
		if err := os.WriteFile("map.md", []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	case !bytes.Equal(old, []byte(page.String())):
		t.Error("map.md is stale: run go test ./docs -update-map")
	}
}

// links returns the places as Markdown, a link for each file followed by its functions. Places that
// decide nothing come last.
func links(places []place) string {
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.order(), b.order()), strings.Compare(a.file+" "+a.name, b.file+" "+b.name))
	})
	var b strings.Builder
	for i, p := range slices.Compact(places) {
		if i == 0 || places[i-1].file != p.file {
			if i > 0 {
				b.WriteString("; ")
			}
			fmt.Fprintf(&b, "[%s](../%s): `%s`", p.file, p.file, p.name)
			continue
		}
		fmt.Fprintf(&b, ", `%s`", p.name)
	}
	return b.String()
}

// place is a declaration in a file of the module.
type place struct{ file, name string }

// order is 0 for a place that may decide something, and larger for places that only describe, check
// or convert.
func (p place) order() int {
	folder, _, _ := strings.Cut(strings.TrimPrefix(p.file, "internal/"), "/")
	switch {
	case slices.Contains([]string{"check", "config", "convert", "conformance", "cmd"}, folder):
		return 2
	case strings.HasPrefix(p.name, "package "):
		return 1
	}
	return 0
}

var (
	paragraphCited = regexp.MustCompile(
		`\b(P1|P2|PILOT|REP|RTAG|RFC 9309),? ` +
			`((?:[1-9][0-9]?(?:\.[0-9]+)*)(?:(?:,| and| or|,? to) [1-9]\.[0-9]+(?:\.[0-9]+)*)*)`)
	numberCited  = regexp.MustCompile(`[1-9][0-9]?(?:\.[0-9]+)*`)
	readingCited = regexp.MustCompile(`\b[A-Z][0-9]{2}\b`)
)

// citations returns for each paragraph and reading the declarations whose comments, and the
// comments inside them, cite it.
func citations(t *testing.T, readings []reading) map[string][]place {
	t.Helper()
	cited := map[string][]place{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || path == "../internal/test" ||
			slices.Contains([]string{"bench", "testdata", "docs"}, d.Name())):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		for _, group := range f.Comments {
			at := place{name, declaration(f, group.Pos())}
			text := strings.Join(strings.Fields(group.Text()), " ")
			for _, m := range paragraphCited.FindAllStringSubmatch(text, -1) {
				for _, number := range numberCited.FindAllString(m[2], -1) {
					cited[paragraph(m[1], number)] = append(cited[paragraph(m[1], number)], at)
				}
			}
			for _, id := range readingCited.FindAllString(text, -1) {
				if slices.ContainsFunc(readings, func(r reading) bool { return r.ID == id }) {
					cited[id] = append(cited[id], at)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cited
}

// paragraph returns the row for a paragraph: itself, or the nearest one above it that has a row.
func paragraph(document, number string) string {
	for _, d := range mapDocuments {
		for d.name == document {
			if strings.HasPrefix(d.paragraphs, number+" ") || strings.Contains(d.paragraphs, "\n"+number+" ") {
				return document + " " + number
			}
			dot := strings.LastIndexByte(number, '.')
			if dot < 0 {
				break
			}
			number = number[:dot]
		}
	}
	return document + " " + number
}

// declaration returns the name of the declaration around pos or after it.
func declaration(f *ast.File, pos token.Pos) string {
	if pos < f.Package {
		return "package " + f.Name.Name
	}
	for _, d := range f.Decls {
		if pos > d.End() {
			continue
		}
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				return d.Name.Name
			}
			return receiver(d.Recv.List[0].Type) + "." + d.Name.Name
		case *ast.GenDecl:
			if name := specification(d, pos); name != "" {
				return name
			}
		}
	}
	return "end of file"
}

// specification returns the name of the constant, variable or type of d around pos or after it.
func specification(d *ast.GenDecl, pos token.Pos) string {
	name := ""
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			name = s.Name.Name
		case *ast.ValueSpec:
			name = s.Names[0].Name
		}
		if pos <= s.End() {
			break
		}
	}
	return name
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

func readReadings(t *testing.T) []reading {
	t.Helper()
	text, err := os.ReadFile("../internal/conformance/requirements/readings.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var list []reading
	for line := range strings.Lines(string(text)) {
		var r reading
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

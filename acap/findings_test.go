package acap

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write what the examples of docs/findings.md lead to into the page")

const findingsPage = "../docs/findings.md"

// section is the section of docs/findings.md about one code.
type section struct {
	code       string
	severities []Severity
	examples   []*example
	checked    bool // only package check reports the code, and its tests run the examples
}

// checkedMark is the text that follows the severities in a section about a code that only package
// check reports.
const checkedMark = ", reported by `check`"

// example is one example in docs/findings.md: texts, and the findings about them that have the code
// of the section.
type example struct {
	line    int // line of docs/findings.md on which the example begins
	texts   map[string]string
	want    string
	at, end int // the lines of docs/findings.md that contain want
}

// preferenceMark is the text that follows the severities in a section about a code that package
// preference reports. The tests of package check run the examples.
const preferenceMark = ", about preferences"

var sectionText = regexp.MustCompile("^## ([a-z]+(?:-[a-z]+)*)$")

// readPage reads the sections of docs/findings.md. An example consists of the fenced blocks up to a
// block with the label "finding".
func readPage(t testing.TB) (page []string, sections []*section) {
	t.Helper()
	src, err := os.ReadFile(findingsPage)
	if err != nil {
		t.Fatal(err)
	}
	page = strings.Split(string(src), "\n")
	var s *section
	texts := map[string]string{}
	for i := 0; i < len(page); i++ {
		if m := sectionText.FindStringSubmatch(page[i]); m != nil {
			s = &section{code: m[1]}
			sections = append(sections, s)
			s.checked = strings.Contains(page[i+2], checkedMark) || strings.HasSuffix(page[i+2], preferenceMark)
			for _, word := range strings.Split(page[i+2], ", ") {
				s.severities = append(s.severities, Severity(word))
			}
		}
		name, fence := strings.CutPrefix(page[i], "```")
		if !fence || s == nil {
			continue
		}
		end := i + 1 + slices.Index(page[i+1:], "```")
		text := strings.Join(page[i+1:end], "\n")
		if name == "finding" {
			s.examples = append(s.examples, &example{line: i + 1, texts: texts, want: text, at: i + 1, end: end})
			texts = map[string]string{}
		} else {
			texts[name] = writtenOut(t, text)
		}
		i = end
	}
	return page, sections
}

var repetition = regexp.MustCompile(`\{(\d+) × ([^}]*)\}`)

var byteEscape = regexp.MustCompile(`\\x[0-9a-f]{2}`)

// writtenOut replaces "{3 × text}" by three copies of the text. In the text, "\n" stands for a line
// feed, and "\x00" for the byte with that hexadecimal number.
func writtenOut(t testing.TB, text string) string {
	return repetition.ReplaceAllStringFunc(text, func(s string) string {
		m := repetition.FindStringSubmatch(s)
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		piece := byteEscape.ReplaceAllStringFunc(strings.ReplaceAll(m[2], `\n`, "\n"), func(s string) string {
			b, err := strconv.ParseUint(s[2:], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			return string([]byte{byte(b)})
		})
		return strings.Repeat(piece, n)
	})
}

// robotsExamples returns the short robots.txt examples of docs/findings.md.
func robotsExamples(t testing.TB) (out []string) {
	_, sections := readPage(t)
	for _, s := range sections {
		for _, e := range s.examples {
			if text := e.texts["robots.txt"]; text != "" && len(text) < 1000 {
				out = append(out, text)
			}
		}
	}
	return out
}

// findings reads the texts of an example like a crawler, and returns the findings. source returns
// the source line of a finding.
func (e *example) findings() (found []Finding, source func(Finding) string) {
	who := Crawler{Names: []string{"searchbot"}}
	for _, word := range strings.Fields(e.texts["crawler"]) {
		if word == "pilot" {
			who.Pilot = true
		} else {
			who.Cannot = append(who.Cannot, word)
		}
	}
	own := Own{URL: "http://example.com/page.html"}
	html := strings.Split(e.texts["html"], "\n")
	for i, line := range html {
		own.read(i+1, line)
	}
	headers := strings.Split(e.texts["http"], "\n")
	for i, line := range headers {
		if name, value, ok := strings.Cut(line, ": "); ok {
			own.Tags = append(own.Tags, Tag{Source: Header, Name: name, Content: value, Line: i + 1, Column: 1})
		}
	}
	f := Parse("http://example.com/robots.txt", []byte(e.texts["robots.txt"]))
	refs := f.References(who)
	for i := range refs {
		if text, ok := e.texts["reference"]; ok {
			refs[i].File = ParseReferred(refs[i].URL, []byte(text))
		} else {
			refs[i].Err = errors.New("HTTP status 503")
		}
	}
	return f.Policy(who, refs...).Narrow(own).Findings(), func(fi Finding) string {
		switch fi.Source {
		case Referred:
			return refs[0].File.Line(fi.Line)
		case Meta, Class:
			return html[fi.Line-1]
		case Header:
			return headers[fi.Line-1]
		}
		return f.Line(fi.Line)
	}
}

var (
	metaText  = regexp.MustCompile(`<meta name="([^"]*)" content="([^"]*)">`)
	classText = regexp.MustCompile(`class="([^"]*)"`)
	idText    = regexp.MustCompile(`id="([^"]*)"`)
)

// read adds the META tags, classes and ids in one line of HTML to o. It understands only simple
// HTML.
func (o *Own) read(n int, line string) {
	column := func(offset int) int { return utf8.RuneCountInString(line[:offset]) + 1 }
	for _, m := range metaText.FindAllStringSubmatchIndex(line, -1) {
		o.Tags = append(o.Tags, Tag{Source: Meta, Name: line[m[2]:m[3]], Content: line[m[4]:m[5]], Line: n,
			Column: column(m[4])})
	}
	place := OnElement
	if strings.Contains(line, "<title") {
		place = OnHead
	}
	for _, m := range classText.FindAllStringSubmatchIndex(line, -1) {
		o.Marks = append(o.Marks, Mark{Token: line[m[2]:m[3]], Line: n, Column: column(m[2]), Place: place,
			Element: 1000*n + m[0]})
	}
	for _, m := range idText.FindAllStringSubmatchIndex(line, -1) {
		o.Marks = append(o.Marks, Mark{Token: "#" + line[m[2]:m[3]], Line: n, Column: column(m[2]), Place: place,
			Element: 1000*n + m[0]})
	}
}

// outcome returns findings in the form that docs/findings.md uses.
func outcome(found []Finding, source func(Finding) string) string {
	var b strings.Builder
	for _, fi := range found {
		fmt.Fprintf(&b, "%s %d:%d+%d %s: %s\n", fi.Source, fi.Line, fi.Column, fi.Length, fi.Severity, fi.Message)
		for _, line := range strings.Split(fi.Excerpt(source(fi)), "\n") {
			b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
		}
		if fi.Hint != "" {
			fmt.Fprintf(&b, "hint: %s\n", fi.Hint)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TestFindingsPage tests that every example of docs/findings.md produces the findings that the page
// shows.
func TestFindingsPage(t *testing.T) {
	page, sections := readPage(t)
	if len(sections) < 100 {
		t.Fatalf("the page has %d sections", len(sections))
	}
	var written []string
	from := 0
	for _, s := range sections {
		if s.checked {
			continue
		}
		var shown []Severity
		for _, e := range s.examples {
			found, source := e.findings()
			found = slices.DeleteFunc(slices.Clone(found), func(fi Finding) bool { return fi.Code != s.code })
			for _, fi := range found {
				shown = append(shown, fi.Severity)
				if fi.Line < 1 || fi.Column < 1 || fi.Length < 1 || fi.Source == "" || fi.URL == "" ||
					len(fi.Message) > 600 || len(fi.Hint) > 300 {
					t.Errorf("%s: %+v", s.code, fi)
				}
			}
			got := outcome(found, source)
			switch {
			case got == "":
				t.Errorf("%s:%d: the example does not lead to %s", findingsPage, e.line, s.code)
			case got != e.want && !*update:
				t.Errorf("%s:%d: %s: got\n%s\nwant\n%s", findingsPage, e.line, s.code, got, e.want)
			}
			written = append(append(written, page[from:e.at]...), got)
			from = e.end
		}
		slices.Sort(shown)
		if want := slices.Sorted(slices.Values(s.severities)); !slices.Equal(slices.Compact(shown), want) {
			t.Errorf("%s: the section names the severities %v, its examples show %v", s.code, want, shown)
		}
	}
	if *update {
		written = append(written, page[from:]...)
		if err := os.WriteFile(findingsPage, []byte(strings.Join(written, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFindingsPageIsComplete tests that docs/findings.md has exactly the codes that the source can
// report, with their severities, in order.
func TestFindingsPageIsComplete(t *testing.T) {
	_, sections := readPage(t)
	documented := map[string][]Severity{}
	for i, s := range sections {
		if i > 0 && sections[i-1].code >= s.code {
			t.Errorf("%s stands behind %s", s.code, sections[i-1].code)
		}
		if s.checked {
			continue
		}
		documented[s.code] = slices.Sorted(slices.Values(s.severities))
	}
	told := toldCodes(t)
	for _, code := range slices.Sorted(maps.Keys(told)) {
		have := slices.Sorted(maps.Keys(told[code]))
		if !slices.Equal(have, documented[code]) {
			t.Errorf("%s is told with the severities %v, documented with %v", code, have, documented[code])
		}
		delete(documented, code)
	}
	for code := range documented {
		t.Errorf("%s is documented and never told", code)
	}
}

// toldCodes reads from the source the codes of findings with their severities: in calls of report
// and tell, and in notes and faults. If a function passes a code to one of these functions, the
// variable must have the name code.
func toldCodes(t *testing.T) map[string]map[Severity]bool {
	t.Helper()
	severity := map[string]Severity{"Error": Error, "Warning": Warning, "Notice": Notice}
	out := map[string]map[Severity]bool{}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := goparser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		note := func(at ast.Node, code, sev ast.Expr) {
			if s, ok := sev.(*ast.SelectorExpr); ok && s.Sel.Name == "severity" {
				return
			}
			lit, ok := code.(*ast.BasicLit)
			if !ok {
				if word := lastName(code); word != "code" {
					t.Errorf("%s: the code is neither a literal nor handed on", fset.Position(at.Pos()))
				}
				return
			}
			c, err := strconv.Unquote(lit.Value)
			if err != nil || !sectionText.MatchString("## "+c) {
				t.Errorf("%s: %s is not a code", fset.Position(at.Pos()), lit.Value)
			}
			if out[c] == nil {
				out[c] = map[Severity]bool{}
			}
			if s, ok := severity[lastName(sev)]; ok {
				out[c][s] = true
			} else {
				t.Errorf("%s: the severity of %s is not plain", fset.Position(at.Pos()), c)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if f := lastName(n.Fun); (f == "report" || f == "addFinding") && len(n.Args) > 3 {
					note(n, n.Args[1], n.Args[2])
				}
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok && lastName(n.Type) == "fault" &&
						lastName(kv.Key) == "code" {
						note(n, kv.Value, ast.NewIdent("Error"))
					}
				}
				if lastName(n.Type) != "note" || len(n.Elts) < 2 {
					break
				}
				code, sev := n.Elts[0], n.Elts[1]
				if kv, ok := code.(*ast.KeyValueExpr); ok {
					code = kv.Value
				}
				if kv, ok := sev.(*ast.KeyValueExpr); ok {
					sev = kv.Value
				}
				note(n, code, sev)
			}
			return true
		})
	}
	return out
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func TestFindingsAreToldOnceAndInOrder(t *testing.T) {
	f := Parse(home, []byte(lines("ACAP-composite-usage: c (nope)", "Disallow: /", "ACAP-crawler: *",
		"ACAP-allow-(c): /a", "ACAP-allow-(c): /b", "ACAP-crawler: a")))
	p := f.Policy(searchbot)
	n := 0
	for _, fi := range p.Findings() {
		if fi.Code == "undefined-usage" && fi.Line == 1 {
			n++
		}
	}
	if n != 1 {
		t.Errorf("told %d times", n)
	}
	for i := 1; i < len(f.Findings); i++ {
		if f.Findings[i].Line < f.Findings[i-1].Line {
			t.Errorf("%v behind %v", f.Findings[i], f.Findings[i-1])
		}
	}
	if s := f.Findings[1].String(); !strings.HasPrefix(s, home+":2:1: ") || !strings.HasSuffix(s, "[orphan-field]") {
		t.Error(s)
	}
}

func TestHints(t *testing.T) {
	for robots, want := range map[string]string{
		"ACAP-dissallow-index: /":                           "did you mean ACAP-disallow-index?",
		"ACAP-crawler: *\nACAP-allow-index: / tiem-limit=1": "did you mean time-limit?",
		"ACAP-crawler: *\nACAP-disallow-presnt: /":          "did you mean present?",
		"ACAP-crawler: *\nACAP-request-takedown: /":         "did you mean take-down?",
		"ACAP-crawler: *\nACAP-request-purge: /":            "write one of take-down, re-crawl",
		"Crawl-dely: 3":                                     "did you mean Crawl-delay?",
		"ACAP-crawler: *\n" +
			"ACAP-allow-index: / time-limit=soon": "write until-recrawled, until-yyyy-mm-dd, n-days or plus-terms",
		"ACAP-crawler: *\n" +
			"ACAP-allow-crawl: / max-length=3-words": "it may qualify present-snippet, present-oldsnippet",
		"ACAP-crawler: *\nACAP-allow-present-snippet: / max-length=3-w": "write n-chars or n-words",
		"ACAP-resource-set: images /i\nACAP-crawler: *\n" +
			"ACAP-disallow-index: the-acap:resource-set:image": "did you mean images?",
	} {
		var hints []string
		for _, f := range policyOf(searchbot, robots).Findings() {
			hints = append(hints, f.Hint)
		}
		if !slices.Contains(hints, want) {
			t.Errorf("%q: hints %q, want %q", robots, hints, want)
		}
	}
}

// TestPlaces tests that a token is found as a whole word, as it is written.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		robots               string
		code                 string
		line, column, length int
	}{
		{"ACAP-crawler: *\nACAP-allow-present: / Time-Limit=soon", "malformed-value", 2, 23, 15},
		{"ACAP-crawler: *\n\tACAP-allow-index: /é/ time-limit = soon", "malformed-value", 2, 24, 17},
		{"ACAP-crawler: *\nACAP-disallow-index: /ax a", "qualified-prohibition", 2, 26, 1},
		{"ACAP-crawler: *\nACAP-Disallow-Indx: /indx", "unknown-usage", 2, 1, 18},
		{"ACAP-crawler: *\nACAP-disallow-index: /" + strings.Repeat("x", maxLocated) + " y", "qualified-prohibition", 2,
			1, maxLocated},
	} {
		fi, ok := codes(policyOf(searchbot, c.robots).Findings())[c.code]
		if !ok || fi.Line != c.line || fi.Column != c.column || fi.Length != c.length {
			t.Errorf("%.60q: %+v", c.robots, fi)
		}
	}
	loose := tag("robots", "ACAP indx")
	loose.Loose, loose.Line, loose.Column = true, 7, 5
	runs := tag("robots", " noindex,\n\n  x-rule")
	runs.Line, runs.Column = 4, 30
	for _, c := range []struct {
		tag                  Tag
		code                 string
		line, column, length int
	}{
		{loose, "unknown-statement", 7, 5, 1},
		{runs, "unknown-rule", 6, 3, 6},
		{Tag{Source: Meta, Name: "robots", Content: "  ACAP  indx ", Line: 2, Column: 20}, "unknown-statement", 2, 22,
			10},
		{Tag{Source: Header, Name: "X-Robots-Tag", Content: "noindex, x-rule", Line: 2, Column: 1}, "unknown-rule", 2,
			24, 6},
	} {
		fi, ok := codes(policyOf(searchbot, "").Narrow(page(c.tag)).Findings())[c.code]
		if !ok || fi.Line != c.line || fi.Column != c.column || fi.Length != c.length {
			t.Errorf("%q: %+v", c.tag.Content, fi)
		}
	}
}

package check

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var updatePage = flag.Bool("update-page", false, "write what the examples of docs/findings.md that check tells lead "+
	"to into the page")

// section is a section of docs/findings.md. It is about one code that only package check reports.
type section struct {
	code, severities string
	examples         []*example
}

// example is a robots.txt in a section of docs/findings.md, and the expected findings with the code
// of this section.
type example struct {
	robots, want string
	at, end      int // the lines of the page that contain want
}

// newYear is the time of the check in all examples.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	sectionText = regexp.MustCompile("^## ([a-z]+(?:-[a-z]+)*)$")
	repetition  = regexp.MustCompile(`\{(\d+) × ([^}]*)\}`)
)

func readPage(t testing.TB) (page []string, sections []*section) {
	t.Helper()
	src, err := os.ReadFile(findingsPage)
	if err != nil {
		t.Fatal(err)
	}
	page = strings.Split(string(src), "\n")
	var s *section
	robots := ""
	for i := 0; i < len(page); i++ {
		if m := sectionText.FindStringSubmatch(page[i]); m != nil {
			severities, checked := strings.CutSuffix(page[i+2], ", reported by `check`")
			if s = nil; checked {
				s = &section{code: m[1], severities: severities}
				sections = append(sections, s)
			}
		}
		name, fence := strings.CutPrefix(page[i], "```")
		if !fence || s == nil {
			continue
		}
		end := i + 1 + slices.Index(page[i+1:], "```")
		text := strings.Join(page[i+1:end], "\n")
		switch name {
		case "finding":
			s.examples = append(s.examples, &example{robots, text, i + 1, end})
		case "robots.txt":
			robots = repetition.ReplaceAllStringFunc(text, func(r string) string {
				m := repetition.FindStringSubmatch(r)
				n, _ := strconv.Atoi(m[1])
				return strings.Repeat(strings.ReplaceAll(m[2], `\n`, "\n"), n)
			})
		default:
			t.Fatalf("%s:%d: what is %q?", findingsPage, i+1, name)
		}
		i = end
	}
	return page, sections
}

// TestLintsPage tests that the examples of docs/findings.md produce the findings that the page
// shows, with the severities of their section.
func TestLintsPage(t *testing.T) {
	page, sections := readPage(t)
	var written []string
	from := 0
	for _, s := range sections {
		var shown []string
		for _, e := range s.examples {
			var r Report
			f := r.Robots("robots.txt", []byte(e.robots), Options{Now: newYear})
			r.Apply(nil)
			var b strings.Builder
			for _, fi := range r.Findings {
				if fi.Code != s.code {
					continue
				}
				shown = append(shown, string(fi.Severity))
				fmt.Fprintf(&b, "%s %d:%d+%d %s: %s\n", fi.Source, fi.Line, fi.Column, fi.Length, fi.Severity,
					fi.Message)
				for _, line := range strings.Split(fi.Excerpt(f.Line(fi.Line)), "\n") {
					b.WriteString(strings.TrimRight("  "+line, " ") + "\n")
				}
				if fi.Hint != "" {
					fmt.Fprintf(&b, "hint: %s\n", fi.Hint)
				}
			}
			got := strings.TrimSuffix(b.String(), "\n")
			if got == "" {
				t.Errorf("%s:%d: the example does not lead to %s", findingsPage, e.at, s.code)
			} else if got != e.want && !*updatePage {
				t.Errorf("%s:%d: %s: got\n%s\nwant\n%s", findingsPage, e.at, s.code, got, e.want)
			}
			written = append(append(written, page[from:e.at]...), got)
			from = e.end
		}
		slices.Sort(shown)
		if got := strings.Join(slices.Compact(shown), ", "); got != s.severities {
			t.Errorf("%s: the section names the severities %s, its examples show %s", s.code, s.severities, got)
		}
	}
	if *updatePage {
		if err := os.WriteFile(findingsPage, []byte(strings.Join(append(written, page[from:]...), "\n")),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLintsPageIsComplete tests that docs/findings.md has exactly the codes that the linter can
// report, with their severities.
func TestLintsPageIsComplete(t *testing.T) {
	names, err := filepath.Glob("lint*.go")
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, "levels.go")
	call := regexp.MustCompile(`"([a-z]+(?:-[a-z]+)+)", (?:Severity: )?acap\.(Error|Warning|Notice),`)
	told := map[string][]string{}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(src), -1) {
			told[m[1]] = append(told[m[1]], strings.ToLower(m[2]))
		}
	}
	if len(told) < 10 {
		t.Fatalf("the source tells %d codes", len(told))
	}
	_, sections := readPage(t)
	for _, s := range sections {
		have := told[s.code]
		slices.Sort(have)
		if got := strings.Join(slices.Compact(have), ", "); got != s.severities {
			t.Errorf("%s is told with the severities %q, documented with %q", s.code, got, s.severities)
		}
		delete(told, s.code)
	}
	for code := range told {
		t.Errorf("%s is told and not documented", code)
	}
}

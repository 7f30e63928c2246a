package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// plain is written instead of a qualifier type in the marker of a case whose permission or
// prohibition has no qualifier.
const plain = "plain"

// never maps the pairs of usage and qualifier that are always refused to the reason.
var never = map[acap.Pair]string{
	{Usage: acap.Other, Qualifier: "usage-ref"}: "no field alone permits other usages (X38)",
	{Usage: acap.Other, Qualifier: "location"}:  "no field alone permits other usages (X38)",
	{Usage: acap.PresentOldThumbnail, Qualifier: "location"}: "META is for pages, and the picture of a page is that " +
		"of another resource, " +
		"which stands for the current version alone",
}

var (
	annexMarker = regexp.MustCompile(`^# annex: (\S+) (\S+) (permitted|refused)$`)
	refusedBy   = regexp.MustCompile(`^(stdout|stderr|grep) '.*(robots\\\.txt:\d+|\\\.html:\d+|"line":\d+)`)
)

// Each usage type, without qualifier and with every qualifier type that the annex lists for it, has
// two cases in the scripts: one permitted and one refused. A case serves a site and checks what a
// reader finally sees; a refused case checks the exit status and the policy line that decided. The
// script annex_NAME contains the cases of one qualifier type. Each case begins with its marker: the
// line "# annex: USAGE QUALIFIER permitted", or the same line with "refused".
func TestAnnexScripts(t *testing.T) {
	want := map[string]bool{}
	expect := func(p acap.Pair) {
		if why, always := never[p]; always {
			t.Logf("no case: %s %s permitted: %s", p.Usage, p.Qualifier, why)
		} else {
			want[fmt.Sprintf("%s %s permitted", p.Usage, p.Qualifier)] = true
		}
		want[fmt.Sprintf("%s %s refused", p.Usage, p.Qualifier)] = true
	}
	for _, u := range acap.Usages() {
		expect(acap.Pair{Usage: u, Qualifier: plain})
	}
	for _, p := range acap.Annex() {
		expect(p)
	}

	files, err := filepath.Glob("testdata/script/annex_*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		script, _, _ := strings.Cut(read(t, filepath.Join("cmd/acapcrawl", file)), "\n-- ")
		for _, c := range annexCases(script) {
			switch m := annexMarker.FindStringSubmatch(c[0]); {
			case m == nil:
				t.Errorf("%s: %q is no marker", file, c[0])
			case !want[strings.Join(m[1:], " ")]:
				t.Errorf("%s: %q is of no pair that is to be shown", file, c[0])
			case seen[c[0]]:
				t.Errorf("%s: %q is there already", file, c[0])
			default:
				seen[c[0]] = true
				if s := inconclusive(c[1:], m[3] == "refused"); s != "" {
					t.Errorf("%s: %q: %s", file, c[0], s)
				}
			}
		}
	}
	for name := range want {
		if !seen["# annex: "+name] {
			t.Errorf("no script shows %s", name)
		}
	}
}

// annexCases returns the lines of each case in a script; the first line of a case is its marker.
func annexCases(script string) (cases [][]string) {
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "# annex") {
			cases = append(cases, []string{line})
		} else if n := len(cases); n > 0 {
			cases[n-1] = append(cases[n-1], line)
		}
	}
	return cases
}

// inconclusive returns in words what the lines of a case should check but do not, or "" if nothing
// is missing.
func inconclusive(lines []string, refused bool) string {
	var runs, status, line bool
	for _, l := range lines {
		runs = runs || strings.HasPrefix(l, "exec acapcrawl ") || strings.HasPrefix(l, "grep ")
		status = status || strings.HasPrefix(l, "status 1 acapcrawl ") || strings.HasPrefix(l, "status 3 acapcrawl ")
		line = line || refusedBy.MatchString(l)
	}
	switch {
	case !refused && !runs:
		return "nothing is shown"
	case refused && !status:
		return "no exit status says so"
	case refused && !line:
		return "the line that decided is not named"
	}
	return ""
}

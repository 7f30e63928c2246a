package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// plain replaces the qualifier in a marker if a usage type is permitted or prohibited without a
// qualifier.
const plain = "plain"

// never are the pairs of usage and qualifier that are always refused, and why.
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
// two cases in the scripts: one permitted and one refused. A case starts at the site and ends at
// what a reader sees; it checks the exit status and the line that decided. The script annex_NAME
// has the cases of one qualifier type. The line "# annex: USAGE QUALIFIER permitted" or "refused"
// begins a case.
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

// annexCases returns the cases of a script; the first line of each is its marker.
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

// inconclusive returns what a case fails to check, "" if nothing.
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

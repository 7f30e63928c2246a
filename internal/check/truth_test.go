package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// codesOf returns the codes that check reports about a robots.txt, with their line numbers.
func codesOf(text string) map[string][]int {
	r := Report{}
	r.Robots("robots.txt", []byte(text), Options{Now: newYear})
	out := map[string][]int{}
	for _, f := range r.Findings {
		out[f.Code] = append(out[f.Code], f.Line)
	}
	return out
}

// TestNoCascade tests that if a field is not read as its author wrote it, no findings about its
// effects on other fields are reported.
func TestNoCascade(t *testing.T) {
	for name, c := range map[string]struct{ text, cause, follows string }{
		"a permission that counts as a prohibition": {
			"ACAP-crawler: *\nACAP-allow-index: / time-limit=soon\nACAP-allow-index: *.gif\n",
			"malformed-value", "shadowed-field",
		},
		"values that a hash cuts to the same": {
			"User-agent: *\nDisallow: /a#one\nDisallow: /a#two\n", "hash-in-value", "duplicate-field",
		},
		"a group for a name that nobody has": {
			"User-agent: *\nDisallow: /a\n\nUser-agent: *abot*\nCrawl-delay: 5\n", "agent-name", "empty-group",
		},
	} {
		got := codesOf(c.text)
		if got[c.cause] == nil || got[c.follows] != nil {
			t.Errorf("%s: %v, want %s without %s", name, got, c.cause, c.follows)
		}
	}
	if got := codesOf(
		"ACAP-crawler: *\nACAP-disallow-index: /\nACAP-allow-index: *.gif\n"); got["shadowed-field"] == nil {
		t.Errorf("a field without a mistake before it: %v, want shadowed-field", got)
	}
}

// TestTruth tests texts of real files for which a false finding was reported in the past.
func TestTruth(t *testing.T) {
	for name, c := range map[string]struct {
		text, code string
		lines      []int
	}{
		"another group has rules for the crawler": {
			"User-agent: *\nDisallow: /a\n\nUser-agent: abot\nDisallow: /b\n\nUser-agent: abot\nCrawl-delay: 5\n",
			"empty-group", nil},
		"the rules for any refuse nothing": {
			"User-agent: *\nAllow: /\n\nUser-agent: abot\nCrawl-delay: 5\n", "empty-group", nil},
		"no group has rules for the crawler": {
			"User-agent: *\nDisallow: /a\n\nUser-agent: abot\nCrawl-delay: 5\n", "empty-group", []int{4}},
		"a page that begins with empty lines": {"\n\n\n\n<html>\n<p>a: b\n", "html", []int{1}},
		"its lines":                           {"\n\n\n\n<html>\n<p>a: b\n", "unknown-line", nil},
		"a comment in prose": {
			"# Changed: Disallow: /a?b* TO Disallow: /a?*\nUser-agent: *\nDisallow: /a\n", "swallowed-fields", nil},
		"a comment that explains": {
			"# To block all robots, write User-agent: * and Disallow: / here\n", "swallowed-fields", nil},
		"lines that were lost": {
			"# our rules User-agent: * Disallow: /a Disallow: /b\n", "swallowed-fields", []int{1}},
		"lines of ACAP that were lost": {
			"# ACAP-crawler: * ACAP-allow-index: /a time-limit=3-days ACAP-disallow-index: /\n",
			"swallowed-fields", []int{1}},
	} {
		if got := codesOf(c.text)[c.code]; !slices.Equal(got, c.lines) {
			t.Errorf("%s: %s in lines %v, want %v", name, c.code, got, c.lines)
		}
	}
}

// TestEmptiedByDelay tests that a Crawl-delay is not a rule, and that the finding about a group
// without rules does not say that no line follows.
func TestEmptiedByDelay(t *testing.T) {
	r := Report{}
	r.Robots("robots.txt", []byte("User-agent: abot\nCrawl-delay: 5\n\nUser-agent: bbot\nDisallow: /\n"), Options{})
	const want = "no Allow or Disallow follows before line 4"
	if !slices.ContainsFunc(r.Findings,
		func(f acap.Finding) bool { return f.Code == "emptied-record" && strings.HasPrefix(f.Message, want) }) {
		t.Errorf("%v, want %q", r.Findings, want)
	}
}

// TestHintsSayWhatFixWrites tests that the hint contains the name that Repair writes, in the same
// letter case.
func TestHintsSayWhatFixWrites(t *testing.T) {
	for _, line := range []string{
		"Dissallow: /a", "DISALOW: /a", "useragent: abot", "site-map: http://a.example/s", "disallow: a/b",
		"crawldelay: 5",
	} {
		src := []byte("User-agent: *\n" + line + "\n")
		words, _ := Fixes(src, onItsOwn(src, RobotsKind, Options{}, nil))
		if len(words) == 0 {
			t.Errorf("%q is not mended", line)
		}
		for _, fix := range words {
			if !strings.Contains(fix.Finding.Hint, fix.Edits[0].Text) {
				t.Errorf("%q: the hint is %q, and --fix writes %q", line, fix.Finding.Hint, fix.Edits[0].Text)
			}
		}
	}
}

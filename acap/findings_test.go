package acap

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// examples has one text for each finding, and the place where it is told.
var examples = []struct {
	code         string
	severity     Severity
	line, column int
	robots       string
	page         Own    // read after robots
	child        string // what a reference of robots leads to; "-": it cannot be read
	who          Crawler
}{
	{code: "absolute-pattern", severity: Error, line: 2, column: 18, robots: "ACAP-crawler: *\nACAP-allow-crawl:http://example.com/a"},
	{code: "any-and-named", severity: Warning, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-crawler: a\nACAP-allow-crawl: /"},
	{code: "bare-rule", severity: Notice, line: 1, column: 1, page: page(tag("Robots-Tag", "noindex"))},
	{code: "blank-in-purpose", severity: Warning, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-usage-purpose: http://h/* /x\nACAP-allow-crawl: /"},
	{code: "broken-line", severity: Error, line: 3, column: 3, robots: "ACAP-crawler: *\nACAP-allow-index: /\n  time-limit=3-days"},
	{code: "cannot-interpret", severity: Error, line: 2, column: 21, robots: "ACAP-crawler: *\nACAP-allow-index: / time-limit=3-days", who: Crawler{Cannot: []string{"Time-Limit"}}},
	{code: "contradictory-version", severity: Error, line: 2, column: 1, robots: "ACAP-version: 1.0\nACAP-version: 1.1"},
	{code: "contradictory-version", severity: Error, line: 3, column: 1, page: page(tag("robots", "ACAP version 1.0"), tag("robots", "ACAP version 1.1"))},
	{code: "directive-value", severity: Error, line: 1, column: 1, robots: "ACAP-ignore-conventional-records: yes"},
	{code: "dollar-in-pattern", severity: Error, line: 2, column: 19, robots: "ACAP-crawler: *\nACAP-allow-index: /a$b"},
	{code: "dollar-in-pattern", severity: Error, line: 1, column: 25, robots: "ACAP-resource-set: s /a $b"},
	{code: "duplicate-definition", severity: Error, line: 2, column: 1, robots: "ACAP-resource-set: s /a\nACAP-resource-set: S /b"},
	{code: "duplicate-definition", severity: Warning, line: 2, column: 1, robots: "ACAP-qualified-usage: q index time-limit=1-days\nACAP-qualified-usage: Q index TIME-LIMIT=1-days"},
	{code: "element-permission", severity: Notice, line: 9, column: 2, page: Own{URL: "http://example.com/", Marks: []Mark{{Token: "the-acap:allow-crawl", Line: 9, Column: 2}}}},
	{code: "empty-crawler", severity: Error, line: 1, column: 1, robots: "ACAP-crawler:"},
	{code: "empty-definition", severity: Error, line: 1, column: 1, robots: "ACAP-resource-set: s"},
	{code: "empty-definition", severity: Error, line: 1, column: 1, robots: "ACAP-composite-usage: c"},
	{code: "empty-pattern", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-disallow-index:"},
	{code: "empty-purpose", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-usage-purpose:\nACAP-disallow-index: /"},
	{code: "empty-record", severity: Notice, line: 1, column: 1, robots: "ACAP-crawler: a"},
	{code: "empty-record", severity: Notice, line: 2, column: 1, robots: "ACAP-crawler: a\nACAP-usage-purpose: n\nACAP-crawler: b\nACAP-allow-crawl: /"},
	{code: "empty-reference", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: a\nACAP-permissions-reference:"},
	{code: "empty-value", severity: Warning, line: 1, column: 1, robots: "User-agent:"},
	{code: "empty-value", severity: Warning, line: 1, column: 1, robots: "Sitemap:"},
	{code: "field-beside-reference", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: a\nACAP-allow-index: /\nACAP-permissions-reference: /s.txt"},
	{code: "hash-in-value", severity: Warning, line: 1, column: 18, robots: "ACAP-crawler: foo#bar"},
	{code: "html", severity: Warning, line: 1, column: 1, robots: "\n <html>"},
	{code: "ignored-qualifier", severity: Notice, line: 2, column: 31, robots: "ACAP-crawler: *\nACAP-allow-present-snippet: / max-length=9-words max-length=1-words"},
	{code: "inapplicable-qualifier", severity: Error, line: 2, column: 22, robots: "ACAP-crawler: *\nACAP-allow-crawl: /  time-limit=3-days"},
	{code: "inapplicable-qualifier", severity: Error, line: 2, column: 21, robots: "ACAP-crawler: *\nACAP-allow-index: / location=http://h/"},
	{code: "late-definition", severity: Error, line: 3, column: 1, robots: "ACAP-crawler: *\nACAP-allow-crawl: /\nACAP-resource-set: s /"},
	{code: "late-version", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-version: 1.1\nACAP-allow-crawl: /"},
	{code: "late-version", severity: Notice, line: 2, column: 1, robots: "ACAP-ignore-conventional-records\nACAP-version: 1.1"},
	{code: "list-of-names", severity: Warning, line: 1, column: 1, robots: "ACAP-crawler: a, b\nACAP-allow-crawl: /"},
	{code: "local-usage-in-prohibition", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-disallow-(q): /"},
	{code: "loose-form", severity: Notice, line: 1, column: 1, robots: "ACAP-crawler : *\nACAP-allow-crawl: /"},
	{code: "malformed-delay", severity: Warning, line: 2, column: 1, robots: "User-agent: *\nCrawl-delay: soon"},
	{code: "malformed-header", severity: Warning, line: 1, column: 1, page: page(tag("Robots-Tag", "*; noindex;"))},
	{code: "malformed-name", severity: Warning, line: 1, column: 1, robots: "ACAP-resource-set: 1s /"},
	{code: "malformed-name", severity: Error, line: 1, column: 1, robots: "ACAP-qualified-usage: 1q index time-limit=1-days"},
	{code: "malformed-qualifier", severity: Error, line: 2, column: 21, robots: "ACAP-crawler: *\nACAP-allow-index: / word"},
	{code: "malformed-rule", severity: Warning, line: 3, column: 1, page: page(tag("robots", "max-snippet:many"))},
	{code: "malformed-rule", severity: Error, line: 3, column: 1, page: page(tag("robots", "unavailable_after: soon"))},
	{code: "malformed-value", severity: Error, line: 2, column: 21, robots: "ACAP-crawler: *\nACAP-allow-index: / time-limit=soon"},
	{code: "malformed-value", severity: Error, line: 2, column: 21, robots: "ACAP-crawler: *\nACAP-allow-index: / must-use-resource=/it's"},
	{code: "malformed-version", severity: Error, line: 1, column: 1, robots: "ACAP-version: v1.1"},
	{code: "malformed-version", severity: Error, line: 3, column: 1, page: page(tag("robots", "ACAP version=1.1"))},
	{code: "misplaced-directive", severity: Error, line: 3, column: 1, robots: "ACAP-crawler: *\nACAP-allow-crawl: /\nACAP-ignore-conventional-records"},
	{code: "missing-colon", severity: Warning, line: 1, column: 1, robots: "ACAP-crawler *\nACAP-allow-crawl: /"},
	{code: "missing-colon", severity: Warning, line: 1, column: 1, robots: "User-agent *"},
	{code: "missing-parentheses", severity: Error, line: 2, column: 31, robots: "ACAP-qualified-usage: q index time-limit=1-days\nACAP-composite-usage: c crawl q\nACAP-crawler: *\nACAP-allow-(c): /"},
	{code: "missing-resources", severity: Error, line: 2, column: 19, robots: "ACAP-crawler: *\nACAP-allow-index: time-limit=3-days"},
	{code: "misspelt-value", severity: Warning, line: 2, column: 21, robots: "ACAP-crawler: *\nACAP-allow-index: / time-limit=until-recrawl"},
	{code: "mixed-dialects", severity: Error, line: 3, column: 1, page: page(tag("robots", "noindex, ACAP disallow-follow"))},
	{code: "mixed-dialects", severity: Error, line: 3, column: 1, page: page(tag("robots", "ACAP version 1.1 disallow-follow"))},
	{code: "nested-composite", severity: Error, line: 4, column: 1, robots: "ACAP-composite-usage: a crawl\nACAP-composite-usage: b (a)\nACAP-crawler: *\nACAP-allow-(b): /"},
	{code: "nested-reference", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-permissions-reference: /s.txt", child: "ACAP-crawler: *\nACAP-permissions-reference: /t.txt"},
	{code: "nested-set", severity: Error, line: 1, column: 22, robots: "ACAP-resource-set: s the-acap:resource-set:t"},
	{code: "orphan-field", severity: Error, line: 1, column: 1, robots: "ACAP-disallow-index: /"},
	{code: "orphan-field", severity: Error, line: 1, column: 1, robots: "ACAP-usage-purpose: n"},
	{code: "orphan-field", severity: Error, line: 1, column: 1, robots: "ACAP-permissions-reference: /s"},
	{code: "orphan-field", severity: Error, line: 1, column: 1, robots: "Disallow: /"},
	{code: "pilot-form", severity: Warning, line: 9, column: 2, page: Own{URL: "http://example.com/", Marks: []Mark{{Token: "acap:allow-index", Line: 9, Column: 2}}}},
	{code: "pointless-condition", severity: Error, line: 3, column: 23, robots: "ACAP-version: 1.1\nACAP-crawler: *\nACAP-allow-present: / target-condition=permittedcountrylist:uk"},
	{code: "pointless-condition", severity: Error, line: 3, column: 23, robots: "ACAP-version: 1.1\nACAP-crawler: *\nACAP-allow-present: / target-condition=ipaddressrangelist:1.1.1.9-1.1.1.1"},
	{code: "qualified-local-usage", severity: Error, line: 3, column: 1, robots: "ACAP-qualified-usage: q index time-limit=1-days\nACAP-crawler: *\nACAP-allow-(q): / time-limit=1-days"},
	{code: "qualified-prohibition", severity: Error, line: 2, column: 24, robots: "ACAP-crawler: *\nACAP-disallow-index: / time-limit=1-days"},
	{code: "query-in-pattern", severity: Notice, line: 2, column: 22, robots: "ACAP-crawler: *\nACAP-disallow-index: /a?b"},
	{code: "query-in-request", severity: Notice, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-request-take-down: /a?b"},
	{code: "refused-request", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-request-take-down: /*"},
	{code: "relative-pattern", severity: Notice, line: 2, column: 22, robots: "ACAP-crawler: *\nACAP-disallow-index: a/"},
	{code: "rule-without-slash", severity: Warning, line: 2, column: 1, robots: "User-agent: *\nDisallow: a"},
	{code: "second-reference", severity: Error, line: 3, column: 1, robots: "ACAP-crawler: a\nACAP-permissions-reference: /s\nACAP-permissions-reference: /t"},
	{code: "set-of-parent", severity: Notice, line: 2, column: 22, robots: "ACAP-resource-set: s /a\nACAP-crawler: *\nACAP-permissions-reference: /s.txt", child: "ACAP-crawler: *\nACAP-disallow-index: the-acap:resource-set:s"},
	{code: "several-purposes", severity: Warning, line: 3, column: 1, page: page(tag("robots", "ACAP news sport disallow-index"))},
	{code: "shadowed-definition", severity: Notice, line: 1, column: 1, robots: "ACAP-resource-set: s /a\nACAP-crawler: *\nACAP-permissions-reference: /s.txt", child: "ACAP-resource-set: s /b"},
	{code: "stray-permission", severity: Error, line: 3, column: 1, page: page(tag("robots", "ACAP disallow-index allow-follow"))},
	{code: "too-complex", severity: Error, line: 1, column: 1, robots: "ACAP-resource-set: s" + strings.Repeat(" /", 100_000) + "\nACAP-crawler: *\nACAP-disallow-index: the-acap:resource-set:s\nACAP-disallow-index: the-acap:resource-set:s"},
	{code: "too-long", severity: Error, line: 1, column: 1, robots: strings.Repeat("#\n", MaxSize)},
	{code: "too-long", severity: Warning, line: 1, column: 1, page: page(tag("Robots-Tag", strings.Repeat("*;noindex,", maxHeader)))},
	{code: "too-many-findings", severity: Error, line: maxFindings + 1, column: 1, robots: strings.Repeat("x: y\n", maxFindings+9)},
	{code: "too-many-parts", severity: Error, line: 1, column: 1, robots: "ACAP-composite-usage: c" + strings.Repeat(" crawl", maxParts+1) + "\nACAP-crawler: *\nACAP-allow-(c): /"},
	{code: "too-many-qualifiers", severity: Error, line: 3, column: 21, robots: "ACAP-version: 1.1\nACAP-crawler: *\nACAP-allow-index: / " + strings.Repeat("time-limit=1-days ", maxQualifiers+1)},
	{code: "typographic-quotes", severity: Error, line: 3, column: 1, page: page(tag("robots", "\u201dACAP disallow-index\u201d"))},
	{code: "unavailable-reference", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-permissions-reference: /s.txt", child: "-"},
	{code: "unclear-version", severity: Error, line: 3, column: 1, robots: "ACAP-version: x\nACAP-crawler: *\nACAP-allow-index: / time-limit=plus-terms"},
	{code: "undeclared-version", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-allow-index: / time-limit=plus-terms"},
	{code: "undefined-resource-set", severity: Error, line: 2, column: 22, robots: "ACAP-crawler: *\nACAP-disallow-index: the-acap:resource-set:s"},
	{code: "undefined-usage", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-allow-(q): /"},
	{code: "undefined-usage", severity: Error, line: 1, column: 31, robots: "ACAP-composite-usage: c crawl (q)\nACAP-crawler: *\nACAP-allow-(c): /"},
	{code: "unknown-action", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-request-purge: /"},
	{code: "unknown-field", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-dissallow-index: /"},
	{code: "unknown-field", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-dissallow-index /"},
	{code: "unknown-field", severity: Notice, line: 1, column: 1, robots: "Host: h"},
	{code: "unknown-line", severity: Notice, line: 1, column: 1, robots: "good morning"},
	{code: "unknown-qualifier", severity: Error, line: 2, column: 21, robots: "ACAP-crawler: *\nACAP-allow-index: / tiem-limit = 3-days"},
	{code: "unknown-rule", severity: Notice, line: 3, column: 1, page: page(tag("robots", "noyodel"))},
	{code: "unknown-statement", severity: Error, line: 3, column: 1, page: page(tag("robots", "ACAP index"))},
	{code: "unknown-statement", severity: Error, line: 9, column: 2, page: Own{URL: "http://example.com/", Marks: []Mark{{Token: "the-acap:index", Line: 9, Column: 2}}}},
	{code: "unknown-usage", severity: Error, line: 2, column: 1, robots: "ACAP-crawler: *\nACAP-disallow-indx: /"},
	{code: "unsupported-major", severity: Error, line: 1, column: 1, robots: "ACAP-version: 2.0"},
	{code: "unsupported-major", severity: Error, line: 3, column: 1, page: page(tag("robots", "ACAP version 2.0"))},
	{code: "version-comment", severity: Warning, line: 1, column: 1, robots: "##ACAP version=1.1"},
	{code: "version-form", severity: Notice, line: 1, column: 1, robots: "ACAP-version: 1.1.0"},
	{code: "version-marker", severity: Warning, line: 2, column: 1, robots: "ACAP-crawler: *\n[V1.1] ACAP-allow-index: /"},
	{code: "wildcard-in-name", severity: Notice, line: 1, column: 1, robots: "ACAP-crawler: a*\nACAP-allow-index: /"},
	{code: "within-acap", severity: Error, line: 3, column: 1, robots: "ACAP-crawler: *\nACAP-allow-index: /\nDisallow: /"},
	{code: "within-conventional", severity: Error, line: 3, column: 1, robots: "User-agent: *\nDisallow: /\nACAP-allow-index: /"},
}

func TestEveryFindingHasAnExample(t *testing.T) {
	for _, e := range examples {
		who := e.who
		who.Names = []string{"searchbot"}
		f := Parse(home, []byte(e.robots))
		refs := f.References(who)
		for i := range refs {
			if e.child == "-" {
				refs[i].Err = errors.New("HTTP status 503")
			} else {
				refs[i].File = ParseReferred(refs[i].URL, []byte(e.child))
			}
		}
		found := f.Policy(who, refs...).Narrow(e.page).Findings()
		if e.code == "too-long" && e.page.URL != "" {
			found = f.Policy(who).Narrow(e.page).Findings()
		}
		told := false
		for _, fi := range found {
			told = told || fi.Code == e.code && fi.Line == e.line && fi.Column == e.column && fi.Severity == e.severity
			if fi.Line < 1 || fi.Column < 1 || fi.Source == "" || fi.Message == "" || len(fi.Message) > 600 || len(fi.Hint) > 300 {
				t.Errorf("%+v", fi)
			}
		}
		if !told {
			t.Errorf("%s %s at %d:%d is not told of %.80q %+v, but %v", e.severity, e.code, e.line, e.column, e.robots, e.page.Tags, found[:min(3, len(found))])
		}
	}
}

// TestExamplesAreComplete reads the source for the codes of findings.
func TestExamplesAreComplete(t *testing.T) {
	have := map[string]bool{}
	for _, e := range examples {
		have[e.code] = true
	}
	code := regexp.MustCompile(`(?:report|fail|finding)\([^"\n]*"([a-z]+(?:-[a-z]+)*)",|note\{"([a-z-]+)"`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range code.FindAllStringSubmatch(string(src), -1) {
			count++
			if !have[m[1]+m[2]] {
				t.Errorf("%s: no example of %q", name, m[1]+m[2])
			}
		}
	}
	if count < 90 {
		t.Errorf("only %d places that report were found", count)
	}
}

func TestFindingsAreToldOnceAndInOrder(t *testing.T) {
	f := Parse(home, []byte(lines("ACAP-composite-usage: c (nope)", "Disallow: /", "ACAP-crawler: *", "ACAP-allow-(c): /a", "ACAP-allow-(c): /b", "ACAP-crawler: a")))
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
	if s := f.Findings[0].String(); !strings.HasPrefix(s, home+":2:1: ") || !strings.HasSuffix(s, "[orphan-field]") {
		t.Error(s)
	}
}

func TestHints(t *testing.T) {
	for robots, want := range map[string]string{
		"ACAP-dissallow-index: /":                                                                         "acap-disallow-index",
		"ACAP-crawler: *\nACAP-allow-index: / tiem-limit=1":                                               "time-limit",
		"ACAP-crawler: *\nACAP-disallow-presnt: /":                                                        "present",
		"ACAP-crawler: *\nACAP-request-takedown: /":                                                       "take-down",
		"ACAP-resource-set: images /i\nACAP-crawler: *\nACAP-disallow-index: the-acap:resource-set:image": "images",
	} {
		found := false
		for _, f := range policyOf(searchbot, robots).Findings() {
			found = found || f.Hint == "did you mean "+want+"?"
		}
		if !found {
			t.Errorf("%q: no hint at %s", robots, want)
		}
	}
}

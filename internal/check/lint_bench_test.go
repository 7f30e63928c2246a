package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// filled returns the text head, followed by the lines that the function line returns, up to the
// greatest size of a robots.txt.
func filled(head string, line func(i int) string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; ; i++ {
		next := line(i)
		if b.Len()+len(next) > acap.MaxSize {
			return b.String()
		}
		b.WriteString(next)
	}
}

func nthPath(i int) string {
	return fmt.Sprintf("/%s/%s/%d/", [...]string{"news", "sport", "Culture", "archive", "print", "caf%C3%A9"}[i%6],
		[...]string{"local", "world", "a", "letters"}[i/6%4], i)
}

// bigFiles holds files of the greatest size: some that publishers might write, and some that are
// made to be expensive.
var bigFiles = []struct{ name, text string }{
	{"realistic", filled("ACAP-version: 1.1\nUser-agent: *\nDisallow: /search\n\nACAP-crawler: "+
		"*\nACAP-disallow-crawl: /search\n", func(i int) string {
		switch i % 120 {
		case 0:
			return fmt.Sprintf("\nUser-agent: bot%d\n", i/120)
		case 60:
			return fmt.Sprintf("\nACAP-crawler: bot%d\n", i/120)
		}
		switch {
		case i%120 < 60:
			return "Disallow: " + nthPath(i%60+i/120) + "\n"
		case i%10 == 7:
			return "ACAP-allow-index: " + nthPath(i%60+10_000) + "*.html time-limit=30-days\n"
		}
		return "ACAP-disallow-crawl: " + nthPath(i%60+i/120) + "\n"
	})},
	{"one record", filled("ACAP-crawler: *\n", func(i int) string {
		return fmt.Sprintf("ACAP-%s: %s\n", [...]string{"disallow-crawl", "allow-index", "disallow-present"}[i%3],
			nthPath(i))
	})},
	{"conventional", filled("User-agent: *\n", func(i int) string { return "Disallow: " + nthPath(i) + "\n" })},
	{"groups", filled("", func(i int) string { return fmt.Sprintf("User-agent: b%d\nDisallow: /%d\n\n", i, i) })},
	{"records and groups", filled("", func(i int) string {
		return fmt.Sprintf("User-agent: b%d\nDisallow: /%d\nACAP-crawler: b%d\nACAP-allow-crawl: /%d\n", i, i, i, i)
	})},
	{"all shadowed", filled("ACAP-crawler: *\nACAP-disallow-index: /\n",
		func(i int) string { return fmt.Sprintf("ACAP-allow-index: *%d\n", i) })},
	{"all bind", filled("ACAP-crawler: *\n", func(i int) string {
		return fmt.Sprintf("ACAP-allow-index: / "+
			"time-limit=%d-days\n", i+1)
	})},
	{"all undetermined", filled("ACAP-crawler: *\n", func(i int) string {
		return fmt.Sprintf("ACAP-disallow-index: "+
			"/*%d\nACAP-allow-index: /*a%d\n", i, i)
	})},
	{"all contradictory", filled("ACAP-crawler: *\n", func(i int) string {
		return fmt.Sprintf("ACAP-allow-index: "+
			"/%d\nACAP-disallow-index: /%d\n", i, i)
	})},
	{"one below the other", filled("ACAP-crawler: *\n", func(i int) string {
		return "ACAP-disallow-index: /" +
			strings.Repeat("a", i+1) + "\n"
	})},
	{"huge sets", filled(filled("ACAP-resource-set: s", func(i int) string {
		if i > 20_000 {
			return strings.Repeat(" ", acap.MaxSize)
		}
		return fmt.Sprintf(" /%d", i)
	})+"\nACAP-crawler: *\n", func(i int) string { return "ACAP-disallow-index: the-acap:resource-set:s\n" })},
	{"middling sets", filled("ACAP-resource-set: s"+strings.Repeat(" /*a", 150)+"\nACAP-crawler: *\n",
		func(i int) string { return "ACAP-allow-(c): the-acap:resource-set:s\n" })},
	{"names", filled("", func(i int) string {
		if i%2000 == 1999 {
			return fmt.Sprintf("ACAP-disallow-crawl: /%d\n", i)
		}
		return fmt.Sprintf("ACAP-crawler: a%d\n", i)
	})},
	{"purposes", filled("ACAP-crawler: *\n", func(i int) string {
		return fmt.Sprintf("ACAP-usage-purpose: "+
			"p%d\nACAP-allow-index: /%d\n", i, i)
	})},
	{"deep wildcards", filled("ACAP-crawler: *\n", func(i int) string {
		return "ACAP-disallow-crawl: /" +
			strings.Repeat("*a", 200) + fmt.Sprint(i) + "\n"
	})},
	{"stars", "User-agent: *\nACAP-crawler: *\nACAP-disallow-crawl: /" + strings.Repeat("*a", acap.MaxSize/2-50)},
	{"comments", filled("", func(i int) string { return "# Disallow: / Allow: / Allow: /\n" })},
	{"repeated groups", filled("", func(i int) string { return "User-agent: *\nDisallow: /\n\n" })},
	{"empty groups", filled("User-agent: *\nDisallow: /\n",
		func(i int) string { return fmt.Sprintf("User-agent: b%d\nACAP-crawler: b\n\n", i) })},
}

// TestLintsAreBounded tests that the linter takes limited time. The limit is a thousand times the
// time for the slowest file, so that the test does not fail on a busy machine.
func TestLintsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow")
	}
	for _, c := range bigFiles {
		f := acap.Parse(somewhere, []byte(c.text))
		start := time.Now()
		found := lint(f, Options{Now: newYear}).findings
		took := time.Since(start)
		cut := len(found) > 0 && found[len(found)-1].Code == "lints-cut"
		t.Logf("%-22s %8v %5d findings, cut: %t", c.name, took.Round(time.Millisecond), len(found), cut)
		if took > 3*time.Minute {
			t.Errorf("%s took %v", c.name, took)
		}
	}
}

// BenchmarkCheck measures the check of a robots.txt of the greatest size, which should take less
// than 100 ms.
func BenchmarkCheck(b *testing.B) {
	for _, c := range bigFiles[:4] {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				var r Report
				r.Robots("robots.txt", []byte(c.text), Options{Now: newYear})
			}
		})
	}
}

// BenchmarkLint measures only the linter.
func BenchmarkLint(b *testing.B) {
	for _, c := range bigFiles {
		f := acap.Parse(somewhere, []byte(c.text))
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				lint(f, Options{Now: newYear})
			}
		})
	}
}

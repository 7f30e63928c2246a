package acap

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// repeated returns head, followed by numbered lines up to about size bytes.
func repeated(head, format string, size int) string {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

const anyone = "ACAP-crawler: *\n"

// hostile lists files and pages whose author wants to make the crawler do much work.
var hostile = []struct {
	name, robots string
	own          Own
}{
	{name: "stars", robots: anyone + "ACAP-disallow-index: /" + strings.Repeat("*", MaxSize-50)},
	{name: "stars and letters", robots: anyone + "ACAP-disallow-index: /" + strings.Repeat("*a", MaxSize/2-50)},
	{name: "one endless line", robots: strings.Repeat("x", MaxSize)},
	{name: "endless field", robots: anyone + "ACAP-allow-index: / " + strings.Repeat("a= ", MaxSize/3-30)},
	{name: "endless values", robots: anyone + "ACAP-allow-index: / x" + strings.Repeat(" =a", MaxSize/3-30)},
	{name: "endless prohibition", robots: anyone + "ACAP-disallow-index: /" + strings.Repeat(" /a", MaxSize/3-30)},
	{name: "blank lines", robots: strings.Repeat("\r", MaxSize)},
	{name: "unknown lines", robots: strings.Repeat("x\n", MaxSize/2)},
	{name: "unknown fields", robots: repeated("", "ACAP-allow-presnt-snipet%d: /\n", MaxSize)},
	{name: "agents", robots: repeated(repeated("", "User-agent: searchbot\n", MaxSize/2), "Disallow: /%d\n", MaxSize)},
	{name: "groups", robots: repeated("", "User-agent: searchbot\nDisallow: /%d\n", MaxSize)},
	{name: "names", robots: repeated(repeated("", "ACAP-crawler: a%d\n", MaxSize/2), "ACAP-disallow-index: /%d\n",
		MaxSize)},
	{name: "purposes", robots: repeated(repeated(anyone, "ACAP-usage-purpose: *a%d\n", MaxSize/2),
		"ACAP-disallow-index: /%d\n", MaxSize)},
	{name: "references", robots: repeated("", anyone+"ACAP-permissions-reference: /%d\n", MaxSize)},
	{name: "a set used often", robots: repeated(repeated("ACAP-resource-set: s", " /%d", MaxSize/2)+"\n"+anyone,
		"ACAP-disallow-index: the-acap:resource-set:s # %d\n", MaxSize)},
	{name: "undefined sets", robots: repeated(repeated("", "ACAP-resource-set: s%d /\n", MaxSize/2)+anyone,
		"ACAP-disallow-index: the-acap:resource-set:t%d\n", MaxSize)},
	{name: "undefined usages", robots: repeated(repeated("", "ACAP-composite-usage: s%d crawl\n", MaxSize/2)+anyone,
		"ACAP-allow-(t%d): /\n", MaxSize)},
	{name: "duplicate usages", robots: repeated("ACAP-qualified-usage: q index"+strings.Repeat(" a=b", MaxSize/16)+"\n",
		"ACAP-qualified-usage: q index a=%d\n", MaxSize/2) + anyone +
		strings.Repeat("ACAP-allow-(q): /\n", MaxSize/40)},
	{name: "nested usages", robots: nestedUsages()},
	{name: "long definition used often", robots: repeated("ACAP-version: 1.1\nACAP-qualified-usage: q other"+
		strings.Repeat(" usage-ref=/a", MaxSize/30)+"\n"+anyone, "ACAP-allow-(q): /%d\n", MaxSize)},
	{name: "long name used often", robots: repeated("ACAP-composite-usage: c "+strings.Repeat("x", MaxSize/2)+"\n"+
		anyone, "ACAP-allow-(c): /%d\n", MaxSize)},
	{name: "incomparable patterns", robots: incomparable("ACAP-disallow-index: /*%s\nACAP-allow-index: /*%s\n")},
	{name: "incomparable forms", robots: incomparable(
		"ACAP-disallow-present: /*%s\nACAP-allow-present-snippet: /*%s\n")},
	{name: "actions", robots: repeated(repeated(anyone, "ACAP-disallow-crawl: /*%d*\n", MaxSize/2),
		"ACAP-request-re-crawl: /%d\n", MaxSize)},
	{name: "statements in a tag", own: page(tag("robots", "ACAP "+strings.Repeat("news ", 20_000)+
		strings.Repeat("disallow-index ", 20_000)))},
	{name: "tags", own: page(manyTags()...)},
	{name: "a date of blanks", own: page(tag("robots", "unavailable_after"+strings.Repeat(" ", 500_000)+"x"))},
	{name: "dates", own: page(tag("robots", strings.Repeat("unavailable_after: 1, ", 20_000)))},
	{name: "unknown rules", own: page(tag("robots", strings.Repeat("nondex ", 50_000)))},
	{name: "header", own: page(tag("X-Robots-Tag", strings.Repeat("a,", maxHeader/2)),
		tag("Robots-Tag", strings.Repeat("a;b,", maxHeader/4)))},
	{name: "quotation marks", own: page(tag("X-Robots-Tag", strings.Repeat("\"", maxHeader)))},
}

func nestedUsages() string {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "ACAP-composite-usage: c%d", i)
		for j := range maxParts {
			fmt.Fprintf(&b, " (c%d)", (i+j+1)%300)
		}
		b.WriteByte('\n')
	}
	return repeated(b.String()+anyone, "ACAP-allow-(c%d): /\n", MaxSize)
}

// incomparable returns fields whose patterns all match the path that crowded returns. No pattern is
// narrower than another.
func incomparable(format string) string {
	var b strings.Builder
	b.WriteString(anyone)
	for i := range crowd {
		word := fmt.Sprintf("%04d", i)
		fmt.Fprintf(&b, format, word, word)
	}
	return b.String()
}

const crowd = 4000

// crowded returns a path that contains all four-digit numbers below crowd.
var crowded = func() string {
	var b strings.Builder
	for i := range crowd {
		fmt.Fprintf(&b, "%04d", i)
	}
	return b.String()
}

func manyTags() []Tag {
	tags := make([]Tag, 0, 40_000)
	for range 20_000 {
		tags = append(tags, tag("robots", "ACAP allow-present-snippet"), tag("robots", "ACAP allow-present"))
	}
	return tags
}

// hang is the time limit of the tests with hostile files. The most expensive file needs a
// thousandth of it, so the tests do not fail on a busy machine.
const hang = 3 * time.Minute

// TestWorkIsBounded tests that a policy is made and decides within the time limit, even for the
// most expensive files of the greatest size.
func TestWorkIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow")
	}
	long := NewResource(&url.URL{Scheme: "http", Host: "example.com", Path: "/" + crowded()})
	for _, c := range hostile {
		start := time.Now()
		f := Parse(home, []byte(c.robots))
		parsed := time.Since(start)
		p := f.Policy(searchbot).Narrow(c.own)
		built := time.Since(start) - parsed
		for _, u := range []Usage{Crawl, Index, PresentSnippet} {
			p.Decide(u, long)
			p.Decide(u, Resource{URL: "http://example.com/a", path: "/a", rep: "/a"})
		}
		decided := time.Since(start) - parsed - built
		if total := time.Since(start); total > hang {
			t.Errorf("%s: parse %v, policy %v, six decisions %v", c.name, parsed, built, decided)
		} else {
			t.Logf("%s: parse %v, policy %v, six decisions %v", c.name, parsed, built, decided)
		}
		if n := len(p.Findings()); n > 3*maxFindings+10 {
			t.Errorf("%s: %d findings", c.name, n)
		}
	}
}

func BenchmarkParse10KB(b *testing.B) {
	src := []byte(repeated(typical, "ACAP-allow-index: /section-%d/*.html time-limit=3-days\n", 10_000))
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(home, src)
	}
}

func BenchmarkPolicy10KB(b *testing.B) {
	f := Parse(home, []byte(repeated(typical, "ACAP-allow-index: /section-%d/*.html time-limit=3-days\n", 10_000)))
	b.ReportAllocs()
	for b.Loop() {
		f.Policy(searchbot)
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, c := range []struct{ name, robots string }{
		{"small", anyone + "ACAP-disallow-index: /private/\n"},
		{"typical", typical},
		{"400KB", repeated(typical, "ACAP-allow-index: /section-%d/ time-limit=3-days\n", 400_000)},
		{"5000-wildcards", repeated(typical, "ACAP-disallow-index: /*/section-%d/*.html\n", 5000*44)},
	} {
		p := policyOf(searchbot, c.robots)
		for _, path := range []string{"/news/section-77/page-of-today.html", "/business/markets-in-autumn.html"} {
			r := NewResource(&url.URL{Scheme: "http", Host: "example.com", Path: path})
			b.Run(c.name+path, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.Decide(Index, r)
				}
			})
		}
	}
}

func BenchmarkNarrowWithoutStatements(b *testing.B) {
	p := policyOf(searchbot, typical)
	own := Own{URL: "http://example.com/a.html"}
	b.ReportAllocs()
	for b.Loop() {
		p.Narrow(own)
	}
}

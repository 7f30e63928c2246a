package acap_test

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

const several = `User-agent: b/2
Disallow: /b%7E$
Allow: /*.gif$
ACAP-version: 1.1
ACAP-resource-set: pics /*.GIF$ /p/
ACAP-qualified-usage: short present-snippet max-length=3-words
ACAP-composite-usage: both (short) index
ACAP-disallow-follow: /stray
ACAP-crawler: *
ACAP-crawler: A
ACAP-allow-(both): the-acap:resource-set:pics
ACAP-usage-purpose: News*x$
ACAP-allow-index: /t time-limit=nonsense
ACAP-disallow-crawl: $
ACAP-allow-crawl: the-acap:resource-set:none
`

func TestStatements(t *testing.T) {
	f := acap.Parse("http://h/robots.txt", []byte(several))
	any := []string{"*", "A"}
	want := []acap.Statement{
		// P1 2.10.2 (C10): within a conventional record, only permissions and prohibitions are
		// ignored; definitions and the version have effect
		{Usages: []acap.Usage{"follow"}, Patterns: []string{"/stray"}},
		{Written: true, Allow: true, Usages: []acap.Usage{"present-snippet", "index"}, Patterns: []string{"/*.GIF$",
			"/p/"}, Crawlers: any},
		{Written: true, Usages: []acap.Usage{"index"}, Patterns: []string{"/t"},
			Qualifiers: []string{"time-limit=nonsense"}, Crawlers: any, Purposes: []string{"news*x$"}},
		// P1 2.9 (F13): a "$" that is not the last character cuts the pattern of a prohibition and
		// makes a permission ineffective; %24 stands for the character
		{Usages: []acap.Usage{"crawl"}, Patterns: []string{""}, Crawlers: any, Purposes: []string{"news*x$"}},
		// P1 2.4.4 (E02): an undefined resource set makes a prohibition cover everything and a
		// permission cover nothing
		{Written: true, Allow: true, Crawlers: any, Purposes: []string{"news*x$"}},
	}
	got := f.Statements()
	for i := range got {
		if got[i].Field == nil || got[i].Field.Line == 0 {
			t.Errorf("statement %d has no place", i)
		}
		got[i].Field = nil
		if len(got[i].Qualifiers) == 0 {
			got[i].Qualifiers = nil
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("statements\n%+v\nwant\n%+v", got, want)
	}
	if lines := f.Lines(); strings.Join(lines, "\n")+"\n" != several || lines[3] != f.Line(4) {
		t.Errorf("%d lines", len(lines))
	}
	groups := f.Groups()
	if len(groups) != 1 || !slices.Equal(groups[0].Agents, []string{"b"}) || len(groups[0].Rules) != 2 ||
		groups[0].Rules[0].Pattern != "/b~$" || groups[0].Rules[0].Allow || groups[0].Rules[1].Pattern != "/*.gif$" ||
		!groups[0].Rules[1].Allow {
		t.Errorf("groups %+v", groups)
	}
	if got := f.Crawlers(); !slices.Equal(got, []string{"A", "b"}) {
		t.Errorf("crawlers %q", got)
	}
}

// If only some parts of a composite usage can be interpreted, a permission permits those parts and
// prohibits the others.
func TestStatementsOfParts(t *testing.T) {
	src := "ACAP-version: 1.1\nACAP-qualified-usage: cache preserve tiem-limit=3-days\nACAP-composite-usage: search " +
		"crawl (cache) follow\n" +
		"ACAP-crawler: *\nACAP-allow-(search): /a\nACAP-allow-other: /b time-limit=3-days\n"
	var got []string
	for _, s := range acap.Parse("http://h/robots.txt", []byte(src)).Statements() {
		got = append(got, fmt.Sprint(s.Field.Line, s.Written, s.Allow, s.Beyond, s.Usages, s.Patterns))
	}
	want := []string{"5 true true false [crawl follow] [/a]", "5 true false false [preserve] [/a]",
		"6 true false true [other] [/b]"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Examples returns only paths that the pattern covers: a prohibition with the pattern refuses each
// of them.
func TestExamples(t *testing.T) {
	for _, pattern := range []string{"/", "/a", "/a/", "/a$", "/*.gif$", "*", "*x", "/%E4*/b", "/a*b*c$", "/a?b=*",
		"/%2A%24"} {
		p := acap.Parse("http://h/robots.txt", []byte("ACAP-crawler: *\nACAP-disallow-index: "+pattern+"\n")).Policy(
			acap.Crawler{})
		list := acap.Examples(pattern)
		if len(list) == 0 {
			t.Errorf("%s: no example", pattern)
		}
		for _, path := range list {
			u, err := url.Parse("http://h" + path)
			if err != nil {
				t.Errorf("%s: %v", pattern, err)
				continue
			}
			if p.Decide(acap.Index, acap.NewResource(u)).Allowed {
				t.Errorf("%s does not cover %s", pattern, path)
			}
		}
	}
	if got := fmt.Sprint(acap.Examples("/a$")); got != "[/a]" {
		t.Error(got)
	}
	if got := strings.Join(acap.Examples("*.gif$"), " "); !strings.HasPrefix(got, "/.gif /x.gif") {
		t.Error(got)
	}
}

// TestFor tests that the file that File.For returns makes the same decisions for the crawler.
func TestFor(t *testing.T) {
	src := several + "ACAP-crawler: B\nACAP-allow-index: /t/u\nACAP-allow-crawl: /t/u\nUser-agent: a\nUser-agent: " +
		"*\nDisallow: /t\nACAP-crawler: A\nACAP-allow-index: /t\n"
	f := acap.Parse("http://h/robots.txt", []byte(src))
	for _, c := range []acap.Crawler{{}, {Names: []string{"a"}}, {Names: []string{"b"}},
		{Names: []string{"b"}, Purposes: []string{"newsx"}}, {Names: []string{"b", "a"}, Strict: true}} {
		whole, part := f.Policy(c), f.For(c).Policy(c)
		for _, path := range []string{"/", "/t", "/t/u", "/t/u/v", "/stray", "/b~", "/b~/x", "/x.gif", "/p/x"} {
			r := acap.NewResource(&url.URL{Scheme: "http", Host: "h", Path: path})
			for _, u := range acap.Usages() {
				a, b := whole.Decide(u, r), part.Decide(u, r)
				if a.Allowed != b.Allowed || a.Reason != b.Reason || a.Because != b.Because ||
					!reflect.DeepEqual(a.Limits(acap.Facts{}), b.Limits(acap.Facts{})) {
					t.Errorf("%+v: %s of %s: %s, in part %s", c, u, path, a.Why(), b.Why())
				}
			}
		}
	}
}

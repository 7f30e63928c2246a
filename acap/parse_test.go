package acap

import (
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

func TestLineEnds(t *testing.T) { // P1 3 (A01): a line ends at CRLF, LF, CR or the end of the file
	for in, want := range map[string]string{
		"a\r\nb\nc\rd":   "a|b|c|d",
		"a\n\nb\n":       "a||b",
		"a\n\rb":         "a||b",
		"\r\r\n":         "|",
		"":               "",
		"no end of line": "no end of line",
	} {
		var got []string
		all := linesOf(in)
		for line, ok := all.next(); ok; line, ok = all.next() {
			got = append(got, line)
		}
		if got := strings.Join(got, "|"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// P1 3 (A17): a byte-order mark, leading blanks, tabs and a blank before the colon are accepted
func TestDecode(t *testing.T) {
	text := "ACAP-crawler: *\nACAP-disallow-crawl: /x\n"
	var little, big []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		little, big = append(little, byte(u), byte(u>>8)), append(big, byte(u>>8), byte(u))
	}
	for name, src := range map[string][]byte{
		"plain": []byte(text), "mark": []byte("\ufeff" + text), "little": little, "big": big,
		"mark inside": []byte("\n\ufeff" + text), "no-break blanks": []byte("\u00a0" + strings.ReplaceAll(text, ": ",
			":\u00a0")),
	} {
		if d := Parse(home, src).Policy(searchbot).Decide(Crawl, resource(t, "/x")); d.Allowed {
			t.Errorf("%s: allowed", name)
		}
	}
}

func TestColumnsCountCharacters(t *testing.T) {
	f := Parse(home, []byte("\t \u00fc\u00f6: x\r\n\u00a0ACAP-crawler: \u00e9#\u00e8\n[V1.1] ACAP-allow-index: "+
		"/\u00fc /x=1"))
	p := f.Policy(Crawler{Names: []string{"\u00e9"}})
	for _, want := range []struct {
		code         string
		line, column int
	}{{"foreign-field", 1, 3}, {"hash-in-value", 2, 17}, {"loose-form", 2, 2}, {"version-marker", 3,
		1}, {"unknown-qualifier", 3, 29}} {
		got, ok := codes(p.Findings())[want.code]
		if !ok || got.Line != want.line || got.Column != want.column {
			t.Errorf("%s at %d:%d, want %d:%d", want.code, got.Line, got.Column, want.line, want.column)
		}
	}
	d := p.Decide(Index, resource(t, "/%C3%BC"))
	if d.Because == nil || d.Because.Line != 3 || d.Because.Column != 8 ||
		d.Because.Text != "ACAP-allow-index: /\u00fc /x=1" {
		t.Errorf("%+v", d.Because)
	}
	if f.Line(3) != "[V1.1] ACAP-allow-index: /\u00fc /x=1" || f.Line(4) != "" || f.Line(0) != "" {
		t.Error("Line")
	}
}

// TestVersionGating tests how a permission with a feature of ACAP 1.1 is treated under each
// declaration of a version (P1 2.8, B01-B09, X56).
func TestVersionGating(t *testing.T) {
	const (
		read, ignored, prohibited = "read", "ignored", "prohibited"
	)
	for _, c := range []struct{ head, want, strict string }{
		{"", ignored, prohibited},
		{"ACAP-version: 1.0", ignored, prohibited},
		{"ACAP-version: 1", ignored, prohibited},
		{"ACAP-version: 1.1", read, read},
		{"ACAP-version:1.1", read, read},
		{"ACAP-version: 1.1.5", read, read},
		{"ACAP-version: 1.5", read, read},
		{"ACAP-version: 1.10", read, read},
		{"ACAP-version: v1.1", prohibited, prohibited},
		{"ACAP-version:", prohibited, prohibited},
		{"ACAP-version: 1.x", prohibited, prohibited},
		{"ACAP-version: 0.9", prohibited, prohibited},
		{"ACAP-version: 2.0", prohibited, prohibited},
		{"ACAP-version: 2", prohibited, prohibited},
		{"ACAP-version: 1.0\nACAP-version: 1.1", prohibited, prohibited},
		{"ACAP-version: 1.1\nACAP-version: 1.1", read, read},
		{"ACAP-version: 1.1\nACAP-version: 1.2", read, read},
		{"ACAP-version: 1.1\nACAP-version: 3.0", prohibited, prohibited},
		{"##ACAP version=1.1", ignored, prohibited},
		{"##ACAP version=1.0\nACAP-version: 1.1", read, prohibited},
		{"##ACAP version=1.1\nACAP-version: 1.1", read, read},
		{"ACAP-ignore-conventional-records\nACAP-version: 1.1", read, read},
	} {
		for _, strict := range []bool{false, true} {
			want := c.want
			if strict {
				want = c.strict
			}
			for _, field := range []string{
				"ACAP-allow-present: /x target-condition=permittedcountrylist:be",
				"ACAP-qualified-usage: q present target-condition=permittedcountrylist:be\nACAP-allow-(q): /x",
			} {
				who := Crawler{Names: []string{"searchbot"}, Strict: strict}
				if i := strings.Index(field, "\n"); i >= 0 {
					field = field[:i] + "\nACAP-crawler: *" + field[i:]
				} else {
					field = "ACAP-crawler: *\n" + field
				}
				d := policyOf(who, c.head+"\n"+field).Decide(Present, resource(t, "/x"))
				got := map[Reason]string{ByPermission: read, ByDefault: ignored, ByFallback: prohibited}[d.Reason]
				if got != want {
					t.Errorf("%q strict=%v %q: %s (%s), want %s", c.head, strict, field, got, d.Why(), want)
				}
			}
		}
	}
}

// P1 3 (A06): there may be blanks around the equals sign of a qualifier, but not inside its value
func TestJoinQualifiers(t *testing.T) {
	for in, want := range map[string]string{
		"/ a = b":           "/|a=b",
		"/ a =b":            "/|a=b",
		"/ a= b":            "/|a=b",
		"/ a=b =c":          "/|a=b|=c",
		"/ a= b= c= d":      "/|a=b=|c=d",
		"/ a = b c = d":     "/|a=b|c=d",
		"/ a =":             "/|a=",
		"/ = b":             "/|=|b",
		"/a? max-length= 1": "/a?|max-length=1",
	} {
		if got := strings.Join(joinQualifiers(strings.Fields(in)), "|"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A prohibition whose resources cannot be resolved covers more resources, not fewer.
func TestFurtherResourcesOfAProhibition(t *testing.T) {
	p := policyOf(searchbot, lines("ACAP-resource-set: s /set/", "ACAP-crawler: *",
		"ACAP-disallow-index: sid= /private/ the-acap:resource-set:s word"))
	for path, want := range map[string]bool{"/sid=1": false, "/private/x": false, "/set/x": false, "/word": true} {
		if got := p.Decide(Index, resource(t, path)).Allowed; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// P1 4 (A19): only the first MaxSize bytes of a file are read; if the file is longer, its
// permissions have no effect
func TestCutAtAWholeLine(t *testing.T) {
	head := "ACAP-crawler: *\nACAP-allow-index: /\nACAP-disallow-follow: /\n"
	last := "ACAP-disallow-crawl: /"
	fill := strings.Repeat("#", MaxSize-len(head)-len(last)-1) + "\n"
	for _, c := range []struct {
		name, src             string
		crawl, follow, counts bool // counts means that the permission of index has effect
	}{
		{"at the limit", head + fill + last, false, false, true},
		{"last line ends at the limit", head + fill + last + "\n", false, false, false},
		{"last line goes beyond", head + fill + last + "x\n", true, false, false},
		{"one endless line", strings.Repeat("x", 2*MaxSize), true, true, false},
	} {
		f := Parse(home, []byte(c.src))
		p := f.Policy(searchbot)
		r := resource(t, "/xyz")
		if got := p.Decide(Crawl, r).Allowed; got != c.crawl {
			t.Errorf("%s: crawl %v", c.name, got)
		}
		if got := p.Decide(Follow, r).Allowed; got != c.follow {
			t.Errorf("%s: follow %v", c.name, got)
		}
		if got := p.Decide(Index, r).Reason == ByPermission; got != c.counts {
			t.Errorf("%s: the permission counts: %v", c.name, got)
		}
		if _, told := codes(f.Findings)["too-long"]; told == (c.name == "at the limit") {
			t.Errorf("%s: told %v", c.name, told)
		}
	}
}

// P1 2.10.1 (O09): ACAP-ignore-conventional-records disables only Allow and Disallow; sitemaps and
// the Crawl-delay remain in force
func TestCrawlDelay(t *testing.T) {
	for value, want := range map[string]time.Duration{"2.5": 2500 * time.Millisecond, "NaN": 0, "-1": 0, "Inf": 0,
		"1e9": 0, "x": 0} {
		p := policyOf(searchbot, "User-agent: *\nCrawl-delay: "+value+"\nACAP-ignore-conventional-records")
		if p.CrawlDelay() != want {
			t.Errorf("%s: %v, want %v", value, p.CrawlDelay(), want)
		}
	}
}

func TestGroups(t *testing.T) { // RFC 9309 2.2.1 (C09, C19, X53, X67, X79): which lines form a group
	for _, c := range []struct {
		robots string
		want   bool
	}{
		{"User-agent: a\nUser-agent: SearchBot/1.0\nDisallow: /x", false},
		{"User-agent: searchbot\nCrawl-delay: 1\nUser-agent: b\nDisallow: /x", false},
		{"User-agent: searchbots\nDisallow: /x", true},
		{"User-agent: searchbot\nAllow: /\nUser-agent: *\nDisallow: /x", true},
		{"User-agent: searchbot\nAllow: /y\nUser-agent: searchbot\nDisallow: /x", false},
		{"User-agent: *\nACAP-crawler: *\nACAP-allow-index: /\nDisallow: /x", false},
		{"ACAP-crawler: *\nACAP-allow-index: /\nDisallow: /x", true},
		{"ACAP-crawler: *\nACAP-allow-index: /\nUser-agent: *\nDisallow: /x", false},
		{"User-agent: searchbot\nACAP-crawler: *\nACAP-allow-crawl: /y\nUser-agent: c\nDisallow: /x", false},
		{"User-agent: searchbot\nAllow: /y\nACAP-crawler: *\nACAP-allow-crawl: /y\nUser-agent: c\nDisallow: /x", true},
	} {
		if got := policyOf(searchbot, c.robots).Decide(Crawl, resource(t, "/x")).Allowed; got != c.want {
			t.Errorf("%q: %v, want %v", c.robots, got, c.want)
		}
	}
}

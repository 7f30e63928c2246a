package terms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// TestTitleIsBounded checks that a title is plain text of bounded length. If only present-snippet
// permits it, the title obeys the length limits of the snippet.
func TestTitleIsBounded(t *testing.T) {
	const only = "ACAP-disallow-present: /\nACAP-allow-present-snippet: / "
	family := "\U0001F468\u200d\U0001F469\u200d\U0001F466"
	for _, c := range []struct{ name, robots, title, want string }{
		{"short", "", "Low water", "Low water"},
		{"long", "", strings.Repeat("tide ", 1000), strings.TrimSpace(strings.Repeat("tide ", 30)) + "…"},
		{"without blanks", "", strings.Repeat("潮", 1000), strings.Repeat("潮", 148) + "…"},
		{"controls", "", "Low\x07 \x1b[31mwater\u202e&#x202e;\u009b2J\n", "Low [31mwater2J"},
		{"within a character", "", strings.Repeat("x", 147) + family, strings.Repeat("x", 147) + "…"},
		{"by the snippet alone, words", only + "max-length=3-words", "Tables of the tide at the quay",
			"Tables of the…"},
		{"by the snippet alone, characters", only + "max-length=12-chars", "Tables of the tide", "Tables of…"},
		{"by the snippet alone, within a character", only + "max-length=3-chars", "x" + family, "x…"},
		{"by the snippet alone, of which nothing fits", only + "max-length=1-chars", family, ""},
		{"by present too", "ACAP-allow-present-snippet: / max-length=3-words", "Tables of the tide at the quay",
			"Tables of the tide at the quay"},
		{"by present too, but not as the title", "ACAP-allow-present: / must-use-resource=the-acap:text:x",
			"Tables of the tide at the quay", ""},
	} {
		for _, kept := range []bool{false, true} {
			w := &world{}
			tm := of(t, w, c.robots, "<title>"+c.title+"</title><p>Open roads.")
			if kept {
				tm = held(t, w, tm, c.robots, false)
			}
			got, _ := tm.Title()
			if strings.TrimSuffix(got, "…") != strings.TrimSuffix(c.want, "…") {
				t.Errorf("%s, kept %v: %q, want %q", c.name, kept, got, c.want)
			}
			if snippet.Chars(got) > longestTitle {
				t.Errorf("%s: %d characters", c.name, snippet.Chars(got))
			}
		}
	}
}

// TestPartsAreBounded checks that a part that must be shown is plain text of bounded length. If the
// part does not fit, nothing of the page is shown, with or without a copy.
func TestPartsAreBounded(t *testing.T) {
	long := strings.Repeat("Ada ", 300)
	for _, c := range []struct{ name, part, body, want string }{ // want may be "!" and a part of the refusal's note
		{"a credit", "credit:id:by", `<p id="by">By Ada`, "By Ada"},
		{"a long one", "credit:id:by", `<p id="by">` + long, "!1024 bytes"},
		{"a long text", "credit:text:" + strings.Repeat("Ada%20", 300), ``, "!1024 bytes"},
		{"a long one of another resource", "credit:/long.txt", ``, "!1024 bytes"},
		{"a long extract", "extract:id:by", `<p id="by">` + long, "!1024 bytes"},
		{"the text of a link", "link:id:by", `<a id="by" href="/l">` + long + `</a>`, "!1024 bytes"},
		{"a forged result", "credit:text:Ada%0A%0AOther%20title%0Ahttp://evil.example/%0A%1b[31m", ``,
			"Ada Other title http://evil.example/ [31m"},
		{"controls alone", "credit:text:%07%1b", ``, "!no text"},
		{"controls alone, in the page", "credit:id:by", "<p id=\"by\">\u202e\u009b", "!no text"},
		{"an address that turns what follows", "link:/l?\u202e", ``, "!may not be shown"},
	} {
		for _, kept := range []bool{false, true} {
			w := &world{pages: map[string]string{site + "/long.txt": long}}
			robots := "ACAP-allow-present-snippet: / must-include-resource=the-acap:" + c.part
			tm := of(t, w, robots, "<p>Open roads."+c.body)
			if kept {
				tm = held(t, w, tm, robots, false)
			}
			s, ok := tm.Snippet(acap.PresentSnippet, snippet.Wanted{})
			switch d := tm.Decide(acap.PresentSnippet); {
			case ok != d.Allowed, ok != !strings.HasPrefix(c.want, "!"):
				t.Errorf("%s, kept %v: %+v, %s", c.name, kept, s, d.Note)
			case ok && (len(s.Include) != 1 || s.Include[0].Text != c.want):
				t.Errorf("%s, kept %v: %+v, want %q", c.name, kept, s.Include, c.want)
			case !ok && !kept && !strings.Contains(d.Note, c.want[1:]):
				t.Errorf("%s: %s, want %q", c.name, d.Note, c.want)
			}
		}
	}
}

// TestLink checks address and text of the link that may be shown for a page. If must-use-resource
// requires another resource, the link points to that resource; if the resource is not available, no
// link is shown (P1 2.5.5.3).
func TestLink(t *testing.T) {
	const body = `<title>Low water</title><p id="lead">Ships lie in the roads.` +
		`<p id="shy" class="the-acap:disallow-present-snippet">Anchor berths.<p id="void"></p>`
	const use = "ACAP-allow-present-link: / must-use-resource="
	for _, c := range []struct {
		name, then, now string // "" as the value of now means the same policy as then
		want            string // address and text; "-" and a part of the note if there is no link
		kept            string // the expected link if no copy is stored; "" means equal to want
	}{
		{name: "of the page", want: " |"},
		{name: "prohibited", then: "ACAP-disallow-present-link: /", want: "-"},
		{name: "of a text", then: use + "the-acap:text:Tide%20tables", want: " |Tide tables"},
		{name: "of a part", then: use + "the-acap:extract:id:lead", want: " |Ships lie in the roads."},
		{name: "of a part that is not there", then: use + "the-acap:extract:id:nope", want: "-no such part",
			kept: "-not available until"},
		{name: "of a part without text", then: use + "the-acap:extract:id:void", want: "-no text",
			kept: "-not available until"},
		{name: "of a part with rules for other usages (N28)", then: use + "the-acap:extract:id:shy",
			want: " |Anchor berths."},
		{name: "of the page itself (I03)", then: use + "/a.html", want: " |"},
		{name: "of another resource", then: use + "/cover.html", want: site + "/cover.html |The cover"},
		{name: "of another resource, without a title", then: use + "/s.txt", want: site + "/s.txt |"},
		{name: "of another resource that is not there", then: use + "/nope", want: "-404"},
		{name: "of another resource that may not be crawled (I02)", then: use + "/shut", want: "-shut"},
		{name: "of another resource that may not be crawled now", then: use + "/cover.html", now: use +
			"/cover.html\nACAP-disallow-crawl: /cover.html", want: "-cover.html"},
		{name: "of another resource that is taken down now", then: use + "/cover.html", now: use +
			"/cover.html\nACAP-request-take-down: /cover.html", want: "-taken down"},
		{name: "of a text only now", now: use + "the-acap:text:Tide", want: " |Tide"},
		{name: "of a part only now", now: use + "the-acap:extract:id:lead", want: " |Ships lie in the roads.",
			kept: "-not available until"},
		{name: "of another resource only now", now: use + "/cover.html", want: "-not available until"},
		{name: "what presents the page as a whole", then: "ACAP-allow-present: / must-use-resource=/cover.html",
			want: site + "/cover.html |The cover"},
	} {
		for _, copied := range []bool{true, false} {
			w := &world{pages: map[string]string{site + "/cover.html": "<title>The\x07 cover</title>", site +
				"/s.txt": ""}}
			fresh := of(t, w, "ACAP-disallow-crawl: /shut\n"+c.then, body)
			is := func(tm *Terms, want string) {
				t.Helper()
				l, ok := tm.Link()
				d := tm.Decide(acap.PresentLink)
				got := l.Href + " |" + l.Text
				if !ok {
					got = "-" + d.Note
				}
				if ok != d.Allowed || got != want &&
					!(want[0] == '-' && got[0] == '-' && strings.Contains(got, want[1:])) {
					t.Errorf("%s, copy %v: %q, want %q", c.name, copied, got, want)
				}
			}
			if c.now == "" {
				is(fresh, c.want)
			}
			want, now := c.want, c.then
			if c.now != "" {
				now = c.now
			}
			if !copied && c.kept != "" {
				want = c.kept
			}
			if want == "-404" || want == "-shut" {
				want = "-not available until"
			}
			tm := held(t, w, fresh, "ACAP-disallow-crawl: /shut\n"+now, copied)
			asked := len(w.fetched)
			is(tm, want)
			if len(w.fetched) != asked {
				t.Errorf("%s: requested %q", c.name, w.fetched[asked:])
			}
		}
	}
}

// TestSubstituteWithoutText checks that a substitute without text counts as missing (X05): nothing
// is made from it.
func TestSubstituteWithoutText(t *testing.T) {
	for name, value := range map[string]string{"another resource": "/empty.txt", "a part": "the-acap:extract:id:void",
		"a part that may not be used": "the-acap:extract:id:shut"} {
		w := &world{pages: map[string]string{site + "/empty.txt": " \n"}}
		tm := of(t, w, "ACAP-allow-index: / must-use-resource="+value+
			"\nACAP-allow-present-snippet: / must-use-resource="+value,
			`<title>T</title><p>Own words.<p id="void"></p>`+
				`<p id="shut" class="the-acap:disallow-index the-acap:disallow-present">Shut.</p>`)
		if c, ok := tm.Text(); ok {
			t.Errorf("%s: %q is indexed", name, c)
		}
		if s, ok := tm.Snippet(acap.PresentSnippet, snippet.Wanted{}); ok {
			t.Errorf("%s: %q is shown", name, s.Text)
		}
		for _, u := range []acap.Usage{acap.Index, acap.PresentSnippet} {
			if d := tm.Decide(u); d.Allowed || d.Reason != acap.Unfulfillable || !strings.Contains(d.Note, "no text") {
				t.Errorf("%s, %s: %v, %s", name, u, d.Allowed, d.Note)
			}
		}
	}
}

// TestManyParts checks that the number of required parts is bounded. Otherwise a publisher could
// make every result list long by requiring thousands of credits.
func TestManyParts(t *testing.T) {
	for n, allowed := range map[int]bool{mostParts: true, mostParts + 1: false} {
		robots := ""
		for i := range n {
			robots += fmt.Sprintf("ACAP-allow-present: / must-include-resource=the-acap:credit:text:C%d\n", i)
		}
		d := of(t, &world{}, robots, "<p>The tide comes in.").Decide(acap.PresentSnippet)
		if d.Allowed != allowed || !allowed && (d.Because == nil || d.Because.Line != mostParts+3) {
			t.Errorf("%d: %+v", n, d.Because)
		}
	}
}

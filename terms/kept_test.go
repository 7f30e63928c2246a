package terms

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// TestThenAndNow checks what is shown of a page later, with and without a stored copy. The policy
// for the page, a part of it and its substitute may have changed since it was stored.
func TestThenAndNow(t *testing.T) {
	const (
		body = `<title>Quay</title><p class="the-acap:allow-(part)">Anchor berths cost nine.` +
			`<p id="lead" class="the-acap:disallow-(shy)">Lead line marks seven.<p>Open roads.`
		none  = "ACAP-composite-usage: part follow\nACAP-composite-usage: shy follow\n"
		brief = "ACAP-qualified-usage: part present-snippet max-length=2-words\nACAP-composite-usage: shy follow\n"
		shy   = "ACAP-composite-usage: part follow\nACAP-composite-usage: shy present-snippet\n"
		open  = "ACAP-composite-usage: part present-snippet\nACAP-composite-usage: shy follow\n"
		shut  = "ACAP-disallow-present-snippet: /\n"
		lead  = "ACAP-allow-present-snippet: / must-use-resource=the-acap:extract:id:lead\n"
		text  = "ACAP-allow-present-snippet: / must-use-resource=the-acap:text:Tide%20tables\n"
		other = "ACAP-allow-present-snippet: / must-use-resource=/s.txt\n"
		same  = "ACAP-allow-present-snippet: / must-use-resource=/a.html\n"
		whole = "Anchor berths cost nine. Lead line marks seven. Open roads."
		rest  = "Anchor berths cost nine. Open roads."
	)
	// expected snippets with and without a stored copy; "" means no snippet
	for _, c := range []struct{ name, then, now, copy, none string }{
		{"page, page", none, none, whole, whole},
		{"page, nothing", none, none + shut, "", ""},
		{"page, a part of it", none, open + shut, "Anchor berths cost nine.", ""},
		{"page, less a part", none, shy, rest, ""},
		{"page, with a shorter part", none, brief, "Anchor berths…", "Anchor berths…"},
		{"page, substitute", none, none + lead, "Lead line marks seven.", ""},
		{"page, a text", none, none + text, "Tide tables", "Tide tables"},
		{"page, another resource", none, none + other, "", ""},
		{"page, itself (I03)", none, none + same, whole, whole},
		{"part, part", open + shut, open + shut, "Anchor berths cost nine.", "Anchor berths cost nine."},
		{"part, page", open + shut, none, whole, "Anchor berths cost nine."},
		{"part, nothing", open + shut, none + shut, "", ""},
		{"part, a shorter part", open + shut, brief + shut, "Anchor berths…", "Anchor berths…"},
		{"part, substitute", open + shut, none + lead, "Lead line marks seven.", ""},
		{"less a part, the same", shy, shy, rest, rest},
		{"less a part, page", shy, none, whole, rest},
		{"less a part, with a shorter part", shy, brief, "Anchor berths…", "Anchor berths…"},
		{"substitute, the same", none + lead, none + lead, "Lead line marks seven.", "Lead line marks seven."},
		{"substitute, page", none + lead, none, whole, "Lead line marks seven."},
		{"substitute, less that part", none + lead, shy, rest, ""},
		{"substitute, of which nothing may be shown", none + lead, shy + lead, "", ""},
		{"a text, page", none + text, none, whole, ""},
		{"a text, a part", none + text, open + shut, "Anchor berths cost nine.", ""},
		{"another resource, the same", none + other, none + other, "Tables of the tide", "Tables of the tide"},
		{"another resource, page", none + other, none, whole, ""},
		{"another resource, which may not be crawled now", none + other, none + other + "ACAP-disallow-crawl: /s.txt\n",
			"", ""},
		{"itself, less a part (I03)", none + same, shy + same, rest, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{pages: map[string]string{site + "/s.txt": "Tables of the tide"}}
			fresh := of(t, w, c.then, body)
			for _, copied := range []bool{true, false} {
				want := c.none
				if copied {
					want = c.copy
				}
				w.robots[site] = "ACAP-version: 1.1\nACAP-crawler: *\n" + c.then
				s, ok := held(t, w, fresh, c.now, copied).Snippet(acap.PresentSnippet, snippet.Wanted{})
				if !ok {
					s.Text = ""
				}
				if s.Text != want {
					t.Errorf("copy %v: %q, want %q", copied, s.Text, want)
				}
			}
		})
	}
}

// TestPartsThenAndNow checks that a part that must be shown with the page is shown whole or not at
// all (J12). If the text of a link may not be shown, the address of the link is still shown.
func TestPartsThenAndNow(t *testing.T) {
	const body = `<p>Open roads.` +
		`<p id="by">Words by <i class="the-acap:disallow-(shy)">Ada</i><p id="clear">Words by Bob` +
		`<p><a id="link" class="the-acap:disallow-(shy)" href="/l">Terms</a>`
	for _, c := range []struct {
		part, then, now string
		want            string // expected parts; "-" means none
	}{
		{"credit:id:by", "follow", "follow", "credit Words by Ada"},
		{"credit:id:by", "follow", "present", "-"},
		{"credit:id:by", "present", "present", "-"},
		{"credit:id:clear", "follow", "present", "credit Words by Bob"},
		{"link:id:link", "follow", "follow", "link Terms http://quay.example/l"},
		{"link:id:link", "follow", "present", "link http://quay.example/l"},
		{"link:id:link", "present", "present", "link http://quay.example/l"},
	} {
		robots := func(shy string) string {
			return "ACAP-composite-usage: shy " + shy + "\nACAP-allow-present: / must-include-resource=the-acap:" +
				c.part + "\n"
		}
		for _, copied := range []bool{true, false} {
			w := &world{}
			tm := held(t, w, of(t, w, robots(c.then), body), robots(c.now), copied)
			got := "-"
			for _, in := range tm.Included(acap.Present) {
				got = strings.Join(strings.Fields(in.Role+" "+in.Text+" "+in.Href), " ")
			}
			if allowed := tm.Decide(acap.Present).Allowed; got != c.want || allowed != (c.want != "-") {
				t.Errorf("%s, shy %s and now %s, copy %v: %q, want %q", c.part, c.then, c.now, copied, got, c.want)
			}
		}
	}
}

// TestNeverMoreWithoutCopy checks three things. A page without a stored copy shows no more than it
// would show with a copy. Every text obeys today's length limits. Fit removes only texts that may
// not be shown.
func TestNeverMoreWithoutCopy(t *testing.T) {
	shown := 0
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 7))
		pick := func(from ...string) string { return from[r.IntN(len(from))] }
		policy := func() string {
			var b strings.Builder
			for _, name := range []string{"one", "two"} {
				fmt.Fprintf(&b, "ACAP-%s\n", pick("composite-usage: "+name+" follow", "composite-usage: "+name+
					" present", "composite-usage: "+name+" present-snippet",
					"qualified-usage: "+name+" present-snippet max-length=2-words", "qualified-usage: "+name+
						" present-snippet max-length=9-chars",
					"qualified-usage: "+name+" present-snippet must-include-resource=the-acap:credit:text:Ada",
					"qualified-usage: "+name+" present-snippet must-use-resource=the-acap:text:tables"))
			}
			for range r.IntN(4) {
				usage := pick("present", "present-snippet", "present-snippet", "present-link", "other")
				line := "ACAP-" + pick("allow-", "allow-", "disallow-") + usage + ": " + pick("/", "/a.html")
				if strings.HasPrefix(line, "ACAP-allow-present") {
					line += pick("", " must-use-resource=the-acap:text:tables",
						" must-use-resource=the-acap:extract:id:lead", " must-use-resource=/s.txt",
						" must-use-resource=/a.html", " time-limit=until-2020-01-01")
					if usage != "present-link" {
						line += pick("", " must-include-resource=the-acap:credit:id:by",
							" must-include-resource=the-acap:extract:id:by",
							" must-include-resource=the-acap:link:id:by",
							" must-include-resource=the-acap:credit:/s.txt")
					}
					if usage == "present-snippet" {
						line += pick("", " max-length=3-words", " max-length=14-chars")
					}
				}
				b.WriteString(line + "\n")
			}
			return b.String() + pick("", "", "", "ACAP-disallow-crawl: /s.txt\n")
		}
		token := func() string {
			return pick("the-acap:disallow-(one)", "the-acap:allow-(one)",
				"the-acap:disallow-(two) the-acap:allow-(one)", "the-acap:allow-(two)",
				"the-acap:allow-present-snippet",
				"the-acap:disallow-present", "plain", "plain")
		}
		body := pick("<title>Quay news</title>", fmt.Sprintf(`<body><div class="%s"><title>Quay news</title></div>`,
			token())) +
			fmt.Sprintf(`<p>Open roads.<div class="%s">Outer berths. <b class="%s">Inner berths.</b></div>`+
				`<p id="lead" class="%s">Lead line.`+
				`<p class="%s"><a id="by" href="/l">Ada <i class="%s">Quill</i></a>`,
				token(), token(), token(), token(), token())
		then, now := policy(), policy()
		w := &world{pages: map[string]string{site + "/s.txt": "Tables of the tide"}}
		fresh := of(t, w, then, body)
		if fresh.Page() == nil {
			continue
		}
		content, _ := fresh.Text()
		kept := fresh.Keep(false, content)
		with := held(t, w, fresh, now, true)
		w.robots[site] = "ACAP-version: 1.1\nACAP-crawler: *\n" + then
		without := held(t, w, of(t, w, then, body), now, false)
		fail := func(format string, args ...any) {
			t.Errorf("seed %d\n%s\nthen %s\nnow %s\nkept %s\n%s", seed, body, then, now, kept,
				fmt.Sprintf(format, args...))
		}
		s, ok := without.Snippet(acap.PresentSnippet, snippet.Wanted{})
		if ok {
			shown++
			c, limits, okWith := with.content(acap.PresentSnippet)
			more, snippetWith := with.Snippet(acap.PresentSnippet, snippet.Wanted{})
			words := strings.Fields(c.String())
			for _, in := range s.Include {
				if in.Role == "extract" {
					words = append(words, strings.Fields(in.Text)...)
				}
			}
			switch {
			case !okWith || !snippetWith:
				fail("%q is shown, and nothing with a copy", s.Text)
			case !drawnFrom(strings.Fields(strings.ReplaceAll(s.Text, "…", " ")), words):
				fail("%q is shown, and of a copy %q", s.Text, c)
			case longer(s.Text, limits):
				fail("%q is longer than %v", s.Text, limits)
			}
			for _, in := range s.Include {
				if !slices.ContainsFunc(more.Include, func(x snippet.Include) bool {
					return x.Role == in.Role && x.Href == in.Href && (x.Text == in.Text || in.Text == "")
				}) {
					fail("%+v is shown, and of a copy %+v", in, more.Include)
				}
			}
		}
		title, _ := without.Title()
		if whole, _ := with.Title(); !strings.HasPrefix(whole, strings.TrimSuffix(title, "…")) ||
			len(title) > len(whole) {
			fail("title %q, and of a copy %q", title, whole)
		}
		link, okLink := without.Link()
		if l, ok := with.Link(); okLink && (!ok || link.Href != l.Href || link.Text != l.Text) {
			fail("link %+v, and of a copy %+v", link, l)
		}
		less, _ := without.Fit(*without.kept)
		fitted := without.forAnyReader().Keeping(less)
		if again, because := fitted.Fit(less); len(because) > 0 || again.Digest() != less.Digest() {
			fail("of what fits is left %s", again)
		}
		if after, still := fitted.Snippet(acap.PresentSnippet, snippet.Wanted{}); still != ok || after.Text != s.Text {
			fail("%q is shown, and %q of what fits", s.Text, after.Text)
		}
	}
	if shown < 200 {
		t.Errorf("only %d snippets were shown", shown)
	}
}

// drawnFrom reports whether each of words occurs in whole. A word that was cut off must be the
// beginning of a word in whole.
func drawnFrom(words, whole []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool {
		return !slices.ContainsFunc(whole, func(x string) bool { return strings.HasPrefix(x, w) })
	})
}

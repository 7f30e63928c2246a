package acap

import (
	"slices"
	"strings"
	"testing"
)

func mark(token string, element int) Mark {
	return Mark{Token: token, Line: 10 + element, Column: 5, Element: element}
}

func TestPageStatements(t *testing.T) {
	const star, named = "ACAP-crawler: *\n", "ACAP-crawler: searchbot\n"
	for _, c := range []struct {
		reading, robots string
		own             Own
		u               Usage
		want            bool
	}{
		{"N02", named + "ACAP-disallow-index: /", page(tag("robots", "ACAP allow-index")), Index, false},
		{"N02", named + "ACAP-disallow-index: /", page(tag("searchbot", "ACAP allow-index")), Index, true},
		{"N02", star + "ACAP-disallow-index: /", page(tag("robots", "ACAP allow-index")), Index, true},
		{"N02", star + "ACAP-allow-index: /a.html", page(tag("robots", "ACAP disallow-index")), Index, false},
		{"X35", star + "ACAP-disallow-index:", page(tag("robots", "ACAP allow-index")), Index, false},
		{"X35", star + "ACAP-disallow-index:", page(tag("searchbot", "ACAP allow-index")), Index, true},
		{"N04", "", page(tag("robots", "ACAP disallow-present"), tag("robots", "ACAP allow-present-snippet")),
			PresentSnippet, true},
		{"N12", "", page(tag("robots", "noindex"), tag("robots", "ACAP allow-index")), Index, false},
		{"N15", "", page(tag("robots", "ACAP allow-index disallow-follow")), Follow, false},
		{"N15", "", page(tag("robots", "ACAP allow-index disallow-follow")), Index, false},
		{"N15", "", page(tag("robots", "ACAP version 1.1 disallow-follow")), Follow, false},
		{"X19", "", page(tag("robots", "noindex, ACAP disallow-follow")), Follow, false},
		{"X19", "", page(tag("robots", "nofollow,noindex,ACAP\n\tdisallow-preserve")), Preserve, false},
		{"X19", "", page(tag("robots", "noindex ACAP allow-follow")), Index, false},
		{"X19", "", page(tag("robots", "ACAP noindex disallow-follow")), Index, false},
		{"rule 4", "", page(tag("robots", "ACAP: disallow-follow")), Follow, false},
		{"B07", "", page(tag("robots", "ACAP version=1.1"), tag("robots", "ACAP allow-index time-limit=plus-terms")),
			Index, false},
		{"B12", "", page(tag("robots", "ACAP allow-index time-limit=plus-terms")), Index, true},
		{"B12", "", page(tag("robots", "ACAP allow-index time-limit=plus-terms"), tag("searchbot", "ACAP VERSION 1.1")),
			Index, false},
		{"B05", "", page(tag("robots", "ACAP version 2.0"), tag("robots", "ACAP allow-index time-limit=1-days")), Index,
			false},
		{"B13", "", page(tag("robots", "ACAP version disallow-index")), Index, false},
		{"M02", "",
			page(tag("robots", "ACAP allow-index location=http://h/ location=HTTP://EXAMPLE.com:80/%61.html#x")), Index,
			true},
		{"M03", "", page(tag("robots", "ACAP allow-index location=http://example.com/b.html")), Index, false},
		{"M06", "", page(tag("robots", "ACAP allow-crawl location=http://example.com/b.html")), PresentLink, false},
		{"N26", "", page(tag("robots", "ACAP disallow-crawl")), Preserve, false},
		{"X20", star + "ACAP-disallow-index: /", page(tag("robots, searchbot", "ACAP allow-index")), Index, false},
		{"X20", "", page(tag("robots, searchbot", "ACAP disallow-index")), Index, false},
		{"X14", star + "ACAP-allow-index: /", page(tag("robots", "ACAP disallow-other")), Index, true},
		{"X14", star + "ACAP-allow-index: /", page(tag("robots", "ACAP disallow-other")), Preserve, false},
		{"X68", "", page(tag("robots", "ACAP disallow-other")), Crawl, true},
		{"L05", "", page(tag("robots", "ACAP version 1.1"), tag("robots", "ACAP allow-other "+
			"usage-ref=the-acap:credit:/x")), Other, false},
		{"N01", "", page(tag("robots", "ACAP disallow-index"), tag("searchbot", "ACAP allow-index")), Index, true},
		{"N18", "", page(tag("robots", "ACAP allow-index id-list= a")), Index, false},
		{"E01", "", page(tag("robots", "ACAP allow-(nope)")), Index, false},
		{"X18", "ACAP-qualified-usage: q index time-limit=plus-terms\nACAP-version: 1.1",
			page(tag("robots", "ACAP allow-(q)")), Index, false},
	} {
		d := policyOf(searchbot, c.robots).Narrow(c.own).Decide(c.u, resource(t, "/a.html"))
		if d.Allowed != c.want {
			t.Errorf("%s: %q %v %s: %v (%s)", c.reading, c.robots, c.own.Tags, c.u, d.Allowed, d.Why())
		}
	}
}

// TestForeignLetters tests letters whose length in bytes differs between upper and lower case.
func TestForeignLetters(t *testing.T) {
	for _, letter := range []string{"\u0250", "\u0131", "\u017f", "\u212a", "\xff"} {
		own := page(tag("robots", strings.Repeat(letter, 9)+" ACAP disallow-index"),
			tag("X-Robots-Tag", strings.Repeat(letter, 9)+", nofollow"))
		if got := refused(t, own); got != "index follow" {
			t.Errorf("%q: refuses %q", letter, got)
		}
	}
}

func TestParts(t *testing.T) {
	const star, named = "ACAP-crawler: *\n", "ACAP-crawler: searchbot\n"
	allow, deny := mark("the-acap:allow-index", 1), mark("the-acap:Disallow-Index", 2)
	for _, c := range []struct {
		reading, robots string
		tags            []Tag
		chain           []Mark
		u               Usage
		want            bool
	}{
		{"N05", star + "ACAP-disallow-index: /", nil, []Mark{allow}, Index, true},
		{"N05", "", nil, []Mark{deny}, Index, false},
		{"N05", named + "ACAP-disallow-index: /", nil, []Mark{allow}, Index, false},
		{"N05", "", []Tag{tag("searchbot", "ACAP disallow-index")}, []Mark{allow}, Index, false},
		{"N05", "", []Tag{tag("robots", "ACAP disallow-index")}, []Mark{allow}, Index, true},
		{"N05, F03", named + "ACAP-allow-index: /\nACAP-disallow-index: *.html", nil, []Mark{allow}, Index, false},
		{"N06", "", nil, []Mark{allow, deny}, Index, false},
		{"N06", "", nil, []Mark{deny, allow}, Index, false},
		{"N12", "", []Tag{tag("robots", "noindex")}, []Mark{allow}, Index, false},
		{"X35", star + "ACAP-disallow-index:", nil, []Mark{allow}, Index, false},
		{"X12", star + "ACAP-disallow-crawl: /", nil, []Mark{mark("the-acap:allow-crawl", 1)}, Crawl, false},
		{"X12", star + "ACAP-disallow-present-link: /", nil, []Mark{mark("the-acap:allow-present-link", 1)},
			PresentLink, false},
		{"X12", star + "ACAP-disallow-present: /", nil, []Mark{mark("the-acap:allow-present", 1)}, PresentOriginal,
			false},
		{"X13", "", nil, []Mark{mark("the-acap:disallow-present", 1), mark("the-acap:allow-present-snippet", 1)},
			PresentSnippet, true},
		{"X13", "", nil, []Mark{mark("the-acap:disallow-present", 1), mark("the-acap:allow-present-snippet", 2)},
			PresentSnippet, false},
		{"X38", star + "ACAP-disallow-other: /", nil, []Mark{mark("the-acap:allow-other", 1)}, Other, false},
		{"F19", "", nil, []Mark{mark("the-acap:disallow-other", 1)}, Preserve, false},
		{"F19", star + "ACAP-allow-index: /", nil, []Mark{mark("the-acap:disallow-other", 1)}, Index, true},
		{"N27", star + "ACAP-disallow-index: /", nil, []Mark{{Token: "the-acap:allow-index", Place: OnHead}}, Index,
			false},
		{"F18, K02", star + "ACAP-allow-present: / prohibited-modification=content", nil,
			[]Mark{mark("the-acap:allow-present-snippet", 1)}, PresentSnippet, false},
		{"F18, K02", star + "ACAP-allow-present: / prohibited-modification=content\nACAP-disallow-present-snippet: /",
			nil,
			[]Mark{mark("the-acap:allow-present-snippet", 1)}, PresentSnippet, false},
		{"F18, K02", star + "ACAP-allow-present: / prohibited-modification=format\nACAP-disallow-present-snippet: /",
			nil,
			[]Mark{mark("the-acap:allow-present-snippet", 1)}, PresentSnippet, true},
		{"I09", "ACAP-qualified-usage: q present must-use-resource=/i\n" + star, nil,
			[]Mark{mark("the-acap:allow-(q)", 1)}, PresentCurrentCopy, false},
	} {
		own := Own{URL: "http://example.com/a.html", Tags: c.tags, Marks: c.chain}
		d := policyOf(searchbot, "ACAP-version: 1.1\n"+c.robots).Narrow(own).Part(c.u, resource(t, "/a.html"), c.chain)
		if d.Allowed != c.want {
			t.Errorf("%s: %q %v %s: %v (%s)", c.reading, c.robots, c.chain, c.u, d.Allowed, d.Why())
		}
	}
}

// P1 2.4.6 (F15), P2 2.2.5 (N06): the limits of the permissions on all outer elements are in force
func TestLimitsOfParts(t *testing.T) {
	chain := []Mark{mark("the-acap:allow-(a)", 1), mark("the-acap:allow-(b)", 2), mark("the-acap:allow-(c)", 2)}
	p := policyOf(searchbot, lines("ACAP-qualified-usage: a index time-limit=1-days", "ACAP-qualified-usage: b index "+
		"time-limit=until-recrawled",
		"ACAP-qualified-usage: c index must-use-resource=the-acap:extract:id:x")).Narrow(
		Own{URL: "http://example.com/a.html", Marks: chain})
	l := p.Part(Index, resource(t, "/a.html"), chain).Limits(Facts{Now: noon})
	if !l.Until.Equal(noon.AddDate(0, 0, 1)) || !l.UntilRecrawled || len(l.MustUse) != 1 {
		t.Errorf("%+v", l)
	}
}

func TestPlaceOfMarks(t *testing.T) {
	chain := []Mark{mark("the-acap:disallow-index", 1), mark("the-acap:disallow-index", 2)}
	p := policyOf(searchbot, "").Narrow(Own{URL: "http://example.com/a.html", Marks: chain})
	for _, m := range chain {
		if d := p.Part(Index, resource(t, "/a.html"), []Mark{m}); d.Because.Line != m.Line ||
			d.Because.Source != Class {
			t.Errorf("%+v decides for the mark of line %d", d.Because, m.Line)
		}
	}
	if !p.Marked() || policyOf(searchbot, "").Marked() {
		t.Error("Marked")
	}
}

// P2 2.2.6 (N07): for a crawler without element level, any element statement prohibits the usage
// for the whole page; P2 2.2.5 (N27, N28, X12, X13): a mark on BODY is about the body; marks on
// HTML and in the head prohibit for the page; a part that cannot be cut out of the page prohibits
// the page; an element permission of crawl, original or link has no effect; on one element a
// derived permission wins against present; across elements prohibitions win
func TestMarksForTheWholePage(t *testing.T) {
	var forms []string
	for _, u := range Usages() {
		if u.Presents() {
			forms = append(forms, string(u))
		}
	}
	everyForm := strings.Join(forms, " ")
	unable := Crawler{Names: []string{"searchbot"}, Cannot: []string{"element-level"}}
	unableBoth := Crawler{Names: []string{"searchbot"}, Cannot: []string{"element-level", "index", "crawl"}}
	for _, c := range []struct {
		reading string
		who     Crawler
		m       Mark
		want    string // usages that are refused for the whole page
	}{
		{"N07", unable, mark("the-acap:allow-index", 1), "index"},
		{"N07", unable, mark("the-acap:disallow-present-snippet", 1), "present-snippet"},
		{"N07", unable, mark("the-acap:disallow-present", 1), "present*"},
		{"N07", unable, mark("the-acap:allow-present", 1), "present*"},
		{"N07, F19", unable, mark("the-acap:disallow-other", 1), "follow index preserve present* other"},
		{"X87", unableBoth, mark("the-acap:allow-index", 1), "index"},
		{"X87, X77", unableBoth, mark("the-acap:allow-crawl", 1), ""},
		{"X87, N07", unableBoth, mark("the-acap:allow-preserve", 1), "preserve"},
		{"N27, F19", searchbot, Mark{Token: "the-acap:disallow-other", Place: OnHead},
			"follow index preserve present* other"},
		{"N27", searchbot, Mark{Token: "the-acap:disallow-present", Place: OnHead}, "present*"},
		{"N27", searchbot, Mark{Token: "the-acap:disallow-index"}, ""},
		{"N28", searchbot, mark("the-acap:disallow-crawl", 1), "crawl follow index preserve present* other"},
		{"X77", unable, mark("the-acap:allow-crawl", 1), ""},
		{"X13", searchbot, mark("the-acap:disallow-present", 1), "present-original present-link"},
	} {
		p := policyOf(c.who, "").Narrow(Own{URL: "http://example.com/a.html", Marks: []Mark{c.m}})
		var out []string
		for _, u := range Usages() {
			if p.Decide(u, resource(t, "/a.html")).Allowed {
				continue
			}
			out = append(out, string(u))
		}
		got := strings.Join(out, " ")
		got = strings.Replace(got, everyForm, "present*", 1)
		if got != c.want {
			t.Errorf("%s: %s refuses %q, want %q", c.reading, c.m.Token, got, c.want)
		}
	}
}

// A prohibition in a page does not exclude the prohibitions of robots.txt from the comparison with
// specific permissions (P1 2.5.5, X82). Trace names the line that is in force.
func TestPageProhibitionHidesNone(t *testing.T) {
	origin := policyOf(searchbot, lines("ACAP-crawler: searchbot", "ACAP-disallow-present: /"))
	thumbnail := tag("robots", "ACAP allow-present-thumbnail")
	r := resource(t, "/a.html")
	for _, tags := range [][]Tag{
		{thumbnail},
		{thumbnail, tag("searchbot", "ACAP disallow-present")},
		{tag("searchbot", "ACAP disallow-present"), thumbnail},
		{thumbnail, tag("robots", "ACAP disallow-present")},
	} {
		p := origin.Narrow(page(tags...))
		d := p.Decide(PresentThumbnail, r)
		if d.Allowed || d.Because.Source != Robots || d.Because.Line != 2 {
			t.Errorf("%d tags: %s", len(tags), d.Why())
		}
		if list := p.Trace(PresentThumbnail, r, Facts{Now: noon}); len(list) != 1+len(tags) ||
			list[0].Field != d.Because || list[0].Outcome != Decides {
			t.Errorf("%d tags:\n%s", len(tags), listing(list))
		}
	}
}

// A page with too many words in META tags, or with too many class tokens on the elements around an
// element, is treated as a page that may not be crawled. Words are counted even if they are in
// statements for the purposes of other crawlers.
func TestTooMuchToJudge(t *testing.T) {
	many := func(n int, content string) (tags []Tag) {
		for range n {
			tags = append(tags, tag("robots", content))
		}
		return tags
	}
	for name, c := range map[string]struct {
		own     Own
		allowed bool
	}{
		"META tags for another purpose": {page(many(maxOwn/4+1, "ACAP web allow-follow")...), false},
		"as many as are read":           {page(many(maxOwn/4, "ACAP web allow-follow")...), true},
		"purposes in one": {page(tag("robots", "ACAP "+strings.Repeat("web ", maxOwn)+"allow-follow")),
			false},
		"META tags for other crawlers": {Own{URL: "http://example.com/a.html",
			Tags: slices.Repeat([]Tag{tag("otherbot", "ACAP web allow-follow")}, maxOwn)}, true},
		"marks": {Own{URL: "http://example.com/a.html", Marks: []Mark{mark("the-acap:x", 7)},
			Tangled: &Mark{Token: "the-acap:x", Line: 7, Column: 3}}, false},
	} {
		for _, purposes := range [][]string{{"news"}, {"news", "archive"}} {
			p := policyOf(Crawler{Names: []string{"searchbot"}, Purposes: purposes}, "").Narrow(c.own)
			for _, u := range []Usage{Crawl, Index} {
				if d := p.Decide(u, resource(t, "/a.html")); d.Allowed != c.allowed {
					t.Errorf("%s, %d purposes: %s", name, len(purposes), d.Why())
				}
			}
		}
	}
}

// Saying returns equal keys for chains of marks that have the same effect, whatever other class
// tokens their elements have.
func TestSaying(t *testing.T) {
	marks := []Mark{mark("the-acap:Disallow-Index", 1), mark("the-acap:nonsense", 2), mark("the-acap:disallow-index",
		3), {Token: "the-acap:allow-follow", Element: 3}}
	for _, who := range []Crawler{searchbot, {Names: []string{"searchbot"}, Purposes: []string{"news", "web"}}} {
		p := policyOf(who, "").Narrow(Own{URL: "http://example.com/a.html", Marks: marks})
		if a, b := p.Saying(marks[:1]), p.Saying(marks[1:3]); a != b || a == "" {
			t.Errorf("%q, %q", a, b)
		}
		if a, b := p.Saying(marks[2:]), p.Saying([]Mark{marks[2], mark("the-acap:allow-follow", 4)}); a == b {
			t.Errorf("one element and two: %q", a)
		}
	}
}

func TestActions(t *testing.T) { // P1 2.6 (P01-P13, X31): the action requests that are executed
	robots := Parse(home, []byte(lines("ACAP-request-take-down: /orphan", "User-agent: *", "ACAP-request-take-down: "+
		"/within", "ACAP-crawler: *",
		"ACAP-disallow-crawl: /closed", "ACAP-request-re-crawl: /a", "ACAP-request-re-crawl: /closed/x",
		"ACAP-request-take-down: /b?id=%7e3",
		"ACAP-request-take-down: /a", "ACAP-request-take-down: /a", "ACAP-request-take-down: //other.example/x",
		"ACAP-request-take-down: http://other.example/x",
		"ACAP-request-take-down: /n/*", "ACAP-request-take-down: /x /y", "ACAP-usage-purpose: n",
		"ACAP-disallow-index: /", "ACAP-request-take-down: /sub",
		"ACAP-crawler: otherbot", "ACAP-request-take-down: /theirs", "ACAP-crawler:", "ACAP-request-take-down: /nobody",
		"ACAP-crawler: searchbot", "ACAP-permissions-reference: /same.txt", "ACAP-crawler: searchbot",
		"ACAP-permissions-reference: http://h2/s.txt")))
	refs := robots.References(searchbot)
	for i := range refs {
		refs[i].File = ParseReferred(refs[i].URL, []byte("ACAP-crawler: *\nACAP-request-take-down: /from"+
			host(refs[i].URL)))
	}
	var got []string
	for _, a := range robots.Policy(searchbot, refs...).Actions() {
		mark := ""
		if !a.Execute {
			mark = "refused "
			if a.Why == "" {
				t.Errorf("%+v", a)
			}
		}
		got = append(got, mark+a.Action+" "+strings.TrimPrefix(a.URL, "http://example.com"))
	}
	want := lines("refused take-down /orphan", "refused take-down /within", "take-down /b?id=~3", "take-down /a",
		"refused take-down /n/%2A", "refused take-down /x%20/y",
		"refused take-down /sub", "take-down /fromexample.com", "refused take-down /fromh2", "re-crawl /a",
		"refused re-crawl /closed/x")
	if strings.Join(got, "\n") != want {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

func host(u string) string {
	h, _, _ := strings.Cut(strings.TrimPrefix(u, "http://"), "/")
	return h
}

// If the statements of a page are not known, the page is not used at all, whatever robots.txt
// permits. A finding gives the reason.
func TestUnreadPage(t *testing.T) {
	own := page(tag("robots", "ACAP allow-index"))
	own.Unread = "the page has too many tags"
	p := policyOf(pilotbot, "ACAP-crawler: *\nACAP-allow-index: /\n").Narrow(own)
	for _, u := range Usages() {
		if d := p.Decide(u, resource(t, "/a.html")); d.Allowed || !strings.Contains(d.Why(), own.Unread) {
			t.Errorf("%s: %t, %s", u, d.Allowed, d.Why())
		}
	}
	if codes(p.Findings())["too-complex"].Code == "" {
		t.Errorf("findings %v", p.Findings())
	}
}

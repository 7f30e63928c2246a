package acap

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var pilotbot = Crawler{Names: []string{"searchbot"}, Pilot: true}

func TestFragments(t *testing.T) { // PILOT 1.3.1, 1.3.5: the ids of elements in META tags
	for content, want := range map[string]string{
		"ACAP allow-index id-list= a b":                 "a b",
		"acap ALLOW-INDEX Id-List=a b":                  "a b",
		"ACAP allow-index id-list = a b":                "a b",
		"ACAP allow-index id-list =a b":                 "a b",
		"ACAP allow-indexid-list= a":                    "a",
		"ACAP news allow-index id-list= a":              "a",
		"ACAP allow-index id-list= a time-limit=1-days": "a",
		"ACAP allow-index time-limit=1-days id-list= a": "a",
		"ACAP allow-index id-list= a id-list= b":        "a b",
		"ACAP allow-index id-list= a disallow-follow":   "a",
		// P2 2.2.1 (X19): if a value mixes ACAP and conventional rules, the restrictions of both
		// are obeyed
		"ACAP allow-index id-list= a noindex":          "a",
		"ACAP allow-index id-list=":                    "",
		"ACAP allow-index id-list a":                   "",
		"ACAP allow-index must-use-resource=/id-list=": "",
		"noindex id-list= a":                           "",
		"ACAP allow-\xbdid-list= a":                    "a",
		"":                                             "",
	} {
		if got := strings.Join(Fragments(content), " "); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
	rest, ids, listed := cutFragments(strings.Fields("news allow-(q)id-list= a time-limit=1-days noindex"))
	if got := fmt.Sprint(rest, ids, listed); got != "[news allow-(q) time-limit=1-days noindex] [a] true" {
		t.Error(got)
	}
}

// marksOn returns one mark for each token, each on an element of its own.
func marksOn(tokens ...string) (marks []Mark) {
	for i, token := range tokens {
		marks = append(marks, Mark{Token: token, Line: 10 + i, Column: 1, Element: i + 1})
	}
	return marks
}

func TestPilotForms(t *testing.T) {
	list := page(tag("robots", "ACAP disallow-index"), tag("robots", "ACAP allow-index id-list= a b"))
	list.Marks = marksOn("#a", "#b", "acap:allow-index", "acap:disallow-follow")
	for _, c := range []struct {
		who  Crawler
		want string
	}{
		{pilotbot, "#a:index #b:index acap:allow-index:index acap:disallow-follow:-follow"},
		// P2 2.2.5 (N10): a class token may be one of several class names, in any letter case; the
		// prefix of the pilot has no effect; PILOT 1.3.1 (N18): in ACAP 1.x the forms of the pilot
		// are unknown, so permissions become prohibitions
		{searchbot, ""},
		// PILOT 1.3.3: a crawler without element level cannot obey permissions of fragments
		{Crawler{Names: []string{"searchbot"}, Pilot: true, Cannot: []string{"element-level"}}, ""},
	} {
		p := policyOf(c.who, "").Narrow(list)
		var differ []string
		for i := range list.Marks {
			for _, u := range []Usage{Index, Follow} {
				whole, part := p.Decide(u, resource(t, "/a.html")), p.Part(u, resource(t, "/a.html"), list.Marks[i:i+1])
				switch {
				case part.Allowed && !whole.Allowed:
					differ = append(differ, fmt.Sprintf("%s:%s", list.Marks[i].Token, u))
				case whole.Allowed && !part.Allowed:
					differ = append(differ, fmt.Sprintf("%s:-%s", list.Marks[i].Token, u))
				}
			}
		}
		if got := strings.Join(differ, " "); got != c.want {
			t.Errorf("pilot %v, cannot %v: %s, want %s", c.who.Pilot, c.who.Cannot, got, c.want)
		}
		if c.who.Pilot != p.Marked() && len(c.who.Cannot) == 0 {
			t.Errorf("pilot %v: marked %v", c.who.Pilot, p.Marked())
		}
	}
}

// A permission of a fragment has the position of its META tag; a permission by a class token has
// the position of its element.
func TestPilotPlaces(t *testing.T) {
	own := page(tag("robots", "ACAP disallow-index"), Tag{Source: Meta, Name: "robots", Content: "ACAP  allow-index " +
		"id-list= a", Line: 4, Column: 2})
	own.Marks = marksOn("#a", "acap:allow-index")
	p := policyOf(pilotbot, "").Narrow(own)
	for i, want := range []string{"meta:4:2: ACAP allow-index id-list= a", "class:11:1: acap:allow-index"} {
		f := p.Part(Index, resource(t, "/a.html"), own.Marks[i:i+1]).Because
		if got := fmt.Sprintf("%s:%d:%d: %s", f.Source, f.Line, f.Column, f.Text); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestPilotHints(t *testing.T) {
	own := page(tag("robots", "ACAP allow-present-snippet id-list= a"), tag("ACAP-Qualified-Usage",
		"ACAP q  index time-limit=1-days"))
	own.Marks = marksOn("acap:Allow-Index", "acap:disallow-(q)", "acap:allow-q")
	p := policyOf(searchbot, "").Narrow(own)
	var hints []string
	for _, f := range p.Findings() {
		if f.Code != "pilot-form" {
			t.Errorf("%v", f)
		}
		hints = append(hints, f.Hint)
	}
	want := []string{"write ACAP-Qualified-Usage: q index time-limit=1-days in robots.txt",
		"write class=the-acap:allow-present-snippet on the elements",
		"write the-acap:allow-index", "write the-acap:disallow-(q)", "write the-acap:allow-(q)"}
	if !slices.Equal(hints, want) {
		t.Errorf("%q", hints)
	}
	if f := policyOf(pilotbot, "").Narrow(page(tag("robots", "ACAP allow-(q)"), tag("ACAP-qualified-usage",
		"q index time-limit=1-days"))).Findings(); len(f) > 0 {
		t.Errorf("honoured and yet told: %v", f)
	}
	f := policyOf(pilotbot, lines("ACAP-qualified-usage: q index time-limit=1-days", "ACAP-crawler: *",
		"ACAP-allow-(q): /")).Narrow(page(tag("ACAP-qualified-usage", "q index time-limit=2-days"))).Findings()
	if len(f) != 1 || f[0].Code != "shadowed-definition" || f[0].Line != 3 || f[0].Source != Meta {
		t.Errorf("%v", f)
	}
}

// A crawler that does not support the pilot permits nothing because of the forms of the pilot. A
// crawler that supports the pilot never permits the page because of a statement about a fragment.
func TestPilotNeverWidens(t *testing.T) {
	const seed, cases = 20071015, 3000
	rnd := rand.New(rand.NewPCG(seed, 0))
	pick := func(words ...string) string { return words[rnd.IntN(len(words))] }
	usages := []string{"index", "follow", "preserve", "present", "present-snippet", "present-link", "crawl", "other",
		"(q)", "q", "nope"}
	robots := "ACAP-version: 1.1\nACAP-qualified-usage: q index time-limit=until-2030-01-01\nACAP-crawler: " +
		"*\nACAP-disallow-follow: /\nACAP-allow-preserve: / time-limit=until-2030-01-01\n"
	r := resource(t, "/a.html")
	for range cases {
		base := page()
		for range rnd.IntN(3) {
			base.Tags = append(base.Tags, tag(pick("robots", "searchbot"), "ACAP "+pick("", "news ")+pick("allow-",
				"disallow-")+pick(usages...)))
		}
		if rnd.IntN(2) == 0 {
			base.Marks = marksOn("the-acap:" + pick("allow-", "disallow-") + pick(usages...))
		}
		own := base
		own.Tags, own.Marks = slices.Clone(base.Tags), slices.Clone(base.Marks)
		for range 1 + rnd.IntN(2) {
			own.Tags = append(own.Tags, tag(pick("robots", "searchbot"), "ACAP "+pick("", "news ")+"allow-"+
				pick(usages...)+" id-list= "+pick("a", "b", "a b", "1")+pick("", " time-limit=until-2020-01-01",
				" x=y")))
		}
		own.Marks = append(own.Marks, Mark{Token: "#a", Line: 7, Column: 1, Element: 8}, Mark{Token: "#b", Line: 8,
			Column: 1, Element: 9, Place: Place(pick("", "body", "head"))},
			Mark{Token: "acap:" + pick("allow-", "disallow-") + pick(usages...), Line: 9, Column: 1, Element: 10})
		plain := policyOf(Crawler{Names: []string{"searchbot"}}, robots).Narrow(base)
		for _, who := range []Crawler{searchbot, pilotbot} {
			p := policyOf(who, robots).Narrow(own)
			checkFindings(t, p.Findings())
			for _, u := range Usages() {
				before, after := plain.Decide(u, r), p.Decide(u, r)
				if after.Allowed && !before.Allowed &&
					!(who.Pilot && before.Because.Source == Meta && bare(before.Because.Text)) {
					t.Fatalf("pilot %v: %s is permitted by %s, was not by %s: %v %v", who.Pilot, u, after.Why(),
						before.Why(), own.Tags, own.Marks)
				}
				if who.Pilot {
					continue
				}
				for i := range own.Marks {
					if p.Part(u, r, own.Marks[i:i+1]).Allowed && i >= len(base.Marks) && !p.Decide(u, r).Allowed {
						t.Fatalf("%s is permitted for %s", u, own.Marks[i].Token)
					}
				}
			}
		}
	}
}

// bare reports whether a tag names a local usage without parentheses. The pilot and ACAP 1.x read
// such a tag differently.
func bare(text string) bool { return strings.HasSuffix(text, "-q") }

// The work is bounded for a hostile page with many statements about one fragment, or about many
// fragments.
func TestPilotIsBounded(t *testing.T) {
	var ids, marks []string
	for i := range 2 * maxOwn {
		ids = append(ids, fmt.Sprintf("i%d", i))
		marks = append(marks, "#"+ids[i])
	}
	for name, own := range map[string]Own{
		"of one fragment": page(slices.Repeat([]Tag{tag("robots", "ACAP allow-index id-list= i1")}, maxOfFragment+
			1)...),
		"of many": page(tag("robots", "ACAP allow-index id-list= "+strings.Join(ids, " "))),
		"definitions": page(slices.Repeat([]Tag{tag("ACAP-qualified-usage", "q index time-limit=1-days")},
			maxOwn+1)...),
	} {
		own.Marks = marksOn(marks...)
		p := policyOf(pilotbot, "").Narrow(own)
		if d := p.Decide(Index, resource(t, "/a.html")); d.Allowed || codes(p.Findings())["too-complex"].Code == "" {
			t.Errorf("%s: %s", name, d.Why())
		}
	}
}

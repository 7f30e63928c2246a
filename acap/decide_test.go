package acap

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestDecide(t *testing.T) {
	const star = "ACAP-crawler: *\n"
	for _, c := range []struct {
		reading, robots string
		u               Usage
		path            string
		want            bool
		reason          Reason
	}{
		{"A01", star + "ACAP-disallow-crawl: /x", Crawl, "/x", false, ByProhibition},
		{"C01", star + "ACAP-disallow-crawl: /x\nACAP-crawler: searchbot\nACAP-allow-crawl: /", Crawl, "/x", true,
			ByPermission},
		{"B11", star + "ACAP-allow-index: / tiem-limit=3-days", Index, "/", false, ByFallback},
		{"E01", star + "ACAP-allow-(nope): /a/", Index, "/a/x", false, ByFallback},
		{"E01", star + "ACAP-allow-(nope): /a/", Crawl, "/a/x", true, ByDefault},
		{"E01, empty composite", "ACAP-composite-usage: c\n" + star + "ACAP-allow-(c): /a/", Index, "/a/x", false,
			ByFallback},
		{"F03", "ACAP-resource-set: images *.gif\n" + star + "ACAP-allow-index: /\nACAP-disallow-index: " +
			"the-acap:resource-set:images", Index, "/x.gif", false, ByConflict},
		{"F07", star + "ACAP-allow-index: /*a\nACAP-disallow-index: /*b\nACAP-allow-index: /x", Index, "/xab", true,
			ByPermission},
		{"F02", star + "ACAP-allow-index: /*bc\nACAP-disallow-index: /*a", Index, "/abc", false, ByConflict},
		{"F17", star + "ACAP-disallow-present: /\nACAP-allow-present-snippet: /", PresentSnippet, "/x", true,
			ByPermission},
		{"F17", star + "ACAP-disallow-present: /x\nACAP-allow-present-snippet: /", PresentSnippet, "/x", false,
			ByProhibition},
		{"F25", star + "ACAP-disallow-present: /\nACAP-allow-present-snippet: /", PresentLink, "/x", false,
			ByProhibition},
		{"X35", star + "ACAP-disallow-present:\nACAP-allow-present-snippet: /x", PresentSnippet, "/x", false,
			ByProhibition},
		{"X35", star + "ACAP-disallow-index:\nACAP-allow-index: /x", Index, "/x", false, ByConflict},
		{"X35", star + "ACAP-disallow-index:\nACAP-crawler: searchbot\nACAP-allow-index: /x", Index, "/x", true,
			ByPermission},
		{"P1 2.10.2", "User-agent: *\nDisallow: /a\n" + star + "ACAP-allow-crawl: /a", Crawl, "/a/b", true,
			ByPermission},
		{"O07", "User-agent: searchbot\nDisallow: /a\n" + star + "ACAP-allow-crawl: /a", Crawl, "/a/b", false,
			Conventional},
		{"O05", "User-agent: *\nDisallow: /\n" + star + "ACAP-allow-crawl: /a", Crawl, "/a/b", false, Conventional},
		{"F19", star + "ACAP-allow-index: /\nACAP-disallow-other: /", Preserve, "/x", false, ByOther},
		{"F19", star + "ACAP-allow-index: /\nACAP-disallow-other: /", Index, "/x", true, ByPermission},
		{"G01", star + "ACAP-disallow-print: /a/", Crawl, "/a/x", false, ByFallback},
		{"E07", "ACAP-composite-usage: a (b)\nACAP-composite-usage: b (a) follow\n" + star + "ACAP-allow-(a): /",
			Follow, "/", false, ByFallback},
		{"C03", star + "ACAP-usage-purpose: news\nACAP-disallow-index: /\nACAP-crawler: searchbot\nACAP-allow-index: /",
			Index, "/x", false, ByConflict},
		{"nested set", "ACAP-resource-set: a /a/\nACAP-resource-set: b the-acap:resource-set:a\n" + star +
			"ACAP-disallow-index: the-acap:resource-set:b", Index, "/a/x", false, ByProhibition},
	} {
		got := policyOf(searchbot, c.robots).Decide(c.u, resource(t, c.path))
		if got.Allowed != c.want || got.Reason != c.reason {
			t.Errorf("%s: %q %s %s: %v %s, want %v %s", c.reading, c.robots, c.u, c.path, got.Allowed, got.Why(),
				c.want, c.reason)
		}
	}
}

func TestNothingKnownRefuses(t *testing.T) {
	var none *Policy
	for _, p := range []*Policy{none, none.Narrow(page(tag("robots", "ACAP allow-index"))),
		Unreachable(home, "HTTP status 503")} {
		for _, u := range append(Usages(), "print") {
			if d := p.Decide(u, resource(t, "/")); d.Allowed || d.Usage != u {
				t.Errorf("%s: %+v", u, d)
			}
			if d := p.Part(u, resource(t, "/"), []Mark{{Token: "the-acap:allow-index"}}); d.Allowed {
				t.Errorf("part: %s: %+v", u, d)
			}
		}
	}
	if (Decision{}).Allowed || (Decision{}).Err("http://h/") == nil {
		t.Error("the zero decision permits")
	}
}

// maximal implements reading F07 (the narrowest pattern wins) literally. It returns the statements
// that cover the resource, except statements that another one overrides, and statements that are
// broader than another one.
func maximal(p *Policy, k kind, r *Resource, rooted bool) map[*statement]bool {
	var present ranks
	var all []*statement
	for _, s := range p.by[k] {
		if s.covers(r) {
			present[s.rank()] = true
			all = append(all, s)
		}
	}
	kept := map[*statement]bool{}
	for _, s := range all {
		ok := !present.override(s.rank())
		for _, t := range all {
			ok = ok && (s.all || present.override(t.rank()) || p.compare(t, s, rooted) != narrower)
		}
		if ok {
			kept[s] = true
		}
	}
	return kept
}

// randomRobots returns a file with a few records made of a few words, so that statements often
// concern the same resources.
func randomRobots(r *rand.Rand) string {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	var b strings.Builder
	b.WriteString("ACAP-version: 1.1\nACAP-resource-set: s /a *b /a*\nACAP-qualified-usage: q index " +
		"time-limit=3-days\nACAP-composite-usage: c (q) present\n")
	for range 1 + r.IntN(4) {
		fmt.Fprintf(&b, "ACAP-crawler: %s\n", pick("*", "*", "searchbot", "otherbot"))
		for range 1 + r.IntN(5) {
			if r.IntN(5) == 0 {
				fmt.Fprintf(&b, "ACAP-usage-purpose: %s\n", pick("news", "web"))
			}
			usage := pick("crawl", "index", "present", "present-snippet", "present-original", "other", "(q)", "(c)")
			pattern := pick("/", "/a", "/*a", "/*b", "/a$", "/a*", "*b", "*", "/ab", "/*ab", "/a*b",
				"the-acap:resource-set:s", "/b", "", "$", "/a$b")
			qualifier := pick("", "", "", " time-limit=3-days", " max-length=9-words", " nonsense=1")
			if pick("allow", "disallow") == "allow" {
				fmt.Fprintf(&b, "ACAP-allow-%s: %s%s\n", usage, pattern, qualifier)
			} else {
				fmt.Fprintf(&b, "ACAP-disallow-%s: %s\n", usage, pattern)
			}
		}
	}
	return b.String()
}

var randomPaths = []string{"/", "/a", "/b", "/ab", "/aab", "/bab", "/c", "/a$b"}

func randomCrawler(r *rand.Rand) Crawler {
	c := Crawler{Names: []string{"searchbot"}, Strict: r.IntN(2) == 0}
	switch r.IntN(3) {
	case 0:
		c.Purposes = []string{"news"}
	case 1:
		c.Purposes = []string{"news", "web"}
	}
	return c
}

func rounds() int {
	if testing.Short() {
		return 200
	}
	return 1500
}

// P1 2.4.6 (F07), P1 2.2.1 (C02-C04): the most specific addressee wins, then the narrowest pattern.
func TestPrevailingAsTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range rounds() {
		robots, who := randomRobots(r), randomCrawler(r)
		who.Purposes = who.Purposes[:min(len(who.Purposes), 1)]
		p := policyOf(who, robots)
		for _, path := range randomPaths {
			res := resource(t, path)
			for k := range kinds {
				for _, rooted := range []bool{false, true} {
					var v statementSet
					p.prevailing(k, &res, rooted, &v)
					want := maximal(p, k, &res, rooted)
					same := v.n == len(want)
					for i := range v.n {
						same = same && want[v.at(i)]
					}
					if !same {
						t.Fatalf("%s\n%s on %s, rooted %v: %d statements, want %d", robots, k.usage(), path, rooted,
							v.n, len(want))
					}
				}
			}
		}
	}
}

// TestMoreProhibitionsPermitNoMore adds a prohibition that addresses the crawler to random files:
// usages that were refused are still refused. A prohibition for any crawler overrides nothing. A
// prohibition for a named crawler overrides less specific prohibitions (P1 2.2.1, C02). If it is
// about "present", a permission of a type based on "present" may win against it, although no such
// permission wins against the overridden prohibition (P1 2.5.5, F17). Therefore the test leaves out
// types based on "present".
func TestMoreProhibitionsPermitNoMore(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range rounds() {
		robots, who := randomRobots(r), randomCrawler(r)
		if len(who.Purposes) > 1 {
			who.Purposes = nil
		}
		named := r.IntN(2) == 0
		more := "ACAP-crawler: *\n"
		if named {
			more = "ACAP-crawler: searchbot\n"
			if who.Purposes != nil {
				more += "ACAP-usage-purpose: news\n"
			}
		}
		more += "ACAP-disallow-" + []string{"crawl", "index", "present", "present-snippet", "other"}[r.IntN(5)] + ": " +
			[]string{"/", "/a", "*b", "/a*", "/*ab", ""}[r.IntN(6)] + "\n"
		before, after := policyOf(who, robots), policyOf(who, robots+more)
		for _, path := range randomPaths {
			for _, u := range Usages() {
				was, is := before.Decide(u, resource(t, path)), after.Decide(u, resource(t, path))
				if !was.Allowed && is.Allowed && !(named && u.kind().derived()) {
					t.Fatalf("%s+ %s: %s of %s was %s and is %s", robots, more, u, path, was.Why(), is.Why())
				}
			}
		}
	}
}

// TestOrderOfRecordsSaysNothing shuffles the records of a file: the decisions stay the same (P1
// 2.2.1, F07).
func TestOrderOfRecordsSaysNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range rounds() {
		robots, who := randomRobots(r), randomCrawler(r)
		parts := strings.Split(robots, "ACAP-crawler:")
		shuffled := append([]string(nil), parts[1:]...)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		other := parts[0] + "ACAP-crawler:" + strings.Join(shuffled, "ACAP-crawler:")
		a, b := policyOf(who, robots), policyOf(who, other)
		for _, path := range randomPaths {
			for _, u := range Usages() {
				if x, y := a.Decide(u, resource(t, path)), b.Decide(u, resource(t, path)); x.Allowed != y.Allowed {
					t.Fatalf("%s---\n%s: %s of %s is %s, or %s", robots, other, u, path, x.Why(), y.Why())
				}
			}
		}
	}
}

// P1 2.3.3 (X11, X78): in the joint decision for several purposes, crawl needs one purpose that
// permits it and other usages need all; the limits of all purposes are in force.
func TestSeveralPurposes(t *testing.T) {
	p := policyOf(Crawler{Names: []string{"searchbot"}, Purposes: []string{"web", "news"}}, lines("ACAP-crawler: *",
		"ACAP-allow-index: / time-limit=9-days must-use-resource=the-acap:extract:class:lead",
		"ACAP-usage-purpose: news", "ACAP-disallow-crawl: /",
		"ACAP-disallow-index: /a", "ACAP-allow-index: /b time-limit=2-days"))
	if !p.Decide(Crawl, resource(t, "/")).Allowed {
		t.Error("crawl for one purpose is crawl")
	}
	if p.Decide(Index, resource(t, "/a")).Allowed {
		t.Error("index for one purpose is not index for all")
	}
	d := p.Decide(Index, resource(t, "/b"))
	if l := d.Limits(Facts{Now: noon}); !d.Allowed || !l.Until.Equal(noon.AddDate(0, 0, 2)) || len(l.MustUse) != 1 {
		t.Errorf("%v %+v", d, l)
	}
	if d := p.Decide(Index, resource(t, "/c")); len(d.MustUse()) != 1 {
		t.Errorf("one field demands %d extracts", len(d.MustUse()))
	}
	if len(p.ByPurpose()) != 2 {
		t.Error("ByPurpose")
	}
}

// If one purpose requires a context that another prohibits, no presentation is permitted (P1
// 2.5.5.8, K03; P1 2.3.3, X78).
func TestContextsOfSeveralPurposes(t *testing.T) {
	p := policyOf(Crawler{Names: []string{"searchbot"}, Purposes: []string{"web", "news"}}, lines("ACAP-version: 1.1",
		"ACAP-crawler: *",
		"ACAP-allow-present-currentcopy: / prohibited-context=within-user-frame", "ACAP-usage-purpose: news",
		"ACAP-allow-present-currentcopy: / required-context=within-user-frame"))
	r, f := resource(t, "/a"), Facts{Now: noon}
	d := p.Decide(PresentCurrentCopy, r)
	if d.Allowed || d.Because == nil || !p.Decide(PresentOldCopy, r).Allowed {
		t.Fatal(d.Why())
	}
	list := p.Trace(PresentCurrentCopy, r, f)
	if len(list) != 2 || list[0].Outcome != Decides || list[0].Field != d.Because || list[1].Outcome != Loses {
		t.Errorf("%+v", list)
	}
}

const typical = `User-agent: *
Disallow: /cgi/
Crawl-delay: 1
ACAP-version: 1.1
ACAP-resource-set: pictures *.gif *.jpg /pictures/
ACAP-qualified-usage: brief present-snippet max-length=30-words
ACAP-crawler: *
ACAP-allow-crawl: /
ACAP-disallow-crawl: /private/
ACAP-allow-index: /news/ time-limit=3-days
ACAP-disallow-index: the-acap:resource-set:pictures
ACAP-disallow-present: /
ACAP-allow-(brief): /
ACAP-allow-present-link: /
ACAP-crawler: searchbot
ACAP-allow-preserve: /news/ time-limit=until-recrawled
ACAP-disallow-other: /
`

func TestDecideDoesNotAllocate(t *testing.T) {
	own := page(tag("robots", "noarchive"), tag("robots", "ACAP allow-index time-limit=9-days"))
	for name, p := range map[string]*Policy{"origin": policyOf(searchbot, typical), "page": policyOf(searchbot,
		typical).Narrow(own)} {
		for _, path := range []string{"/news/today.html", "/pictures/a.gif", "/private/x", "/cgi/a"} {
			r := resource(t, path)
			for _, u := range Usages() {
				if n := testing.AllocsPerRun(100, func() { p.Decide(u, r) }); n != 0 {
					t.Errorf("%s: %s of %s: %v allocations", name, u, path, n)
				}
			}
		}
	}
}

package acap

import (
	"errors"
	"strings"
	"testing"
)

// withReferences returns the policy of robots, with references to the given files. An empty text
// means that the file cannot be read.
func withReferences(who Crawler, robots string, files map[string]string) *Policy {
	f := Parse(home, []byte(robots))
	refs := f.References(who)
	for i := range refs {
		if text := files[refs[i].URL]; text != "" {
			refs[i].File = ParseReferred(refs[i].URL, []byte(text))
		} else if refs[i].Err == nil {
			refs[i].Err = errors.New("HTTP status 503")
		}
	}
	return f.Policy(who, refs...)
}

func TestReferences(t *testing.T) {
	const to = "ACAP-crawler: *\nACAP-permissions-reference: "
	for _, c := range []struct {
		reading, robots, child string
		u                      Usage
		path                   string
		want                   bool
	}{
		{"P1 2.3.2", to + "/s.txt", "ACAP-crawler: *\nACAP-disallow-index: /a", Index, "/a", false},
		{"D01", to + "/s.txt", "ACAP-crawler: *\nACAP-permissions-reference: /t.txt\nACAP-disallow-index: " +
			"/a\nACAP-allow-follow: /", Index, "/a", false},
		{"D02", to + "/s.txt\nACAP-disallow-index: /a", "ACAP-crawler: *", Index, "/a", false},
		{"D02", to + "/s.txt\nACAP-allow-index: /a\nACAP-crawler: *\nACAP-disallow-other: /", "ACAP-crawler: *", Index,
			"/a", false},
		{"D03", "ACAP-resource-set: s /a\n" + to + "/s.txt", "ACAP-crawler: *\nACAP-disallow-index: " +
			"the-acap:resource-set:s", Index, "/b", true},
		{"D03", "ACAP-qualified-usage: q index\n" + to + "/s.txt",
			"ACAP-qualified-usage: q follow\nACAP-crawler: *\nACAP-allow-(q): /", Index, "/a", true},
		{"D05", to + "http://h2/s.txt", "ACAP-crawler: *\nACAP-disallow-crawl: /a", Crawl, "/a", false},
		{"D06", to + "/s.txt", "User-agent: *\nDisallow: /a", Crawl, "/a", false},
		{"D06", "ACAP-ignore-conventional-records\n" + to + "/s.txt", "User-agent: *\nDisallow: /a", Crawl, "/a", true},
		{"D07", to + "/s.txt", "", Index, "/a", false},
		{"D07", to + "http://h2:port/", "", Index, "/a", false},
		{"D07", "ACAP-crawler: other\nACAP-permissions-reference: /s.txt", "", Index, "/a", true},
		{"X65", to + "/robots.txt", "", Index, "/a", true},
		{"B14", "ACAP-version: 1.1\n" + to + "/s.txt", "ACAP-crawler: *\nACAP-allow-index: / time-limit=plus-terms",
			Index, "/a", true},
		{"A19", to + "/s.txt", "ACAP-crawler: *\nACAP-allow-index: /\nACAP-disallow-other: /\n" + strings.Repeat("#\n",
			MaxSize), Index, "/a", false},
	} {
		files := map[string]string{"http://example.com/s.txt": c.child, "http://h2/s.txt": c.child}
		if d := withReferences(searchbot, c.robots, files).Decide(c.u, resource(t, c.path)); d.Allowed != c.want {
			t.Errorf("%s: %q %q: %v (%s)", c.reading, c.robots, c.child, d.Allowed, d.Why())
		}
	}
}

// P1 2.3.2 (D08): a reference may be relative; in the file that a second reference names, only the
// prohibitions have effect
func TestSecondReference(t *testing.T) {
	files := map[string]string{"http://example.com/s": "ACAP-crawler: *\nACAP-allow-index: /",
		"http://example.com/t": "ACAP-crawler: *\nACAP-allow-follow: /\nACAP-disallow-preserve: " +
			"/\nACAP-disallow-other: /"}
	p := withReferences(searchbot, lines("ACAP-crawler: *", "ACAP-permissions-reference: s",
		"ACAP-permissions-reference: /t"), files)
	for u, want := range map[Usage]bool{Index: true, Follow: false, Preserve: false} {
		if d := p.Decide(u, resource(t, "/")); d.Allowed != want {
			t.Errorf("%s: %s", u, d.Why())
		}
	}
	if got := p.Decide(Preserve, resource(t, "/")).Because; got.Source != Referred ||
		got.URL != "http://example.com/t" || got.Line != 3 {
		t.Errorf("%+v", got)
	}
}

// P1 2.3.3 (X11): the joint decision for several purposes permits crawl if one purpose permits it,
// and permits other usages if all purposes permit them; P2 2.2.1 (N17): a tag for the crawler's
// purpose overrides the general tag; P1 2.3.3 (X78): the limits of all purposes are in force
func TestSeveralPurposesOnAPage(t *testing.T) {
	p := policyOf(Crawler{Names: []string{"searchbot"}, Purposes: []string{"web", "news"}},
		"").Narrow(Own{URL: "http://example.com/a.html",
		Tags: []Tag{tag("robots", "ACAP news disallow-index"), tag("robots", "max-snippet:9, unavailable_after: "+
			"2027-01-31")},
		Marks: []Mark{mark("the-acap:disallow-follow", 1)}})
	r := resource(t, "/a.html")
	if d := p.Decide(Index, r); d.Allowed {
		t.Error(d.Why())
	}
	if d := p.ByPurpose()["web"].Decide(Index, r); !d.Allowed {
		t.Error(d.Why())
	}
	if l := p.Decide(PresentSnippet, r).Limits(Facts{Now: noon}); *l.MaxChars != 9 || l.Until.IsZero() {
		t.Errorf("%+v", l)
	}
	if d := p.Part(Follow, r, []Mark{mark("the-acap:disallow-follow", 1)}); d.Allowed || !p.Marked() {
		t.Error(d.Why())
	}
}

// P1 2.5.3.2 (I04-I07), P1 2.5.5.6 (J07-J11), P1 2.5.6.1 (L01-L04): locators of required resources
func TestRequired(t *testing.T) {
	for value, want := range map[string]bool{
		"must-use-resource=/i.html":                             true,
		"must-use-resource=ftp://h/x":                           false,
		"must-use-resource=the-acap:extract:id:x":               true,
		"must-use-resource=THE-ACAP:Extract:TagList:p,h1":       true,
		"must-use-resource=the-acap:extract:idlist:a,,b":        false,
		"must-use-resource=the-acap:extract:text:x":             false,
		"must-use-resource=the-acap:idlist:a":                   false,
		"must-use-resource=the-acap:extract:id:":                false,
		"must-use-resource=the-acap:text:a%20b":                 true,
		"must-use-resource=the-acap:text:%zz":                   false,
		"must-include-resource=the-acap:credit:text:x":          true,
		"must-include-resource=the-acap:Credit:ID:x":            true,
		"must-include-resource=the-acap:license-link:http://h/": true,
		"must-include-resource=the-acap:credit:javascript:x":    false,
		"must-include-resource=the-acap:banner:id:x":            false,
		"must-include-resource=http://h/x":                      false,
		"must-include-resource=plus-terms":                      false,
		"max-length=250-CHARS":                                  true,
		"max-length=250chars":                                   false,
		"max-length=-1-words":                                   false,
		// a context in a permission of "present" does not limit a snippet
		"prohibited-context=within-user-frame": false,
	} {
		d := policyOf(searchbot, "ACAP-version: 1.1\nACAP-crawler: *\nACAP-allow-present-snippet: / "+value).Decide(
			PresentSnippet, resource(t, "/"))
		if d.Allowed != want {
			t.Errorf("%s: %v %s", value, d.Allowed, d.Why())
		}
	}
	for value, want := range map[string]bool{"any": true, "style": true, "plus-terms": false,
		"plus-terms prohibited-modification=any": false, "colour": false,
		// P1 2.5.5.5 (K01): next to "any", other values are ignored, but plus-terms without
		// licence terms make the permission a prohibition
		"colour prohibited-modification=any": true} {
		d := policyOf(searchbot, "ACAP-version: 1.1\nACAP-crawler: *\nACAP-allow-present-currentcopy: / "+
			"prohibited-modification="+value).Decide(PresentCurrentCopy, resource(t, "/"))
		if d.Allowed != want {
			t.Errorf("%s: %v %s", value, d.Allowed, d.Why())
		}
	}
}

// P1 2.4.3 (G01-G03, X40, X41, X71): the effect of fields about usages that the crawler cannot
// interpret
func TestCannot(t *testing.T) {
	for _, c := range []struct {
		cannot, field string
		u             Usage
		want          bool
	}{
		{"present-snippet", "ACAP-disallow-present-snippet: /", Present, false},
		{"present-snippet", "ACAP-disallow-present-snippet: /", PresentSnippet, false},
		{"present-snippet", "ACAP-allow-present-snippet: /", PresentSnippet, true},
		{"present-snippet", "ACAP-allow-present-snippet: / max-length=9-words", Present, false},
		{"index", "ACAP-disallow-index: /", Crawl, false},
		{"max-length", "ACAP-allow-present-snippet: / max-length=9-words", PresentSnippet, false},
		{"", "ACAP-allow-present-copy: / max-length=9-words", Present, false},
		{"", "ACAP-allow-print: /", Crawl, true},
	} {
		who := Crawler{Names: []string{"searchbot"}, Cannot: []string{c.cannot}}
		if d := policyOf(who, anyone+c.field).Decide(c.u, resource(t, "/")); d.Allowed != c.want {
			t.Errorf("cannot %q: %s: %s: %v (%s)", c.cannot, c.field, c.u, d.Allowed, d.Why())
		}
	}
}

func TestPolicyTellsItsFile(t *testing.T) {
	p := policyOf(searchbot, "ACAP-version: 1.1\nACAP-ignore-conventional-records\nSitemap: http://example.com/s.xml")
	if f := p.File(); f.Version() != "1.1" || !f.IgnoreConventional() || len(p.Sitemaps()) != 1 {
		t.Errorf("%+v", f)
	}
	var none *Policy
	if none.File() != nil || none.Sitemaps() != nil || none.Actions() != nil || none.Findings() != nil ||
		none.CrawlDelay() != 0 || none.Marked() || none.ByPurpose() != nil {
		t.Error("nil")
	}
}

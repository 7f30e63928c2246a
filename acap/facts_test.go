package acap

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// TestTimeLimits tests each pair of time limits one second before its end and at its end (P1
// 2.5.3.1, H02-H08, X03).
func TestTimeLimits(t *testing.T) {
	date := time.Date(2026, 1, 8, 0, 0, 0, 0, time.UTC) // the instant at which until-2026-01-07 ends
	far := time.Date(2026, 1, 14, 12, 0, 0, 0, time.UTC)
	days := noon.AddDate(0, 0, 3)
	for _, c := range []struct {
		limits    string
		end       time.Time // when the usage becomes prohibited; the zero time means never
		recrawled bool
	}{
		{"3-days", days, false},
		{"until-2026-01-07", date, false},
		{"until-recrawled", time.Time{}, true},
		{"until-recrawl", time.Time{}, true},
		{"3-days until-recrawled", days, true},
		{"until-recrawled 3-days", days, true},
		{"until-2026-01-07 3-days", date, false},
		{"3-days until-2026-01-07", date, false},
		{"9-days until-2026-01-07", date, false},
		{"until-2026-01-07 until-recrawled", date, true},
		{"until-recrawled until-2026-01-07", date, true},
		{"9-days 3-days", far, false},
		{"until-2026-01-07 until-2020-01-01", date, false},
		{"plus-terms 3-days", days, false},
		{"3-days plus-terms until-2026-01-07 until-2020-01-01", date, false},
		{"UNTIL-2026-01-07", date, false},
		{"0-days", noon, false},
	} {
		field := "ACAP-allow-index: / time-limit=" + strings.Join(strings.Fields(c.limits), " time-limit=")
		d := policyOf(searchbot, "ACAP-version: 1.1\nACAP-crawler: *\n"+field).Decide(Index, resource(t, "/"))
		ask := func(now time.Time, recrawled bool) bool {
			return d.At(Facts{Now: now, FirstIndexed: noon, Recrawled: recrawled}).Allowed
		}
		switch {
		case !c.end.IsZero() && (!ask(c.end.Add(-time.Second), false) || ask(c.end, false)):
			t.Errorf("%s does not end at %v: %+v", c.limits, c.end, d.Limits(Facts{Now: noon, FirstIndexed: noon}))
		case c.end.IsZero() && !ask(noon.AddDate(100, 0, 0), false):
			t.Errorf("%s ends by the clock", c.limits)
		case ask(noon.Add(-time.Hour), true) == c.recrawled:
			t.Errorf("%s: a re-crawl ends it: %v", c.limits, !c.recrawled)
		case !c.end.IsZero() && d.At(Facts{}).Allowed:
			t.Errorf("%s is met without a clock", c.limits)
		}
		l := d.Limits(Facts{Now: noon, FirstIndexed: noon})
		if !l.Until.Equal(c.end) || l.UntilRecrawled != c.recrawled {
			t.Errorf("%s: %v %v", c.limits, l.Until, l.UntilRecrawled)
		}
	}
}

// TestNextLimit checks the time until which a decision cannot change: the earliest limit that is
// later than the given time, among all decisions.
func TestNextLimit(t *testing.T) {
	p := policyOf(searchbot, lines("ACAP-version: 1.1", "ACAP-crawler: *",
		"ACAP-allow-index: / time-limit=3-days", "ACAP-allow-preserve: / time-limit=until-2026-01-05",
		"ACAP-allow-follow: /")).Narrow(page(tag("robots", "unavailable_after: 2026-01-07")))
	ends := map[Usage]time.Time{Index: time.Date(2026, 1, 7, 0, 0, 0, 0, time.UTC),
		Preserve: time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC)}
	for _, c := range []struct {
		usages []Usage
		now    time.Time
		want   time.Time // zero: no limit
	}{
		{[]Usage{Preserve}, noon, ends[Preserve]},
		{[]Usage{Preserve}, ends[Preserve].Add(-1), ends[Preserve]},
		{[]Usage{Preserve}, ends[Preserve], time.Time{}},
		{[]Usage{Follow}, noon, time.Time{}},
		{[]Usage{Index}, ends[Index].Add(-1), ends[Index]},
		{[]Usage{Index}, ends[Index], noon.AddDate(0, 0, 3)},
		{[]Usage{Index, Preserve}, noon.AddDate(0, 0, 3), time.Time{}},
		{[]Usage{Follow, Preserve, Index}, noon, ends[Preserve]},
		{[]Usage{Index, Preserve}, noon, ends[Preserve]},
	} {
		var next time.Time
		for _, u := range c.usages {
			f := Facts{Now: c.now, FirstIndexed: noon, FirstPreserved: noon}
			d := p.Decide(u, resource(t, "/a.html"))
			without := d.At(f)
			if f.Next = &next; d.At(f).Allowed != without.Allowed {
				t.Errorf("%s at %v: noting the limit changes the decision", u, c.now)
			}
		}
		if !next.Equal(c.want) {
			t.Errorf("%v at %v: %v, want %v", c.usages, c.now, next, c.want)
		}
	}
}

// P1 2.5.3.1 (H03): the number of days has only digits, zero days permit nothing, and a huge number
// does not overflow; (H10): a date that does not exist or has another form cannot be interpreted;
// P1 2.5.5.4 (X26): a huge number is reduced to the greatest possible one; P1 2.5.3.1 (X46):
// plus-terms as the only time limit decides, even if repeated; a malformed second limit prohibits
func TestUnreadableTimeLimits(t *testing.T) {
	for value, want := range map[string]bool{"-3-days": false, "+3-days": false, "3.5-days": false, "3-day": false,
		"until-2099-02-30": false,
		"until-2099-2-3":   false, "until-20990101": false, "plus-terms": false, "": false,
		"99999999999999999999-days": true, "3-DAYS": true,
		"3-days time-limit=nonsense": false} {
		p := policyOf(searchbot, "ACAP-version: 1.1\nACAP-crawler: *\nACAP-allow-index: / time-limit="+value)
		d := p.Decide(Index, resource(t, "/")).At(Facts{Now: noon})
		if d.Allowed != want {
			t.Errorf("%q: %v %s", value, d.Allowed, d.Why())
		}
	}
	d := policyOf(searchbot, "ACAP-crawler: *\nACAP-allow-index: / time-limit=99999999999999999999-days").Decide(Index,
		resource(t, "/"))
	if l := d.Limits(Facts{Now: noon}); !l.Until.Equal(latest) {
		t.Errorf("%v", l.Until)
	}
	for days, want := range map[int]string{100_000: "2299-10-21", 100_001: "2299-10-22", 1_000_000: "4763-12-03",
		maxDays: "9999-12-31"} {
		d := policyOf(searchbot, fmt.Sprintf("ACAP-crawler: *\nACAP-allow-index: / time-limit=%d-days",
			days)).Decide(Index,
			resource(t, "/"))
		if got := d.Limits(Facts{Now: noon}).Until.Format(time.DateOnly); got != want {
			t.Errorf("%d days end on %s, want %s", days, got, want)
		}
	}
}

// P1 2.5.3.1 (H04, X04): days are counted from the first use of the resource; for present from the
// earliest known date; if there was no use yet, from now
func TestFirstUse(t *testing.T) {
	f := Facts{Now: noon, FirstCrawled: noon.Add(-4 * time.Hour), FirstIndexed: noon.Add(-3 * time.Hour),
		FirstPreserved: noon.Add(-2 * time.Hour), FirstPresented: noon.Add(-time.Hour)}
	for k, want := range map[kind]time.Time{kIndex: f.FirstIndexed, kPreserve: f.FirstPreserved,
		kPresent: f.FirstCrawled, kSnippet: f.FirstCrawled, kCrawl: noon} {
		if got := f.first(k); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", k.usage(), got, want)
		}
	}
}

func TestTargets(t *testing.T) { // P1 2.5.5.9 (K06-K13, X29, X59): conditions on the reader's device
	be := Target{IP: netip.MustParseAddr("10.1.1.9"), Domains: []string{"Host.Example.be."}, Country: "BE"}
	two := func(a, b string) Target { return Target{Domains: []string{a, b}} }
	for _, c := range []struct {
		condition string
		to        Target
		want      bool
	}{
		{"ipaddressrangelist:10.1.1.1-10.1.1.9", be, true},
		{"ipaddressrangelist:10.1.1.1-10.1.1.8,10.1.1.9", be, true},
		{"ipaddressrangelist:10.1.1.20-10.1.1.1,10.1.1.9", be, true},
		{"ipaddressrangelist:10.1.1.20-10.1.1.1", be, false},
		{"ipaddressrangelist:10.1.1.9", Target{}, false},
		{"ipaddressrangelist:10.1.1.9", Target{IP: netip.MustParseAddr("::ffff:10.1.1.9")}, true},
		{"ipaddressrangelist:10.1.1.0-10.1.1.255", Target{IP: netip.MustParseAddr("2001:db8::1")}, false},
		{"ipaddressrangelist:2001:db8::-2001:db8::ff", Target{IP: netip.MustParseAddr("2001:db8::1")}, true},
		{"ipaddressrangelist:10.1.1.0/24", be, false},
		{"ipaddressmasklist:10.1.1.0/0.0.0.255", be, true},
		{"ipaddressmasklist:10.1.1.9/0.0.0.0", be, true},
		{"ipaddressmasklist:10.1.1.0/255.255.255.0", be, false},
		{"ipaddressmasklist:10.1.1.0/24", be, false},
		{"permitteddomainlist:be", be, true},
		{"permitteddomainlist:ample.be", be, false},
		{"permitteddomainlist:be", Target{Country: "BE"}, false},
		{"prohibiteddomainlist:be", be, false},
		{"prohibiteddomainlist:fr", be, true},
		{"prohibiteddomainlist:fr", Target{}, false},
		{"permitteddomainlist:be", two("a.be", "b.be"), true},
		{"permitteddomainlist:be", two("a.be", "b.fr"), false},
		{"permitteddomainlist:be,fr", two("a.be", "b.fr"), true},
		{"prohibiteddomainlist:fr", two("a.be", "b.nl"), true},
		{"prohibiteddomainlist:fr", two("a.be", "b.fr"), false},
		{"permitteddomainlist:be", two("a.be", ""), false},
		{"prohibiteddomainlist:fr", two("", "a.be"), false},
		{"permittedcountrylist:be,fr", be, true},
		{"permittedcountrylist:BE", be, true},
		{"permittedcountrylist:fr", be, false},
		{"permittedcountrylist:UK", Target{Country: "GB"}, false},
		{"permittedcountrylist:be", Target{}, false},
		{"prohibitedcountrylist:uk", Target{Country: "gb"}, false},
		{"prohibitedcountrylist:uk", be, true},
		{"prohibitedcountrylist:xx", be, false},
		{"permittedcountrylist:be target-condition=permittedcountrylist:fr", be, false},
		{"permittedcountrylist:be target-condition=rulesref:http://h/r", be, true},
		{"rulesref:http://h/r", be, false},
		{"permittedcountrylist:", be, false},
		{"permittedcountrylist:be,,fr", be, false},
		{"nonsense:be", be, false},
	} {
		p := policyOf(searchbot, "ACAP-version: 1.1\nACAP-crawler: *\nACAP-allow-present: / target-condition="+
			c.condition)
		// P1 2.5.5 (X44): the limits of "present" limit a type based on "present" if the limits can
		// apply to that type
		for _, u := range []Usage{Present, PresentLink} {
			if got := p.Decide(u, resource(t, "/")).At(Facts{Now: noon, Target: c.to}); got.Allowed != c.want {
				t.Errorf("%s for %+v: %v %s", c.condition, c.to, got.Allowed, got.Why())
			}
		}
	}
}

// P1 2.5.5 (F18, X44): the limits of "present" limit the types based on "present"
func TestLimitsOfGeneralPermissions(t *testing.T) {
	p := policyOf(searchbot, lines("ACAP-version: 1.1", "ACAP-crawler: *", "ACAP-allow-present: /m "+
		"must-use-resource=/i.html",
		"ACAP-allow-present: /any prohibited-modification=any", "ACAP-allow-present: /content "+
			"prohibited-modification=content",
		"ACAP-allow-present: /style prohibited-modification=style", "ACAP-allow-present: /frame "+
			"prohibited-context=within-user-frame required-context=within-user-frame",
		"ACAP-allow-present-snippet: / max-length=9-words", "ACAP-allow-present-snippet: / "+
			"must-include-resource=the-acap:credit:text:Me%20too"))
	for _, c := range []struct {
		u    Usage
		path string
		want bool
	}{
		{Present, "/m", true}, {PresentCurrentCopy, "/m", false}, {PresentOriginal, "/m", false}, {PresentLink, "/m",
			true},
		{PresentThumbnail, "/any", false}, {PresentSnippet, "/any", false}, {PresentLink, "/any",
			true}, {PresentOldCopy, "/any", true},
		{PresentThumbnail, "/style", false}, {PresentSnippet, "/style", true}, {PresentSnippet, "/content", false},
		{Present, "/frame", true}, {PresentOriginal, "/frame", false}, {PresentOldCopy, "/frame",
			false}, {PresentSnippet, "/frame", true},
	} {
		if d := p.Decide(c.u, resource(t, c.path)); d.Allowed != c.want {
			t.Errorf("%s of %s: %v %s", c.u, c.path, d.Allowed, d.Why())
		}
	}
	d := p.Decide(PresentSnippet, resource(t, "/m"))
	l := d.Limits(Facts{Now: noon})
	if *l.MaxWords != 9 || len(l.MustUse) != 1 || len(l.MustInclude) != 1 || d.MustInclude()[0].Text != "Me too" ||
		d.MustUse()[0].URL != "http://example.com/i.html" {
		t.Errorf("%+v", l)
	}
}

// P1 2.5.6.1 (X38): a field never permits "other" without an agreement; P1 2.4.3 (L05): an
// allow-other that cannot be interpreted prohibits only usages that ACAP does not list
func TestOther(t *testing.T) {
	p := policyOf(searchbot, "ACAP-version: 1.1\nACAP-crawler: *\nACAP-allow-other: /a "+
		"usage-ref=the-acap:terms-link:/t.html\nACAP-allow-other: /b usage-ref=the-acap:credit:/x")
	d := p.Decide(Other, resource(t, "/a"))
	if d.Allowed || d.Reason != Unfulfillable || len(d.Limits(Facts{}).UsageRef) != 1 ||
		d.UsageRefs()[0].URL != "http://example.com/t.html" {
		t.Errorf("%+v %s", d, d.Why())
	}
	if d := p.Decide(Other, resource(t, "/b")); d.Allowed || d.Reason != ByFallback {
		t.Errorf("%s", d.Why())
	}
	if d := p.Decide(Index, resource(t, "/b")); !d.Allowed {
		t.Errorf("L05: %s", d.Why())
	}
}

func TestWhy(t *testing.T) {
	p := policyOf(searchbot, "ACAP-crawler: *\nACAP-disallow-index: /x")
	err := p.Decide(Index, resource(t, "/x")).Err("http://example.com/x")
	if want := "index of http://example.com/x is not permitted: prohibited by http://example.com/robots.txt:2: " +
		"ACAP-disallow-index: /x"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if err := p.Decide(Index, resource(t, "/y")).Err("http://example.com/y"); err != nil {
		t.Error(err)
	}
}

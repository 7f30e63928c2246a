package acap

import (
	"strings"
	"testing"
	"time"
)

var tagged = []struct {
	u    Usage
	name string
}{{Index, "index"}, {Follow, "follow"}, {PresentSnippet, "snippet"}, {PresentCurrentCopy, "copy"}}

// refused returns the usages that the tags of a page prohibit to searchbot.
func refused(t *testing.T, own Own) string {
	t.Helper()
	p := policyOf(searchbot, "").Narrow(own)
	var out []string
	for _, u := range tagged {
		if !p.Decide(u.u, resource(t, "/a.html")).Allowed {
			out = append(out, u.name)
		}
	}
	return strings.Join(out, " ")
}

func TestHeaders(t *testing.T) { // RTAG 3.1.1 (N19-N22, X22, X23): rules in headers
	for _, c := range []struct{ name, value, want string }{
		{"X-Robots-Tag", "noindex", "index"},
		{"X-Robots-Tag", "NoIndex, nofollow", "index follow"},
		{"X-Robots-Tag", "noindex nofollow", "index follow"},
		{"X-Robots-Tag", "none", "index follow"},
		{"X-Robots-Tag", "otherbot: noindex, nofollow", ""},
		{"X-Robots-Tag", "otherbot: noindex, searchbot: nofollow, noarchive", "follow copy"},
		{"X-Robots-Tag", "noarchive, otherbot: noindex, SearchBot/2.0: nofollow", "follow copy"},
		{"X-Robots-Tag", "searchbot: noindex, otherbot: nofollow", "index"},
		{"X-Robots-Tag", "*: noindex", "index"},
		{"X-Robots-Tag", "searchbot : noindex", "index"},
		{"X-Robots-Tag", "\"searchbot\": noindex", "index"},
		{"X-Robots-Tag", "searchbot; noindex", "index"},
		{"X-Robots-Tag", "noindex; nofollow", "index follow"},
		{"X-Robots-Tag", "searchbot: noindex; nofollow", "index follow"},
		{"X-Robots-Tag", "max-snippet: 2 noindex, max-snippet:2", "index"},
		{"X-Robots-Tag", "max-snippet: 0", "snippet"},
		{"X-Robots-Tag", "max-image-preview: large, noindex", "index"},
		{"X-Robots-Tag", "unavailable_after: 25 Jun 2099 15:00:00 PST, noindex", "index"},
		{"X-Robots-Tag", "unavailable_after: Thu, 25 Jun 2099 15:00:00 GMT, otherbot: noindex", ""},
		{"X-Robots-Tag", "unavailable_after: 25 Jun 2099 15:00:00 PST otherbot: noindex, searchbot: nofollow",
			"follow"},
		{"X-Robots-Tag", "foo bar noindex", "index"},
		{"X-Robots-Tag", ": = noindex", "index"},
		{"X-Robots-Tag", "", ""},
		{"Robots-Tag", "*; noindex", "index"},
		{"Robots-Tag", "*;NoIndex", "index"},
		{"Robots-Tag", "*;noindex=?0", ""},
		{"Robots-Tag", "*;noindex=?0;nofollow", "follow"},
		{"Robots-Tag", "*; nosnippet, SearchBot; noindex, OtherBot; nofollow", "index snippet"},
		{"Robots-Tag", "\"searchbot\"; noindex", "index"},
		{"Robots-Tag", "otherbot; noindex", ""},
		{"Robots-Tag", "noindex, nofollow", "index follow"},
		{"Robots-Tag", "noindex;nofollow", "index follow"},
		{"Robots-Tag", "searchbot:noindex", "index"},
		{"Robots-Tag", "otherbot:noindex", ""},
		{"Robots-Tag", "*:noindex", "index"},
		{"Robots-Tag", "max-snippet:0", "snippet"},
		{"Robots-Tag", "searchbot: noindex, nofollow", "index follow"},
		{"Robots-Tag", "*; noindex; , otherbot; nofollow", "index"},
		{"Robots-Tag", "* ; noindex nosnippet, otherbot; nofollow;", "index snippet"},
		{"Robots-Tag", "searchbot noindex; nosnippet, otherbot nofollow; noarchive;", "index snippet"},
		{"Robots-Tag", "otherbot;noindex;, *;nofollow", "follow"},
		{"Robots-Tag", "otherbot;max-snippet=,*;noindex", "index"},
		{"Robots-Tag", "(searchbot otherbot);noindex", "index"},
		{"Robots-Tag", "9bot;nofollow, searchbot;noindex", "index"},
		{"Robots-Tag", "*;max-snippet=0", "snippet"},
		{"Robots-Tag", "*;max-snippet=20", ""},
		{"Robots-Tag", "*;max-snippet=\"0\"", "snippet"},
		{"Robots-Tag", "*;max-snippet", "snippet"},
		{"Robots-Tag", "*;max-snippet=1.5", "snippet"},
		{"Robots-Tag", "*;max-snippet=-1", ""},
		{"Robots-Tag", "*;foo=\"a;b, noindex\"", ""},
	} {
		if got := refused(t, page(tag(c.name, c.value))); got != c.want {
			t.Errorf("%s: %s: refuses %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

// P2 2.1 (N12, N13): conventional and ACAP tags are both in force, and the stricter wins; blanks
// may separate conventional values, and ACAP words are not such values; P2 2.2.1 (X20): a META name
// follows the rules for crawler names; a tag whose name is a list only prohibits
func TestMetaRules(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"robots", "index nofollow", "follow"},
		{"ROBOTS", "NOINDEX", "index"},
		{"searchbot", "noindex", "index"},
		{"otherbot", "noindex", ""},
		{"otherbot, searchbot", "noindex", "index"},
		{"\u201drobots\u201d", "\u201cnoindex\u201d", "index"},
		{"robots", "otherbot: noindex", "index"},
		{"robots", "max-snippet=0", "snippet"},
		{"robots", "max-snippet: 20 noindex", "index"},
		{"robots", "max-snippet:99999999999999999999", ""},
		{"robots", "unavailable_after 25-Aug-2007 15:00:00 EST", "index snippet copy"},
		{"robots", "unavailable_after: 25-Aug-2099 15:00:00 EST, noarchive", "copy"},
		{"robots", "unavailable_after: soon", "index snippet copy"},
	} {
		p := policyOf(searchbot, "").Narrow(page(tag(c.name, c.content)))
		var out []string
		for _, u := range tagged {
			if !p.Decide(u.u, resource(t, "/a.html")).At(Facts{Now: noon}).Allowed {
				out = append(out, u.name)
			}
		}
		if got := strings.Join(out, " "); got != c.want {
			t.Errorf("%s: %s: refuses %q, want %q", c.name, c.content, got, c.want)
		}
	}
}

func TestDates(t *testing.T) { // REP 2 (X24): a date that cannot be parsed is treated as passed
	want := time.Date(2027, 1, 31, 15, 0, 0, 0, time.UTC)
	for _, in := range []string{"2027-01-31T15:00:00Z", "2027-01-31t15:00:00z", "2027-01-31T16:00:00+01:00",
		"Sun, 31 Jan 2027 15:00:00 GMT",
		"sunday, 31-jan-27 15:00:00 utc", "31 Jan 2027 10:00:00 EST", "31  Jan\n2027 07:00:00 PST", "2027-01-31 15:00",
		"2027-01-31 15:00:00 UTC",
		"@1801407600", "Sun Jan 31 15:00:00 2027"} {
		if got, err := readDate(in); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v %v", in, got, err)
		}
	}
	for _, in := range []string{"", "soon", "31/01/2027", "@", "@99999999999999999999", "@9999999999999999"} {
		if got, err := readDate(in); err == nil {
			t.Errorf("%q is read as %v", in, got)
		}
	}
	for _, value := range []string{"*; unavailable_after=@1801407600", "*; unavailable_after=\"2027-01-31T15:00:00Z\"",
		"*; unavailable_after=\"Sun, 31 Jan 2027 15:00:00 GMT\"", "*; unavailable_after=2027-01-31T15:00:00Z, " +
			"otherbot; noindex",
		"*; unavailable_after=Sun, 31 Jan 2027 15:00:00 GMT; max-snippet=7"} {
		d := policyOf(searchbot, "").Narrow(page(tag("Robots-Tag", value))).Decide(Index, resource(t, "/a.html"))
		if l := d.Limits(Facts{Now: noon}); !l.Until.Equal(want) {
			t.Errorf("%s: until %v (%s)", value, l.Until, d.Why())
		}
	}
}

// RTAG 3.1.1 (X25): the first 16 KiB of a header are read, and a rule that is cut there is dropped
func TestHeaderLimitIsJoined(t *testing.T) {
	long := strings.Repeat("x, ", maxHeader/3-10)
	if got := refused(t, page(tag("X-Robots-Tag", long), tag("X-Robots-Tag", "noarchive, "+strings.Repeat("nofollow",
		10)), tag("X-Robots-Tag", "noindex"),
		tag("Robots-Tag", "*;nosnippet"))); got != "snippet copy" {
		t.Errorf("refuses %q", got)
	}
}

func TestCaps(t *testing.T) { // If several tags contain max-snippet, the smallest number is the limit.
	p := policyOf(searchbot, "ACAP-crawler: *\nACAP-allow-present-snippet: / max-length=30-chars").Narrow(
		page(tag("robots", "max-snippet:50"), tag("X-Robots-Tag", "max-snippet: 20"),
			tag("Robots-Tag", "*;max-snippet=40")))
	l := p.Decide(PresentSnippet, resource(t, "/a.html")).Limits(Facts{Now: noon})
	if l.MaxChars == nil || *l.MaxChars != 20 {
		t.Errorf("%+v", l)
	}
	if l := p.Decide(Index, resource(t, "/a.html")).Limits(Facts{Now: noon}); !l.Empty() {
		t.Errorf("%+v", l)
	}
}

// REP 2 (X91): the date of unavailable_after ends at a comma before the name of a rule
func TestWhereADateEnds(t *testing.T) {
	for in, want := range map[string]string{
		"2031-01-01, notranslate":                        "2031-01-01",
		"2031-01-01,notranslate":                         "2031-01-01",
		": 2031-01-01 ,  x-rule: 5":                      "2031-01-01",
		"Wed, 01 Jan 2031 00:00:00 GMT, notranslate":     "Wed, 01 Jan 2031 00:00:00 GMT",
		"Wednesday, 01-Jan-31 00:00:00 GMT":              "Wednesday, 01-Jan-31 00:00:00 GMT",
		"January 2, 2031, foo":                           "January 2, 2031",
		"25 Jun 2031 15:00:00, PST":                      "25 Jun 2031 15:00:00, PST",
		"2031-01-01, 2032-01-01":                         "2031-01-01, 2032-01-01",
		"2031-01-01 noindex":                             "2031-01-01",
		"2031-01-01 notranslate":                         "2031-01-01 notranslate",
		"2031-01-01; foo":                                "2031-01-01",
		"\"Wed, 01 Jan 2031 00:00:00 GMT\", notranslate": "Wed, 01 Jan 2031 00:00:00 GMT",
		"": "", ",": "", ", notranslate": "",
	} {
		if got, end := ruleDate(in, 0); got != want || end > len(in) {
			t.Errorf("%q: %q, ends at %d", in, got, end)
		}
	}
}

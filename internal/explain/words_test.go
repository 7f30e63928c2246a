package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

func TestReasonsHaveWords(t *testing.T) {
	seen := map[string]acap.Reason{}
	for _, r := range []acap.Reason{acap.ByPermission, acap.ByProhibition, acap.ByDefault, acap.ByOther,
		acap.ByConflict, acap.ByFallback, acap.ByExpiry,
		acap.ByLocation, acap.ByTarget, acap.Conventional, acap.ByHeader, acap.ByMeta, acap.Unavailable,
		acap.Unfulfillable} {
		words := Reason(acap.Decision{Reason: r, Note: "note of " + string(r)})
		if other, twice := seen[words]; twice || !strings.Contains(words, "note of "+string(r)) {
			t.Errorf("%s: %q, as %q", r, words, other)
		}
		seen[words] = r
	}
}

func TestRedirectReason(t *testing.T) {
	for note, want := range map[string]string{
		"it redirects to http://a.example/": "this prohibition decides (it redirects to http://a.example/)",
		"its credit is missing":             "this permission cannot be complied with (its credit is missing)",
	} {
		if got := Reason(acap.Decision{Reason: acap.ByProhibition, Note: note}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func iso(t time.Time) string { return t.Format(time.RFC3339) }

func TestLimitWords(t *testing.T) {
	n := 20
	got := LimitWords(acap.Limits{Until: time.Date(2026, 1, 8, 0, 0, 0, 0, time.UTC), UntilRecrawled: true,
		MaxChars: &n, MaxWords: &n,
		MustUse: []string{"a"}, MustInclude: []string{"b", "c"}, ProhibitedModification: []string{"d"},
		ProhibitedContext: []string{"e"},
		RequiredContext:   []string{"f"}, Target: []string{"g"}, Location: []string{"h"}, UsageRef: []string{"i"}}, iso)
	if len(got) != 13 || got[0] != "until 2026-01-08T00:00:00Z" || !strings.HasSuffix(got[6], " c") {
		t.Errorf("%q", got)
	}
	if got := LimitWords(acap.Limits{}, iso); got != nil {
		t.Errorf("no limits: %q", got)
	}
}

// TestRequiredWords checks the words for resources that must be used or shown, without characters that control a
// terminal, for contexts and for conditions on the reader.
func TestRequiredWords(t *testing.T) {
	for _, c := range []struct {
		limits acap.Limits
		want   string
	}{
		{acap.Limits{MustInclude: []string{"the-acap:credit:text:Ida%20Marsh%2C%20Quay"}},
			"shown only with a credit: Ida Marsh, Quay"},
		{acap.Limits{MustInclude: []string{"the-acap:license-link:http://quay.example/l%20x"}},
			"shown only with a licence: http://quay.example/l%20x"},
		{acap.Limits{MustInclude: []string{"the-acap:extract:id:by%20line"}},
			"shown only with an extract: the element with the id by line"},
		{acap.Limits{MustInclude: []string{"the-acap:credit:text:a%1b[31m%0Ab%zz"}},
			"shown only with a credit: a%1b[31m%0Ab%zz"},
		{acap.Limits{MustInclude: []string{"the-acap:credit:text:a%1b[31m%0Ab"}},
			"shown only with a credit: a\ufffd[31m\ufffdb"},
		{acap.Limits{MustInclude: []string{"the-acap:registration-link:/join"}},
			"shown only with a registration link: /join"},
		{acap.Limits{MustInclude: []string{"the-acap:credit:meta:author"}},
			"shown only with a credit: the tag META author"},
		{acap.Limits{MustUse: []string{"the-acap:extract:classlist:lead,sum%20up"}},
			"made only from the elements of class lead, sum up"},
		{acap.Limits{MustUse: []string{"the-acap:text:All%20rights"}}, "made only from the text “All rights”"},
		{acap.Limits{MustUse: []string{"http://quay.example/short"}}, "made only from http://quay.example/short"},
		{acap.Limits{UsageRef: []string{"the-acap:terms-link:/terms"}}, "terms of other uses: /terms"},
		{acap.Limits{ProhibitedContext: []string{"within-user-frame"}}, "not within a frame of the archive"},
		{acap.Limits{RequiredContext: []string{"within-user-frame"}}, "only within a frame of the archive"},
		{acap.Limits{RequiredContext: []string{"within-original-frame"}},
			"only within what surrounds it on its own site"},
		{acap.Limits{Target: []string{"permittedcountrylist:gb,ie"}}, "only for readers in GB, IE"},
		{acap.Limits{Target: []string{"prohibitedcountrylist:gb"}}, "not for readers in GB"},
		{acap.Limits{Target: []string{"permitteddomainlist:a.example,b.example"}},
			"only for readers in the domains a.example, b.example"},
		{acap.Limits{Target: []string{"prohibiteddomainlist:a.example"}}, "not for readers in the domains a.example"},
		{acap.Limits{Target: []string{"ipaddressrangelist:192.0.2.1-192.0.2.9"}},
			"only for readers with an IP address in 192.0.2.1-192.0.2.9"},
		{acap.Limits{Target: []string{"ipaddressmasklist:10.1.1.0/0.0.0.255"}},
			"only for readers with an IP address that matches 10.1.1.0/0.0.0.255"},
	} {
		if got := LimitWords(c.limits, iso); len(got) != 1 || got[0] != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestPlace(t *testing.T) {
	const asked = "https://a.example/x"
	for _, c := range []struct {
		field       acap.Field
		want, words string
	}{
		{acap.Field{Source: acap.Robots, URL: "https://a.example/robots.txt", Line: 3, Column: 1}, "/robots.txt:3:1",
			"robots.txt, line 3"},
		{acap.Field{Source: acap.Referred, URL: "https://b.example/t.txt", Line: 3, Column: 2},
			"https://b.example/t.txt:3:2", "https://b.example/t.txt, line 3"},
		{acap.Field{Source: acap.Header, URL: "https://a.example/x", Line: 1, Column: 1}, "/x: header",
			"a header of the page"},
		{acap.Field{Source: acap.Meta, URL: "https://a.example/x", Line: 2, Column: 9}, "/x:2:9", "the page, line 2"},
		{acap.Field{Source: acap.Meta, URL: "https://a.example/x?y"}, "/x?y", "x?y"},
		{acap.Field{Source: acap.Request, URL: "https://a.example", Line: 3}, "request 3", "request 3"},
	} {
		if got, words := Place(&c.field, asked), PlaceWords(&c.field, asked); got != c.want || words != c.words {
			t.Errorf("%q and %q, want %q and %q", got, words, c.want, c.words)
		}
	}
}

package acap

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

const vocabularyURI = "http://ns.useplus.org/ldf/vocab/"

// pictured returns the statements of an image with the licence terms t.
func pictured(t Plus) Own { return Own{URL: "http://example.com/a.jpg", Plus: &t} }

func TestPlusFillsIn(t *testing.T) {
	day := func(s string) time.Time { at, _ := time.Parse(time.RFC3339, s); return at }
	one := func(s ...string) []string { return s }
	field := func(qualifiers string) string {
		return lines("ACAP-version: 1.1", "ACAP-crawler: *", "ACAP-allow-present: / "+qualifiers)
	}
	all := "time-limit=plus-terms must-include-resource=plus-terms prohibited-modification=plus-terms"
	for _, c := range []struct {
		reading, qualifiers string
		terms               Plus
		want                *Limits // nil if the permission is treated as a prohibition
	}{
		{"X03", "time-limit=plus-terms", Plus{EndDate: one("2026-03-31")}, &Limits{Until: day("2026-04-01T00:00:00Z")}},
		{"X03", "time-limit=PLUS-Terms", Plus{EndDate: one(" 2026-03-31 ", "2026-03-31")},
			&Limits{Until: day("2026-04-01T00:00:00Z")}},
		{"X03", "time-limit=plus-terms", Plus{EndDate: one("2026-03-31T10:00:00.5Z")},
			&Limits{Until: day("2026-03-31T10:00:00.5Z")}},
		{"X03", "time-limit=plus-terms", Plus{EndDate: one("2026-03-31T10:00-05:00")},
			&Limits{Until: day("2026-03-31T15:00:00Z")}},
		{"X32", "time-limit=plus-terms", Plus{EndDate: one("2026-03-31", "2026-04-01")}, nil},
		{"X32", "time-limit=plus-terms", Plus{EndDate: one("", "2026-04-01")}, nil},
		{"X32", "time-limit=plus-terms", Plus{EndDate: one("2026")}, nil},
		{"X32", "time-limit=plus-terms", Plus{EndDate: one("2026:03:31 10:00:00")}, nil},
		{"X32", "time-limit=plus-terms", Plus{CreditLine: one("CR-NRQ")}, nil},
		{"X32", "must-include-resource=plus-terms", Plus{CreditLine: one("CR-NRQ")}, &Limits{}},
		{"X32", "must-include-resource=plus-terms", Plus{CreditLine: one(vocabularyURI + "cr-nrq"), Credit: one("A")},
			&Limits{}},
		{"X32", "must-include-resource=plus-terms", Plus{CreditLine: one("CR-CAI"), Credit: one("A", "A", " B ")},
			&Limits{MustInclude: one("the-acap:credit:text:A%2C%20B")}},
		{"X32", "must-include-resource=plus-terms", Plus{CreditLine: one("CR-CAI"), Credit: one(" \n"),
			Owners: one("C"), Licensors: one("D")}, &Limits{MustInclude: one("the-acap:credit:text:C")}},
		{"X32", "must-include-resource=plus-terms", Plus{CreditLine: one("CR-CAI"), Licensors: one("D")},
			&Limits{MustInclude: one("the-acap:credit:text:D")}},
		{"X32", "must-include-resource=plus-terms", Plus{CreditLine: one("CR-CAI"),
			Credit: one(strings.Repeat("x", maxCredit+1)), Owners: one("C")}, nil},
		{"X32", "must-include-resource=plus-terms", Plus{CreditLine: one("CR-CAI")}, nil},
		{"X32", "must-include-resource=plus-terms", Plus{Credit: one("A")}, nil},
		{"X32", "must-include-resource=plus-terms", Plus{CreditLine: one("CR-CAI", "CR-NRQ"), Credit: one("A")}, nil},
		{"X32", "prohibited-modification=plus-terms", Plus{Alterations: one("AL-MRG", "AL-CRP"),
			Files: one("IF-MFN", "IF-MFT")}, &Limits{ProhibitedModification: one("appearance", "content", "structure",
			"format")}},
		{"X32", "prohibited-modification=plus-terms", Plus{Alterations: one("AL-")}, nil},
		{"X32", "prohibited-modification=plus-terms", Plus{Alterations: one("CR-CAI")}, nil},
		{"X32", "prohibited-modification=plus-terms", Plus{Files: one("IF-MMD")}, nil},
		{"X32", "prohibited-modification=plus-terms", Plus{Alterations: one("AL-CRP", "http://example.com/AL-FLP")},
			nil},
		{"K01", "prohibited-modification=any prohibited-modification=plus-terms", Plus{Alterations: one("AL-CRP")},
			&Limits{ProhibitedModification: one("any")}},
		{"K01", "prohibited-modification=any prohibited-modification=plus-terms", Plus{}, nil},
		{"X32", all, Plus{EndDate: one("2026-03-31"), CreditLine: one("CR-COI"), Credit: one("A"),
			Alterations: one("AL-DCL")},
			&Limits{Until: day("2026-04-01T00:00:00Z"), MustInclude: one("the-acap:credit:text:A"),
				ProhibitedModification: one("appearance")}},
		{"X32", all, Plus{EndDate: one("2026-03-31"), CreditLine: one("CR-NRQ")}, nil},
	} {
		p := policyOf(searchbot, field(c.qualifiers))
		r := resource(t, "/a.jpg")
		if d := p.Decide(PresentOriginal, r); d.Allowed || d.Reason != ByFallback {
			t.Errorf("%s %s: before the image is known: %s", c.reading, c.qualifiers, d.Why())
		}
		d := p.Narrow(pictured(c.terms)).Decide(PresentOriginal, r)
		switch {
		case c.want == nil && (d.Allowed || d.Reason != ByFallback || d.Because.Line != 3):
			t.Errorf("%s %s with %+v: %s", c.reading, c.qualifiers, c.terms, d.Why())
		case c.want != nil && (!d.Allowed || !reflect.DeepEqual(d.Limits(Facts{Now: noon}), *c.want)):
			t.Errorf("%s %s with %+v: %s, %+v", c.reading, c.qualifiers, c.terms, d.Why(), d.Limits(Facts{Now: noon}))
		}
	}
}

func TestPlusCreditIsText(t *testing.T) {
	p := policyOf(searchbot, lines("ACAP-version: 1.1", "ACAP-crawler: *", "ACAP-allow-present: / "+
		"must-include-resource=plus-terms"))
	d := p.Narrow(pictured(Plus{CreditLine: []string{"CR-CAI"}, Credit: []string{"Ida Marsh / Lantern"}})).Decide(
		PresentThumbnail, resource(t, "/a.jpg"))
	if got := d.MustInclude(); len(got) != 1 || got[0].Role != "credit" || !got[0].IsText ||
		got[0].Text != "Ida Marsh / Lantern" || got[0].Field.Line != 3 {
		t.Fatalf("%+v", got)
	}
}

// The licence terms of one image do not change decisions on other resources of the same origin.
func TestPlusLeavesTheOriginAlone(t *testing.T) {
	terms := pictured(Plus{EndDate: []string{"2026-03-31"}})
	r := resource(t, "/a.jpg")
	plain := policyOf(searchbot, lines("ACAP-version: 1.1", "ACAP-crawler: *", "ACAP-allow-index: / time-limit=3-days"))
	if plain.Narrow(terms) != plain {
		t.Error("nothing waits for the image, and the policy is another one")
	}
	fields := []string{"ACAP-version: 1.1", "ACAP-crawler: *", "ACAP-disallow-index: /"}
	for range 40 { // many patterns, so that a lookup is used
		fields = append(fields, "ACAP-allow-index: /pictures/"+strings.Repeat("x", len(fields))+
			" time-limit=plus-terms")
	}
	p := policyOf(searchbot, lines(append(fields, "ACAP-allow-index: /*.jpg time-limit=plus-terms")...))
	before := p.Decide(Index, r)
	if d := p.Narrow(pictured(Plus{Alterations: []string{"AL-CRP"}})).Decide(Index, r); !reflect.DeepEqual(d, before) {
		t.Error("terms that nobody waits for change a decision")
	}
	for range 2 {
		if d := p.Narrow(terms).Decide(Index, r); !d.Allowed {
			t.Error(d.Why())
		}
	}
	if d := p.Decide(Index, r); !reflect.DeepEqual(d, before) || d.Allowed {
		t.Errorf("%s, before %s", d.Why(), before.Why())
	}
	if Unreachable("http://example.com/robots.txt", "503").Narrow(terms).Decide(Index, r).Allowed {
		t.Error("an image permits where nothing can be read")
	}
}

// The licence terms of an image do not complete statements in META tags, because META tags are
// about an HTML page.
func TestPlusIsNotForPages(t *testing.T) {
	own := page(tag("robots", "ACAP version 1.1"), tag("robots", "ACAP allow-index time-limit=plus-terms"))
	own.Plus = &Plus{EndDate: []string{"2026-03-31"}}
	if d := policyOf(searchbot, "").Narrow(own).Decide(Index, resource(t, "/a.html")); d.Allowed ||
		d.Reason != ByFallback {
		t.Error(d.Why())
	}
}

func TestPlusIsKept(t *testing.T) {
	own := pictured(Plus{EndDate: []string{"2026-03-31"}, CreditLine: []string{"CR-CAI"}, Credit: []string{"A"},
		Files: []string{"IF-MMD"}})
	b, err := json.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	var back Own
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(own, back) {
		t.Errorf("%s, %v", b, err)
	}
	if b, _ := json.Marshal(Own{URL: "http://example.com/"}); strings.Contains(string(b), "Plus") {
		t.Errorf("%s", b)
	}
}

func FuzzPlus(f *testing.F) {
	all := "time-limit=plus-terms must-include-resource=plus-terms prohibited-modification=plus-terms"
	f.Add("/ "+all, "2026-03-31", vocabularyURI+"CR-CAI", "A", vocabularyURI+"AL-CRP")
	f.Add("/*.jpg time-limit=plus-terms", "0000-01-01T00:00+14:00", "CR-NRQ", "\xff\x00", "AL-CLR")
	f.Add("/ prohibited-modification=plus-terms prohibited-modification=any", "9999-12-31", "", "", "IF-MMD")
	f.Fuzz(func(t *testing.T, rest, end, line, credit, alteration string) {
		origin := policyOf(searchbot, lines("ACAP-version: 1.1", "ACAP-crawler: *", "ACAP-allow-present: "+rest,
			"ACAP-allow-index: "+rest))
		p := origin.Narrow(pictured(Plus{EndDate: []string{end}, CreditLine: []string{line}, Credit: []string{credit},
			Alterations: []string{alteration}}))
		r := resource(t, "/a.jpg")
		checkPolicy(t, origin, r)
		checkPolicy(t, p, r)
		for _, u := range Usages() {
			was, is := origin.Decide(u, r), p.Decide(u, r)
			if was.Allowed && !is.Allowed {
				t.Errorf("%s: terms that are met prohibit: %s", u, is.Why())
			}
			if !was.Allowed && is.Allowed && is.Reason != ByPermission {
				t.Errorf("%s: terms that are met lead to %s", u, is.Why())
			}
			l := is.Limits(Facts{Now: noon})
			if _, err := json.Marshal(l); err != nil && is.At(Facts{Now: noon}).Allowed {
				t.Errorf("%s: %v", u, err)
			}
			for _, v := range l.MustInclude {
				if strings.ContainsAny(v, " \"'\n") {
					t.Errorf("%s: value %q", u, v)
				}
			}
		}
	})
}

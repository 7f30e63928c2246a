package view

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/conformance"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// TestExplainCorpus pastes the texts of the conformance cases. Each answer and each deciding line must be
// that of the engine.
func TestExplainCorpus(t *testing.T) {
	samples, err := conformance.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	compared, who := 0, &stored{}
	h := explorer(t, who)
	for _, s := range samples {
		fields, ok := pastedCase(s.Case)
		if !ok {
			continue
		}
		want := *s.Case
		want.Usages, want.Want = append(acap.Usages(), acap.NewerUsages()...), nil
		answer, err := conformance.Decide(t.Context(), &want)
		if err != nil {
			t.Fatal(err)
		}
		who.who = caseCrawler(t, s.Case)
		w := paste(t, h, fields)
		got, rows := answersOf(w.Body.String())
		if w.Code != 200 {
			t.Errorf("%s: %d %s", s.Name, w.Code, w.Body)
			continue
		}
		for u, d := range answer.Decisions {
			compared++
			if (got[u] == "allowed" || got[u] == "unknown") != d.Allowed ||
				(got[u] == "needs an agreement") != (d.Reason == acap.ByAgreement) {
				t.Errorf("%s: %s is %s, want %+v", s.Name, u, got[u], d)
			}
			if b := d.Because; b != nil && b.Source == acap.Robots &&
				!strings.Contains(rows[u], fmt.Sprintf(", line %d</a>", b.Line)) {
				t.Errorf("%s: %s is not decided by line %d: %s", s.Name, u, b.Line, rows[u])
			}
		}
	}
	if compared < 5000 {
		t.Errorf("only %d answers were compared", compared)
	}
}

// pastedCase returns the fields of a form for a case, if its texts can be pasted: a robots.txt and perhaps
// the page, without a history.
func pastedCase(c *conformance.Case) (map[string]string, bool) {
	u, err := url.Parse(c.URL)
	if err != nil || c.Held != nil || c.Facts.Now == nil || c.Facts.FirstCrawled != nil ||
		c.Facts.FirstIndexed != nil ||
		c.Facts.FirstPreserved != nil || c.Facts.FirstPresented != nil || c.Facts.Recrawled {
		return nil, false
	}
	fields := map[string]string{"url": c.URL, "as_of": c.Facts.Now.Format(time.RFC3339Nano), "reader_ip": c.Target.IP,
		"reader_domain": c.Target.Domain, "reader_country": c.Target.Country}
	for at, r := range c.Web {
		if r.Status != nil && *r.Status != 200 || r.Error != "" || r.Body == nil || !utf8.ValidString(*r.Body) {
			return nil, false
		}
		switch at {
		case u.Scheme + "://" + u.Host + "/robots.txt":
			fields["robots"] = *r.Body
		case c.URL:
			fields["page"] = *r.Body
			for _, name := range slices.Sorted(maps.Keys(r.Header)) {
				for _, value := range r.Header[name] {
					fields["headers"] += name + ": " + value + "\n"
				}
			}
			if strings.Contains(strings.ToLower(fields["headers"]), "content-type") {
				return nil, false // of other types than a form can contain
			}
		default:
			return nil, false
		}
	}
	return fields, strings.TrimSpace(fields["robots"]) != ""
}

// caseCrawler returns the crawler of a case.
func caseCrawler(t *testing.T, c *conformance.Case) acap.Crawler {
	t.Helper()
	who := acap.Crawler{Names: c.Crawler, Cannot: c.Cannot, Strict: c.Strict, Pilot: c.Dialect == "pilot"}
	if c.Crawler == nil {
		who.Names = []string{"acapcrawl"}
	}
	if c.Purposes != nil {
		who.Purposes = append([]string{}, *c.Purposes...)
	}
	names := preference.Names()
	if c.Preferences != nil {
		names = *c.Preferences
	}
	off := func(b *bool) bool { return b != nil && !*b }
	var err error
	who.Vocabularies, err = preference.Vocabularies(names, preference.Settings{UseOff: off(c.ContentSignalUse),
		TDMOnly: off(c.TDMRepCoversAI), OperatorKind: c.OperatorKind, OperatorCountry: c.OperatorCountry})
	if err != nil {
		t.Fatal(err)
	}
	return who
}

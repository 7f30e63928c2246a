package view

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/preference"
	"github.com/acapcrawl/acapcrawl/internal/test/stock"
	"github.com/acapcrawl/acapcrawl/page"
)

// explainedRobots is a robots.txt with lines that decide, limit and lose.
const explainedRobots = "ACAP-crawler: *\nACAP-disallow-index: /a\nACAP-allow-index: /\n" +
	"ACAP-allow-preserve: / time-limit=3-days\nACAP-crawler: searchbot\nACAP-disallow-crawl: /\n" +
	"User-agent: *\nContent-Signal: ai-train=no\nAllow: /\n"

// TestAPIExplain checks decisions, fields and limits, and what parameters select.
func TestAPIExplain(t *testing.T) {
	a := newAPI(t)
	ask := func(more string) (out explain.Report) {
		t.Helper()
		w := a.ask(Visitor{}, "/api/v1/explain?"+about("/a")+more, 200)
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	all := ask("&all=true")
	index := all.Decisions[acap.Index]
	if len(all.Decisions) != 18 || all.Policy != "read" || all.URL != stock.Site+"/a" || index.Allowed ||
		index.Because.Line != 2 || index.Because.SourceLine != "ACAP-disallow-index: /a" || len(index.Against) != 1 ||
		index.Against[0].Line != 3 || index.Against[0].Over.Line != 2 {
		t.Errorf("%+v", all)
	}
	if len(all.Decisions[acap.Crawl].Elsewhere) == 0 {
		t.Error("no line about another crawler is listed")
	}
	some := ask("&usage=preserve&usage=train-ai")
	if until := some.Decisions[acap.Preserve].Limits.Until; len(some.Decisions) != 2 || until.IsZero() ||
		some.Decisions[acap.Preserve].LimitedBy[0].Line != 4 {
		t.Errorf("%+v", some)
	}
	if d := ask("&crawler=searchbot&usage=crawl").Decisions[acap.Crawl]; d.Allowed || d.Because.Line != 6 {
		t.Errorf("%+v", d)
	}
	if d := ask("&cannot=preserve&usage=preserve&strict=true&purpose=&as_of=2030-01-01T00:00:00Z" +
		"&reader_ip=192.0.2.1&reader_country=be&reader_domain=host.example.").Decisions; len(d) != 1 {
		t.Errorf("%+v", d)
	}
	asked := a.o.Explainer.(*stored).asked
	q := asked[len(asked)-1]
	if q.Crawler.Purposes == nil || len(q.Crawler.Purposes) > 0 || !q.Crawler.Strict || q.Reader.Country != "BE" ||
		!slices.Equal(q.Crawler.Cannot, []string{"preserve"}) || q.Reader.Domains[0] != "host.example" ||
		!q.AsOf.Equal(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", q)
	}
	ask("&for=train-ai&for=tdm&preferences=rsl&preferences=noai&dialect=pilot")
	asked = a.o.Explainer.(*stored).asked
	q = asked[len(asked)-1]
	if v := q.Crawler.Vocabularies; len(v) != 2 || v[0].Name() != "rsl" || v[1].Name() != "noai" || !q.Crawler.Pilot ||
		!slices.Equal(q.Crawler.For, []acap.Usage{acap.TrainAI, acap.TDM}) {
		t.Errorf("%+v", q.Crawler)
	}
	if p := problem(t, a.ask(Visitor{}, "/api/v1/explain?url=http://never.example/", 404)); p.Code != "never-read" {
		t.Errorf("%+v", p)
	}
	for _, bad := range []string{"&usage=Index", "&cannot=reading", "&as_of=2030-01-01", "&page=true", "&robots=x",
		"&preferences=rsl&preferences=none", "&for=all",
		"&reader_country=Belgium", "&crawler=" + strings.Repeat("x", 1001)} {
		a.ask(Visitor{}, "/api/v1/explain?"+about("/a")+bad, 400)
	}
	for bad, want := range map[string]string{
		"&reader_country=Belgium": "The parameter reader_country must be a country code of two letters, such as BE, " +
			"not \"Belgium\".",
		"&reader_domain=a/b": "The parameter reader_domain must be a domain name, such as host.example.com, " +
			"not \"a/b\".",
	} {
		if p := problem(t, a.ask(Visitor{}, "/api/v1/explain?"+about("/a")+bad, 400)); p.Detail != want {
			t.Errorf("%s: %s", bad, p.Detail)
		}
	}
}

// TestAPIExplainPage checks that a report contains no line of the archived page.
func TestAPIExplainPage(t *testing.T) {
	a := newAPI(t)
	a.o.Explainer.(*stored).page = page.New([]page.Hop{{URL: stock.Site + "/b", Method: "GET", Status: 200,
		Header: map[string][]string{"Content-Type": {"text/html"}},
		Body:   []byte(`<meta name="robots" content="ACAP disallow-index"><p>Secret text.`)}})
	w := a.ask(Visitor{}, "/api/v1/explain?usage=index&"+about("/b"), 200)
	if strings.Contains(w.Body.String(), "Secret") || !strings.Contains(w.Body.String(), `"source":"meta"`) {
		t.Errorf("%s", w.Body)
	}
}

// TestAPINames checks that the document lists all usages and what a crawler may not be able to interpret.
func TestAPINames(t *testing.T) {
	a := newAPI(t)
	op := a.Handler.document.Paths["/api/v1/explain"]["get"]
	var usages []string
	for _, u := range append(acap.Usages(), acap.NewerUsages()...) {
		usages = append(usages, string(u))
	}
	if got := op.find("usage").Schema.Items.Enum; !slices.Equal(got, usages) {
		t.Errorf("usages: %v", got)
	}
	if got := op.find("cannot").Schema.Items.Enum; !slices.Equal(got, acap.Capabilities()) {
		t.Errorf("cannot: %v", got)
	}
	if got := op.find("preferences").Schema.Items.Enum; !slices.Equal(got, append(preference.Names(), "none")) {
		t.Errorf("preferences: %v", got)
	}
}

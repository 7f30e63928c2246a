package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/test/pagecheck"
	"github.com/acapcrawl/acapcrawl/site"
)

// The report as HTML is valid, also if it is empty, and what comes from sites is only text there.
func TestStatsPage(t *testing.T) {
	hostile := `<script>alert(1)</script>" onload="x` + "\x1b[31m"
	when := time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC)
	full := site.Stats{Data: "d", Made: when, Crawler: []string{"acapcrawl"}, Indexed: 3,
		Sites: []site.SiteStats{{Site: "https://" + hostile, Pages: 1, Captures: 2, Unreachable: 1, First: when,
			Last: when}},
		Months:   []site.MonthStats{{Month: "2026-10", Captures: 1, Bytes: 10}, {Month: "2026-11", Captures: 3000}},
		Refusals: []site.ReasonStats{{Usage: "crawl", Why: "prohibited by " + hostile, Addresses: 3, Example: hostile}},
		Failures: []site.ReasonStats{{Why: hostile, Addresses: 1, Example: hostile}},
		Erased:   []archive.Erasure{{Reason: archive.ReasonForgotten, Copies: 1, Pages: 1, Line: hostile}},
		Jobs: map[string]site.JobRun{"news": {Ended: when, Error: hostile}, "new": {},
			"cut": {Ended: when, Summary: crawler.Summary{Fetched: 1}}}}
	pages := map[string]string{}
	for name, s := range map[string]site.Stats{"full": full, "empty": {Data: "d"}} {
		var b bytes.Buffer
		if err := printStatsPage(&b, s); err != nil {
			t.Fatal(err)
		}
		pages[name] = b.String()
		if strings.Contains(b.String(), "<script") || strings.Contains(b.String(), "\x1b") {
			t.Errorf("%s has markup of a site", name)
		}
	}
	if n := strings.Count(pages["full"], "&lt;script&gt;"); n != 7 {
		t.Errorf("%d texts of the site are shown", n)
	}
	for _, want := range []string{"<li>cut: 1 page fetched, 2027-01-02, interrupted</li>",
		"<li>new: no crawl has ended</li>", "<b>3</b> pages in the index", "<b>1</b> site<"} {
		if !strings.Contains(pages["full"], want) {
			t.Errorf("%s is missing", want)
		}
	}
	for month, want := range map[string]string{"2026-10": `value="1"`, "2026-11": `value="100"`} {
		_, row, _ := strings.Cut(pages["full"], month)
		if row, _, _ = strings.Cut(row, "</tr>"); !strings.Contains(row, want) {
			t.Errorf("the row of %s is %s", month, row)
		}
	}
	t.Run("html-validate", func(t *testing.T) { pagecheck.Validate(t, pages) })
}

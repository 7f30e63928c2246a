package holdings

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/page"
)

const modified = "Mon, 05 Jan 2026 12:00:00 GMT"

// fields returns a header with the given pairs of name and value. If no Content-Type is given, it
// is HTML.
func fields(pairs ...string) http.Header {
	h := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// unmodified returns a 304 response for the last of urls; the other urls redirect to the next.
func unmodified(h http.Header, urls ...string) *page.Page {
	h.Del("Content-Type")
	return pageWith(h, http.StatusNotModified, "", urls...)
}

func truncated(pg *page.Page) *page.Page {
	hops := slices.Clone(pg.Hops())
	hops[len(hops)-1].Truncated = true
	return page.New(hops)
}

func TestCondition(t *testing.T) {
	tagged := pageWith(fields("ETag", `"1"`), 200, article, a)
	both := http.Header{"If-None-Match": {`"1"`}, "If-Modified-Since": {modified}}
	tag := http.Header{"If-None-Match": {`"1"`}}
	for _, c := range []struct {
		name          string
		robots, later string // robots is the policy until the page was received; later is the policy after that
		pages         []*page.Page
		o             Options
		address       string
		want          http.Header
	}{
		{name: "both validators", pages: []*page.Page{pageWith(fields("ETag", `"1"`, "Last-Modified", modified), 200,
			article, a)}, want: both},
		{name: "a date alone", pages: []*page.Page{pageWith(fields("Last-Modified", modified), 200, article, a)},
			want: http.Header{"If-Modified-Since": {modified}}},
		{name: "a date that is none",
			pages: []*page.Page{pageWith(fields("Last-Modified", "yesterday"), 200, article, a)}},
		{name: "none", pages: []*page.Page{pageOf(article, a)}},
		{name: "never received", pages: nil},
		{name: "the last answer counts", pages: []*page.Page{tagged, pageOf(article+"!", a)}},
		{name: "truncated", pages: []*page.Page{truncated(tagged)}},
		{name: "gone", pages: []*page.Page{tagged, answer(404, a)}},
		{name: "an answer that is no page", pages: []*page.Page{tagged, answer(403, a)}, want: tag},
		{name: "an alias", pages: []*page.Page{tagged, pageWith(fields("ETag", `"2"`), 200, article, a, b)}},
		{name: "what an alias leads to", pages: []*page.Page{pageWith(fields("ETag", `"1"`), 200, article, a, b)},
			address: b, want: tag},
		{name: "parts of it could not be kept",
			pages: []*page.Page{pageWith(fields("ETag", `"1"`), 200, article+
				`<b class="the-acap:disallow-preserve">x</b>`, a)}},
		{name: "shells of it were kept", pages: []*page.Page{pageWith(fields("ETag", `"1"`), 200,
			`<html><head></head><body><div class="the-acap:disallow-preserve">`+
				`<p class="the-acap:allow-preserve">Open</p>shut</div></body></html>`, a)}},
		{name: "parts of it cannot be indexed",
			pages: []*page.Page{pageWith(fields("ETag", `"1"`), 200, article+`<b class="the-acap:disallow-index">x</b>`,
				a)}, want: tag},
		{name: "preserve was prohibited", robots: "ACAP-disallow-preserve: /", pages: []*page.Page{tagged}},
		{name: "preserve is prohibited", later: "ACAP-disallow-preserve: /", pages: []*page.Page{tagged}},
		{name: "preserve has ended", later: "ACAP-allow-preserve: / time-limit=until-2020-01-01",
			pages: []*page.Page{tagged}},
		{name: "until it is crawled again", robots: "ACAP-allow-preserve: / time-limit=until-recrawled",
			later: "ACAP-allow-preserve: / time-limit=until-recrawled",
			pages: []*page.Page{tagged}, want: tag},
		{name: "index is prohibited", later: "ACAP-disallow-index: /", pages: []*page.Page{tagged}, want: tag},
		{name: "taken down", later: "ACAP-request-take-down: /a", pages: []*page.Page{tagged}},
		{name: "noarchive", pages: []*page.Page{pageWith(fields("ETag", `"1"`, "X-Robots-Tag", "noarchive"), 200,
			article, a)}, want: tag},
		{name: "no copies", pages: []*page.Page{tagged}, o: Options{NoPreserve: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(c.robots), c.o)
			for _, pg := range c.pages {
				s.receive(pg)
			}
			s.web.says(c.later)
			if c.address == "" {
				c.address = a
			}
			got := s.Condition(c.address)
			if len(got) != len(c.want) || got.Get("If-None-Match") != c.want.Get("If-None-Match") ||
				got.Get("If-Modified-Since") != c.want.Get("If-Modified-Since") {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestConditionByOptions checks that no conditional request is made for a copy that could not be
// stored under the options of this run.
func TestConditionByOptions(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newWeb(""), Options{})
	s.receive(pageWith(fields("ETag", `"1"`, "X-Robots-Tag", "noarchive"), 200, article, a))
	for _, o := range []Options{{NoArchive: true}, {NoPreserve: true}} {
		s.shut()
		if s = open(t, dir, newWeb(""), o); s.Condition(a) != nil {
			t.Errorf("%+v: %v", o, s.Condition(a))
		}
	}
	s.shut()
	w := newWeb("")
	w.policy = nil
	if s = open(t, dir, w, Options{}); s.Condition(a) != nil {
		t.Errorf("without a policy: %v", s.Condition(a))
	}
}

// TestNotModified checks that a page is checked after a 304 as after a 200. Today's policy applies,
// and so do the statements in the stored body and the stored headers, updated with the headers of
// the 304 (H05, N23).
func TestNotModified(t *testing.T) {
	for _, c := range []struct {
		name            string
		robots, later   string
		header, renewed http.Header
		body            string
		links           int
		refused         string
		copies          int
		found, gull     bool
	}{
		{name: "the same", links: 1, copies: 1, found: true},
		{name: "no index", later: "ACAP-disallow-index: /", links: 1, refused: "index", copies: 1},
		{name: "no index until now", robots: "ACAP-disallow-index: /", links: 1, copies: 1, found: true},
		{name: "index made of a part", later: "ACAP-allow-index: / must-use-resource=the-acap:text:gull", links: 1,
			copies: 1, gull: true},
		{name: "index made of a part until now", robots: "ACAP-allow-index: / must-use-resource=the-acap:text:gull",
			links: 1, copies: 1, found: true},
		{name: "no index of a part", robots: "ACAP-composite-usage: hoard follow",
			later: "ACAP-composite-usage: hoard follow index",
			body:  article + `<b class="the-acap:disallow-(hoard)">gull</b>`, links: 1, copies: 1, found: true},
		{name: "no follow", later: "ACAP-disallow-follow: /", refused: "follow", copies: 1, found: true},
		{name: "no preserve", later: "ACAP-disallow-preserve: /", links: 1, refused: "preserve", found: true},
		{name: "nothing", later: "ACAP-disallow-preserve: /\nACAP-disallow-index: /", links: 1,
			refused: "preserve index"},
		{name: "preserve has ended", later: "ACAP-allow-preserve: / time-limit=until-2020-01-01", links: 1,
			refused: "preserve", found: true},
		{name: "until it is crawled again: permitted anew", robots: "ACAP-allow-preserve: / time-limit=until-recrawled",
			later: "ACAP-allow-preserve: / time-limit=until-recrawled", links: 1, copies: 1, found: true},
		{name: "no crawl, by robots.txt: what is held stays (F22)", later: "ACAP-disallow-crawl: /", copies: 1,
			found: true},
		{name: "taken down", later: "ACAP-request-take-down: /a", links: 1},
		{name: "a tag that is not repeated (N23)", header: fields("X-Robots-Tag", "noindex"), links: 1,
			refused: "index", copies: 1},
		{name: "a tag that is replaced", header: fields("X-Robots-Tag", "noindex"),
			renewed: fields("X-Robots-Tag", "all"), links: 1, copies: 1, found: true},
		{name: "a new tag", renewed: fields("X-Robots-Tag", "noindex"), links: 1, refused: "index", copies: 1},
		{name: "a new tag of the other kind", renewed: fields("Robots-Tag", "*; noindex"), links: 1, refused: "index",
			copies: 1},
		{name: "META", body: `<meta name="robots" content="ACAP disallow-index">` + article, links: 1, refused: "index",
			copies: 1},
		{name: "a class", body: article +
			` <a class="the-acap:disallow-follow the-acap:disallow-index" href="/c">gull</a>`, links: 1, copies: 1,
			found: true},
		{name: "what a message says of itself", renewed: fields("Content-Length", "0", "Content-Encoding", "gzip",
			"Connection", "X-Robots-Tag", "X-Robots-Tag", "noindex"),
			links: 1, copies: 1, found: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(c.robots), Options{})
			if c.body == "" {
				c.body = article
			}
			if c.header == nil {
				c.header = fields()
			}
			if c.renewed == nil {
				c.renewed = fields()
			}
			c.header.Set("ETag", `"1"`)
			s.receive(pageWith(c.header, 200, c.body, a))
			first := s.resource(a)
			s.web.says(c.later)
			r := s.receive(unmodified(c.renewed, a))
			if len(r.Links) != c.links || refused(r) != c.refused {
				t.Errorf("links %q, refused %q", r.Links, refused(r))
			}
			if got := s.copies(a); len(got) != c.copies || r.Stored != (c.copies > 0) && !r.Discarded {
				t.Errorf("copies %q, stored %v", got, r.Stored)
			}
			if found, gull := s.found("pilot") != "", s.found("gull") != ""; found != c.found || gull != c.gull ||
				r.Indexed != (found || gull) && !r.Discarded {
				t.Errorf("found %v, gull %v, indexed %v", found, gull, r.Indexed)
			}
			if !r.Unchanged && !r.Discarded {
				t.Error("it is told as changed")
			}
			if got := s.resource(a); got.FirstCrawled != first.FirstCrawled ||
				got.FirstPreserved != first.FirstPreserved {
				t.Errorf("dates moved: %+v", got)
			}
		})
	}
}

// TestNotModifiedHistory checks that a 304 adds no version, and that the copy keeps its date but
// gets the new headers.
func TestNotModifiedHistory(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	s.receive(pageWith(fields("ETag", `"1"`), 200, "<p>A gull.", a))
	s.receive(pageWith(fields("ETag", `"2"`, "Cache-Control", "max-age=1", "X-Robots-Tag", "noarchive"), 200, article,
		a))
	s.flushed()
	before, err := s.archive.Captures(a)
	if err != nil {
		t.Fatal(err)
	}
	was := s.resource(a)
	again := unmodified(fields("ETag", `W/"2"`, "Cache-Control", "max-age=9", "Content-Length", "0"), a)
	s.receive(again)
	if left, err := s.archive.Intents(); err != nil || len(left) > 0 {
		t.Errorf("the entry is made again although it stands: %q, %v", left, err)
	}
	after, err := s.archive.Captures(a)
	if err != nil || len(after) != 2 {
		t.Fatal(after, err)
	}
	is := s.resource(a)
	if !is.LastCrawled.Equal(again.Last().Start) || is.Current != was.Current || is.Versions != 2 || is.Status != 200 ||
		is.ETag != `W/"2"` {
		t.Errorf("%+v", is)
	}
	c := after[1]
	if !c.Current || c.ID != before[1].ID || !c.Fetched.Equal(before[1].Fetched) || c.Digest != before[1].Digest ||
		c.Status != 200 || c.MIME != "text/html" {
		t.Errorf("%+v", c)
	}
	h := c.Header
	if h.Get("Cache-Control") != "max-age=9" || h.Get("X-Robots-Tag") != "noarchive" || h.Get("Content-Type") == "" ||
		h.Get("Content-Length") != "" {
		t.Errorf("%v", h)
	}
	if !slices.Equal(is.Own.Tags, was.Own.Tags) {
		t.Errorf("it said %v, and says %v", was.Own.Tags, is.Own.Tags)
	}
	if got := s.Condition(a).Get("If-None-Match"); got != `W/"2"` {
		t.Errorf("asked with %s", got)
	}
	// Older versions are erased if copies may be stored only until the next crawl (P1 2.5.4.1,
	// H05).
	s.web.says("ACAP-allow-preserve: / time-limit=until-recrawled")
	s.receive(unmodified(fields(), a))
	if got := s.copies(a); !slices.Equal(got, []string{article}) {
		t.Errorf("copies %q", got)
	}
}

// TestNotModifiedDay checks the date of an index entry that is made again after a 304. It must be
// the date when the copy was fetched, as for an entry made again from the copy.
func TestNotModifiedDay(t *testing.T) {
	s := open(t, t.TempDir(), newWeb("ACAP-disallow-index: /"), Options{})
	old := pageOf(article, a)
	old.Hops()[0].Start = time.Date(2020, 2, 3, 0, 0, 0, 0, time.UTC)
	s.receive(old)
	s.web.says("")
	s.receive(unmodified(fields(), a))
	if got := s.found("pilot before:2020-02-04"); got != "/a" {
		t.Errorf("found at %q", got)
	}
}

// TestNotModifiedDays checks that a limit in days counts from the first crawl, even if a later
// crawl found the page unchanged (H04, H05).
func TestNotModifiedDays(t *testing.T) {
	now := time.Now()
	s := open(t, t.TempDir(), newWeb("ACAP-allow-index: / time-limit=3-days\nACAP-allow-preserve: / time-limit=5-days"),
		Options{Now: func() time.Time { return now }})
	s.receive(pageWith(fields("ETag", `"1"`), 200, article, a))
	for _, c := range []struct {
		days            int
		stored, indexed bool
	}{{2, true, true}, {4, true, false}, {6, false, false}} {
		later := now
		now = now.AddDate(0, 0, c.days)
		if r := s.receive(unmodified(fields(), a)); r.Stored != c.stored || r.Indexed != c.indexed ||
			(s.found("pilot") != "") != c.indexed {
			t.Errorf("day %d: %+v", c.days, r)
		}
		now = later
	}
}

// TestAbsent checks that a 304 for a page that is not stored changes nothing. Receipt.Absent
// reports it, so that the page is requested without a condition.
func TestAbsent(t *testing.T) {
	for _, c := range []struct {
		name   string
		robots string
		pages  []*page.Page
		header http.Header
	}{
		{"never held", "", nil, fields()},
		{"held as an entry alone", "ACAP-disallow-preserve: /", []*page.Page{pageOf(article, a)}, fields()},
		{"truncated", "", []*page.Page{truncated(pageOf(article, a))}, fields()},
		{"of another tag", "", []*page.Page{pageWith(fields("ETag", `"1"`), 200, article, a)}, fields("ETag", `"2"`)},
		{"of another date", "", []*page.Page{pageWith(fields("Last-Modified", modified), 200, article, a)},
			fields("Last-Modified", "Tue, 06 Jan 2026 12:00:00 GMT")},
		{"gone since", "", []*page.Page{pageOf(article, a), answer(410, a)}, fields()},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(c.robots), Options{})
			for _, pg := range c.pages {
				s.receive(pg)
			}
			found, copies, was := s.found("pilot"), s.copies(a), s.resource(a)
			if r := s.receive(unmodified(c.header, b, a)); !r.Absent || r.Unchanged || r.Stored || len(r.Links) > 0 {
				t.Errorf("%+v", r)
			}
			if is := s.resource(a); s.found("pilot") != found || !slices.Equal(s.copies(a), copies) ||
				is.LastCrawled != was.LastCrawled {
				t.Errorf("%+v", is)
			}
		})
	}
}

// TestNotModifiedAndLess checks that a page is requested again without a condition if less of the
// page may be stored now than its copy contains. The reason is that a stored copy is never changed.
func TestNotModifiedAndLess(t *testing.T) {
	s := open(t, t.TempDir(), newWeb("ACAP-composite-usage: hoard index"), Options{})
	s.receive(pageWith(fields("ETag", `"1"`), 200, article+`<p class="the-acap:disallow-(hoard)">secret`, a))
	if s.Condition(a) == nil {
		t.Error("the whole copy is asked for anew")
	}
	s.web.says("ACAP-composite-usage: hoard index preserve")
	if s.Condition(a) != nil {
		t.Error("asked for on condition")
	}
	if r := s.receive(unmodified(fields(), a)); !r.Absent {
		t.Errorf("%+v", r)
	}
}

// TestNotModifiedAfterRedirect checks a redirect to a stored page that has not changed.
func TestNotModifiedAfterRedirect(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	s.receive(pageOf("<p>An old pier.", a))
	s.receive(pageWith(fields("ETag", `"1"`), 200, article, b))
	if r := s.receive(unmodified(fields("ETag", `"1"`), a, b)); !r.Unchanged || !r.Stored {
		t.Errorf("%+v", r)
	}
	if to, err := s.archive.Resolve(a); to != b || err != nil || s.found("pier") != "" || s.found("pilot") != "/b" {
		t.Errorf("a leads to %s, %v; the pier is found at %q", to, err, s.found("pier"))
	}
}

func TestUnchanged(t *testing.T) {
	s := open(t, t.TempDir(), newWeb("ACAP-disallow-preserve: /c"), Options{})
	for i, c := range []struct {
		pg   *page.Page
		want bool
	}{
		{pageOf(article, a), false}, {pageOf(article, a), true}, {pageOf(article+"!", a), false},
		{answer(404, a), false}, {pageOf(article+"!", a), false},
		{pageOf(article, c), false}, {pageOf(article, c), false},
	} {
		if r := s.receive(c.pg); r.Unchanged != c.want {
			t.Errorf("%d: %+v", i, r)
		}
	}
}

// TestAgainInOneRun checks that identical responses within a minute are treated as one response,
// because several redirects can reach a page at the same time. Later responses in the same run are
// treated as separate crawls.
func TestAgainInOneRun(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	start := time.Now()
	for _, c := range []struct {
		after  time.Duration
		copies int
	}{{0, 1}, {time.Second, 1}, {2 * time.Hour, 2}} {
		pg := pageOf(article, a)
		pg.Hops()[0].Start = start.Add(c.after)
		if r := s.receive(pg); r.Unchanged != (c.after > 0) || len(s.copies(a)) != c.copies {
			t.Errorf("after %s: %+v, %d copies", c.after, r, len(s.copies(a)))
		}
	}
}

// TestOptions checks options that exclude copies or index entries: excluded data is not stored and
// is not reported as refused. Prohibitions by the policy must still apply.
func TestOptions(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newWeb(""), Options{})
	s.receive(pageOf(article, a))
	s.receive(pageOf(article, b))
	s.shut()
	s = open(t, dir, newWeb("ACAP-disallow-preserve: /b\nACAP-disallow-follow: /a"),
		Options{NoPreserve: true, NoIndex: true})
	for _, u := range []string{a, b, c} {
		r := s.receive(pageOf("<p>A gull.", u))
		if want := map[string]string{a: "follow", b: "preserve"}[u]; r.Stored || r.Indexed || refused(r) != want {
			t.Errorf("%s: %+v", u, r)
		}
	}
	if got := s.found("pilot gull"); got != "" {
		t.Errorf("found at %q", got)
	}
	if kept := s.copies(a); !slices.Equal(kept, []string{article}) || len(s.copies(b)) != 0 || len(s.copies(c)) != 0 ||
		s.resource(a).Current != 0 {
		t.Errorf("copies of a: %q, of b: %q", kept, s.copies(b))
	}
	s.web.says("ACAP-allow-preserve: / time-limit=until-recrawled")
	s.receive(pageOf("<p>A gull.", a))
	if len(s.copies(a)) != 0 {
		t.Error("an earlier version is held after the page was crawled again")
	}
	if r := s.resource(c); r.Kept.String() != "" || !r.FirstPreserved.Equal(time.Time{}) || r.FirstCrawled.IsZero() {
		t.Errorf("%+v", r)
	}
	s.shut()
	s = open(t, dir, newWeb(""), Options{NoPreserve: true})
	if r := s.receive(pageOf(article, c)); r.Stored || !r.Indexed || s.found("pilot") != "/c" {
		t.Errorf("%+v", r)
	}
}

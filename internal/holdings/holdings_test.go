package holdings

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/terms"
)

const a, b, c = site + "/a", site + "/b", site + "/c"

const article = `<html lang="en"><title>Low water</title><p>The pilot waits for the tide. <a href="/b">more</a>`

func refused(r Receipt) string {
	var out []string
	for _, d := range r.Refused {
		out = append(out, string(d.Usage))
	}
	return strings.Join(out, " ")
}

func TestReceive(t *testing.T) {
	words := strings.Repeat("The pilot waits for the tide. ", 100)
	for _, c := range []struct {
		name, robots, body string
		header             http.Header
		o                  Options
		links              int
		refused            string
		copies             []string // expected bodies of the stored copies; nil means no copies
		found              map[string]bool
		excerpt            int // greatest permitted length of the excerpt
	}{
		{name: "everything", body: article, links: 1, copies: []string{article},
			found: map[string]bool{"pilot": true, `"pilot waits"`: true}},
		{name: "an empty page", body: "", copies: []string{""}, found: map[string]bool{"pilot": false}},
		{name: "no preserve: bounded excerpt, no positions", robots: "ACAP-disallow-preserve: /", body: "<p>" + words,
			refused: "preserve",
			found:   map[string]bool{"pilot": true, `"pilot waits"`: false}, excerpt: 600},
		{name: "no preserve, a limited snippet",
			robots: "ACAP-disallow-preserve: /\nACAP-allow-present-snippet: / max-length=2-words",
			body:   "<p>" + words, refused: "preserve", found: map[string]bool{"pilot": true},
			excerpt: len(`{"texts":{"present-snippet":{"text":"The pilot…"}}}`)},
		{name: "no preserve, no snippet", robots: "ACAP-disallow-preserve: /\nACAP-disallow-present-snippet: /",
			body: article, links: 1,
			refused: "preserve", found: map[string]bool{"pilot": true}},
		{name: "no index", robots: "ACAP-disallow-index: /", body: article, links: 1, refused: "index",
			copies: []string{article},
			found:  map[string]bool{"pilot": false}},
		{name: "no follow", robots: "ACAP-disallow-follow: /", body: article, refused: "follow",
			copies: []string{article}, found: map[string]bool{"pilot": true}},
		{name: "nothing", robots: "ACAP-disallow-index: /\nACAP-disallow-preserve: /\nACAP-disallow-follow: /",
			body:    article,
			refused: "follow preserve index", found: map[string]bool{"pilot": false}},
		{name: "elements cut",
			body: `<p>Open <b class="the-acap:disallow-preserve">sealed</b> ` +
				`<i class="the-acap:disallow-index">hidden</i> quay.`,
			copies:  []string{`<p>Open  <i class="the-acap:disallow-index">hidden</i> quay.`},
			found:   map[string]bool{"sealed": true, "hidden": false},
			excerpt: len(`{"aside":["-the-acap:disallow-index"]}`)},
		{name: "discarded by itself (M06)", body: `<meta name="robots" content="ACAP disallow-crawl">` + article,
			refused: "follow preserve index",
			found:   map[string]bool{"pilot": false}},
		{name: "header", body: article, header: http.Header{"X-Robots-Tag": {"noindex"}}, links: 1, refused: "index",
			copies: []string{article},
			found:  map[string]bool{"pilot": false}},
		{name: "noarchive leaves preserve alone (N24)", body: article,
			header: http.Header{"X-Robots-Tag": {"noarchive"}}, links: 1,
			copies: []string{article}, found: map[string]bool{"pilot": true}},
		{name: "noarchive as configured", body: article, header: http.Header{"X-Robots-Tag": {"noarchive"}},
			o: Options{NoArchive: true}, links: 1,
			refused: "preserve", found: map[string]bool{"pilot": true}, excerpt: 200},
		{name: "a substitute", robots: "ACAP-allow-index: / must-use-resource=/s", body: article, links: 1,
			copies: []string{article},
			found:  map[string]bool{"pilot": false, "tables": true, `"tables of"`: false}, excerpt: 100},
		{name: "a substitute that is not there (X05)", robots: "ACAP-allow-index: / must-use-resource=/nope",
			body: article, links: 1, refused: "index",
			copies: []string{article}, found: map[string]bool{"pilot": false}},
		{name: "preserve has ended", robots: "ACAP-allow-preserve: / time-limit=until-2020-01-01", body: article,
			links: 1, refused: "preserve",
			found: map[string]bool{"pilot": true}, excerpt: 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWeb(c.robots)
			w.parts[site+"/s"] = "Tables of the tide"
			s := open(t, t.TempDir(), w, c.o)
			h := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
			for k, v := range c.header {
				h[k] = v
			}
			r := s.receive(pageWith(h, 200, c.body, a))
			if len(r.Links) != c.links || refused(r) != c.refused {
				t.Errorf("links %q, refused %q", r.Links, refused(r))
			}
			if got := s.copies(a); !slices.Equal(got, c.copies) || r.Stored != (c.copies != nil) {
				t.Errorf("copies %q, stored %v", got, r.Stored)
			}
			for query, want := range c.found {
				if got := s.found(query) != ""; got != want {
					t.Errorf("%s: found %v", query, got)
				}
			}
			kept := s.resource(a).Kept
			kept.Same, kept.Title = "", ""
			if got := kept.String(); len(got) > c.excerpt || c.copies == nil && c.excerpt == 0 && got != "" {
				t.Errorf("kept beside it: %q", got)
			}
		})
	}
}

// TestNothingKept checks a page of which nothing may be stored: no record may contain a word of the
// page.
func TestNothingKept(t *testing.T) {
	s := open(t, t.TempDir(), newWeb("ACAP-disallow-index: /\nACAP-disallow-preserve: /"), Options{})
	s.receive(pageOf(article, a))
	if r := s.resource(a); r.Kept.String() != "" || r.FirstCrawled.IsZero() || !r.FirstIndexed.IsZero() ||
		!r.FirstPreserved.IsZero() {
		t.Errorf("%+v", r)
	}
}

// TestReceiveAgain checks that less is stored when less is permitted than at the first visit. It
// also checks that the words of a new version replace the old words.
func TestReceiveAgain(t *testing.T) {
	for _, c := range []struct {
		name, robots, body string
		copies             int
		pilot, gull        bool
	}{
		{"the same", "", "<p>A gull.", 2, false, true},
		{"until it is crawled again (P1 2.5.3.1)", "ACAP-allow-preserve: / time-limit=until-recrawled", "<p>A gull.", 1,
			false, true},
		{"no preserve", "ACAP-disallow-preserve: /", "<p>A gull.", 0, false, true},
		{"no index", "ACAP-disallow-index: /", "<p>A gull.", 2, false, false},
		{"no crawl, by itself", "", `<meta name="robots" content="ACAP disallow-crawl"><p>A gull.`, 0, false, false},
		{"no crawl, by robots.txt: what is held stays (F22)", "ACAP-disallow-crawl: /", "<p>A gull.", 1, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(""), Options{})
			s.receive(pageOf(article, a))
			s.web.says(c.robots)
			s.receive(pageOf(c.body, a))
			if got := s.copies(a); len(got) != c.copies {
				t.Errorf("copies %q", got)
			}
			if pilot, gull := s.found("pilot") != "", s.found("gull") != ""; pilot != c.pilot || gull != c.gull {
				t.Errorf("found: pilot %v, gull %v", pilot, gull)
			}
		})
	}
}

func TestAnswersThatAreNoPages(t *testing.T) {
	for _, c := range []struct {
		status int
		limit  string
		copies int
		found  bool
	}{
		// H05: responses 404 and 410 are also crawls
		{404, "", 1, false}, {410, "", 1, false}, {404, " time-limit=until-recrawled", 0, false},
		{500, " time-limit=until-recrawled", 1, true}, {503, "", 1, true}, {403, "", 1, true}, {304, "", 1, true},
		{302, "", 1, true}, {206, "", 1, true},
	} {
		t.Run(fmt.Sprint(c.status, c.limit), func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb("ACAP-allow-preserve: /"+c.limit), Options{})
			s.receive(answer(c.status, a)) // the response is for a page that was never stored
			s.receive(pageOf(article, a))
			first := s.resource(a)
			s.receive(answer(c.status, a))
			if got := s.copies(a); len(got) != c.copies {
				t.Errorf("copies %q", got)
			}
			if got := s.found("pilot") != ""; got != c.found {
				t.Errorf("found %v", got)
			}
			r := s.resource(a)
			if (r.Current != 0) != c.found {
				t.Errorf("current %d", r.Current)
			}
			// H04: the first dates stay when the page is gone
			if r.FirstCrawled != first.FirstCrawled || r.FirstIndexed != first.FirstIndexed {
				t.Errorf("dates moved: %+v", r)
			}
		})
	}
}

// TestDays checks that a limit in days counts from the first date, even if the page was crawled
// again later (H04).
func TestDays(t *testing.T) {
	now := time.Now()
	s := open(t, t.TempDir(), newWeb("ACAP-allow-index: / time-limit=3-days\nACAP-allow-preserve: / time-limit=5-days"),
		Options{Now: func() time.Time { return now }})
	for day, want := range map[int][2]bool{0: {true, true}} {
		r := s.receive(pageOf(article, a))
		if r.Indexed != want[0] || r.Stored != want[1] {
			t.Errorf("day %d: %+v", day, r)
		}
	}
	now = now.AddDate(0, 0, 2)
	if r := s.receive(pageOf(article, a)); !r.Indexed || !r.Stored {
		t.Errorf("day 2: %+v", r)
	}
	now = now.AddDate(0, 0, 2)
	if r := s.receive(pageOf(article, a)); r.Indexed || !r.Stored || s.found("pilot") != "" {
		t.Errorf("day 4: %+v", r)
	}
	now = now.AddDate(0, 0, 2)
	if r := s.receive(pageOf(article, a)); r.Indexed || r.Stored || len(s.copies(a)) != 0 {
		t.Errorf("day 6: %+v", r)
	}
}

func TestRedirects(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	s.receive(pageOf("<p>An old pier.", a))
	s.receive(pageOf(article, a, b, c)) // the address a now redirects
	if got := s.found("pilot"); got != "/c" {
		t.Errorf("found at %q", got)
	}
	if got := s.found("pier"); got != "" {
		t.Errorf("what stood at a is found at %q", got)
	}
	for _, u := range []string{a, b, c} {
		if got, err := s.archive.Resolve(u); got != c || err != nil {
			t.Errorf("%s leads to %q, %v", u, got, err)
		}
	}
	if r := s.resource(a); r.Current != 0 || len(s.copies(a)) != 1 {
		t.Errorf("%+v", r)
	}
	s.receive(pageOf("<p>A new pier.", a)) // the address a now returns a page of its own again
	if got, _ := s.archive.Resolve(a); got != a || s.found("pier") != "/a" {
		t.Errorf("a leads to %q", got)
	}
	s.receive(answer(404, b, a)) // the page is gone, under both of its addresses
	if got := s.found("pier"); got != "" {
		t.Errorf("found at %q", got)
	}
}

func TestTakeDown(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	s.receive(pageOf("<p>The first pilot.", b))
	s.receive(pageOf(article, a, b))
	s.receive(pageOf("<p>A gull.", c))
	// The take-down request appears, and everything is erased. A repeated erasure does nothing
	// (P04).
	s.web.says("ACAP-request-take-down: /b")
	for _, want := range []int{2, 0} {
		if n, err := s.Erase(context.Background(), b, "asked", "line"); n != want || err != nil {
			t.Errorf("%d erased, %v", n, err)
		}
	}
	check := func() {
		t.Helper()
		if s.found("pilot") != "" || len(s.copies(b)) != 0 || s.found("gull") != "/c" {
			t.Error("it is still held, or something else is gone")
		}
		r := s.resource(b)
		if r.Kept.String()+r.ETag+r.MIME != "" || r.Indexed || r.Own.URL != "" {
			t.Errorf("of it is known %+v", r)
		}
		if to, _ := s.archive.Resolve(a); to != a {
			t.Errorf("a leads to %s", to)
		}
	}
	check()
	// While the request is in force, the page is not stored again, whatever redirects to it (P05).
	for _, way := range [][]string{{b}, {a, b}} {
		if r := s.receive(pageOf(article, way...)); r.Stored || r.Indexed || r.TakenDown == nil || len(r.Links) != 1 {
			t.Errorf("%q: %+v", way, r)
		}
		check()
	}
	// A page is not shown under an address that is taken down, even if it is stored at another one
	// (X66).
	s.web.says("ACAP-request-take-down: /a")
	if r := s.receive(pageOf(article, a, b)); !r.Stored || r.TakenDown != nil {
		t.Errorf("%+v", r)
	}
	if to, _ := s.archive.Resolve(a); to != a {
		t.Errorf("a leads to %s", to)
	}
	if r := s.receive(pageOf(article, site+"/x", a, c, b)); !r.Stored || r.TakenDown != nil {
		t.Errorf("%+v", r)
	}
	// the same applies to an address that redirects to the address taken down
	for from, to := range map[string]string{site + "/x": site + "/x", a: a, c: b} {
		if final, _ := s.archive.Resolve(from); final != to {
			t.Errorf("%s leads to %s", from, final)
		}
	}
	// The other redirecting addresses no longer redirect to the page.
	s.receive(pageOf("<p>A gull.", site+"/x", c))
	s.receive(pageOf(article, site+"/x", a, b))
	if final, _ := s.archive.Resolve(site + "/x"); final != site+"/x" {
		t.Errorf("it still leads to %s", final)
	}
	// Without the take-down request, the page is treated like any other.
	s.web.says("")
	if r := s.receive(pageOf(article, a, b)); !r.Stored || !r.Indexed || s.found("pilot") != "/b" {
		t.Errorf("%+v", r)
	}
	if to, _ := s.archive.Resolve(a); to != b {
		t.Errorf("a leads to %s", to)
	}
}

// TestEraseOtherSpelling checks that Erase finds a URL although the policy writes * and $ in
// another form than a link does (X33).
func TestEraseOtherSpelling(t *testing.T) {
	s := open(t, t.TempDir(), newWeb("ACAP-request-take-down: /x%2Ay%24"), Options{})
	for _, p := range []string{"/x*y$", "/x%2Ay$", "/x*y%24"} {
		if r := s.receive(pageOf(article, site+p)); r.TakenDown == nil {
			t.Errorf("%s is not barred", p)
		}
	}
	s.web.says("")
	for _, p := range []string{"/x*y$", "/x%2Ay$", "/x*y%24", "/x*y", "/xy$"} {
		s.receive(pageOf(article, site+p))
	}
	if n, err := s.Erase(context.Background(), site+"/x%2Ay%24", "asked", "line"); n != 3 || err != nil {
		t.Errorf("%d erased, %v", n, err)
	}
	if got := s.found("pilot"); got != "/x*y /xy$" {
		t.Errorf("found at %q", got)
	}
}

// TestTakeDownMeanwhile checks that a take-down executed while the page is being received erases
// the page.
func TestTakeDownMeanwhile(t *testing.T) {
	w := newWeb("")
	s := open(t, t.TempDir(), w, Options{})
	var once sync.Once
	asked := 0
	w.asked = func() {
		// Receive already has the policy of the page; the next call for a policy finds the
		// take-down request and executes it
		if asked++; asked > 1 {
			once.Do(func() {
				w.says("ACAP-request-take-down: /a")
				if _, err := s.Erase(context.Background(), a, "asked", "line"); err != nil {
					t.Error(err)
				}
			})
		}
	}
	if r := s.receive(pageOf(article, a)); r.Stored || r.Indexed || r.TakenDown == nil {
		t.Errorf("%+v", r)
	}
	if len(s.copies(a)) != 0 || s.found("pilot") != "" {
		t.Error("it is held")
	}
}

func TestCancelled(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	s.receive(pageOf(article, a))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 20 { // try several times, because the write may be faster than the cancellation of the context
		_, err := s.Receive(ctx, pageOf("<p>A gull.", a))
		switch {
		case err == nil && s.found("gull") == "", err != nil && !errors.Is(err, context.Canceled):
			t.Fatal("neither received nor refused:", err)
		}
	}
}

// TestConcurrent receives and erases a few URLs from many goroutines. At the end archive and index
// agree, which shut checks.
func TestConcurrent(t *testing.T) {
	s := open(t, t.TempDir(), newWeb("ACAP-disallow-preserve: /*0$"), Options{})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 25 {
				u := fmt.Sprintf("%s/%d", site, (i*7+worker)%12)
				var err error
				switch {
				case i%5 == 4:
					_, err = s.Erase(context.Background(), u, "asked", "")
				case i%7 == 6:
					_, err = s.Receive(context.Background(), answer(404, u))
				case i%7 == 5:
					_, err = s.Receive(context.Background(), answer(304, u))
				default:
					_, err = s.Receive(context.Background(), pageOf(fmt.Sprintf("<p>word%dx%d", worker, i), u))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.flushed()
	s.checkFound()
}

// checkFound checks that each page is found by the words of its current copy.
func (s *store) checkFound() {
	s.Helper()
	err := s.archive.Each(func(r archive.Resource) error {
		if r.Current == 0 {
			return nil
		}
		body, err := s.archive.Body(r.Current)
		if err != nil {
			return err
		}
		word := strings.TrimPrefix(string(body), "<p>")
		if got := s.found(word); !strings.Contains(" "+got+" ", strings.TrimPrefix(r.URL, site)+" ") {
			s.Errorf("%s is of %s and found at %q", word, r.URL, got)
		}
		return nil
	})
	if err != nil {
		s.Error(err)
	}
}

func TestClose(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	h := s.Holdings
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, err := h.Receive(context.Background(), pageOf(article, fmt.Sprintf("%s/%d", site, i)))
			if err != nil && !errors.Is(err, index.ErrClosed) {
				t.Error(err)
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := h.Receive(context.Background(), pageOf(article, a)); !errors.Is(err, index.ErrClosed) {
		t.Error("received after Close:", err)
	}
	// A stored page that could not be indexed is indexed when the store is opened again.
	s.Holdings, _ = Open(context.Background(), s.archive, s.index, terms.Sources{Policies: s.web}, Options{})
	s.flushed()
	s.agree()
}

// TestIndexFails checks a failing index: no caller waits forever, no further page is confirmed, and
// opening the store again repairs the index.
func TestIndexFails(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newWeb(""), Options{})
	s.receive(pageOf("<p>A gull.", b))
	s.flushed()
	s.receive(pageOf(article, a))
	s.index.Close()
	if _, err := s.Erase(context.Background(), b, "asked", ""); err == nil {
		t.Error("erased without the index")
	}
	if _, err := s.Receive(context.Background(), pageOf(article, c)); err == nil {
		t.Error("received without the index")
	}
	if err := s.Holdings.Close(); err == nil {
		t.Error("closed without a word")
	}
	s.Holdings = nil
	s.archive.Close()
	s = open(t, dir, newWeb(""), Options{})
	if got := s.found("pilot"); got != "/a /c" || s.found("gull") != "" {
		t.Errorf("found at %q; gull at %q", got, s.found("gull"))
	}
}

// TestLostIndex checks that a lost index is made again from the stored copies, under the last known
// policy.
func TestLostIndex(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newWeb(""), Options{})
	s.receive(pageOf(article, a))
	s.receive(pageOf(`<meta name="robots" content="ACAP allow-index"><p class="the-acap:disallow-index">hidden<p>pilot`,
		b))
	s.receive(pageOf(article, c))
	s.shut()
	empty := t.TempDir()
	moveArchive(t, dir, empty)
	w := newWeb("ACAP-disallow-index: /c\nACAP-allow-index: /a must-use-resource=the-acap:text:tables")
	s = open(t, empty, w, Options{})
	if pilot, tables := s.found("pilot"), s.found("tables"); pilot != "/b" || tables != "/a" ||
		s.found("hidden") != "" {
		t.Errorf("pilot at %q, tables at %q", pilot, tables)
	}
	u, _ := url.Parse(a)
	r := s.resource(a)
	origin, _ := w.Policy(context.Background(), nil)
	if !terms.Held(context.Background(), origin, u, r.Own, nil, terms.Sources{Policies: w},
		acap.Facts{Now: time.Now()}).
		Keeping(r.Kept).Findable() {
		t.Error("the entry is not known to be made of the text")
	}
}

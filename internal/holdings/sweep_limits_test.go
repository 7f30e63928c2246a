package holdings

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/test/pictures"
	"github.com/acapcrawl/acapcrawl/page"
)

// clock is a clock that a test sets.
type clock struct{ at atomic.Pointer[time.Time] }

func newClock(t time.Time) *clock {
	c := &clock{}
	c.set(t)
	return c
}

func (c *clock) set(t time.Time) { c.at.Store(&t) }
func (c *clock) now() time.Time  { return *c.at.Load() }

// fetched returns pg as if it had been requested now.
func (c *clock) fetched(pg *page.Page) *page.Page {
	hops := slices.Clone(pg.Hops())
	for i := range hops {
		hops[i].Start = c.now()
	}
	return page.New(hops)
}

var (
	firstUse  = time.Date(2026, 3, 10, 9, 30, 15, 0, time.UTC)
	recrawled = firstUse.Add(12 * time.Hour)
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// limit is one value of time-limit, or a combination of values, with its expected effect (P1
// 2.5.3.1; P1 2.5.4.1 says the same for preserve).
type limit struct {
	values string // values of time-limit, in the order in which the policy has them
	// the first instant at which the data may no longer be stored (X03); zero: the limit sets no
	// date
	end       time.Time
	recrawled bool   // data stored before the next crawl is erased by that crawl
	never     bool   // nothing may be stored at all
	image     string // the page is an image that contains this licence
}

func limits() []limit {
	// P1 2.5.3.1 (H02): the date itself is still permitted, in UTC
	day12, day14 := at("2026-03-13T00:00:00Z"), at("2026-03-15T00:00:00Z")
	days := func(n int) time.Time { return firstUse.AddDate(0, 0, n) }
	rows := []limit{
		{},
		{values: "until-recrawled", recrawled: true},
		{values: "until-recrawl", recrawled: true}, // H01: an example spells until-recrawled this way
		{values: "until-2026-03-12", end: day12},
		{values: "3-days", end: days(3)},
		{values: "1-days", end: days(1)},
		{values: "99999999999999999999-days"}, // H03, X26: a huge number is replaced by the greatest possible number
		{values: "0-days", never: true},       // P1 2.5.3.1 (H03): a limit of zero days prohibits
		// X32: plus-terms needs a licence embedded in an image, and an HTML page has none
		{values: "plus-terms", never: true},
		{values: "plus-terms plus-terms", never: true},
		{values: "plus-terms", image: `plus:LicenseEndDate="2026-03-12"`, end: day12},
		{values: "plus-terms", image: `plus:LicenseEndDate="2026-03-12T06:30Z"`, end: at("2026-03-12T06:30:00Z")},
		{values: "plus-terms", image: `photoshop:Credit="Ida Marsh"`, never: true},
		{values: "until-recrawled until-recrawled", recrawled: true},
		// Of two values of the same kind, the second is ignored (H07). A third value is always
		// ignored (H12).
		{values: "until-2026-03-12 until-2026-03-14", end: day12},
		{values: "until-2026-03-14 until-2026-03-12", end: day14},
		{values: "1-days 3-days", end: days(1)},
		{values: "3-days 1-days", end: days(3)},
		{values: "until-recrawled 3-days 1-days", end: days(3), recrawled: true},
		{values: "3-days until-2026-03-14 until-recrawled", end: days(3)},
		{values: "until-2026-03-14 until-recrawled 1-days", end: day14, recrawled: true},
		// P1 2.5.3.1 (H08): plus-terms may be combined with other limits
		{values: "plus-terms until-recrawled 1-days", end: days(1), recrawled: true},
	}
	// P1 2.5.3.1 (H03, H10, X46): malformed values prohibit
	for _, bad := range []string{"until-2099-02-30", "until-20260312", "until-2026-3-12", "-3-days", "+3-days",
		"3.5-days", "days", "3-days soon", "soon 3-days"} {
		rows = append(rows, limit{values: bad, never: true})
	}
	for _, pair := range []limit{ // P1 2.5.3.1 (H06): the earlier of two limits applies, whatever their order
		{values: "until-recrawled until-2026-03-12", end: day12, recrawled: true},
		{values: "until-recrawled 3-days", end: days(3), recrawled: true},
		{values: "until-2026-03-12 3-days", end: day12},
		{values: "until-2026-03-14 3-days", end: days(3)},
		{values: "plus-terms 3-days", end: days(3)}, // P1 2.5.3.1 (H08): plus-terms may be combined with another limit
		{values: "plus-terms until-2026-03-12", end: day12},
		{values: "plus-terms until-recrawled", recrawled: true},
	} {
		rows = append(rows, pair)
		a, b, _ := strings.Cut(pair.values, " ")
		pair.values = b + " " + a
		rows = append(rows, pair)
	}
	return rows
}

// answers lists the HTTP status codes of the second crawl (H05); 0 means that there is no second
// crawl.
var answers = []int{0, 200, 302, 304, 404, 410, 403, 500, 503}

// trial is a test of one page under one time limit, for preserve or for index, with the status code
// of its second crawl.
type trial struct {
	limit
	index  bool
	answer int
	url    string
}

func trials() (list []trial, robots string) {
	lines := []string{"ACAP-disallow-index: /preserve/"}
	for i, l := range limits() {
		for _, usage := range []string{"preserve", "index"} {
			path := fmt.Sprintf("/%s/%d/", usage, i)
			line := "ACAP-allow-" + usage + ": " + path
			for _, v := range strings.Fields(l.values) {
				line += " time-limit=" + v
			}
			lines = append(lines, line)
			for _, answer := range answers {
				list = append(list, trial{limit: l, index: usage == "index", answer: answer,
					url: fmt.Sprintf("%s%s%d", site, path, answer)})
			}
		}
	}
	return list, strings.Join(lines, "\n")
}

func (x trial) String() string {
	return fmt.Sprintf("%s (time-limit %s, answer %d)", strings.TrimPrefix(x.url, site), x.values, x.answer)
}

// page returns the server's response. If again is set, it is the response to the second crawl.
func (x trial) page(again bool) *page.Page {
	h, body := http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Etag": {`"1"`}}, "<p>The pilot waits at "+
		x.url
	if x.image != "" {
		h.Set("Content-Type", "image/jpeg")
		body = string(pictures.JPEG(pictures.XMP(x.image, "")))
	}
	switch {
	case !again:
		return pageWith(h, 200, body, x.url)
	case x.answer == 200 && x.image != "":
		return pageWith(h, 200, body+"\x00", x.url)
	case x.answer == 200:
		return pageWith(h, 200, body+" again", x.url)
	case x.answer == 302:
		return pageOf("<p>Elsewhere", x.url, site+"/elsewhere")
	case x.answer == 304:
		return pageWith(http.Header{"Etag": {`"1"`}}, 304, "", x.url)
	}
	return answer(x.answer, x.url)
}

// want returns how many copies must be stored at the time now, and whether the page must be
// indexed.
func (x trial) want(now time.Time) (copies int, indexed bool) {
	permitted := !x.never && (x.end.IsZero() || now.Before(x.end))
	gone := x.answer == 404 || x.answer == 410 || x.answer == 302
	again := !now.Before(recrawled)
	if x.index {
		copies = 1
		if again && x.answer == 200 {
			copies = 2
		}
		return copies, permitted && !(again && gone) && x.image == "" // an image has no text to index
	}
	switch {
	case !permitted, again && gone && x.recrawled:
		return 0, false
	case again && x.answer == 200 && !x.recrawled:
		return 2, false
	}
	return 1, false
}

// TestTimeLimits tests every row of P1 2.5.3.1 and 2.5.4.1 (time limits), for every status code of
// a second crawl. It checks each page one second before the end of each limit, and at the end
// itself, when the data may no longer be stored. Before each sweep, a dry run lists what will be
// erased and by which policy line.
func TestTimeLimits(t *testing.T) {
	list, robots := trials()
	instants := map[time.Time]bool{firstUse: true, recrawled.Add(-time.Second): true, recrawled: true}
	for _, l := range limits() {
		if !l.end.IsZero() {
			instants[l.end.Add(-time.Second)], instants[l.end], instants[l.end.AddDate(1, 0, 0)] = true, true, true
		}
	}
	var times []time.Time
	for x := range instants {
		times = append(times, x)
	}
	slices.SortFunc(times, time.Time.Compare)
	now := newClock(firstUse)
	s := open(t, t.TempDir(), newWeb(robots), Options{Now: now.now})
	for _, x := range list {
		s.receive(now.fetched(x.page(false)))
	}
	for _, instant := range times {
		foretold := s.sweep(SweepOptions{AsOf: instant, DryRun: true})
		now.set(instant)
		done := s.sweep(SweepOptions{})
		if !slices.Equal(foretold, done) {
			t.Errorf("%v: a dry run said %q, and the sweep ended %q", instant, foretold, done)
		}
		if instant.Equal(recrawled) {
			for _, x := range list {
				if x.answer != 0 {
					s.receive(now.fetched(x.page(true)))
				}
			}
		}
		for _, x := range list {
			copies, indexed := x.want(instant)
			held, err := s.archive.Captures(x.url)
			if err != nil {
				t.Fatal(err)
			}
			if r := s.resource(x.url); len(held) != copies || r.Indexed != indexed {
				t.Errorf("%v: of %v %d copies are held, want %d; indexed %v, want %v", instant, x, len(held), copies,
					r.Indexed, indexed)
			}
		}
		if t.Failed() {
			break
		}
	}
	for _, x := range list { // H04: the dates stay after the copies are erased
		r := s.resource(x.url)
		if first := r.FirstPreserved; !r.FirstCrawled.Equal(firstUse) || !first.IsZero() && !first.Equal(firstUse) ||
			first.IsZero() != (x.never && !x.index) {
			t.Errorf("%v: %+v", x, r)
		}
		if len(s.copies(x.url)) == 0 && !r.Indexed && s.pictures(x.url) == "" && r.Versions > 0 && described(r) {
			t.Errorf("%v: nothing is held, and of it is known %+v", x, r)
		}
	}
}

// sweep runs a sweep and returns its report, one line per item. It checks that items erased by a
// time limit name a policy line.
func (s *store) sweep(o SweepOptions) []string {
	s.Helper()
	var out []string
	counts, err := s.Sweep(context.Background(), o, func(x Swept) {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %d %v %s", strings.TrimPrefix(x.URL, site), x.What,
			x.Version, x.Anew, x.Line)))
		if x.Why == "" {
			s.Errorf("%+v", x)
		}
	})
	if err != nil {
		s.Fatal(err)
	}
	if n := counts.Copies + counts.Entries + counts.Renewed + counts.Excerpts + counts.Pictures +
		counts.Records; n != len(out) || counts.Unjudged > 0 {
		s.Errorf("%+v, and told %d", counts, len(out))
	}
	return out
}

// TestLimitsChange checks that a shortened limit is counted from the first use (H11). It also
// checks that a lengthened limit does not restore data that was erased.
func TestLimitsChange(t *testing.T) {
	now := newClock(firstUse)
	s := open(t, t.TempDir(),
		newWeb("ACAP-allow-preserve: / time-limit=30-days\nACAP-allow-index: / time-limit=30-days"),
		Options{Now: now.now})
	s.receive(now.fetched(pageOf(article, a)))
	now.set(firstUse.AddDate(0, 0, 5))
	if got := s.sweep(SweepOptions{}); len(got) > 0 {
		t.Errorf("%q", got)
	}
	s.web.says("ACAP-allow-preserve: / time-limit=3-days\nACAP-allow-index: / time-limit=30-days")
	want := []string{"/a copy 1 false " + site + "/robots.txt:3: ACAP-allow-preserve: / time-limit=3-days",
		"/a index entry 0 true"}
	if got := s.sweep(SweepOptions{}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	s.web.says("ACAP-allow-preserve: / time-limit=30-days\nACAP-allow-index: / time-limit=30-days")
	if got := s.sweep(SweepOptions{}); len(got) > 0 || len(s.copies(a)) != 0 || s.found("pilot") != "/a" {
		t.Errorf("%q", got)
	}
	if r := s.receive(now.fetched(pageOf(article, a))); !r.Stored {
		t.Errorf("%+v", r)
	}
	now.set(firstUse.AddDate(0, 0, 30))
	if got := s.sweep(SweepOptions{}); len(got) != 2 || len(s.copies(a)) != 0 {
		t.Errorf("the limit began again: %q", got)
	}
	stones, err := s.archive.Tombstones(a)
	if err != nil || len(stones) != 3 ||
		!slices.ContainsFunc(stones,
			func(x archive.Tombstone) bool { return strings.Contains(x.Line, "time-limit=3-days") }) {
		t.Errorf("%+v, %v", stones, err)
	}
}

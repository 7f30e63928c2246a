package view

import (
	"cmp"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/memento"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

const (
	mostRows  = 400  // if a period has more versions, the page lists a shorter period
	mostInDay = 2000 // versions of one day that are listed
	fewRows   = 20   // versions that readers with a keyboard pass one by one
)

// versionsPage lists the versions of a page: all counts by year and month, and the versions of a period.
type versionsPage struct {
	Address   string
	Elsewhere string // the page to which Address redirects, if the versions are its versions; or ""
	Count     int
	First     time.Time
	Last      time.Time
	Years     []versionYear
	Timeline  *timeline

	Period string // 4, 6 or 8 digits; "": all versions are listed
	Name   string // of the period
	Groups []versionGroup
	Terms  []string // the terms that all listed versions share
	Apart  bool     // some of them have terms of their own
	Cut    bool     // the period has more versions than are listed
	Long   bool     // so many versions are listed that readers with a keyboard need a link behind them

	Pick    bool      // two of the listed versions can be compared
	Oldest  time.Time // the first version, if it can be compared and is not listed; zero: none
	Newest  time.Time // the same for the last version
	Earlier period    // the nearest period of the same length that has versions
	Later   period

	TimeMap bool // it lists some of the versions
	Listed  bool // a feed may announce them
}

const badPeriod = "The period must be a year, a month or a day, such as 2026, 202601 or 20260131."

// period is a link to the versions of a year, month or day.
type period struct {
	Digits string // 4, 6 or 8 digits; "": there is none
	Name   string
	Count  int
	Link   template.URL
}

type versionYear struct {
	period
	Gap    string // the years without versions before this one
	Months [12]period
	Chosen bool // the newest listed version is of this year
}

// versionGroup is the listed versions of a year, or of the period, newest first.
type versionGroup struct {
	Digits string // of the year
	Rows   []versionRow
}

type versionRow struct {
	present.Version
	Month  string    // of the first row of a month: its digits
	Terms  []string  // the permission and its limits; in versionsPage without those that all listed versions share
	Same   bool      // status, bytes and target are those of the version before this one
	Before time.Time // the version before this one, if it differs and both can be compared; zero: none
	Pick   bool      // can be compared with others
	From   bool      // is selected as the first version of a comparison
	To     bool      // is selected as the second version
}

// versions shows which versions of a page this reader may see. The path may contain a year, a month or a day
// before the address: /versions/2026/URL, /versions/202601/URL, /versions/20260131/URL.
func (h *Handler) versions(w http.ResponseWriter, r *request) error {
	digits, address := "", r.rest
	if before, after, found := strings.Cut(r.rest, "/"); found && isDigits(before) {
		if digits, address = before, after; periodName(digits) == "" {
			return badRequest(badPeriod)
		}
	}
	page, err := target(address)
	if err != nil {
		return err
	}
	list, alone, err := h.viewable(r, page)
	if err != nil {
		return err
	}
	out := newVersionsPage(page, list, digits)
	if out.TimeMap = alone; alone {
		if out.Listed, _, err = h.o.Presenter.Listed(r.Context(), page, r.visitor.reader()); err != nil {
			return err
		}
	}
	return h.show(w, r, "versions.html", "Versions of "+page, out)
}

// viewable returns the versions that this visitor may see in the viewer, at least one, oldest first: in a frame of
// this service, or else by themselves (P1 2.5.5.7). alone reports that some may be shown by themselves. The error
// says why there is none.
func (h *Handler) viewable(r *request, page string) (list []present.Version, alone bool, err error) {
	list, _, err = h.o.Presenter.Versions(r.Context(), page, r.readerAt(viewer))
	if err != nil {
		return nil, false, err
	}
	others, state, err := h.o.Presenter.Versions(r.Context(), page, r.visitor.reader())
	if err != nil {
		return nil, false, err
	}
	for _, one := range others {
		at, known := slices.BinarySearchFunc(list, one, func(a, b present.Version) int {
			return cmp.Or(a.Fetched.Compare(b.Fetched), cmp.Compare(a.Version, b.Version))
		})
		// an address that redirects may have versions of its own, or those of its target
		if !known && (len(list) == 0 || list[0].URL == one.URL) {
			list = slices.Insert(list, at, one)
		}
	}
	if len(list) == 0 {
		return nil, false, h.absent(state)
	}
	return distinct(list), len(others) > 0, nil
}

// findVersions redirects a form with the fields url and period to the page of these versions.
func (h *Handler) findVersions(w http.ResponseWriter, r *request) error {
	page, err := target(strings.TrimSpace(r.query.Get("url")))
	if err != nil {
		return badRequest(badURL)
	}
	path := "/versions/"
	if digits := r.query.Get("period"); digits != "" {
		if periodName(digits) == "" {
			return badRequest(badPeriod)
		}
		path += digits + "/"
	}
	return redirectTo(w, path+escapeTarget(page)+"#list")
}

// newVersionsPage returns the page about list, which is not empty and in order of time.
func newVersionsPage(page string, list []present.Version, digits string) versionsPage {
	out := versionsPage{Address: page, Count: len(list), First: list[0].Fetched.UTC(),
		Last: list[len(list)-1].Fetched.UTC()}
	if list[0].URL != page {
		out.Elsewhere = list[0].URL
	}
	stamps := make([]string, len(list))
	for i, v := range list {
		stamps[i] = memento.Timestamp(v.Fetched)
	}
	out.Period = shownPeriod(stamps, digits)
	out.Name = periodName(out.Period)
	from, to := span(stamps, out.Period)
	if n := len(out.Period); n > 0 && from > 0 {
		out.Earlier = out.link(stamps[from-1][:n])
	}
	if n := len(out.Period); n > 0 && to < len(list) {
		out.Later = out.link(stamps[to][:n])
	}
	if out.Cut = to-from > mostInDay; out.Cut {
		from = to - mostInDay
	}
	out.Long = to-from > fewRows
	out.count(stamps)
	out.Timeline = newTimeline(out.First, out.Last, out.Years)
	out.fill(list, from, to)
	return out
}

// fill lists the versions from list[from] to list[to-1], the newest first.
func (p *versionsPage) fill(list []present.Version, from, to int) {
	var rows []versionRow
	shared := map[string]int{} // number of rows with a term
	for i := to - 1; i >= from; i-- {
		row := newVersionRow(list, i)
		for _, words := range row.Terms {
			shared[words]++
		}
		rows = append(rows, row)
	}
	month, picked := "", 0
	for i, row := range rows {
		all := row.Terms
		row.Terms = nil
		for _, words := range all {
			if shared[words] < len(rows) {
				row.Terms, p.Apart = append(row.Terms, words), true
			} else if i == 0 {
				p.Terms = append(p.Terms, words)
			}
		}
		if row.Pick {
			row.To, row.From = picked == 0, picked == 1
			picked++
		}
		stamp := memento.Timestamp(row.Fetched)
		if stamp[:6] != month {
			month = stamp[:6]
			row.Month = month
		}
		if n := len(p.Groups); n == 0 || p.Groups[n-1].Digits != stamp[:4] {
			p.Groups = append(p.Groups, versionGroup{Digits: stamp[:4]})
		}
		last := &p.Groups[len(p.Groups)-1]
		last.Rows = append(last.Rows, row)
	}
	last := len(list) - 1
	if picked > 0 && from > 0 && mayCompare(list[0]) {
		p.Oldest = list[0].Fetched
	}
	if picked > 0 && to <= last && mayCompare(list[last]) {
		p.Newest = list[last].Fetched
	}
	p.Pick = picked > 1 || !p.Oldest.IsZero() || !p.Newest.IsZero()
}

// newVersionRow returns the row of list[i].
func newVersionRow(list []present.Version, i int) versionRow {
	row := versionRow{Version: list[i], Pick: mayCompare(list[i]), Terms: termsOf(list[i])}
	if i == 0 || list[i-1].URL != row.URL {
		return row
	}
	before := list[i-1]
	row.Same = before.Digest == row.Digest && before.Status == row.Status && before.Location == row.Location
	if !row.Same && row.Pick && mayCompare(before) {
		row.Before = before.Fetched
	}
	return row
}

// count counts the versions by year and month.
func (p *versionsPage) count(stamps []string) {
	for _, stamp := range stamps {
		if n := len(p.Years); n == 0 || p.Years[n-1].Digits != stamp[:4] {
			year := versionYear{period: p.link(stamp[:4]),
				Chosen: strings.HasPrefix(cmp.Or(p.Period, stamps[len(stamps)-1]), stamp[:4])}
			if n > 0 {
				year.Gap = gapOf(p.Years[n-1].Digits, stamp[:4])
			}
			p.Years = append(p.Years, year)
		}
		year := &p.Years[len(p.Years)-1]
		year.Count++
		month := &year.Months[monthOf(stamp)]
		if month.Count++; month.Count == 1 {
			*month = p.link(stamp[:6])
			month.Count = 1
		}
	}
}

// gapOf returns the years between two years, "" if there is none.
func gapOf(before, after string) string {
	first, _ := strconv.Atoi(before)
	last, _ := strconv.Atoi(after)
	switch first, last = first+1, last-1; {
	case first > last:
		return ""
	case first == last:
		return strconv.Itoa(first)
	}
	return strconv.Itoa(first) + " to " + strconv.Itoa(last)
}

// monthOf returns the month of a timestamp, from 0.
func monthOf(stamp string) int { return int(stamp[4]-'0')*10 + int(stamp[5]) - '1' }

// feed returns the path of the feed of new versions, or "" if this reader gets none.
func (p versionsPage) feed() string {
	if !p.Listed {
		return ""
	}
	return feedPath("url", p.Address)
}

// link returns a link to a period: within this page if it lists all versions.
func (p *versionsPage) link(digits string) period {
	out := period{Digits: digits, Name: periodName(digits)}
	if p.Period == "" {
		out.Link = template.URL("#p" + digits)
	} else {
		out.Link = template.URL("/versions/" + digits + "/" + escapeTarget(p.Address) + "#list")
	}
	return out
}

// shownPeriod returns the period to list, "" for all versions: the requested one, or if it has too many versions
// the last year, month or day in it.
func shownPeriod(stamps []string, digits string) string {
	for len(digits) < 8 {
		from, to := span(stamps, digits)
		if to-from <= mostRows {
			break
		}
		digits = stamps[to-1][:max(4, len(digits)+2)]
	}
	return digits
}

// span returns the versions in a period: from is the first, and to the one after the last. stamps are in order.
func span(stamps []string, digits string) (from, to int) {
	for from < len(stamps) && stamps[from][:len(digits)] < digits {
		from++
	}
	for to = from; to < len(stamps) && strings.HasPrefix(stamps[to], digits); to++ {
	}
	return from, to
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// periodName returns a period of 4, 6 or 8 digits in words, or "" if there is no such period.
func periodName(digits string) string {
	if len(digits) < 4 || len(digits) > 8 || len(digits)%2 != 0 {
		return ""
	}
	at, err := time.Parse("20060102"[:len(digits)], digits)
	if err != nil {
		return ""
	}
	return at.Format(map[int]string{4: "2006", 6: "January 2006", 8: "2 January 2006"}[len(digits)])
}

// termsOf returns what permits a version, and the limits, in words.
func termsOf(v present.Version) []string {
	return append([]string{permission(v.Decision)}, explain.LimitWords(v.Limits, longDate)...)
}

package view

import (
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/explain"
	"github.com/acapcrawl/acapcrawl/memento"
	"github.com/acapcrawl/acapcrawl/present"
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
	Months []versionMonth
	Cut    bool // the period has more versions than are listed
	Long   bool // so many versions are listed that readers with a keyboard need a link behind them

	Earlier, Later period // the nearest periods of the same length that have versions
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
	Months [12]period
	Shown  bool // the listed versions are of this year
}

// versionMonth is the listed versions of a month.
type versionMonth struct {
	period
	Rows []versionRow
}

type versionRow struct {
	present.Version
	Terms  []string  // the permission, and its limits
	Before time.Time // the version before this one, if both can be compared; zero: none
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
	held, err := h.viewable(r, page)
	if err != nil {
		return err
	}
	return h.show(w, r, "versions.html", "Versions of "+page, newVersionsPage(page, held.list, digits))
}

// viewable returns the versions that this visitor may see in the viewer: in a frame of this service, or else by
// themselves (P1 2.5.5.7).
func (h *Handler) viewable(r *request, page string) (*history, error) {
	list, _, err := h.o.Presenter.Versions(r.Context(), page, r.readerAt(viewer))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return h.history(r.Context(), page, r.visitor)
	}
	return &history{list: distinct(list)}, nil
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
	if out.Cut = to-from > mostInDay; out.Cut {
		to = from + mostInDay
	}
	out.Long = to-from > fewRows
	if n := len(out.Period); n > 0 && from > 0 {
		out.Earlier = out.link(stamps[from-1][:n])
	}
	if n := len(out.Period); n > 0 && to < len(list) {
		out.Later = out.link(stamps[to][:n])
	}
	out.count(stamps)
	out.Timeline = newTimeline(out.First, out.Last, out.Years)
	for i := from; i < to; i++ {
		month := stamps[i][:6]
		if n := len(out.Months); n == 0 || out.Months[n-1].Digits != month {
			out.Months = append(out.Months, versionMonth{period: out.link(month)})
		}
		last := &out.Months[len(out.Months)-1]
		last.Rows = append(last.Rows, newVersionRow(list, i))
	}
	return out
}

func newVersionRow(list []present.Version, i int) versionRow {
	v := list[i]
	row := versionRow{Version: v, Terms: append([]string{v.Decision.Why()}, explain.LimitWords(v.Limits)...)}
	if i > 0 && list[i-1].URL == v.URL && list[i-1].Location == "" && v.Location == "" {
		row.Before = list[i-1].Fetched
	}
	return row
}

// count counts the versions by year and month.
func (p *versionsPage) count(stamps []string) {
	for _, stamp := range stamps {
		if n := len(p.Years); n == 0 || p.Years[n-1].Digits != stamp[:4] {
			p.Years = append(p.Years, versionYear{period: p.link(stamp[:4]),
				Shown: p.Period == "" || strings.HasPrefix(p.Period, stamp[:4])})
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

// monthOf returns the month of a timestamp, from 0.
func monthOf(stamp string) int { return int(stamp[4]-'0')*10 + int(stamp[5]) - '1' }

func (p versionsPage) feed() string { return feedPath("url", p.Address) }

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

// timeline is a picture of the numbers of versions by month.
type timeline struct {
	Width int
	Bars  []timelineBar
	Words string // says the same
}

type timelineBar struct{ X, Y, Height int }

const (
	timelineHeight = 40
	timelineMonths = 1200 // maximum number of months in a picture
)

// newTimeline returns the picture for months from first to last, or nil if there are too few or too many.
func newTimeline(first, last time.Time, years []versionYear) *timeline {
	months := (last.Year()-first.Year())*12 + int(last.Month()) - int(first.Month()) + 1
	if months < 3 || months > timelineMonths {
		return nil
	}
	most, name := 0, ""
	for _, y := range years {
		for _, m := range y.Months {
			if m.Count > most {
				most, name = m.Count, m.Name
			}
		}
	}
	out := &timeline{Width: months * 4, Words: "Versions by month, from " + first.Format("January 2006") + " to " +
		last.Format("January 2006") + "; the most, " + strconv.Itoa(most) + ", in " + name + "."}
	for _, y := range years {
		year, _ := strconv.Atoi(y.Digits)
		for i, m := range y.Months {
			if m.Count > 0 {
				height := max(3, timelineHeight*m.Count/most)
				out.Bars = append(out.Bars, timelineBar{X: ((year-first.Year())*12 + i + 1 - int(first.Month())) * 4,
					Y: timelineHeight - height, Height: height})
			}
		}
	}
	return out
}

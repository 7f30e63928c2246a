package second

import (
	"regexp"
	"strings"
	"time"
)

var (
	daysValue = regexp.MustCompile(`^([0-9]+)-days$`)
	dateValue = regexp.MustCompile(`^until-([0-9]{4}-[0-9]{2}-[0-9]{2})$`)
)

// A single is one time-limit value that was read.
type single struct {
	kind string // recrawled, date, days, plus; "" is malformed
	date time.Time
	days int
}

func readTimeLimit(v string) single {
	v = strings.ToLower(v)
	if v == "until-recrawled" || v == "until-recrawl" { // H01: the document's own slip
		return single{kind: "recrawled"}
	}
	if v == "plus-terms" {
		return single{kind: "plus"}
	}
	if m := dateValue.FindStringSubmatch(v); m != nil {
		if d, err := time.Parse("2006-01-02", m[1]); err == nil { // H10: impossible dates are malformed
			return single{kind: "date", date: d.AddDate(0, 0, 1)}
		}
	}
	if m := daysValue.FindStringSubmatch(v); m != nil {
		return single{kind: "days", days: clamp(m[1])}
	}
	return single{}
}

// readTimeLimits combines the values: plus-terms beside others is ignored, then the first two
// count (H08, H12), and of two of one kind the first (H07).
func readTimeLimits(r *reading, values []string) {
	if len(values) > 1 {
		r.new() // the repetition is new in 1.1
	}
	var counted []single
	plus := false
	for _, v := range values {
		s := readTimeLimit(v)
		if s.kind == "plus" {
			plus = true
			continue
		}
		counted = append(counted, s)
	}
	if plus {
		r.new()
	}
	if len(counted) == 0 { // X32, X46: plus-terms alone cannot be interpreted here
		r.bad = true
		return
	}
	for i, s := range counted {
		if i > 1 {
			return // H12: the third and later are ignored
		}
		if s.kind == "" {
			r.spoil()
			return
		}
		if i == 1 && s.kind == counted[0].kind {
			return
		}
		switch s.kind {
		case "recrawled":
			r.terms.recrawled = true
		case "date":
			r.terms.dates = append(r.terms.dates, s.date)
		case "days":
			r.terms.days = append(r.terms.days, s.days)
		}
	}
}

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

// single is one parsed time-limit value.
type single struct {
	kind string // recrawled, date, days or plus; "" means that the value is malformed
	date time.Time
	days int
}

func readTimeLimit(v string) single {
	v = strings.ToLower(v)
	// P1 2.4.1.2 (H01): the specification itself uses both spellings
	if v == "until-recrawled" || v == "until-recrawl" {
		return single{kind: "recrawled"}
	}
	if v == "plus-terms" {
		return single{kind: "plus"}
	}
	if m := dateValue.FindStringSubmatch(v); m != nil {
		if d, err := time.Parse("2006-01-02", m[1]); err == nil { // P1 2.5.3.1 (H10): impossible dates are malformed
			return single{kind: "date", date: d.AddDate(0, 0, 1)}
		}
	}
	if m := daysValue.FindStringSubmatch(v); m != nil {
		return single{kind: "days", days: clamp(m[1])}
	}
	return single{}
}

// readTimeLimits combines the values. The value plus-terms is ignored next to other values. Then
// the first two values apply, but if both are of the same kind, only the first. P1 2.5.3.1 (H07,
// H08, H12).
func readTimeLimits(r *reading, values []string) {
	if len(values) > 1 {
		r.new() // repeating the qualifier is new in version 1.1
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
	if len(counted) == 0 { // X32, X46: plus-terms without other values cannot be interpreted here
		r.bad = true
		return
	}
	for i, s := range counted {
		if i > 1 {
			return // P1 2.5.3.1 (H12): the third and later values are ignored
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

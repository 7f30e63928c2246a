package memento

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	digits = "20060102150405"                // layout of a timestamp
	date   = "Mon, 02 Jan 2006 15:04:05 GMT" // layout of a date in a header
)

// ParseTimestamp reads a timestamp of exactly 14 digits: year, month, day, hour, minute and second,
// in UTC. It is an error if there is no such time.
func ParseTimestamp(s string) (time.Time, error) {
	t, err := time.Parse(digits, s)
	if err != nil || t.Format(digits) != s {
		return time.Time{}, fmt.Errorf("%.40q is not a timestamp; write 14 digits in UTC, such as 20070531203500", s)
	}
	return t, nil
}

// Timestamp returns t as 14 digits in UTC. The year must be between 0 and 9999.
func Timestamp(t time.Time) string { return t.UTC().Format(digits) }

// Date returns t as the value of Memento-Datetime and of the attributes datetime, from and until
// (RFC 7089 2.1.1: an RFC 1123 date, and always in Greenwich Mean Time). The year must be between 0
// and 9999.
func Date(t time.Time) string { return t.UTC().Format(date) }

// ParseDate reads a date exactly in the form of RFC 7089 2.1.1, such as Thu, 31 May 2007 20:35:00
// GMT, letter case included. The weekday must be a valid name, but it may be the wrong one for the
// date: RFC 7089 does not forbid this, and the other fields determine the time.
func ParseDate(s string) (time.Time, error) {
	t, err := time.Parse(date, s)
	named := slices.Contains([]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}, s[:min(3, len(s))])
	if err != nil || !named || t.Format(date)[3:] != s[3:] {
		return time.Time{}, fmt.Errorf("%.60q is not a date; write it in GMT, such as Thu, 31 May 2007 20:35:00 GMT", s)
	}
	return t, nil
}

// AcceptDatetime returns the time in the header Accept-Datetime of a request; asked is false if
// there is no such header. RFC 7089 4.5.3: a malformed header is an error, which the server
// answers with status 400.
func AcceptDatetime(h http.Header) (at time.Time, asked bool, err error) {
	values := h.Values("Accept-Datetime")
	if len(values) == 0 {
		return time.Time{}, false, nil
	}
	if at, err = ParseDate(strings.Join(values, ", ")); err != nil {
		return time.Time{}, false, fmt.Errorf("the header Accept-Datetime: %w", err)
	}
	return at, true, nil
}

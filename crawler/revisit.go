package crawler

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Recrawl says when a page is visited again: not before Min, and after Max at the latest. Where Min
// is zero it never is.
type Recrawl struct{ Min, Max time.Duration }

// How the interval follows a page, as Nutch's AdaptiveFetchSchedule has it.
const (
	slower = 1.4 // when it has not changed
	sooner = 0.8 // when it has
)

const longestAge = 1 << 31 // seconds; a cache takes more for this (RFC 9111 1.2.2)

// next says when a page that was visited now is visited again, and how long that is from now. last
// is what it said at the visit before, zero at the first one, when the page is taken to go on as it
// has since its Last-Modified (RFC 9111 4.2.2). h is the header of the answer: as long as that is
// fresh, the page is left alone, Max aside.
func (r Recrawl) next(last time.Duration, unchanged bool, h http.Header, now time.Time) (interval time.Duration,
	again time.Time) {
	if r.Min <= 0 {
		return 0, time.Time{}
	}
	r.Max = max(r.Max, r.Min)
	switch {
	case last <= 0:
		interval = age(h, now) / 10
	case unchanged:
		interval = time.Duration(float64(min(last, r.Max)) * slower)
	default:
		interval = time.Duration(float64(last) * sooner)
	}
	interval = min(max(interval, r.Min, fresh(h, now)), r.Max)
	return interval, now.Add(interval)
}

// age is for how long a page has not been changed, by its own word.
func age(h http.Header, now time.Time) time.Duration {
	modified, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return 0
	}
	return now.Sub(modified)
}

// fresh is how long an answer that came now stays fresh (RFC 9111 4.2.1): by the max-age of its
// Cache-Control, else by its Expires, less the Age that it had. What a shared cache may do
// (s-maxage) is not asked: a crawler is none.
func fresh(h http.Header, now time.Time) time.Duration {
	var d time.Duration
	if seconds, said := maxAge(h); said {
		d = seconds
	} else if expires, err := http.ParseTime(h.Get("Expires")); err == nil {
		sent, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			sent = now
		}
		d = expires.Sub(sent)
	}
	if seconds, err := strconv.ParseUint(strings.TrimSpace(h.Get("Age")), 10, 31); err == nil {
		d -= time.Duration(seconds) * time.Second
	}
	return d
}

// maxAge reads Cache-Control; of several directives the one that asks for the earliest visit
// counts. One that cannot be read, and no-cache and no-store, mean that nothing is fresh.
func maxAge(h http.Header) (d time.Duration, said bool) {
	for _, part := range strings.Split(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "no-cache", "no-store":
			return 0, true
		case "max-age":
			n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 64)
			if err != nil && !errors.Is(err, strconv.ErrRange) {
				return 0, true
			}
			each := time.Duration(min(n, longestAge)) * time.Second
			if !said || each < d {
				d, said = each, true
			}
		}
	}
	return d, said
}

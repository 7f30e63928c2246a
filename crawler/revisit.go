package crawler

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Recrawl says when a page is revisited: Min is the shortest and Max the longest interval. If Min
// is zero, pages are never revisited.
type Recrawl struct{ Min, Max time.Duration }

// The factors by which the interval until the next visit changes after a visit, as in
// AdaptiveFetchSchedule of Apache Nutch.
const (
	slower = 1.4 // factor if the page has not changed
	sooner = 0.8 // factor if the page has changed
)

const longestAge = 1 << 31 // longest max-age in seconds; a cache treats a greater value as this value (RFC 9111 1.2.2)

// next returns when a page that was visited now is due to be revisited, and the interval until
// then. last is the interval that next returned after the previous visit. At the first visit last
// is zero, and the new interval is a tenth of the time since Last-Modified (RFC 9111 4.2.2). h is
// the header of the response. The page is not revisited while the response is fresh, except that
// r.Max limits the interval.
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

// age returns the time since the Last-Modified of a page, or zero if the field is missing or
// invalid.
func age(h http.Header, now time.Time) time.Duration {
	modified, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return 0
	}
	return now.Sub(modified)
}

// fresh returns how long a response that arrived now stays fresh (RFC 9111 4.2.1): max-age of
// Cache-Control or else Expires, minus Age. It ignores s-maxage, which is for shared caches; a
// crawler is not a shared cache.
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

// maxAge returns the smallest max-age in Cache-Control. It returns zero, which means that the
// response is not fresh, for no-cache, for no-store and for an invalid max-age. said is false if
// Cache-Control has none of these directives.
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

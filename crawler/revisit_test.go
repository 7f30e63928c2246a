package crawler

import (
	"net/http"
	"testing"
	"time"
)

func TestRecrawl(t *testing.T) {
	const hour, day = time.Hour, 24 * time.Hour
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	daily := Recrawl{Min: day, Max: 10 * day}
	for _, c := range []struct {
		name      string
		r         Recrawl
		last      time.Duration
		unchanged bool
		header    []string // header fields of the response: a name, its value, the next name, its value, and so on
		want      time.Duration
	}{
		{"never", Recrawl{Max: day}, day, true, nil, 0},
		{"the first visit", daily, 0, false, nil, day},
		{"the first visit of a page of 50 days", daily, 0, false, []string{"Last-Modified", at(-50 * day)}, 5 * day},
		{"the first visit of a very old page", daily, 0, false, []string{"Last-Modified", at(-5000 * day)}, 10 * day},
		{"the first visit of a page of tomorrow", daily, 0, false, []string{"Last-Modified", at(day)}, day},
		{"unchanged", daily, 5 * day, true, nil, 7 * day},
		{"changed", daily, 5 * day, false, nil, 4 * day},
		{"changed, by whatever age", daily, 5 * day, false, []string{"Last-Modified", at(-50 * day)}, 4 * day},
		{"unchanged for long", daily, 9 * day, true, nil, 10 * day},
		{"changed often", daily, day, false, nil, day},
		{"an interval of another configuration", daily, 1 << 62, true, nil, 10 * day},
		{"fresh for longer", daily, 5 * day, false, []string{"Cache-Control", "public, Max-Age=518400"}, 6 * day},
		{"fresh for less", daily, 5 * day, false, []string{"Cache-Control", "max-age=60"}, 4 * day},
		{"fresh beyond the limit", daily, 5 * day, false, []string{"Cache-Control", "max-age=99999999999999999999"},
			10 * day},
		{"fresh when it came out of a cache", daily, 5 * day, false, []string{"Cache-Control", "max-age=518400", "Age",
			"43200"}, 5*day + 12*hour},
		{"of two ages the smaller", daily, day, false, []string{"Cache-Control", "max-age=518400", "Cache-Control",
			`max-age="172800"`}, 2 * day},
		{"no-cache", daily, day, false, []string{"Cache-Control", "max-age=518400, no-cache"}, day},
		{"an age that cannot be read", daily, day, false, []string{"Cache-Control", "max-age=-1", "Expires",
			at(6 * day)}, day},
		{"for shared caches only", daily, day, false, []string{"Cache-Control", "s-maxage=518400"}, day},
		{"expires", daily, day, true, []string{"Expires", at(6 * day)}, 6 * day},
		{"expires by the server's clock", daily, day, true, []string{"Date", at(day), "Expires", at(6 * day)}, 5 * day},
		{"max-age before expires", daily, day, false, []string{"Cache-Control", "max-age=172800", "Expires",
			at(6 * day)}, 2 * day},
		{"expired", daily, 5 * day, true, []string{"Expires", "0"}, 7 * day},
		{"no longest interval", Recrawl{Min: day}, 5 * day, true, nil, day},
	} {
		h := http.Header{}
		for i := 0; i < len(c.header); i += 2 {
			h.Add(c.header[i], c.header[i+1])
		}
		got, again := c.r.next(c.last, c.unchanged, h, now)
		if got != c.want || c.want > 0 && !again.Equal(now.Add(got)) || c.want == 0 && !again.IsZero() {
			t.Errorf("%s: after %s, at %s; want %s", c.name, got, again, c.want)
		}
	}
}

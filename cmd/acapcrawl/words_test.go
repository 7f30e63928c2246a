package main

import (
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) string { return until(now.Add(d), now) }
	for _, c := range []struct{ got, want string }{
		{number(0), "0"},
		{number(999), "999"},
		{number(1000), "1,000"},
		{number(-123456), "-123,456"},
		{number(int64(12345678)), "12,345,678"},
		{several(1, "host"), "1 host"},
		{several(0, "host"), "0 hosts"},
		{several(2500, "page"), "2,500 pages"},
		{size(999), "999 B"},
		{size(35_400), "35.4 kB"},
		{speed(0), "0 pages/s"},
		{speed(0.54), "0.5 pages/s"},
		{speed(1381.6), "1,382 pages/s"},
		{span(1630 * time.Millisecond), "1.6 s"},
		{span(125 * time.Second), "2 min 5 s"},
		{span(59*time.Minute + 59800*time.Millisecond), "1 h 0 min"},
		{span(47 * time.Hour), "47 h 0 min"},
		{span(50 * time.Hour), "2 days 2 h"},
		{in(0), "now"},
		{in(-time.Hour), "now"},
		{in(200 * time.Millisecond), "in 1 s"},
		{in(12 * time.Second), "in 12 s"},
		{in(121 * time.Second), "in 3 min"},
		{in(5 * time.Hour), "in 5 h"},
		{in(49 * time.Hour), "in 3 days"},
	} {
		if c.got != c.want {
			t.Errorf("wrote %q, want %q", c.got, c.want)
		}
	}
}

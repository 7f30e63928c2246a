package main

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// number writes n with a comma between thousands.
func number[T int | int64](n T) string {
	digits := strconv.FormatInt(int64(n), 10)
	from := 0
	if n < 0 {
		from = 1
	}
	for i := len(digits) - 3; i > from; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// several returns n with the noun, in the plural unless n is 1.
func several(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// size returns a number of bytes as text with a unit, for example "1.5 MB".
func size(n int64) string {
	unit, value := 0, float64(n)
	for value >= 1000 && unit < 4 {
		value /= 1000
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %cB", value, " kMGT"[unit])
}

// speed returns a rate as text, for example "2.5 pages/s".
func speed(perSecond float64) string {
	if perSecond > 0 && perSecond < 9.95 {
		return fmt.Sprintf("%.1f pages/s", perSecond)
	}
	return number(int(math.Round(perSecond))) + " pages/s"
}

// span returns a duration in words, with one or two units.
func span(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	d = d.Round(time.Second)
	switch {
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d days %d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// elapsed returns a duration in words, below a minute in whole seconds.
func elapsed(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return span(d)
}

// until returns when t will be, relative to now, in one unit: "now", "in 12 s".
func until(t, now time.Time) string {
	up := func(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit }
	switch d := t.Sub(now); {
	case d <= 0:
		return "now"
	case d <= 2*time.Minute:
		return fmt.Sprintf("in %d s", up(d, time.Second))
	case d <= 2*time.Hour:
		return fmt.Sprintf("in %d min", up(d, time.Minute))
	case d <= 48*time.Hour:
		return fmt.Sprintf("in %d h", up(d, time.Hour))
	default:
		return fmt.Sprintf("in %d days", up(d, 24*time.Hour))
	}
}

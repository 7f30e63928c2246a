package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// integer returns a function that reads a whole number. The number must be at least lowest, or one
// of the numbers in exception.
func integer(lowest int, exception ...int) func(any) (int, error) {
	return func(v any) (int, error) {
		n, err := whole(v)
		if err != nil {
			return 0, err
		}
		if n < int64(lowest) && !slices.Contains(exception, int(n)) || n > 1<<31-1 {
			return 0, fmt.Errorf("%d is out of range", n)
		}
		return int(n), nil
	}
}

// seenWithin reads a duration, which must be 0 or between the minimum and the maximum time for
// which a robots.txt may be cached.
func seenWithin(v any) (time.Duration, error) {
	d, err := duration(0)(v)
	if err == nil && d != 0 && (d < 5*time.Minute || d > 24*time.Hour) {
		err = fmt.Errorf("%s is out of range", d)
	}
	return d, err
}

func whole(v any) (int64, error) {
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case int64:
		return v, nil
	case float64: // the JSON parser returns all numbers as float64
		if n := int64(v); float64(n) == v {
			return n, nil
		}
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%s is not a whole number", written(v))
}

// duration returns a function that reads a Go duration ("1s", "500ms"), which must be at least
// lowest. The number 0 needs no unit; every other number does.
func duration(lowest time.Duration) func(any) (time.Duration, error) {
	return func(v any) (time.Duration, error) {
		s, ok := v.(string)
		if n, err := whole(v); err == nil && n == 0 {
			s, ok = "0", true
		}
		d, err := time.ParseDuration(s)
		if !ok || err != nil {
			return 0, fmt.Errorf("%s is not a duration", written(v))
		}
		if d < lowest {
			return 0, fmt.Errorf("%s is out of range", s)
		}
		return d, nil
	}
}

var size = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{1,12}(?:\.[0-9]{1,3})?)\s*(B|[kK]B|KiB|MB|MiB|GB|GiB|TB|TiB)?$`)
})

// byteSize reads a number of bytes with or without a unit, for example 1000000, 32MiB or 1.5GB.
func byteSize(v any) (int64, error) {
	if n, err := whole(v); err == nil && n > 0 {
		return n, nil
	}
	s, _ := v.(string)
	m := size().FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%s is not a size with one of the units B, kB, MB, GB, TB, KiB, MiB, GiB, TiB", written(v))
	}
	n, err := strconv.ParseFloat(m[1], 64)
	n *= map[string]float64{"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[m[2]]
	if err != nil || n < 1 || n > 1<<50 {
		return 0, fmt.Errorf("%s is out of range", s)
	}
	return int64(n), nil
}

func writtenSize(n int64) any {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return n
}

func sizeOrUnlimited(v any) (int64, error) {
	if n, err := whole(v); err == nil && n == Unlimited {
		return n, nil
	}
	return byteSize(v)
}

func writtenSizeOrUnlimited(n int64) any {
	if n == Unlimited {
		return n
	}
	return writtenSize(n)
}

// autoSize is written in a configuration if a size is to be computed from the machine. It is read
// as 0 for a memory size, and as AutoFree for a disk size.
const autoSize = "auto"

func sizeOrAuto(v any) (int64, error) {
	if v == autoSize {
		return 0, nil
	}
	return byteSize(v)
}

func writtenSizeOrAuto(n int64) any {
	if n == 0 {
		return autoSize
	}
	return writtenSize(n)
}

// freeSize reads the number of bytes that must stay free on a disk: a size, 0, or "auto".
func freeSize(v any) (int64, error) {
	if v == autoSize {
		return AutoFree, nil
	}
	if n, err := whole(v); err == nil && n == 0 {
		return 0, nil
	}
	return byteSize(v)
}

func writtenFreeSize(n int64) any {
	switch n {
	case AutoFree:
		return autoSize
	case 0:
		return n
	}
	return writtenSize(n)
}

// mostDays is the largest age in days, about the longest time.Duration.
const mostDays = 100_000

// Age reads a duration above 0, which may also be in days: 365d.
func Age(v any) (time.Duration, error) {
	s, err := text(v)
	if err != nil {
		return 0, err
	}
	if days, is := strings.CutSuffix(s, "d"); is {
		n, err := strconv.ParseUint(days, 10, 63)
		switch {
		case err != nil || n == 0:
			return 0, fmt.Errorf("%q is not a number of days", s)
		case n > mostDays:
			return 0, fmt.Errorf("%q is more than %d days", s, mostDays)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration", s)
	}
	return d, nil
}

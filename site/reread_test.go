package site

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/policy"
)

func TestNextReading(t *testing.T) {
	read := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	ok := policy.Attempt{Origin: "http://a.example", Status: policy.Read, At: read, Expires: read.Add(policy.MaxAge),
		Read: read}
	failed := func(since, retry time.Duration) policy.Attempt {
		at := policy.Attempt{Origin: "http://a.example", Status: policy.Unreachable, At: read.Add(since), Read: read}
		at.Expires = at.At.Add(retry)
		return at
	}
	for name, c := range map[string]struct {
		at          policy.Attempt
		from, until time.Duration // earliest and latest expected due time, as durations after the last reading
	}{
		"read":              {ok, 48 * time.Minute, 57 * time.Minute},
		"failed once":       {failed(time.Hour, policy.MinAge), 2 * time.Hour, 2 * time.Hour},
		"for three hours":   {failed(3*time.Hour, policy.MinAge), 6 * time.Hour, 6 * time.Hour},
		"for three days":    {failed(72*time.Hour, policy.MinAge), 96 * time.Hour, 96 * time.Hour},
		"Retry-After":       {failed(time.Hour, 20*time.Hour), 21 * time.Hour, 21 * time.Hour},
		"just after":        {failed(time.Second, policy.MinAge), 48 * time.Minute, 58 * time.Minute},
		"not read for ever": {policy.Attempt{Status: policy.Unreachable, At: read}, policy.MaxAge, policy.MaxAge},
	} {
		if got := nextReading(c.at, time.Hour, read.Add(100*time.Hour)).Sub(read); got < c.from || got > c.until {
			t.Errorf("%s: due after %s, want %s to %s", name, got, c.from, c.until)
		}
	}
	if before := read.Add(-time.Hour); !nextReading(ok, time.Hour, before).Equal(before) {
		t.Error("what was read when the clock was ahead waits for that time to come again")
	}
	var spreads []time.Duration
	for i := range 20 {
		at := ok
		at.Origin += strings.Repeat("x", i)
		spreads = append(spreads, nextReading(at, time.Hour, read).Sub(read))
	}
	slices.Sort(spreads)
	if len(slices.Compact(spreads)) < 20 {
		t.Errorf("origins that were read together are due together: %v", spreads)
	}
}

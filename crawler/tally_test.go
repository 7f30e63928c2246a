package crawler

import (
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	var m meter
	start := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	m.rate(start, 0)
	if got := m.rate(start.Add(2*time.Second), 10); got != 5 {
		t.Errorf("10 in 2 s: %v a second", got)
	}
	for s := 3; s <= 100; s++ {
		m.rate(start.Add(time.Duration(s)*time.Second), 10)
	}
	if got := m.rate(start.Add(101*time.Second), 40); got != 3 {
		t.Errorf("30 in the last 10 s: %v a second", got)
	}
	if len(m.samples) > 12 {
		t.Errorf("%d samples are kept", len(m.samples))
	}
}

func TestTally(t *testing.T) {
	var c tally
	c.end(outcome{End: End{State: Queued}}, Receipt{}, false)
	c.end(outcome{End: End{State: Fetched}}, Receipt{Stored: true, Unchanged: true, RefusedIndex: true}, false)
	c.end(outcome{End: End{State: Refused}}, Receipt{}, false)
	c.end(outcome{End: End{State: Unreachable}}, Receipt{}, false)
	c.end(outcome{End: End{State: Failed}}, Receipt{}, false)
	c.sent("a.example", true, 3, 10)
	c.sent("b.example", false, 1, 5)
	c.sent("a.example", true, 1, 0)
	c.sent("c.example", true, 0, 0)
	c.stored(7)
	for _, s := range []State{Outside, Outside, Deep, Trapped, Refused} {
		c.skip(s)
	}
	got, settled := c.now()
	want := Summary{Fetched: 1, Stored: 1, Unchanged: 1, Refused: Refusal{Crawl: 1, Index: 1}, Unreachable: 1,
		Errors: 1, Bytes: 15, Requests: 5,
		Hosts: 2, Skipped: Skipped{Outside: 2, Deep: 1, Trapped: 1}}
	if got != want || settled != 4 {
		t.Errorf("%d settled, %+v, want %+v", settled, got, want)
	}
	for _, limit := range []struct {
		o    Options
		want Limit
	}{{Options{}, ""}, {Options{MaxPages: 5, MaxBytes: 16, MaxStored: 8}, ""}, {Options{MaxPages: 4}, LimitPages},
		{Options{MaxBytes: 15}, LimitBytes}, {Options{MaxPages: 9, MaxBytes: 15}, LimitBytes},
		{Options{MaxStored: 7}, LimitStored}} {
		c.s.Limit = ""
		if got := c.reached(&limit.o); got != (limit.want != "") || c.s.Limit != limit.want {
			t.Errorf("%+v: %t, %q", limit, got, c.s.Limit)
		}
	}
}

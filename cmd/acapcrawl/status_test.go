package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/crawler"
)

func TestProgressLine(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	p := crawler.Progress{Done: 1234, Queued: 56789, Hosts: 1, Rate: 26.2, Refused: 3, Errors: 1, UnderWay: 2,
		NextDue: now.Add(12 * time.Second)}
	waiting := p
	waiting.UnderWay = 0
	soon := waiting
	soon.NextDue = now.Add(time.Second)
	for _, c := range []struct {
		p        crawler.Progress
		stopping bool
		want     string
	}{
		{p, false, "1,234 done, 56,789 queued on 1 host, 26 pages/s, 3 refused, 1 error"},
		{waiting, false, "1,234 done, 56,789 queued on 1 host, 26 pages/s, 3 refused, 1 error, next in 12 s"},
		{soon, false, "1,234 done, 56,789 queued on 1 host, 26 pages/s, 3 refused, 1 error"},
		{p, true, "stopping: 2 visits under way; 1,234 done, 56,789 queued"},
	} {
		if got := progressLine(c.p, now, c.stopping); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestStatusBlock(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	p := crawler.Progress{Done: 1234, Fetched: 1200, Refused: 30, Errors: 4, UnderWay: 16, Queued: 56789, Hosts: 120,
		Rate: 26.2, NextDue: now,
		SoFar: crawler.Summary{Duration: 65, Bytes: 2_000_000, Stored: 1100, Indexed: 900, Waiting: 2,
			NextAgain: now.Add(time.Hour)}}
	want := `Crawling for 1 min 5 s
  done          1,234  1,200 fetched, 30 refused, 4 failed
  under way        16
  queued       56,789  on 120 hosts, the next due now
  waiting           2  to be visited again, pages and required resources, the first in 60 min
  kept          1,100  and 900 indexed
  speed            26  pages/s, 2.0 MB in all
`
	if got := statusBlock(p, now, false); got != want {
		t.Errorf("printed\n%s, want\n%s", got, want)
	}
}

// With --json, the states that are printed at intervals are lines of JSON. The first line is
// printed as soon as the first state is known.
func TestStatusAtIntervals(t *testing.T) {
	var b bytes.Buffer
	stopping := false
	w := &watch{screen: newProgress(&b), asJSON: true, every: time.Hour, stopping: func() bool { return stopping }}
	w.status(time.Now())
	w.progress(crawler.Progress{Done: 2, SoFar: crawler.Summary{Fetched: 1, Queued: 7}})
	w.progress(crawler.Progress{Done: 3}) // this state is not printed, because the interval is an hour
	stopping = true
	w.status(time.Now())
	type line struct {
		Status  string `json:"status"`
		Done    int    `json:"done"`
		Fetched int    `json:"fetched"`
		Queued  int    `json:"queued"`
		NextDue string `json:"next_due"`
	}
	d := json.NewDecoder(&b)
	for _, want := range []line{{Status: "opening"}, {"crawling", 2, 1, 7, ""}, {"stopping", 3, 0, 0, ""}} {
		var got line
		if err := d.Decode(&got); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	if d.More() {
		t.Error("there are more lines")
	}
	if got := w.state().Done; got != 3 {
		t.Errorf("%d done in the last state", got)
	}
}

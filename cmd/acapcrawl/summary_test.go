package main

import (
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/site"
)

func TestSummary(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		sum  crawler.Summary
		want string
	}{
		{crawler.Summary{}, `0 pages fetched in 0.0 s: 0 pages/s, 0 B
       0  stored
       0  indexed

Nothing is left for another run.
Everything is stored in data
`},
		{crawler.Summary{
			Fetched: 123456, Stored: 120000, Indexed: 1, Unchanged: 7, Bytes: 1_234_567_890, Duration: 7325,
			Rate: 16.85, Hosts: 1,
			Refused: crawler.Refusal{Crawl: 12, Follow: 1, Index: 2, Preserve: 3}, Unreachable: 4, TakenDown: 11,
			Errors:  5,
			Skipped: crawler.Skipped{Outside: 1000, Deep: 6, Trapped: 8}, Beyond: 10,
			Queued: 1234, QueuedHosts: 20, NextDue: now.Add(-time.Second), Waiting: 9, NextAgain: now.Add(
				5 * time.Hour),
		}, `123,456 pages fetched from 1 host in 2 h 2 min: 17 pages/s, 1.2 GB
 120,000  stored
       1  indexed
       7  unchanged since they were last fetched

Not fetched
      12  refused by policy
      11  taken down at the request of their publisher
       4  refused because policy could not be read
       5  failed
   1,000  out of scope
       6  too many links away from a seed
       8  in crawler traps
      10  links not recorded, because their hosts have too many addresses (in all runs)

Fetched, but by policy
       1  not followed
       2  not indexed
       3  not preserved

Left for another run
   1,234  queued on 20 hosts, the next due now
       9  to be visited again, pages and required resources, the first in 5 h
Everything is stored in data
`},
	} {
		var b strings.Builder
		if err := printSummary(&b, site.CrawlSummary{Summary: c.sum, Data: "data"}, now); err != nil ||
			b.String() != c.want {
			t.Errorf("printed\n%s%v, want\n%s", b.String(), err, c.want)
		}
	}
}

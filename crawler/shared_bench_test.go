package crawler

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// slowJournal is a journal whose Append takes some time, as with other machines.
type slowJournal struct {
	oneJournal
	took time.Duration
}

func (j slowJournal) Append(_ context.Context, entries []Entry) ([]uint64, []int, error) {
	if j.took > 0 {
		time.Sleep(j.took)
	}
	return make([]uint64, len(entries)), nil, nil
}

// BenchmarkVisits measures how many visits workers begin and end, each with ten links of which
// eight are known: on one machine, and with a journal whose Append takes no time or 3 ms.
func BenchmarkVisits(b *testing.B) {
	for _, name := range []string{"alone", "journal", "journal-3ms"} {
		b.Run(name, func(b *testing.B) {
			o := FrontierOptions{}
			j := slowJournal{oneJournal: oneJournal{newSharedStore(b, 1).machine()}}
			if name == "journal-3ms" {
				j.took = 3 * time.Millisecond
			}
			if name != "alone" {
				o.Journal = j
			}
			f := newFrontier(b, o)
			if name != "alone" {
				must(b, f.Adopt(0, true, func(func(JournalRecord, error) bool) {}))
			}
			const hosts, workers = 500, 32
			var offers []Offer
			for i := range b.N + 2*workers {
				offers = append(offers, Offer{URL: fmt.Sprintf("http://h%d/%d", i%hosts, i), State: Queued})
			}
			_, err := f.Offer(offers...)
			must(b, err)
			b.ResetTimer()
			var left atomic.Int64
			left.Store(int64(b.N))
			var all sync.WaitGroup
			for range workers {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						l, err := f.Next(b.Context())
						if err != nil {
							b.Error(err)
							return
						}
						e := End{State: Fetched, Status: 200, Asked: time.Now()}
						for i := range 10 {
							n := l.Depth + i
							if i < 2 {
								n = int(left.Load()) + 1_000_000*i + 1_000_000
							}
							e.Offers = append(e.Offers, Offer{URL: fmt.Sprintf("http://h1/%d", n), Depth: 9,
								State: Queued})
						}
						if err := f.Done(l, e); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			must(b, f.Flush())
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "visits/s")
		})
	}
}

// BenchmarkAdopt measures how fast a partition of 50,000 addresses is made of its journal.
func BenchmarkAdopt(b *testing.B) {
	const hosts, pages = 500, 100
	s := newSharedStore(b, 1)
	m := newMachine(b, s, FrontierOptions{}, 0)
	for i := range hosts {
		var urls []string
		for j := range pages {
			urls = append(urls, fmt.Sprintf("http://h%d.0/a/path/of/usual/length/%d.html", i, j))
		}
		m.offer(urls...)
	}
	f := newMachine(b, s, FrontierOptions{})
	for b.Loop() {
		_, list := s.entries(0, 0)
		must(b, f.Adopt(0, true, list))
		b.StopTimer()
		f.Lose(0)
		must(b, f.awaitDrop(0))
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N*hosts*pages)/b.Elapsed().Seconds(), "addresses/s")
}

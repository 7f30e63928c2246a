package archive

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// filled opens an archive of n distinct captures of size bytes each, at most 20 KB.
func filled(b *testing.B, n, size int) *Archive {
	b.Helper()
	a := open(b, b.TempDir(), Options{})
	rnd := rand.New(rand.NewPCG(1, 2))
	samples := make([][]byte, 100)
	for i := range samples {
		samples[i] = sample(rnd)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				d := deposit(fmt.Sprintf("http://h%d.example/articles/%d.html", i%50, i), "x")
				d.Body = fmt.Appendf(nil, "%d%s", i, samples[i%100][:size])
				if _, err := a.Receive(context.Background(), d); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return a
}

// BenchmarkErase erases pages of 2 KB one by one from an archive of 100,000 captures. Each call
// ends when its keys are destroyed on disk.
func BenchmarkErase(b *testing.B) {
	a := filled(b, 100_000, 2_000)
	var longest time.Duration
	i := 0
	for b.Loop() {
		i++
		start := time.Now()
		if n, err := a.Erase(context.Background(),
			Tombstone{URL: fmt.Sprintf("http://h%d.example/articles/%d.html", i%50, i), Why: "asked"}); n != 1 ||
			err != nil {
			b.Fatal(n, err)
		}
		longest = max(longest, time.Since(start))
	}
	b.ReportMetric(float64(longest.Microseconds())/1000, "ms-longest")
}

// BenchmarkCompact compacts an archive while pages are deposited. The archive has 20,000 captures
// of 20 KB, of which every fifth was erased. BenchmarkCompact reports the longest time that a
// deposit waited.
func BenchmarkCompact(b *testing.B) {
	a := filled(b, 20_000, 20_000)
	for i := 5; i <= 20_000; i += 5 {
		if _, err := a.Erase(context.Background(),
			Tombstone{URL: fmt.Sprintf("http://h%d.example/articles/%d.html", i%50, i), Why: "asked"}); err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var longest atomic.Int64
	var received atomic.Int64
	var wg sync.WaitGroup
	body := sample(rand.New(rand.NewPCG(7, 8)))
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				start := time.Now()
				d := deposit(fmt.Sprintf("http://new.example/%d/%d", w, i), "x")
				d.Body = fmt.Appendf(nil, "%d %d %s", w, i, body)
				if _, err := a.Receive(context.Background(), d); err != nil {
					b.Error(err)
				}
				received.Add(1)
				for took := int64(time.Since(start)); ; {
					if was := longest.Load(); took <= was || longest.CompareAndSwap(was, took) {
						break
					}
				}
			}
		})
	}
	var s CompactStats
	for b.Loop() {
		s = compact(b, a)
	}
	cancel()
	wg.Wait()
	b.ReportMetric(float64(s.After)/1e6, "MB-after")
	b.ReportMetric(float64(s.After)/1e6/(b.Elapsed().Seconds()/float64(b.N)), "MB/s")
	b.ReportMetric(float64(longest.Load())/1e6, "ms-longest-wait")
	b.ReportMetric(float64(received.Load())/b.Elapsed().Seconds(), "pages/s-meanwhile")
}

package archive

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// sample makes a page of about 20 KB that compresses like one: markup, and words of which common ones are common.
func sample(rnd *rand.Rand) []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html><head><title>Sample</title></head><body>")
	for b.Len() < 20<<10 {
		b.WriteString(`<div class="text"><p>`)
		for range 40 {
			fmt.Fprintf(&b, "%s ", vocabulary[int(rnd.ExpFloat64()*300)%len(vocabulary)])
		}
		b.WriteString("</p></div>\n")
	}
	return []byte(b.String())
}

var vocabulary = func() (list []string) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		word := make([]byte, 2+rnd.IntN(9))
		for i := range word {
			word[i] = "eeetaoinsrhldcumfpgwybvk"[rnd.IntN(24)]
		}
		list = append(list, string(word))
	}
	return list
}()

// BenchmarkReceive deposits pages of 20 KB from 16 callers.
func BenchmarkReceive(b *testing.B) {
	a := open(b, b.TempDir(), Options{})
	rnd := rand.New(rand.NewPCG(1, 2))
	pages := make([][]byte, 200)
	for i := range pages {
		pages[i] = sample(rnd)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 16 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				d := deposit(fmt.Sprintf("http://h%d.example/articles/%d.html", i%50, i), "x")
				d.Body = fmt.Appendf(nil, "%d%s", i, pages[i%200])
				d.Index = true
				if _, err := a.Receive(context.Background(), d); err != nil {
					b.Error(err)
					return
				}
				a.Done(d.Resource.URL)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
	s := stats(b, a)
	b.ReportMetric(float64(s.Raw)/float64(s.Stored), "times-packed")
}

// BenchmarkBody reads bodies of 20 KB in random order.
func BenchmarkBody(b *testing.B) {
	a := open(b, b.TempDir(), Options{})
	rnd := rand.New(rand.NewPCG(1, 2))
	const n = 500
	for i := range n {
		d := deposit(fmt.Sprint("http://example.com/", i), "x")
		d.Body = sample(rnd)
		put(b, a, d)
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := a.Body(1 + rand.Uint64N(n)); err != nil {
				b.Error(err)
			}
		}
	})
}

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

// sample makes a page of about 20 KB that packs like one: a third of it is markup, and its words are as uneven as a
// language's (Zipf).
func sample(rnd *rand.Rand) []byte {
	zipf := rand.NewZipf(rnd, 1.1, 8, uint64(len(vocabulary)-1))
	words := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = vocabulary[zipf.Uint64()]
		}
		return strings.Join(list, " ")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title></head><body>\n<ul class=\"menu\">\n", words(6))
	for range 40 {
		fmt.Fprintf(&b, "<li class=\"menu-item\"><a class=\"menu-link\" href=\"/section/%s/%d.html\">%s</a></li>\n", words(1), rnd.IntN(9999), words(2))
	}
	for b.Len() < 20<<10 {
		fmt.Fprintf(&b, "<p class=\"paragraph\">%s <a href=\"/articles/%d.html\">%s</a> %s.</p>\n", words(40), rnd.IntN(99999), words(3), words(20))
	}
	return []byte(b.String())
}

var vocabulary = func() (list []string) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 8000 {
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

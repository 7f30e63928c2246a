package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/coding"
)

// sample returns a page of about 20 KB that compresses like a real page: a third is markup, and the
// frequencies of its words follow Zipf's law.
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
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta "+
		"charset=\"utf-8\"><title>%s</title></head><body>\n<ul class=\"menu\">\n", words(6))
	for range 40 {
		fmt.Fprintf(&b, "<li class=\"menu-item\"><a class=\"menu-link\" href=\"/section/%s/%d.html\">%s</a></li>\n",
			words(1), rnd.IntN(9999), words(2))
	}
	for b.Len() < 20<<10 {
		fmt.Fprintf(&b, "<p class=\"paragraph\">%s <a href=\"/articles/%d.html\">%s</a> %s.</p>\n", words(40),
			rnd.IntN(99999), words(3), words(20))
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

var many = flag.Int("captures", 20_000, "how many captures BenchmarkEachCapture goes through")

// callers is the number of goroutines that deposit concurrently.
const callers = 256

// fill deposits n pages made by page from concurrent goroutines.
func fill(b *testing.B, a *Archive, n int, page func(i int) Deposit) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				d := page(int(i))
				if _, err := a.Receive(context.Background(), d); err != nil {
					b.Error(err)
					return
				}
				a.Done(d.Resource.URL)
			}
		})
	}
	wg.Wait()
}

// fetched returns a deposit with the data that a crawl also stores: heads, deciding lines and
// links.
func fetched(i int, body []byte) Deposit {
	d := deposit(fmt.Sprintf("http://h%d.example/articles/%d.html", i%50, i), "x")
	d.Body, d.Index = body, true
	d.Sent = fmt.Appendf(nil,
		"GET /articles/%d.html HTTP/1.1\r\nHost: h%d.example\r\nUser-Agent: gazer/1.0 "+
			"(+https://gazer.example/bot)\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n", i, i%50)
	d.Header = http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Server": {"nginx/1.24.0"},
		"Date": {"Sat, 21 Nov 2026 12:00:00 GMT"},
		"Etag": {fmt.Sprintf(`"%x"`, i*7919)}, "Last-Modified": {"Fri, 20 Nov 2026 08:31:00 GMT"},
		"Vary": {"Accept-Encoding"}, "Content-Length": {fmt.Sprint(len(body))}}
	head := bytes.NewBufferString("HTTP/1.1 200 OK\r\n")
	_ = d.Header.Write(head)
	d.Head = append(head.Bytes(), "\r\n"...)
	d.Policy = PolicyVersion{Origin: fmt.Sprintf("http://h%d.example", i%50), Since: noon}
	d.Resource.Own = acap.Own{URL: d.Resource.URL}
	d.Decided = map[acap.Usage]string{}
	for n, u := range acap.Usages() {
		d.Decided[u] = fmt.Sprintf("http://h%d.example/robots.txt:%d: ACAP-allow-%s: /", i%50, n, u)
	}
	return d
}

// numbered returns a function that makes the page of 20 KB with a given number. All pages differ.
// If kind is "gzip", each page looks like a page that the server sent with gzip and that the
// crawler decoded.
func numbered(b *testing.B, kind string) func(i int) Deposit {
	rnd := rand.New(rand.NewPCG(1, 2))
	plain, packed := make([][]byte, 200), make([][]byte, 200)
	for i := range plain {
		plain[i] = sample(rnd)
		packed[i] = zipped(b, string(plain[i]))
	}
	writers := sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
	decoders := coding.NewDecoders()
	return func(i int) Deposit {
		number := fmt.Append(nil, i)
		d := fetched(i, append(number, plain[i%200]...))
		// To compress each page would take longer than the measured work, so all pages share the
		// second gzip member.
		if kind == "gzip" {
			var wire bytes.Buffer
			w := writers.Get().(*gzip.Writer)
			defer writers.Put(w)
			w.Reset(&wire)
			_, _ = w.Write(number)
			_ = w.Close()
			d.Wire, d.Encoding = append(wire.Bytes(), packed[i%200]...), "gzip"
			d.Undone = decoders.Undo(d.Wire, []string{"gzip"}, 1<<20)
			d.Body = d.Undone.Body
		}
		return d
	}
}

// inPortions makes b.N pages, one portion after another, and calls fn for each portion. The timer
// does not run while the pages are made.
func inPortions(b *testing.B, kind string, fn func(list []Deposit)) {
	const portion = 5000
	page := numbered(b, kind)
	list := make([]Deposit, 0, portion)
	b.ResetTimer()
	for done := 0; done < b.N; done += len(list) {
		b.StopTimer()
		list = list[:0]
		for i := range min(portion, b.N-done) {
			list = append(list, page(done+i+1))
		}
		b.StartTimer()
		fn(list)
	}
	b.StopTimer()
}

// BenchmarkReceive deposits pages. It reports how many bytes on disk, including page overhead, each
// compressed byte needs. For comparison it measures compression without storing, on all processors.
func BenchmarkReceive(b *testing.B) {
	for _, kind := range []string{"plain", "gzip"} {
		b.Run(kind, func(b *testing.B) {
			a := open(b, b.TempDir(), Options{})
			inPortions(b, kind, func(list []Deposit) {
				fill(b, a, len(list), func(i int) Deposit { return list[i-1] })
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "captures/s")
			report(b, a)
		})
	}
	b.Run("zstd alone", func(b *testing.B) {
		p, err := newPacker()
		if err != nil {
			b.Fatal(err)
		}
		defer p.close()
		inPortions(b, "plain", func(list []Deposit) {
			var next atomic.Int64
			var wg sync.WaitGroup
			for range runtime.GOMAXPROCS(0) {
				wg.Go(func() {
					for i := next.Add(1); i <= int64(len(list)); i = next.Add(1) {
						packed, _ := p.pack(list[i-1].Body, false)
						p.reuse(packed)
					}
				})
			}
			wg.Wait()
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "captures/s")
	})
}

// report reports the sizes of the stored data as metrics.
func report(b *testing.B, a *Archive) {
	s := stats(b, a)
	b.ReportMetric(float64(s.Raw)/float64(s.Stored), "times-packed")
	err := a.view(func(tx *bolt.Tx) error {
		var bodies uint64
		err := local{a, tx}.eachFile(func(_ uint32, f fileRecord) error { bodies += f.Size; return nil })
		records := tx.Bucket(bCaptures).Stats()
		b.ReportMetric(float64(bodies)/float64(s.Stored-sealRoom*int64(s.Bodies)), "disk/packed")
		b.ReportMetric(float64(records.LeafAlloc+records.BranchAlloc)/float64(s.Captures), "record-B")
		return err
	})
	if err != nil {
		b.Error(err)
	}
}

// BenchmarkBody reads bodies of 20 KB in random order, decoded and as sent. For comparison it
// measures decompression without reading.
func BenchmarkBody(b *testing.B) {
	for _, c := range []struct {
		name, kind string
		read       func(a *Archive, id uint64) ([]byte, error)
	}{
		{"plain", "plain", (*Archive).Body},
		{"gzip", "gzip", (*Archive).Body},
		{"gzip as sent", "gzip", (*Archive).Wire},
		{"zstd alone", "plain", nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			a := open(b, b.TempDir(), Options{})
			const n = 5000
			page := numbered(b, c.kind)
			if c.read == nil {
				packed := make([][]byte, 200)
				for i := range packed {
					packed[i], _ = a.pack.pack(page(i).Body, false)
				}
				c.read = func(a *Archive, id uint64) ([]byte, error) {
					return a.pack.dec.DecodeAll(packed[id%200], make([]byte, 0, 24<<10))
				}
			} else {
				fill(b, a, n, page)
			}
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := c.read(a, 1+rand.Uint64N(n)); err != nil {
						b.Error(err)
					}
				}
			})
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
		})
	}
}

// BenchmarkEachCapture iterates over -captures captures of short pages and reports the maximal
// growth of the heap.
func BenchmarkEachCapture(b *testing.B) {
	a := open(b, b.TempDir(), Options{})
	fill(b, a, *many, func(i int) Deposit { return fetched(i, []byte("low water")) })
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, most := m.HeapAlloc, uint64(0)
	seen := 0
	b.ResetTimer()
	for range b.N {
		seen = 0
		err := a.EachCapture(func(Capture) error {
			if seen++; seen%5000 == 0 {
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if seen != *many {
		b.Errorf("%d captures of %d", seen, *many)
	}
	b.ReportMetric(float64(seen*b.N)/b.Elapsed().Seconds(), "captures/s")
	b.ReportMetric(float64(max(most, before)-before)/(1<<20), "heap-MB")
}

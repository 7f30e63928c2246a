package holdings

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/terms"
)

// BenchmarkJudge measures the decision about one page of 15 KB, including parsing. The cases are:
// no policy, a few rules for the page, many rules for other pages, a part that must be shown with
// the page, and rules for half of its paragraphs.
func BenchmarkJudge(b *testing.B) {
	many := ""
	for i := range 1000 {
		many += fmt.Sprintf("ACAP-allow-present-snippet: /%d/ max-length=20-words\nACAP-disallow-index: /*/%d$\n", i, i)
	}
	for _, c := range []struct{ name, robots, mark string }{
		{"open", "", ""},
		{"limits", "ACAP-disallow-preserve: /\nACAP-allow-present-snippet: / max-length=20-words", ""},
		{"many rules", many, ""},
		{"parts", "ACAP-allow-present: / must-include-resource=the-acap:credit:id:by", ""},
		{"marks", "", " class=the-acap:disallow-present"},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := newWeb(c.robots)
			h := &Holdings{sources: terms.Sources{Policies: w, Fetcher: w}}
			body := `<html lang="en"><title>Low water</title><p id=by>Ada Quill` +
				strings.Repeat("<p>The pilot waits for the tide <a href=/b>at the quay</a> and the gulls wait with "+
					"her.<p"+c.mark+">The pilot waits for the tide <a href=/b>at the quay</a> and the gulls wait "+
					"with her.", 85)
			b.ReportAllocs()
			for b.Loop() {
				pg := pageOf(body, a)
				h.assessPage(terms.Of(context.Background(), w.policy, pg.URL(), pg, h.sources,
					acap.Facts{Now: time.Now()}),
					pg, nil, archive.Resource{}, true)
			}
		})
	}
}

// BenchmarkSweep measures two sweeps of 20,000 pages. In the first sweep nothing must be erased, in
// the second sweep all copies must be erased.
func BenchmarkSweep(b *testing.B) {
	const pages = 20_000
	for name, later := range map[string]string{"kept": "", "gone": "ACAP-disallow-preserve: /"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				h, end := filled(b, pages)
				h.o.Known.(*web).says(later)
				b.StartTimer()
				counts, err := h.Sweep(context.Background(), SweepOptions{}, nil)
				b.StopTimer()
				if err != nil || counts.Pages != pages || counts.Copies != len(later)/25*pages {
					b.Fatalf("%+v, %v", counts, err)
				}
				end()
				b.StartTimer()
			}
			b.ReportMetric(pages*float64(b.N)/b.Elapsed().Seconds(), "pages/s")
		})
	}
}

// filled opens holdings with the given number of pages, none of which is indexed.
func filled(b *testing.B, pages int) (h *Holdings, end func()) {
	b.Helper()
	dir := b.TempDir()
	a, err := archive.Open(dir, archive.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ix, err := index.Open(filepath.Join(dir, "index"))
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	for worker := range 64 {
		wg.Go(func() {
			for i := worker; i < pages; i += 64 {
				u := fmt.Sprintf("%s/%06d", site, i)
				d := archive.Deposit{Resource: archive.Resource{URL: u, Status: 200, MIME: "text/html",
					Own: acap.Own{URL: u}}, Fetched: time.Now(),
					Body: []byte(u), Header: http.Header{"Content-Type": {"text/html"}}}
				if _, err := a.Receive(context.Background(), d); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if h, err = Open(context.Background(), a, ix, terms.Sources{Policies: newWeb("")}, Options{}); err != nil {
		b.Fatal(err)
	}
	return h, func() {
		h.Close()
		ix.Close()
		a.Close()
	}
}

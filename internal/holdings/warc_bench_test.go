package holdings

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/terms"
	"github.com/acapcrawl/acapcrawl/warc"
)

// BenchmarkWARC imports pages of 15 KB from a WARC file and exports them again, without an index.
func BenchmarkWARC(b *testing.B) {
	const pages = 5000
	var file bytes.Buffer
	w := warc.NewWriter(&file, true)
	random := rand.New(rand.NewPCG(1, 2))
	var words []string
	for range 2000 {
		words = append(words, fmt.Sprintf("w%x", random.IntN(1<<24)))
	}
	for i := range pages {
		var body strings.Builder
		body.WriteString("<!DOCTYPE html><html lang=en><p>")
		for body.Len() < 15_000 {
			body.WriteString(words[random.IntN(len(words))] + " ")
		}
		if _, err := w.Write(warc.Entry{Type: warc.Response, ID: warc.NewID(), Date: time.Unix(int64(i), 0),
			Target: fmt.Sprintf("%s/%d", site, i), ContentType: warc.TypeResponse,
			Head:    []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
			Payload: []byte(body.String())}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		dir := b.TempDir()
		a, err := archive.Open(dir, archive.Options{})
		if err != nil {
			b.Fatal(err)
		}
		ix, err := index.Open(dir + "/index")
		if err != nil {
			b.Fatal(err)
		}
		h, err := Open(context.Background(), a, ix, terms.Sources{Policies: newWeb("")}, Options{NoIndex: true})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if n, err := h.Import(context.Background(), bytes.NewReader(file.Bytes()), ImportOptions{MaxBody: roomy},
			nil); err != nil || n.Imported != pages {
			b.Fatalf("%+v, %v", n, err)
		}
		b.ReportMetric(pages/time.Since(start).Seconds(), "imported/s")
		start = time.Now()
		if n, err := h.Export(context.Background(), io.Discard, ExportOptions{}, nil); err != nil ||
			n.Captures != pages {
			b.Fatalf("%+v, %v", n, err)
		}
		b.ReportMetric(pages/time.Since(start).Seconds(), "exported/s")
		h.Close()
		ix.Close()
		a.Close()
	}
}

package crawler

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/acapcrawl/acapcrawl/gate"
)

// BenchmarkCrawl crawls 500 pages of 20 KB without callbacks.
func BenchmarkCrawl(b *testing.B) {
	s := newSite(b)
	var links []string
	for i := range 500 {
		links = append(links, fmt.Sprintf("/p%d", i))
	}
	filler := make([]byte, 20_000)
	for i := range filler {
		filler[i] = 'x'
	}
	s.Page("/", links...)
	for _, link := range links {
		s.Handle(link, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<p>")
			_, _ = w.Write(filler)
		})
	}
	for b.Loop() {
		f := newFrontier(b, FrontierOptions{PerHost: 4})
		g := gate.New(gate.Options{PerHost: 4, AllowPrivate: true})
		g.Use(rules{})
		if _, err := New(g, &shelf{}, f, Options{Concurrency: 4, Depth: -1}).Run(context.Background(),
			[]string{s.URL}); err != nil {
			b.Fatal(err)
		}
		g.Close()
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

// Every page of the site is reachable by links, and pages have the intended size.
func TestSiteIsWhole(t *testing.T) {
	const pages, size = 60, 15 << 10
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	done := make(chan error)
	go func() { done <- site{pages: pages, bytes: size}.serve(ctx, out, 3, 0) }()
	hosts, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s := site{pages: pages, bytes: size, hosts: strings.Fields(hosts)}
	for name, crawl := range map[string]func([]string, int) (int, error){"floor": crawlFloor, "colly": crawlColly} {
		if n, err := crawl(s.seeds(), 2); n < pages || err != nil { // Colly may fetch a page twice
			t.Errorf("%s: %d pages came, want %d: %v", name, n, pages, err)
		}
	}
	if n, err := indexBleve(s, t.TempDir(), func() {}); n != pages || err != nil {
		t.Errorf("%d pages indexed, want %d: %v", n, pages, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for i := range pages {
		if n := len(s.page(i)); n < size || n > size+1000 {
			t.Errorf("page %d has %d bytes", i, n)
		}
	}
	if !bytes.Equal(s.page(7), s.page(7)) {
		t.Error("a page differs from itself")
	}
}

func TestMedian(t *testing.T) {
	rs := []result{{Seconds: 3}, {Seconds: 1}, {Seconds: 2}}
	if got := median(rs, func(r result) float64 { return r.Seconds }); got != 2 {
		t.Errorf("%v", got)
	}
}

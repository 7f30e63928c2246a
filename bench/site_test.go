package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

// The site is whole: a crawler that follows links comes to every page, and pages are as large as they are said to be.
func TestSiteIsWhole(t *testing.T) {
	const pages = 60
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	done := make(chan error)
	go func() { done <- serve(ctx, out, pages) }()
	base, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var count bytes.Buffer
	if err := crawlBare(&count, strings.TrimSpace(base), 2); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(count.String()); got != "60" {
		t.Errorf("%s pages came, want %d", got, pages)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for i := range pages {
		if n := len(page(i, pages)); n < pageBytes || n > pageBytes+1000 {
			t.Errorf("page %d has %d bytes", i, n)
		}
	}
	if !bytes.Equal(page(7, pages), page(7, pages)) {
		t.Error("a page differs from itself")
	}
}

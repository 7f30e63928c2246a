package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/conformance"
)

// TestDemo crawls the reference publisher site as demo does and compares every row with what the
// site's own robots.txt and pages say, written by hand.
func TestDemo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	newspaper := conformance.NewSite()
	base, stop, err := serveSite(ctx, newspaper)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	cfg, err := demoConfig(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := newDemo(base)
	sum, err := (&Command{}).crawl(ctx, cfg, slog.New(slog.DiscardHandler), d.options())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.rows(ctx, &Command{}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]demoRow{}
	for _, r := range rows {
		byPath[r.Path] = r
	}
	requested := map[string]int{}
	for _, v := range newspaper.Visits() {
		requested[v.Path]++
	}
	for _, p := range newspaper.Forbidden() {
		if requested[p] > 0 {
			t.Errorf("%s was requested", p)
		}
	}
	stored := 0
	for _, want := range newspaper.Truth() {
		r, seen := byPath[want.Path]
		if !seen {
			if !slices.Contains(newspaper.Forbidden(), want.Path) {
				t.Errorf("%s was never heard of", want.Path)
			}
			continue
		}
		check := func(what string, got, want bool, path string) {
			if got != want {
				t.Errorf("%s: %s is %v, want %v", path, what, got, want)
			}
		}
		check("stored", r.Stored, want.Preserve, want.Path)
		check("indexed", r.Indexed, want.Index, want.Path)
		if want.Status == 200 && want.Crawl && want.Index {
			check("link", slices.Contains(r.Shown, "link"), want.PresentLink, want.Path)
			check("snippet", slices.Contains(r.Shown, "snippet"), want.PresentSnippet, want.Path)
		}
		if line := strings.ReplaceAll(want.Because, conformance.SiteBase, ""); line != "" &&
			!strings.Contains(strings.Join(r.Because, "\n"), line) {
			t.Errorf("%s: %q does not name %q", want.Path, r.Because, line)
		}
		if r.Stored {
			stored++
		}
	}
	if sum.Stored < stored || stored == 0 {
		t.Errorf("%d pages stored, %d rows say so", sum.Stored, stored)
	}
}

package view

import (
	"context"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/memento"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// TestHistory checks that versions and their addresses have the same numbers, also if several versions are
// of the same second or of the page to which an address redirects.
func TestHistory(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	const page = "http://quay.example/a?b=c&d"
	f := &fixed{versions: map[string][]present.Version{page: {
		{Entry: present.Entry{URL: page, Version: 1, Fetched: at}},
		{Entry: present.Entry{URL: page, Version: 2, Fetched: at.Add(time.Millisecond)}},
		{Entry: present.Entry{URL: page + "2", Version: 3, Fetched: at.Add(time.Minute)}}}}}
	h, err := handler(t, f).history(context.Background(), page, Visitor{Base: "https://archive.example"})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.list) != 2 || h.versions.Len() != 2 || h.list[0].Version != 2 || h.list[1].Version != 3 {
		t.Fatalf("%+v", h)
	}
	for i, want := range []string{"20260105120000/" + page, "20260105120100/" + page + "2"} {
		if got := h.versions.At(i).Address; got != "https://archive.example/raw/"+want {
			t.Error(got)
		}
	}
	if got := h.page.TimeMap(memento.AsJSON, 2); got != "https://archive.example/timemap/json/2/"+page {
		t.Error(got)
	}
}

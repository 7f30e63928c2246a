package site

import (
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
)

// TestHolding checks that Holding counts what a take-down then erases, in all spellings of the address.
func TestHolding(t *testing.T) {
	p := newPublisher(t, "/a*b.html", "/a%2Ab.html", "/c.html")
	s := open(t, t.TempDir())
	before := time.Now()
	crawl(t, s, p.origin+"/a*b.html", p.origin+"/a%2Ab.html", p.origin+"/c.html")
	for path, want := range map[string]int{"/a%2Ab.html": 2, "/c.html": 1, "/never.html": 0} {
		held, err := s.Holding(t.Context(), p.origin+path)
		if err != nil || held.Versions != want || held.First.After(held.Last) ||
			want > 0 && held.First.Before(before) {
			t.Errorf("%s: %+v, %v", path, held, err)
		}
		r, err := s.Submit(t.Context(), actions.Submission{Action: acap.TakeDown, URL: p.origin + path})
		if err != nil || r.Erased != want {
			t.Errorf("%s: %d versions erased, %v", path, r.Erased, err)
		}
	}
	if held, err := s.Holding(t.Context(), "http://[::1"); err != nil || held.Versions != 0 {
		t.Errorf("an address that cannot be read: %+v, %v", held, err)
	}
}

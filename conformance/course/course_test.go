package course

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

var metaContent = regexp.MustCompile(`^<meta .* content="(.*)">$`)

// What the table says by hand and what the engine decides must be the same: traps are refused by the line that the table names, and nothing
// else is.
func TestTableAgainstEngine(t *testing.T) {
	for _, names := range [][]string{{"samplebot"}, {"SAMPLE"}, {"a.b-c_d"}} {
		w := NewWeb(names, []string{"news"}, symbolic)
		r := newRefusals(readings(w, w, names, []string{"news"}, true, noon))
		for _, s := range w.stations {
			for _, trap := range s.Traps {
				origin, p := s.place(trap)
				because, err := r.of(t.Context(), origin, p)
				if err != nil {
					t.Fatal(err)
				}
				want := plainly(w.fill(s.Because))
				if tag := metaContent.FindStringSubmatch(want); tag != nil { // the engine names what the tag says
					want = tag[1]
				}
				if because == "" || !strings.Contains(because, want) {
					t.Errorf("%v %s: trap %s%s is refused by %q, not by %q", names, s.ID, origin, p, because, want)
				}
			}
			open := slices.Concat(s.Controls, []string{s.Page(), s.bait()})
			if s.Whole {
				open = nil
				because, err := r.of(t.Context(), s.Origin, s.Page())
				if err != nil || !strings.Contains(because, s.Because) {
					t.Errorf("%s: %q, %v", s.ID, because, err)
				}
			}
			for _, at := range open {
				origin, p := s.place(at)
				if because, err := r.of(t.Context(), origin, p); err != nil || because != "" {
					t.Errorf("%v %s: %s%s is refused: %s %v", names, s.ID, origin, p, because, err)
				}
			}
		}
	}
}

// Every robots.txt is of the media type that RFC 9309 2.3 demands: who reads no other type is accused of nothing else.
func TestRobotsIsPlainText(t *testing.T) {
	for _, o := range Origins() {
		for p, a := range policyFiles(o) {
			if kind := a.Header.Get("Content-Type"); a.Status == 200 && kind != "text/plain; charset=utf-8" {
				t.Errorf("%s%s is %s", o, p, kind)
			}
		}
	}
}

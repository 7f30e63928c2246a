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

// The table of stations agrees with the policy engine: the engine refuses each trap because of the
// line that the table names, and refuses nothing else.
func TestTableAgainstEngine(t *testing.T) {
	for _, names := range [][]string{{"samplebot"}, {"SAMPLE"}, {"a.b-c_d"}} {
		w := NewWeb(names, []string{"news"}, symbolic)
		r := newRefusals(readings(w, w, names, []string{"news"}, true, noon))
		for _, s := range w.stations {
			for _, trap := range s.Traps {
				origin, p := s.place(trap)
				because, err := r.reason(t.Context(), origin, p)
				if err != nil {
					t.Fatal(err)
				}
				want := shortenAddresses(w.fillIn(s.Because))
				// the table has the whole tag, but the engine reports only its content
				if tag := metaContent.FindStringSubmatch(want); tag != nil {
					want = tag[1]
				}
				if because == "" || !strings.Contains(because, want) {
					t.Errorf("%v %s: trap %s%s is refused by %q, not by %q", names, s.ID, origin, p, because, want)
				}
			}
			open := slices.Concat(s.Controls, []string{s.Page(), s.bait()})
			if s.Whole {
				open = nil
				because, err := r.reason(t.Context(), s.Origin, s.Page())
				if err != nil || !strings.Contains(because, s.Because) {
					t.Errorf("%s: %q, %v", s.ID, because, err)
				}
			}
			for _, at := range open {
				origin, p := s.place(at)
				if because, err := r.reason(t.Context(), origin, p); err != nil || because != "" {
					t.Errorf("%v %s: %s%s is refused: %s %v", names, s.ID, origin, p, because, err)
				}
			}
		}
	}
}

// RFC 9309 2.3 demands text/plain for robots.txt. A crawler that reads no other media type must not
// get another type here, because the judge would accuse it.
func TestRobotsIsPlainText(t *testing.T) {
	for _, o := range Origins() {
		for p, a := range policyFiles(o) {
			if p == tdmPath || strings.HasSuffix(p, ".xml") {
				continue
			}
			if kind := a.Header.Get("Content-Type"); a.Status == 200 && kind != "text/plain; charset=utf-8" {
				t.Errorf("%s%s is %s", o, p, kind)
			}
		}
	}
}

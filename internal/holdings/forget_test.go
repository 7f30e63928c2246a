package holdings

import (
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
)

// Forget erases everything of a page, only its older copies, or nothing, by the time of the last crawl. The holdings
// are checked at the end of each case: archive and index agree, and nothing points nowhere.
func TestForget(t *testing.T) {
	always := func(time.Time, time.Time) time.Time { return time.Time{} }
	second := func(_, second time.Time) time.Time { return second }
	for _, c := range []struct {
		name, robots string
		before       func(first, second time.Time) time.Time
		dry          bool
		want         Forgotten
		is           bool
		copies       int
		found        string
	}{
		{"everything", "", always, false, Forgotten{a, 2, true}, true, 0, ""},
		{"dry", "", always, true, Forgotten{a, 2, true}, true, 2, "gull"},
		{"older copies", "", second, false, Forgotten{a, 1, false}, true, 1, "gull"},
		{"older copies, dry", "", second, true, Forgotten{a, 1, false}, true, 2,
			"gull"},
		{"nothing is older", "", func(first, _ time.Time) time.Time { return first }, false, Forgotten{a, 0, false},
			false, 2, "gull"},
		{"all is older", "", func(_, second time.Time) time.Time { return second.Add(time.Second) }, false,
			Forgotten{a, 2, true}, true, 0, ""},
		{"only indexed", "ACAP-disallow-preserve: /", always, false,
			Forgotten{a, 0, true}, true, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(c.robots), Options{})
			older, newer := pageOf("<p>A pilot.", a), pageOf("<p>A gull.", a)
			s.receive(older)
			s.receive(newer)
			s.flushed()
			before := c.before(older.Last().Start, newer.Last().Start)
			got, is, err := s.Forget(t.Context(), a, archive.Tombstone{Reason: archive.ReasonForgotten,
				Why: "no longer wanted"}, before, c.dry)
			if err != nil || got != c.want || is != c.is {
				t.Errorf("%+v, %t, %v", got, is, err)
			}
			if n := len(s.copies(a)); n != c.copies {
				t.Errorf("%d copies are left", n)
			}
			if found := s.found("gull"); (found != "") != (c.found != "") {
				t.Errorf("a search finds %q", found)
			}
			list, err := s.archive.Tombstones(a)
			if err != nil || (len(list) > 0) != (c.is && !c.dry) {
				t.Fatalf("%v, %+v", err, list)
			}
			for _, e := range list {
				if e.Reason != archive.ReasonForgotten || e.Why != "no longer wanted" || e.Asked {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

// What is not stored cannot be forgotten, and a page can be forgotten twice.
func TestForgetNothing(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	if _, is, err := s.Forget(t.Context(), a, archive.Tombstone{Why: "w"}, time.Time{}, false); is || err != nil {
		t.Error(is, err)
	}
	s.receive(pageOf(article, a))
	for _, want := range []bool{true, false} {
		if _, is, err := s.Forget(t.Context(), a, archive.Tombstone{}, time.Time{}, false); is != want || err != nil {
			t.Error(is, err)
		}
	}
	e := archive.Erasure{Reason: archive.ReasonForgotten, Copies: 1, Pages: 1}
	if !strings.Contains(e.String(), "operator") {
		t.Error(e)
	}
}

package holdings

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// TestReceiveThenSweep checks that a sweep at the instant of receiving a page changes nothing. The
// test also covers the cases that the page is received again under another policy, is gone, or
// redirects elsewhere.
func TestReceiveThenSweep(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 17))
			var guesses []guess
			for n := range 60 {
				guesses = append(guesses, newGuess(r, n))
			}
			now := time.Date(2031, 5, 4, 3, 2, 1, 0, time.UTC)
			s := open(t, t.TempDir(), newWeb(""), Options{Now: func() time.Time { return now }})
			unchanged := func(when string) {
				t.Helper()
				for _, item := range s.sweep(SweepOptions{AsOf: now}) {
					t.Errorf("swept %s: %v", when, item)
				}
			}
			receive := func() {
				for _, g := range guesses {
					s.receive(dated(now, pageOf(g.body, site+g.old)))
				}
			}
			s.web.says(policyOf(guesses, false))
			receive()
			unchanged("what was received")
			now = now.Add(time.Hour)
			s.web.says(policyOf(guesses, true))
			// as Rejudge does, because receiving a page does not check its earlier versions
			s.sweep(SweepOptions{AsOf: now})
			receive()
			unchanged("what was received again under another policy")
			for i, g := range guesses {
				if i%2 == 0 {
					s.receive(dated(now, answer(410, site+g.old)))
				} else {
					s.receive(dated(now, pageOf(g.body, site+g.old, site+g.twin)))
				}
			}
			unchanged("what has gone or leads elsewhere")
			s.shut()
		})
	}
}

// TestKeptUntil checks the time until which a copy may be stored, as returned by decide. A sweep
// one nanosecond earlier must leave the copy, and a sweep at that time must erase it.
func TestKeptUntil(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 17))
	now := time.Date(2031, 5, 4, 3, 2, 1, 0, time.UTC)
	s := open(t, t.TempDir(), newWeb(""), Options{Now: func() time.Time { return now }})
	var guesses []guess
	for n := range 150 {
		guesses = append(guesses, newGuess(r, n))
	}
	s.web.says(policyOf(guesses, false))
	ends := map[time.Time][]string{} // paths of the pages by the time when their copies must be erased
	for _, g := range guesses {
		pg := dated(now, pageOf(g.body, site+g.old))
		s.receive(pg)
		facts := s.resource(site + g.old).Facts()
		facts.Now = now
		holding := terms.Of(context.Background(), s.web.policy, pg.URL(), pg, s.sources,
			facts).Holding(terms.HoldingOptions{})
		got := decide(&evidence{facts: facts, received: &holding}).copy
		if held := len(s.copies(site+g.old)) == 1; held != (got.action == toStore) {
			t.Fatalf("%v: held %v, and decided %+v", g, held, got)
		}
		if !got.until.IsZero() {
			ends[got.until] = append(ends[got.until], g.old)
		}
	}
	swept := func(asOf time.Time) (gone []string) {
		_, err := s.Sweep(context.Background(), SweepOptions{AsOf: asOf, DryRun: true}, func(x Swept) {
			if x.What == SweptCopy {
				gone = append(gone, strings.TrimPrefix(x.URL, site))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return gone
	}
	if len(ends) == 0 {
		t.Fatal("no copy has an end")
	}
	for end, want := range ends {
		before, after := swept(end.Add(-time.Nanosecond)), swept(end)
		for _, path := range want {
			if slices.Contains(before, path) || !slices.Contains(after, path) {
				t.Errorf("%s is to end at %v, and goes %v before and %v then", path, end, slices.Contains(before, path),
					slices.Contains(after, path))
			}
		}
		if len(after)-len(before) != len(want) {
			t.Errorf("%d copies go at %v, and %d were to", len(after)-len(before), end, len(want))
		}
	}
}

// dated returns a copy of pg with the given time of receipt.
func dated(when time.Time, pg *page.Page) *page.Page {
	for i := range pg.Hops() {
		pg.Hops()[i].Start = when
	}
	return pg
}

package holdings

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
)

func TestWithin(t *testing.T) {
	at := func(d time.Duration) time.Time { return time.Unix(0, 0).Add(d) }
	var never time.Time
	for _, c := range []struct {
		name        string
		w           Within
		since       time.Time
		asked, want time.Time
	}{
		{name: "nothing was erased", w: Within{Other: time.Hour}},
		{name: "half of the time", w: Within{Other: time.Hour}, since: at(0), want: at(30 * time.Minute)},
		{name: "never by itself", w: Within{}, since: at(0)},
		{name: "asked for, at once", w: Within{Other: time.Hour}, since: at(0), asked: at(time.Minute),
			want: at(time.Minute)},
		{name: "asked for, although never by itself", w: Within{}, since: at(0), asked: at(time.Minute),
			want: at(time.Minute)},
		{name: "asked for, half of the time", w: Within{Asked: time.Minute}, since: at(0), asked: at(0),
			want: at(30 * time.Second)},
		{name: "due for another reason", w: Within{Asked: 2 * time.Hour, Other: time.Hour}, since: at(0), asked: at(0),
			want: at(30 * time.Minute)},
		{name: "only what is asked for is left", w: Within{Other: time.Hour}, since: never, asked: at(0), want: at(0)},
	} {
		if got := c.w.due(c.since, c.asked); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// runUpkeep runs Upkeep on a store until the test ends, and returns a channel of the results.
func runUpkeep(s *store, w Within) <-chan CompactStats {
	ctx, cancel := context.WithCancel(context.Background())
	told, ended := make(chan CompactStats), make(chan struct{})
	go func() {
		defer close(ended)
		s.Upkeep(ctx, w, func(n CompactStats, err error) {
			if err != nil {
				s.Error(err)
			}
			select {
			case told <- n:
			case <-ctx.Done():
			}
		})
	}()
	s.Cleanup(func() {
		cancel()
		<-ended
	})
	return told
}

// TestUpkeepAsked checks that an erasure requested by a publisher starts a compaction early. This
// compaction also covers the other erasures.
func TestUpkeepAsked(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	told := runUpkeep(s, Within{Other: 1000 * time.Hour})
	s.receive(pageOf(article, a))
	s.receive(pageOf(article, b))
	if err := s.archive.EraseCapture(context.Background(), s.resource(a).Current,
		archive.Tombstone{Why: "expired"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Erase(context.Background(), b, takenDown, "line"); err != nil {
		t.Fatal(err)
	}
	n := <-told
	r, err := s.Holdings.Receipt(b)
	if err != nil || !r.Verified() || !r.Settled() || !n.Began.Equal(r.Compacted) ||
		n.Began.Before(r.Erasures[0].When) {
		t.Errorf("begun at %s: %+v, %v", n.Began, r, err)
	}
	if began, err := s.Compacted(); !began.Equal(n.Began) || err != nil {
		t.Error(began, err)
	}
	if since, asked, err := s.archive.Uncompacted(); !since.IsZero() || !asked.IsZero() || err != nil {
		t.Error(since, asked, err)
	}
}

// TestUpkeepRests checks a compaction that took an hour. The next compaction must begin an hour
// later, and must cover all requests of that hour.
func TestUpkeepRests(t *testing.T) {
	start := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	c := newClock(start)
	var once sync.Once
	s := openWith(t, t.TempDir(), newWeb(""), Options{Now: c.now},
		archive.Options{Now: c.now, Fault: func(step archive.Step) error {
			if step == archive.OverwritePages {
				once.Do(func() { c.set(start.Add(time.Hour)) })
			}
			return nil
		}})
	told := runUpkeep(s, Within{})
	erase := func(address string) {
		t.Helper()
		s.receive(pageOf(article, address))
		if _, err := s.Erase(context.Background(), address, takenDown, "line"); err != nil {
			t.Fatal(err)
		}
	}
	erase(a)
	if n := <-told; !n.Began.Equal(start) {
		t.Errorf("it began at %s", n.Began)
	}
	erase(b)
	c.set(start.Add(2 * time.Hour))
	erase(site + "/c")
	if n := <-told; n.Began.Before(start.Add(2 * time.Hour)) {
		t.Errorf("the second began at %s, an hour after the first, which took one", n.Began)
	}
	if since, asked, err := s.archive.Uncompacted(); !since.IsZero() || !asked.IsZero() || err != nil {
		t.Error(since, asked, err)
	}
}

// TestAskedSurvives checks that the archive remembers a publisher's request to erase after an
// interrupted compaction, and in a new process.
func TestAskedSurvives(t *testing.T) {
	dir := t.TempDir()
	full := errors.New("no space left on device")
	s := openWith(t, dir, newWeb(""), Options{}, archive.Options{Fault: func(step archive.Step) error {
		if step == archive.OverwritePages {
			return full
		}
		return nil
	}})
	s.receive(pageOf(article, a))
	if _, err := s.Erase(context.Background(), a, takenDown, "line"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Compact(context.Background(), nil); !errors.Is(err, full) {
		t.Error(err)
	}
	s.shut()
	s = open(t, dir, newWeb(""), Options{})
	if _, asked, err := s.archive.Uncompacted(); asked.IsZero() || err != nil {
		t.Error(asked, err)
	}
	if _, done, err := s.Settle(context.Background(), Within{}, time.Time{}); !done || err != nil {
		t.Error(done, err)
	}
	if _, done, err := s.Settle(context.Background(), Within{}, time.Time{}); done || err != nil {
		t.Error(done, err)
	}
}

package crawler

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// machine is one frontier of a shared crawl.
type machine struct {
	*Frontier
	j    *fakeJournal
	lost []int
}

func openMachine(t testing.TB, s *sharedStore, o FrontierOptions) *machine {
	m := &machine{j: s.machine()}
	o.Journal, o.Lost = m.j, func(n int) { m.lost = append(m.lost, n) }
	m.Frontier = openFrontier(t, filepath.Join(t.TempDir(), "frontier.db"), o)
	must(t, m.SetSeeds(map[string]uint64{"http://a.1/": 2, "http://a.2/": 3}))
	must(t, m.Begin(Selection{}))
	return m
}

// due leases an address, or returns nil if none is due now.
func (m *machine) due(t testing.TB) *Lease {
	t.Helper()
	m.Finish()
	l, err := m.Next(context.Background())
	if err != nil && !errors.Is(err, ErrIdle) {
		t.Fatal(err)
	}
	return l
}

func TestSharedFirst(t *testing.T) {
	c := newClock()
	s := newSharedStore(t, 4)
	o := FrontierOptions{Now: c.now, Delay: time.Second, Patience: time.Nanosecond}
	a, b := openMachine(t, s, o), openMachine(t, s, o)
	one, two := s.partition("a.1"), s.partition("a.2")
	if one == two {
		t.Fatal("the test needs two partitions")
	}
	must(t, s.adopt(a.Frontier, a.j, one))
	must(t, s.adopt(b.Frontier, b.j, two))
	_, err := a.AddSeeds("http://a.1/", "http://a.2/")
	must(t, err)
	must(t, s.deliver(b.Frontier, two, false))
	l := a.due(t)
	if l == nil || l.URL != "http://a.1/" || l.From != 2 {
		t.Fatalf("%+v", l)
	}
	must(t, a.Return(l, &Pace{c.now(), 0}))
	must(t, a.Flush())
	c.add(time.Second)
	l = a.due(t)
	e := links(a.Frontier, 1, "http://a.1/x", "http://a.2/x", "http://b.2/y")
	e.Asked = c.now()
	finish(t, a.Frontier, l, e)
	must(t, s.deliver(b.Frontier, two, false))
	must(t, s.deliver(b.Frontier, two, true))
	if n := b.Counts().Queued; n != 3 {
		t.Errorf("%d queued", n)
	}
	if n := a.Counts().Queued; n != 1 {
		t.Errorf("%d queued", n)
	}
	must(t, a.Release(context.Background(), one))
	must(t, s.adopt(b.Frontier, b.j, one))
	if n := b.Counts().Queued; n != 4 {
		t.Errorf("%d queued", n)
	}
	must(t, b.Check())
	must(t, a.awaitDrop(one))
	if n := a.Counts(); n != (Counts{}) {
		t.Errorf("%+v", n)
	}
}

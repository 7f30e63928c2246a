package crawler

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
)

// machine is one frontier of a shared crawl.
type machine struct {
	*Frontier
	t    testing.TB
	s    *sharedStore
	j    *fakeJournal
	lost []int // the partitions that FrontierOptions.Lost was called with
}

// sharedSeeds are the seeds of these tests: one for each of three partitions.
var sharedSeeds = map[string]uint64{"http://a.0/": 2, "http://a.1/": 3, "http://a.2/": 4}

func openMachine(t testing.TB, s *sharedStore, name string, o FrontierOptions) *machine {
	m := &machine{t: t, s: s, j: s.machine()}
	o.Journal, o.Lost = m.j, func(n int) { m.lost = append(m.lost, n) }
	m.Frontier = openFrontier(t, name, o)
	must(t, m.SetSeeds(sharedSeeds))
	must(t, m.Begin(Selection{}))
	return m
}

// newMachine opens a machine with an empty file that owns partitions.
func newMachine(t testing.TB, s *sharedStore, o FrontierOptions, own ...int) *machine {
	m := openMachine(t, s, filepath.Join(t.TempDir(), "frontier.db"), o)
	for _, n := range own {
		must(t, s.adopt(m.Frontier, m.j, n))
	}
	return m
}

// take leases the address that is due, which must be want; "" means that none is due.
func (m *machine) take(want string) *Lease {
	m.t.Helper()
	l, err := tryNext(m.Frontier)
	must(m.t, err)
	if l == nil && want != "" || l != nil && l.URL != want {
		m.t.Fatalf("leased %v, want %q", l, want)
	}
	return l
}

// meet visits robots.txt of the host of the address that is due, which must be url.
func (m *machine) meet(url string, delay time.Duration) {
	m.t.Helper()
	l := m.take(url)
	if l.Met {
		m.t.Fatalf("the delay of %s is known", l.Host)
	}
	must(m.t, m.Return(l, &Pace{m.now(), delay}))
	must(m.t, m.Flush())
}

func (m *machine) finish(l *Lease, e End) {
	m.t.Helper()
	if e.State == "" {
		e.State, e.Status = Fetched, 200
	}
	must(m.t, m.Done(l, e))
	must(m.t, m.Flush())
}

func (m *machine) offer(urls ...string) {
	m.t.Helper()
	var offers []Offer
	for _, u := range urls {
		offers = append(offers, Offer{URL: u, Depth: 1, From: 2, State: Queued})
	}
	_, err := m.Offer(offers...)
	must(m.t, err)
}

func (m *machine) state(url string) State {
	m.t.Helper()
	r, _, err := m.Get(url)
	must(m.t, err)
	return r.State
}

// sent returns the addresses of the offers that were sent to a partition, and forgets them.
func (s *sharedStore) sent(n int) (urls []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links[n] {
		for _, o := range l.offers {
			urls = append(urls, o.URL)
		}
	}
	s.links[n] = nil
	return urls
}

// newShared returns a clock, a store of three partitions, and options for its machines.
func newShared(t testing.TB) (*clock, *sharedStore, FrontierOptions) {
	c := newClock()
	return c, newSharedStore(t, 3), FrontierOptions{Now: c.now, Delay: time.Second, Patience: time.Nanosecond}
}

func TestPartitionsMove(t *testing.T) {
	c, s, o := newShared(t)
	a, b := newMachine(t, s, o, 1), newMachine(t, s, o, 2)
	_, err := a.AddSeeds("http://a.1/", "http://a.2/")
	must(t, err)
	must(t, s.deliver(b.Frontier, 2, false))
	a.meet("http://a.1/", 0)
	c.add(time.Second)
	l := a.take("http://a.1/")
	if l.From != 3 || l.Ended == nil {
		t.Errorf("%+v", l)
	}
	e := links(a.Frontier, 1, "http://a.1/x", "http://a.2/x", "http://b.2/y")
	e.Asked = c.now()
	a.finish(l, e)
	must(t, s.deliver(b.Frontier, 2, false))
	if a.Counts().Queued != 1 || b.Counts().Queued != 3 {
		t.Errorf("%d and %d queued", a.Counts().Queued, b.Counts().Queued)
	}
	must(t, a.Release(context.Background(), 1))
	must(t, s.adopt(b.Frontier, b.j, 1))
	if n := b.Counts().Queued; n != 4 || !slices.Equal(b.Owned(), []int{1, 2}) {
		t.Errorf("%d queued in %v", n, b.Owned())
	}
	must(t, a.awaitDrop(1))
	if n := a.Counts(); n != (Counts{}) || len(a.Owned()) > 0 {
		t.Errorf("%+v", n)
	}
	if _, _, known := a.Position(1); known {
		t.Error("the position of a partition that was released is known")
	}
}

// A host that the machine before may have requested is leased one full delay after the adoption, by
// the clock of this machine. If the delay is not known, that is the longest delay that is obeyed.
func TestAdoptionKeepsPace(t *testing.T) {
	c, s, o := newShared(t)
	a := newMachine(t, s, o, 0, 1, 2)
	a.offer("http://met.0/")
	a.meet("http://met.0/", 5*time.Second)
	a.offer("http://unmet.1/")
	a.take("http://unmet.1/") // this machine ends before the visit does
	a.offer("http://other.0/", "http://fresh.2/")
	c.add(10 * time.Second)

	b := newMachine(t, s, o, 0, 1, 2)
	for host, want := range map[string]time.Duration{"met.0": 5 * time.Second, "unmet.1": gate.MaxCrawlDelay,
		"other.0": gate.MaxCrawlDelay, "unknown.0": gate.MaxCrawlDelay} {
		until, err := b.HeldUntil(host)
		if got := until.Sub(c.now()); err != nil || got != want {
			t.Errorf("%s is held for %s, not %s: %v", host, got, want, err)
		}
	}
	for _, host := range []string{"fresh.2", "unknown.2"} {
		if until, err := b.HeldUntil(host); err != nil || until.After(c.now()) {
			t.Errorf("%s is held until %s: %v", host, until, err)
		}
	}
	if until, err := b.HeldUntil("met.0:80", "met.0"); err != nil || until.Sub(c.now()) != 5*time.Second {
		t.Errorf("a host with two names is held until %s: %v", until, err)
	}
	b.take("http://fresh.2/")
	b.take("")
	c.add(5*time.Second - 1)
	b.take("")
	c.add(1)
	b.take("http://met.0/")
	b.take("")
	c.add(gate.MaxCrawlDelay - 5*time.Second - 1)
	b.take("")
	c.add(1)
	hosts := []string{}
	for range 2 {
		l, err := tryNext(b.Frontier)
		must(t, err)
		hosts = append(hosts, l.URL)
	}
	slices.Sort(hosts)
	if !slices.Equal(hosts, []string{"http://other.0/", "http://unmet.1/"}) {
		t.Errorf("leased %v", hosts)
	}
}

// The time until which a host asks not to be requested moves with its partition, and so does the
// pause after failures.
func TestAdoptionKeepsRest(t *testing.T) {
	c, s, o := newShared(t)
	a := newMachine(t, s, o, 0)
	a.offer("http://h.0/", "http://h.0/2")
	a.meet("http://h.0/", 0)
	c.add(time.Second)
	a.finish(a.take("http://h.0/"), End{Asked: c.now(), Trouble: true, Rest: c.now().Add(time.Hour)})
	before, _, err := a.Host("h.0")
	must(t, err)
	b := newMachine(t, s, o, 0)
	if after, _, err := b.Host("h.0"); err != nil || after != before || after.Failures != 1 {
		t.Errorf("%+v, %+v, %v", before, after, err)
	}
	c.add(time.Hour - 1)
	b.take("")
	c.add(1)
	b.take("http://h.0/2")
}

// The clock of the machine that has recorded how long a host asks not to be requested may be behind.
func TestAdoptionWithOtherClock(t *testing.T) {
	c, s, o := newShared(t)
	a := newMachine(t, s, o, 0)
	a.offer("http://h.0/", "http://h.0/2")
	a.meet("http://h.0/", 0)
	c.add(time.Second)
	a.finish(a.take("http://h.0/"), End{Asked: c.now(), Trouble: true, Rest: c.now().Add(time.Hour)})
	o.Skew = 5 * time.Second
	b := newMachine(t, s, o, 0)
	c.add(time.Hour + o.Skew - 1)
	b.take("")
	c.add(1)
	b.take("http://h.0/2")
}

// Release waits until the leases of the partition have ended, and leases nothing more of it.
func TestReleasePartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedStore(t, 3)
		a := newMachine(t, s, FrontierOptions{PerHost: 2}, 0, 1)
		a.offer("http://h.0/1", "http://h.0/2", "http://h.0/3", "http://h.1/")
		ctx, cancel := context.WithCancel(t.Context())
		ls := []*Lease{}
		for len(ls) < 2 {
			l, err := tryNext(a.Frontier)
			must(t, err)
			if !l.Met {
				must(t, a.Return(l, &Pace{time.Now(), 0}))
				must(t, a.Flush())
				continue
			}
			if l.Host == "h.0" {
				ls = append(ls, l)
			}
		}
		released := make(chan error)
		release := func(ctx context.Context) { released <- a.Release(ctx, 0) }
		go release(ctx)
		synctest.Wait()
		cancel()
		if err := <-released; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		go release(t.Context())
		must(t, a.Done(ls[0], links(a.Frontier, 1, "http://h.0/4")))
		synctest.Wait()
		if err := a.Receive(0, 1, nil); !errors.Is(err, ErrLost) {
			t.Errorf("a partition that is released accepts links: %v", err)
		}
		must(t, a.Return(ls[1], nil))
		must(t, <-released)
		if l, err := tryNext(a.Frontier); err != nil || l != nil && l.Host != "h.1" {
			t.Errorf("leased %v, %v", l, err)
		}
		b := newMachine(t, s, FrontierOptions{}, 0)
		if c := b.Counts(); c.Queued != 3 || c.Fetched != 1 || b.state("http://h.0/4") != Queued {
			t.Errorf("%+v", c)
		}
		must(t, errors.Join(a.Close(), b.Close()))
	})
}

// After Lose, the leases of the partition have ended and change nothing. So it is if the journal
// finds out that the partition is lost; then the other changes of the same transaction are
// committed.
func TestLosePartition(t *testing.T) {
	for _, found := range []bool{false, true} {
		t.Run(fmt.Sprint(found), func(t *testing.T) {
			_, s, o := newShared(t)
			o.Delay = 0
			a := newMachine(t, s, o, 0, 1)
			a.offer("http://h.0/")
			a.meet("http://h.0/", 0)
			l := a.take("http://h.0/")
			a.offer("http://h.1/")
			a.meet("http://h.1/", 0)
			other := a.take("http://h.1/")
			if found {
				s.give(0, nil)
				free := a.j.block() // so that one transaction has several changes
				wait := make(chan error)
				go func() { wait <- a.Receive(0, 7, nil) }()
				must(t, a.Done(l, links(a.Frontier, 1, "http://h.0/x")))
				must(t, a.Done(other, links(a.Frontier, 1, "http://h.1/x", "http://h.0/y")))
				free()
				if err := <-wait; !errors.Is(err, ErrLost) {
					t.Errorf("received by a lost partition: %v", err)
				}
				must(t, a.Flush())
				if !slices.Equal(a.lost, []int{0}) {
					t.Errorf("lost %v", a.lost)
				}
			} else {
				a.Lose(0)
				if err := a.Done(l, End{State: Fetched}); !errors.Is(err, ErrLost) {
					t.Error(err)
				}
				if err := a.Return(l, nil); !errors.Is(err, ErrLost) {
					t.Error(err)
				}
				a.finish(other, links(a.Frontier, 1, "http://h.1/x", "http://h.0/y"))
			}
			if !l.lost() || other.lost() || !slices.Equal(a.Owned(), []int{1}) {
				t.Errorf("%v %v %v", l.lost(), other.lost(), a.Owned())
			}
			must(t, a.awaitDrop(0))
			if c := a.Counts(); c.Queued != 1 || c.Fetched != 1 || c.Leased != 0 || a.state("http://h.1/x") != Queued {
				t.Errorf("%+v", c)
			}
			if urls := s.sent(0); !slices.Contains(urls, "http://h.0/y") || slices.Contains(urls, "http://h.0/x") {
				t.Errorf("sent %v", urls)
			}
			b := newMachine(t, s, o, 0)
			if b.state("http://h.0/") != Queued || b.state("http://h.0/x") != "" {
				t.Error("a lost lease has an effect")
			}
		})
	}
}

// A change that was under way when a partition was lost is not in its journal, even if the machine
// has taken the partition over again before the change arrives there.
func TestChangeOfEarlierAdoption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedStore(t, 3)
		a := newMachine(t, s, FrontierOptions{}, 0)
		a.offer("http://h.0/")
		a.meet("http://h.0/", 0)
		l := a.take("http://h.0/")
		free := a.j.block()
		must(t, a.Done(l, links(a.Frontier, 1, "http://h.0/x")))
		synctest.Wait() // the change waits in Append
		a.Lose(0)
		s.give(0, a.j)
		_, list := s.entries(0, 0)
		free()
		must(t, a.Adopt(0, true, list))
		same(t, a.Frontier, newMachine(t, s, FrontierOptions{}, 0).Frontier, 0)
		if a.state("http://h.0/") != Queued || a.state("http://h.0/x") != "" || len(a.Owned()) != 1 {
			t.Errorf("%s, %s, owned %v", a.state("http://h.0/"), a.state("http://h.0/x"), a.Owned())
		}
		must(t, a.Close())
	})
}

// A machine that cannot reach the others ends after Abort.
func TestAbort(t *testing.T) {
	_, s, o := newShared(t)
	a := newMachine(t, s, o, 0)
	a.j.block()
	failed := make(chan error)
	go func() {
		_, err := a.Offer(Offer{URL: "http://h.0/", State: Queued})
		failed <- err
	}()
	a.Abort()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := a.Close(); err == nil {
		t.Error("changes that are not in the journal are closed without an error")
	}
}

// queuedHosts returns the hosts that EachQueue lists.
func queuedHosts(t testing.TB, f *Frontier) (hosts []string) {
	t.Helper()
	must(t, f.EachQueue(func(q HostQueue) error {
		hosts = append(hosts, q.Host)
		return nil
	}))
	return hosts
}

// A file of several machines can be read without a journal, but not changed. With one, the queue has only hosts of
// partitions that are adopted. A file of one machine cannot be shared.
func TestSharedFiles(t *testing.T) {
	_, s, o := newShared(t)
	a := newMachine(t, s, o, 0)
	a.offer("http://h.0/")
	must(t, a.Close())
	f := openFrontier(t, a.name, FrontierOptions{})
	if r, found, err := f.Get("http://h.0/"); err != nil || !found || r.State != Queued {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := f.AddSeeds("http://h.0/"); !errors.Is(err, errForeign) {
		t.Error(err)
	}
	if _, err := f.Next(t.Context()); !errors.Is(err, errForeign) {
		t.Error(err)
	}
	if hosts := queuedHosts(t, f); !slices.Equal(hosts, []string{"h.0"}) {
		t.Errorf("without a journal, the queue has %q", hosts)
	}
	must(t, f.Close())
	b := openMachine(t, s, a.name, o)
	if hosts := queuedHosts(t, b.Frontier); hosts != nil {
		t.Errorf("before the partition is adopted, the queue has %q", hosts)
	}
	must(t, s.adopt(b.Frontier, b.j, 0))
	if hosts := queuedHosts(t, b.Frontier); !slices.Equal(hosts, []string{"h.0"}) {
		t.Errorf("the queue has %q", hosts)
	}
	must(t, b.Close())
	f = newFrontier(t, FrontierOptions{})
	must(t, f.Close())
	o.Journal = s.machine()
	if _, err := Open(f.name, o); err == nil || !strings.Contains(err.Error(), "one machine") {
		t.Error(err)
	}
}

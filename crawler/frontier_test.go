package crawler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("CRAWL_UNTIL_KILLED"); dir != "" {
		crawlUntilKilled(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// openFrontier opens a frontier. At the end of the test it is checked and closed.
func openFrontier(t testing.TB, name string, o FrontierOptions) *Frontier {
	t.Helper()
	f, err := Open(name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeFrontier(t, f) })
	return f
}

func closeFrontier(t testing.TB, f *Frontier) {
	t.Helper()
	f.mu.Lock()
	closed := f.closed
	f.mu.Unlock()
	if closed {
		return
	}
	if err := f.Check(); err != nil {
		t.Errorf("the frontier contradicts itself: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func newFrontier(t testing.TB, o FrontierOptions) *Frontier {
	return openFrontier(t, filepath.Join(t.TempDir(), "frontier.db"), o)
}

// clock is a clock that the test sets.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// next returns a lease without waiting, or nil if nothing is due now.
func next(t *testing.T, f *Frontier) *Lease {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	l, _, err := f.pick(f.now())
	if err != nil && !errors.Is(err, ErrIdle) {
		t.Fatal(err)
	}
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func links(f *Frontier, depth int, urls ...string) End {
	e := End{State: Fetched, Status: 200}
	for _, u := range urls {
		e.Offers = append(e.Offers, Offer{URL: u, Depth: depth, State: Queued})
	}
	return e
}

func finish(t *testing.T, f *Frontier, l *Lease, e End) {
	t.Helper()
	must(t, f.Done(l, e))
	must(t, f.Flush())
}

func leaseURL(t *testing.T, f *Frontier, want string) *Lease {
	t.Helper()
	l := next(t, f)
	if l == nil || l.URL != want {
		t.Fatalf("leased %v, want %s", l, want)
	}
	return l
}

func TestOrder(t *testing.T) {
	f := newFrontier(t, FrontierOptions{})
	_, err := f.AddSeeds("http://h/1", "http://h/2")
	must(t, err)
	finish(t, f, leaseURL(t, f, "http://h/1"), links(f, 1, "http://h/a", "http://h/2", "http://h/b"))
	l := leaseURL(t, f, "http://h/2")
	if l.Depth != 0 {
		t.Errorf("a seed has depth %d", l.Depth)
	}
	finish(t, f, l, links(f, 1, "http://h/c", "http://h/a"))
	finish(t, f, leaseURL(t, f, "http://h/a"), links(f, 2, "http://h/deep"))
	must(t, f.Promote("http://h/c"))
	must(t, f.Promote("http://h/1")) // the page was fetched already and is visited again
	finish(t, f, leaseURL(t, f, "http://h/c"), links(f, 2))
	finish(t, f, leaseURL(t, f, "http://h/1"), links(f, 1, "http://h/b"))
	finish(t, f, leaseURL(t, f, "http://h/b"), links(f, 2))
	finish(t, f, leaseURL(t, f, "http://h/deep"), links(f, 3))
	if l := next(t, f); l != nil {
		t.Errorf("%s came twice", l.URL)
	}
	if _, err := f.Next(context.Background()); !errors.Is(err, ErrIdle) {
		t.Errorf("Next on an empty frontier: %v", err)
	}
	if c := f.Counts(); c.Queued != 0 || c.Fetched != 6 || c.Hosts != 0 || c.Leased != 0 {
		t.Errorf("counts %+v", c)
	}
}

func TestSlowHostHoldsNobodyUp(t *testing.T) {
	c := newClock()
	f := newFrontier(t, FrontierOptions{Now: c.now, Delay: time.Second, PerHost: 4})
	_, err := f.AddSeeds("http://slow/1", "http://slow/2", "http://quick/1", "http://quick/2")
	must(t, err)
	slow, quick := next(t, f), next(t, f)
	if slow.URL != "http://slow/1" {
		slow, quick = quick, slow
	}
	if l := next(t, f); l != nil {
		t.Fatalf("%s leased while nothing is known of the pause of its host", l.URL)
	}
	asked := c.now()
	finish(t, f, slow, End{State: Fetched, Asked: asked, Delay: time.Minute})
	finish(t, f, quick, End{State: Fetched, Asked: asked})
	if l := next(t, f); l != nil {
		t.Fatalf("%s leased within the pause", l.URL)
	}
	c.add(time.Second)
	finish(t, f, leaseURL(t, f, "http://quick/2"), End{State: Fetched, Asked: c.now()})
	if l := next(t, f); l != nil {
		t.Fatalf("%s leased within the pause that its host asks for", l.URL)
	}
	if due := f.Counts().NextDue; !due.Equal(asked.Add(time.Minute)) {
		t.Errorf("next due %s", due)
	}
	c.add(59 * time.Second)
	finish(t, f, leaseURL(t, f, "http://slow/2"), End{State: Fetched, Asked: c.now()})
}

func TestRefusalCostsNoPause(t *testing.T) {
	c := newClock()
	f := newFrontier(t, FrontierOptions{Now: c.now, Delay: time.Second})
	_, err := f.AddSeeds("http://h/1", "http://h/2")
	must(t, err)
	finish(t, f, leaseURL(t, f, "http://h/1"), End{State: Refused, Why: "no"})
	finish(t, f, leaseURL(t, f, "http://h/2"), End{State: Refused, Why: "no"})
}

func TestPostpone(t *testing.T) {
	c := newClock()
	f := newFrontier(t, FrontierOptions{Now: c.now})
	_, err := f.AddSeeds("http://h/1", "http://h/2")
	must(t, err)
	l := leaseURL(t, f, "http://h/1")
	if l.Met {
		t.Error("the pause of a new host is said to be known")
	}
	must(t, f.Return(l, &Pace{c.now(), 10 * time.Second}))
	if l := next(t, f); l != nil {
		t.Fatalf("%s leased within the pause", l.URL)
	}
	c.add(10 * time.Second)
	if l = leaseURL(t, f, "http://h/1"); !l.Met {
		t.Error("the pause of the host was forgotten")
	}
	_ = f.Return(l, nil)
	finish(t, f, leaseURL(t, f, "http://h/1"), End{State: Fetched})
	finish(t, f, leaseURL(t, f, "http://h/2"), End{State: Fetched})
}

func TestRetry(t *testing.T) {
	c := newClock()
	f := newFrontier(t, FrontierOptions{Now: c.now, Patience: time.Minute})
	_, err := f.AddSeeds("http://h/1", "http://h/2")
	must(t, err)
	finish(t, f, leaseURL(t, f, "http://h/1"), End{State: Queued, Retry: c.now().Add(time.Second), Status: 500,
		Why: "500"})
	finish(t, f, leaseURL(t, f, "http://h/2"), End{State: Fetched})
	if l := next(t, f); l != nil {
		t.Fatalf("%s leased before its time", l.URL)
	}
	c.add(time.Second)
	l := leaseURL(t, f, "http://h/1")
	if l.Tries != 1 {
		t.Errorf("tries %d", l.Tries)
	}
	finish(t, f, l, End{State: Queued, Retry: c.now().Add(time.Hour), Trouble: true, Rest: c.now().Add(time.Hour)})
	if _, err := f.Next(context.Background()); !errors.Is(err, ErrIdle) {
		t.Fatalf("Next beyond patience: %v", err)
	}
	if n := f.Counts().Queued; n != 1 {
		t.Fatalf("%d queued", n)
	}
	c.add(time.Hour)
	finish(t, f, leaseURL(t, f, "http://h/1"), End{State: Failed, Status: 503, Why: "503 all day"})
	r, found, err := f.Get("http://h/1")
	if err != nil || !found || r.State != Failed || r.Status != 503 || r.Why != "503 all day" || !r.Seed ||
		!r.When.Equal(c.now()) {
		t.Errorf("record %+v %t %v", r, found, err)
	}
	_, err = f.AddSeeds("http://h/1")
	must(t, err)
	finish(t, f, leaseURL(t, f, "http://h/1"), End{State: Fetched})
	_, err = f.AddSeeds("http://h/1")
	must(t, err)
	if l := next(t, f); l != nil {
		t.Error("a seed that was fetched came again")
	}
}

func TestRestartForgetsNothing(t *testing.T) {
	c := newClock()
	name := filepath.Join(t.TempDir(), "frontier.db")
	f := openFrontier(t, name, FrontierOptions{Now: c.now})
	_, err := f.AddSeeds("http://h/1", "http://g/1")
	must(t, err)
	h, g := next(t, f), next(t, f)
	if h.URL != "http://h/1" {
		h, g = g, h
	}
	finish(t, f, h, End{State: Fetched, Asked: c.now(), Delay: time.Minute,
		Offers: []Offer{{URL: "http://h/2", Depth: 1, State: Queued}, {URL: "http://x/", Depth: 1, State: Outside,
			Why: "far"}}})
	closeFrontier(t, f) // an address of host g is still leased

	f = openFrontier(t, name, FrontierOptions{Now: c.now})
	finish(t, f, leaseURL(t, f, g.URL), End{State: Fetched})
	if l := next(t, f); l != nil {
		t.Fatalf("%s leased: the pause of its host was forgotten", l.URL)
	}
	c.add(time.Minute)
	finish(t, f, leaseURL(t, f, "http://h/2"), End{State: Fetched})
	seeds, err := f.Seeds()
	if err != nil || !reflect.DeepEqual(seeds, []string{"http://g/1", "http://h/1"}) {
		t.Errorf("seeds %v, %v", seeds, err)
	}
	if r, _, _ := f.Get("http://x/"); r.State != Outside || r.Why != "far" || r.Depth != 1 {
		t.Errorf("record %+v", r)
	}
}

func TestRedirectTargetIsNotFetchedTwice(t *testing.T) {
	f := newFrontier(t, FrontierOptions{PerHost: 3})
	_, err := f.AddSeeds("http://h/old", "http://h/new", "http://h/other")
	must(t, err)
	l := leaseURL(t, f, "http://h/old")
	finish(t, f, l, End{State: Fetched, Final: "http://h/new"})
	l = leaseURL(t, f, "http://h/other")
	finish(t, f, l, End{State: Fetched, Final: "http://h/unheard-of"})
	if l := next(t, f); l != nil {
		t.Errorf("%s came again", l.URL)
	}
	if r, found, _ := f.Get("http://h/unheard-of"); !found || r.State != Fetched {
		t.Errorf("record %+v", r)
	}
}

// A visit that fails changes nothing if its address was recorded as fetched during the visit, as
// the target of a redirect.
func TestFetchedDuringVisit(t *testing.T) {
	f := newFrontier(t, FrontierOptions{PerHost: 3})
	_, err := f.AddSeeds("http://h/new")
	must(t, err)
	late := leaseURL(t, f, "http://h/new")
	// simulates a redirect, in the visit of another worker, that reached the page
	must(t, f.update(func(tx *bbolt.Tx) error {
		b := f.newBatch(tx)
		r, found, err := b.get(late.URL)
		must(t, errors.Join(err, b.writeOutcome(&r, Queued, found, Fetched), b.flush()))
		f.disk = b.counts
		return nil
	}))
	finish(t, f, late, End{State: Queued, Retry: f.now(), Why: "503"})
	if r, _, _ := f.Get("http://h/new"); r.State != Fetched || r.Why != "" {
		t.Errorf("record %+v", r)
	}
	if l := next(t, f); l != nil {
		t.Errorf("%s came again", l.URL)
	}
}

func TestRelease(t *testing.T) {
	f := newFrontier(t, FrontierOptions{PerHost: 2})
	_, err := f.AddSeeds("http://h/1", "http://h/2")
	must(t, err)
	finish(t, f, leaseURL(t, f, "http://h/1"), End{State: Fetched})
	l := leaseURL(t, f, "http://h/2")
	if l := next(t, f); l != nil {
		t.Fatalf("%s leased twice", l.URL)
	}
	_ = f.Return(l, nil)
	l = leaseURL(t, f, "http://h/2")
	if l := next(t, f); l != nil {
		t.Fatalf("%s leased twice", l.URL)
	}
	must(t, f.Return(l, &Pace{f.now(), 0}))
	finish(t, f, leaseURL(t, f, "http://h/2"), End{State: Fetched})
}

// If memory is short, hosts that have only retries leave the working set, so that hosts that are
// due can be loaded.
func TestRestingHostsMakeRoom(t *testing.T) {
	c := newClock()
	f := newFrontier(t, FrontierOptions{Now: c.now, Working: 2})
	_, err := f.AddSeeds("http://a/", "http://b/", "http://c/", "http://d/")
	must(t, err)
	for range 4 {
		l := next(t, f)
		if l == nil {
			t.Fatal("hosts at rest crowd out one that is due")
		}
		finish(t, f, l, End{State: Queued, Retry: c.now().Add(time.Minute)})
	}
	must(t, f.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(bReady).ForEach(func(k, _ []byte) error {
			if at, host := splitTime(k); at != c.now().Add(time.Minute).UnixNano() {
				t.Errorf("%s stands in the index of due hosts for %s", host, instant(at))
			}
			return nil
		})
	}))
	if l := next(t, f); l != nil {
		t.Fatalf("%s leased before its time", l.URL)
	}
	c.add(time.Minute)
	for range 4 {
		l := next(t, f)
		if l == nil || l.Tries != 1 {
			t.Fatalf("leased %+v", l)
		}
		finish(t, f, l, End{State: Fetched})
	}
}

func TestShorterPath(t *testing.T) {
	f := newFrontier(t, FrontierOptions{PerHost: 4})
	must(t, f.Begin(Selection{Exact: true}))
	_, err := f.AddSeeds("http://h/slow", "http://h/quick")
	must(t, err)
	slow := leaseURL(t, f, "http://h/slow")
	finish(t, f, slow, links(f, 1))
	slow = nil
	must(t, f.Promote("http://h/slow"))
	slow = leaseURL(t, f, "http://h/slow")
	quick := leaseURL(t, f, "http://h/quick")
	finish(t, f, quick, links(f, 1, "http://h/a"))
	finish(t, f, leaseURL(t, f, "http://h/a"), links(f, 2, "http://h/b"))
	if l := next(t, f); l != nil {
		t.Fatalf("%s leased though it may be nearer", l.URL)
	}
	finish(t, f, slow, links(f, 1, "http://h/b"))
	if l := leaseURL(t, f, "http://h/b"); l.Depth != 1 {
		t.Errorf("depth %d", l.Depth)
	} else {
		finish(t, f, l, links(f, 2))
	}
}

func TestRevisitAndLinks(t *testing.T) {
	f := newFrontier(t, FrontierOptions{})
	_, err := f.AddSeeds("http://h/1")
	must(t, err)
	n, err := f.AddLinks(3, "http://h/1", "no address", "http://h/2#x", "http://g/3")
	if err != nil || n != 2 {
		t.Fatalf("%d links added, %v", n, err)
	}
	for l := next(t, f); l != nil; l = next(t, f) {
		finish(t, f, l, End{State: Fetched})
	}
	n, err = f.Requeue(Filter{Prefix: "http://h/2", States: []State{Fetched}})
	if err != nil || n != 1 {
		t.Fatalf("%d addresses to be visited again, %v", n, err)
	}
	l := leaseURL(t, f, "http://h/2")
	if l.Depth != 3 {
		t.Errorf("depth %d", l.Depth)
	}
	finish(t, f, l, End{State: Fetched})
	var all []string
	must(t, f.Each("", func(r Record) error { all = append(all, r.URL); return nil }))
	if strings.Join(all, " ") != "http://g/3 http://h/1 http://h/2" {
		t.Errorf("all: %v", all)
	}
}

// With many more hosts than fit into the working set, each with a delay, every address is leased
// once, and no address before it is due.
func TestSmallWorkingSet(t *testing.T) {
	c := newClock()
	f := newFrontier(t, FrontierOptions{Now: c.now, Delay: time.Second, Working: 8, Patience: time.Hour})
	var seeds []string
	for i := range 100 {
		for j := range 3 {
			seeds = append(seeds, fmt.Sprintf("http://h%02d/%d", i, j))
		}
	}
	_, err := f.AddSeeds(seeds...)
	must(t, err)
	seen, last := map[string]bool{}, map[string]time.Time{}
	for len(seen) < len(seeds) {
		l := next(t, f)
		if l == nil {
			must(t, f.Flush())
			if l = next(t, f); l == nil {
				c.add(100 * time.Millisecond)
				continue
			}
		}
		if seen[l.URL] {
			t.Fatalf("%s came twice", l.URL)
		}
		if before, ok := last[l.Host]; ok && c.now().Sub(before) < time.Second {
			t.Fatalf("%s came %s after the one before it", l.URL, c.now().Sub(before))
		}
		seen[l.URL], last[l.Host] = true, c.now()
		must(t, f.Done(l, End{State: Fetched, Asked: c.now()}))
		f.mu.Lock()
		if len(f.hosts) > 8 {
			t.Fatalf("%d hosts in memory", len(f.hosts))
		}
		f.mu.Unlock()
	}
	if d := c.now().Sub(newClock().now()); d > 10*time.Second {
		t.Errorf("hosts that were due waited: it took %s", d)
	}
}

func TestWaitForDueHost(t *testing.T) {
	f := newFrontier(t, FrontierOptions{Delay: 50 * time.Millisecond})
	_, err := f.AddSeeds("http://h/1", "http://h/2")
	must(t, err)
	l, err := f.Next(context.Background())
	must(t, err)
	start := time.Now()
	must(t, f.Done(l, End{State: Fetched, Asked: start}))
	l, err = f.Next(context.Background())
	must(t, err)
	if d := time.Since(start); d < 50*time.Millisecond {
		t.Errorf("the pause was %s", d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan error, 1)
	go func() {
		_, err := f.Next(ctx)
		got <- err
	}()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("Next under a cancelled context: %v", err)
	}
	must(t, f.Done(l, End{State: Fetched}))
}

func TestWorkersEnd(t *testing.T) {
	f := newFrontier(t, FrontierOptions{PerHost: 100})
	_, err := f.AddSeeds("http://h/")
	must(t, err)
	var mu sync.Mutex
	seen := map[string]int{}
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for {
				l, err := f.Next(context.Background())
				if err != nil {
					if !errors.Is(err, ErrIdle) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				seen[l.URL]++
				mu.Unlock()
				e := End{State: Fetched, Asked: time.Now()}
				if len(l.URL) < 12 {
					for _, s := range []string{"a", "b", "c", "d"} {
						e.Offers = append(e.Offers, Offer{URL: l.URL + s, Depth: l.Depth + 1, State: Queued})
					}
				}
				if err := f.Done(l, e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	if want := 1 + 4 + 16 + 64; len(seen) != want {
		t.Errorf("%d addresses visited, want %d", len(seen), want)
	}
	for u, n := range seen {
		if n != 1 {
			t.Errorf("%s visited %d times", u, n)
		}
	}
}

func TestOpenRefusesBadFiles(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "frontier.db")
	must(t, os.WriteFile(name, []byte(strings.Repeat("not a store ", 5000)), 0o644))
	if _, err := Open(name, FrontierOptions{}); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("garbage: %v", err)
	}
	f := newFrontier(t, FrontierOptions{})
	if _, err := Open(f.name, FrontierOptions{}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("second open: %v", err)
	}
	if _, err := f.AddSeeds("http://h/", "no address"); err == nil {
		t.Error("a bad seed was taken")
	}
	closeFrontier(t, f)
	if _, err := f.AddSeeds("http://h/"); err == nil {
		t.Error("a closed frontier took a seed")
	}
	if _, err := f.Next(context.Background()); err == nil {
		t.Error("a closed frontier gave a lease")
	}
}

func TestDamagedFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "frontier.db")
	f, err := Open(name, FrontierOptions{})
	must(t, err)
	var urls []string
	for i := range 2000 {
		urls = append(urls, fmt.Sprintf("http://h/%d", i))
	}
	_, err = f.AddLinks(1, urls...)
	must(t, err)
	must(t, f.Close())
	b, err := os.ReadFile(name)
	must(t, err)
	for i := 4 * 4096; i < len(b); i++ { // overwrite the pages after the two meta pages
		b[i] = 0xa5
	}
	must(t, os.WriteFile(name, b, 0o644))
	f, err = Open(name, FrontierOptions{})
	if err == nil {
		_, err = f.Next(context.Background())
		_ = f.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "frontier") {
		t.Errorf("a damaged file: %v", err)
	}
}

func TestHostThatIsDown(t *testing.T) {
	c := newClock()
	f := newFrontier(t, FrontierOptions{Now: c.now})
	var seeds []string
	for i := range downAfter + 2 {
		seeds = append(seeds, fmt.Sprintf("http://h/%d", i))
	}
	_, err := f.AddSeeds(seeds...)
	must(t, err)
	for range downAfter {
		l := next(t, f)
		for l == nil {
			c.add(time.Second)
			l = next(t, f)
		}
		finish(t, f, l, End{State: Failed, Asked: c.now(), Trouble: true})
	}
	if _, err := f.Next(context.Background()); !errors.Is(err, ErrIdle) {
		t.Errorf("a host that is down is asked again: %v", err)
	}
	if due := f.Counts().NextDue; due.Before(c.now().Add(59 * time.Minute)) {
		t.Errorf("next due %s", due)
	}
	_, err = f.AddSeeds(seeds[downAfter+1]) // the operator names the seed again
	must(t, err)
	finish(t, f, leaseURL(t, f, seeds[downAfter]), End{State: Fetched})
	finish(t, f, leaseURL(t, f, seeds[downAfter+1]), End{State: Fetched})
}

// BenchmarkOffers measures how fast workers can offer links, for pages of 50 links of which 80 %
// are known.
func BenchmarkOffers(b *testing.B) {
	f := newFrontier(b, FrontierOptions{PerHost: 64})
	const perPage = 50
	var base []string
	for i := range 20000 {
		base = append(base, fmt.Sprintf("http://host%d.example/section/%d/article-%d.html", i%10, i%97, i))
	}
	_, err := f.AddLinks(1, base...)
	must(b, err)
	b.ResetTimer()
	var workers sync.WaitGroup
	pages := make(chan int, 64)
	for range 2 {
		workers.Go(func() {
			for p := range pages {
				offers := make([]Offer, 0, perPage)
				for i := range perPage {
					raw := base[(p*7919+i*31)%len(base)]
					if i%5 == 0 {
						raw = fmt.Sprintf("http://host%d.example/new/%d/%d", p%10, p, i)
					}
					u, err := address.Normal(raw)
					if err != nil {
						b.Error(err)
					}
					offers = append(offers, Offer{URL: u, Depth: 2, State: Queued})
				}
				if err := f.send(&change{offers: f.fresh(offers)}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for p := range b.N {
		pages <- p
	}
	close(pages)
	workers.Wait()
	must(b, f.Flush())
	b.ReportMetric(float64(b.N*perPage)/b.Elapsed().Seconds(), "offers/s")
}

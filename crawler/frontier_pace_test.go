package crawler

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
)

// wait moves the clock forward until the only host of f is due, and returns how long that took.
func wait(t *testing.T, f *Frontier, c *clock) time.Duration {
	t.Helper()
	due := f.Counts().NextDue
	if due.IsZero() {
		t.Fatal("nothing is due")
	}
	d := due.Sub(c.now())
	if d > 0 {
		c.add(d - time.Nanosecond)
		if l := next(t, f); l != nil {
			t.Fatalf("%s leased before it was due", l.URL)
		}
		c.add(time.Nanosecond)
	}
	return d
}

func addresses(n int) (urls []string) {
	for i := range n {
		urls = append(urls, fmt.Sprintf("http://h/%03d", i))
	}
	return urls
}

func TestAdaptive(t *testing.T) {
	c := newClock()
	name := filepath.Join(t.TempDir(), "frontier.db")
	o := FrontierOptions{Now: c.now, Delay: time.Second, Adaptive: true}
	f := openFrontier(t, name, o)
	_, err := f.AddSeeds(addresses(40)...)
	must(t, err)
	visit := func(e End) time.Duration {
		t.Helper()
		l := next(t, f)
		if l == nil {
			t.Fatal("nothing is due")
		}
		e.State, e.Asked = Fetched, c.now()
		finish(t, f, l, e)
		return wait(t, f, c)
	}
	if d := visit(End{Status: 200, Took: 10 * time.Millisecond}); d != time.Second {
		t.Errorf("the pause of a quick host is %s", d)
	}
	before := visit(End{Status: 200, Took: 2 * time.Second})
	for range 5 {
		d := visit(End{Status: 200, Took: 2 * time.Second})
		if d <= before || d > 10*time.Second {
			t.Errorf("a pause of %s came after one of %s, though answers take 2 s", d, before)
		}
		before = d
	}
	for _, e := range []End{{Status: 500, Took: time.Millisecond}, {Status: 429, Took: time.Millisecond},
		{Status: 408}} {
		if d := visit(e); d <= before {
			t.Errorf("after status %d the pause is %s, before it was %s", e.Status, d, before)
		} else {
			before = d
		}
	}
	if before > gate.MaxCrawlDelay {
		t.Errorf("the pause is %s", before)
	}
	if d := visit(End{Status: 200, Took: time.Hour}); d != gate.MaxCrawlDelay {
		t.Errorf("the longest pause is %s", d)
	}
	// the visit has no duration, so the delay does not change
	if d := visit(End{Status: 200}); d != gate.MaxCrawlDelay {
		t.Errorf("the pause is %s", d)
	}

	closeFrontier(t, f)
	f = openFrontier(t, name, o)
	if l := next(t, f); l != nil {
		t.Fatalf("%s leased at once after a restart", l.URL)
	}
	if d := wait(t, f, c); d != gate.MaxCrawlDelay {
		t.Errorf("the first pause after a restart is %s", d)
	}
	d := visit(End{Status: 200, Took: time.Millisecond})
	if d <= 10*time.Second || d >= gate.MaxCrawlDelay {
		t.Errorf("after a restart the pause is %s", d)
	}
	for range 15 {
		d = visit(End{Status: 200, Took: time.Millisecond, Delay: 3 * time.Second})
	}
	if d != 3*time.Second {
		t.Errorf("the pause of a host that asks for 3 s is %s", d)
	}
}

// Without a delay set by the operator, delays are not adaptive.
func TestAdaptiveNeedsDelay(t *testing.T) {
	c := newClock()
	f := newFrontier(t, FrontierOptions{Now: c.now, Adaptive: true})
	_, err := f.AddSeeds(addresses(2)...)
	must(t, err)
	finish(t, f, leaseURL(t, f, "http://h/000"), End{State: Fetched, Asked: c.now(), Took: time.Minute})
	finish(t, f, leaseURL(t, f, "http://h/001"), End{State: Fetched, Asked: c.now()})
}

// The pause after failures doubles each time, has a random part, and has an upper limit.
func TestBackoff(t *testing.T) {
	for _, chance := range []float64{0, 0.5, 0.999} {
		f := newFrontier(t, FrontierOptions{Backoff: 2 * time.Minute})
		f.random = func() float64 { return chance }
		stretched := func(d time.Duration) time.Duration { return d + time.Duration(chance*float64(d)/2) }
		for i, want := range []time.Duration{2 * time.Minute, 4 * time.Minute, maxBackoff, maxBackoff, downFor,
			downFor} {
			if d := f.pacing().pause(i + 1); d != stretched(want) {
				t.Errorf("chance %v: after %d failures the pause is %s, want %s", chance, i+1, d, stretched(want))
			}
		}
	}
}

// A pause requested with Retry-After applies to all addresses of the host, also after a restart and
// if the host is named as a seed again.
func TestRetryAfterSurvives(t *testing.T) {
	c := newClock()
	name := filepath.Join(t.TempDir(), "frontier.db")
	f := openFrontier(t, name, FrontierOptions{Now: c.now})
	_, err := f.AddSeeds(addresses(2)...)
	must(t, err)
	rest := c.now().Add(time.Hour)
	finish(t, f, leaseURL(t, f, "http://h/000"), End{State: Queued, Status: 503, Asked: c.now(), Trouble: true,
		Rest:  rest,
		Retry: rest})
	for range 2 {
		_, err = f.AddSeeds(addresses(2)...)
		must(t, err)
		if d := f.Counts().NextDue; !d.Equal(rest) {
			t.Errorf("next due %s, want %s", d, rest)
		}
		closeFrontier(t, f)
		f = openFrontier(t, name, FrontierOptions{Now: c.now})
	}
	c.add(time.Hour - time.Nanosecond)
	if l := next(t, f); l != nil {
		t.Fatalf("%s leased although its host asked to be left alone", l.URL)
	}
	c.add(time.Nanosecond)
	finish(t, f, leaseURL(t, f, "http://h/001"), End{State: Fetched})
	finish(t, f, leaseURL(t, f, "http://h/000"), End{State: Fetched})
}

// A host whose pause is not yet on disk stays in memory, even if many other hosts are due.
func TestPostponedStaysInMemory(t *testing.T) {
	c := newClock()
	f := newFrontier(t, FrontierOptions{Now: c.now, Working: 1})
	_, err := f.AddSeeds("http://a/", "http://b/")
	must(t, err)
	held := make(chan struct{})
	f.mu.Lock()
	f.inject = func() error { <-held; return nil }
	f.mu.Unlock()
	l := next(t, f)
	must(t, f.Return(l, &Pace{c.now(), time.Minute}))
	if l := next(t, f); l != nil {
		t.Errorf("%s leased, so %s was forgotten with its pause", l.URL, "the other")
	}
	close(held)
	must(t, f.Flush())
	other := next(t, f)
	if other == nil || other.URL == l.URL {
		t.Fatalf("leased %v", other)
	}
	finish(t, f, other, End{State: Fetched})
	if l := next(t, f); l != nil {
		t.Fatalf("%s leased within its pause", l.URL)
	}
}

// If a host is named as a seed again during a visit, the delay after the request of that visit
// still applies.
func TestNamedDuringVisit(t *testing.T) {
	c := newClock()
	f := newFrontier(t, FrontierOptions{Now: c.now, Delay: time.Second, PerHost: 2})
	_, err := f.AddSeeds(addresses(3)...)
	must(t, err)
	first := next(t, f)
	finish(t, f, first, End{State: Failed, Asked: c.now(), Trouble: true})
	c.add(time.Minute)
	under := next(t, f)
	if under == nil {
		t.Fatal("nothing is leased after the pause")
	}
	_, err = f.AddSeeds(first.URL)
	must(t, err)
	if l := next(t, f); l != nil {
		t.Errorf("%s is leased at once after %s", l.URL, under.URL)
	}
	c.add(time.Second)
	if l := next(t, f); l == nil {
		t.Error("nothing is leased when the pause is over")
	}
}

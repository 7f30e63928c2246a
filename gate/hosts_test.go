package gate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPaceOfHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Delay: time.Millisecond, AllowPrivate: true})
		w := newWeb(t, g, hello)
		const asked = 80 * time.Millisecond
		g.Pace(parse(t, "http://slow.example/"), asked)
		for range 3 {
			for _, host := range []string{"slow.example", "free.example"} {
				if _, err := g.Fetch(t.Context(), "http://"+host); err != nil {
					t.Error(err)
				}
			}
		}
		start := time.Now()
		// Time passes on the clock of the synctest bubble, so it is exact.
		if _, err := g.Fetch(t.Context(), "http://free.example"); err != nil || time.Since(start) > time.Millisecond {
			t.Errorf("another host waited too: %s, %v", time.Since(start), err)
		}
		if gap := w.gaps()["slow.example"]; gap != asked {
			t.Errorf("%s between two requests", gap)
		}
	})
}

func TestCrawlDelayOfPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{AllowPrivate: true})
		g.Use(robots("User-agent: *\nCrawl-delay: 1\n"))
		w := newWeb(t, g, hello)
		for range 2 {
			if _, err := g.Get(t.Context(), PageRequest, "http://slow.example"); err != nil {
				t.Fatal(err)
			}
		}
		if gap := w.gaps()["slow.example"]; gap != time.Second {
			t.Errorf("the second request came after %s", gap)
		}
	})
}

func TestPaceIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hs := newHosts(1, 0, nil)
		hs.pace("h:80", 1000*time.Hour)
		h := hs.use("h:80")
		h.mark(time.Now())
		if d := h.wait(h.gap(0)); d != MaxCrawlDelay {
			t.Errorf("waits %s", d)
		}
		if d := h.wait(h.gap(time.Hour)); d != time.Hour {
			t.Errorf("the crawl's own longer delay is cut to %s", d)
		}
	})
}

// The pause begins when the request has arrived for certain: with the answer, or after maxTravel.
func TestPauseAfterTravel(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: 0, maxTravel / 2: maxTravel / 2, time.Hour: maxTravel} {
		synctest.Test(t, func(t *testing.T) {
			hs := newHosts(1, 2*time.Hour, nil)
			v, err := hs.enter(t.Context(), "h:80", "h:80", PageRequest)
			if err != nil {
				t.Fatal(err)
			}
			defer v.leave()
			v.start()
			sent := time.Now()
			time.Sleep(took)
			v.answered()
			if got := v.h.last.Sub(sent); got != want {
				t.Errorf("after an answer in %s the pause begins after %s, not %s", took, got, want)
			}
		})
	}
}

// slowWrite is a connection with pauses before and after it writes.
type slowWrite struct {
	net.Conn
	before, after time.Duration
}

func (c slowWrite) Write(p []byte) (int, error) {
	time.Sleep(c.before)
	n, err := c.Conn.Write(p)
	time.Sleep(c.after)
	return n, err
}

// The pause begins when the request leaves, also if the process is stopped just before or just after
// that: while the request is in a buffer of net/http, or until the whole answer has been read.
func TestPauseBeginsWithWrite(t *testing.T) {
	const by = 900 * time.Millisecond
	for name, first := range map[string]slowWrite{"stopped before": {before: by}, "stopped after": {after: by}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { requestTwice(t, first) })
		})
	}
}

// requestTwice makes two requests to a host. The first one waits for its connection, whose writes
// take the times of first.
func requestTwice(t *testing.T, first slowWrite) {
	g := New(Options{AllowPrivate: true, Delay: time.Second})
	g.Use(robots("User-agent: *\n"))
	w := newWeb(t, g, hello)
	w.dial = 50 * time.Millisecond
	dial := g.transport.DialContext
	g.transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		w.dial = 0
		if err != nil {
			return nil, err
		}
		c, first = slowWrite{c, first.before, first.after}, slowWrite{}
		return &recordedConn{Conn: c}, nil
	}
	for range 2 {
		if _, err := g.Get(t.Context(), PageRequest, "http://a.example"); err != nil {
			t.Fatal(err)
		}
	}
	if gap := w.gaps()["a.example"]; gap < time.Second {
		t.Errorf("the second request came after %s", gap)
	}
}

func TestPerHost(t *testing.T) {
	var now, most atomic.Int32
	arrived, release := make(chan struct{}, 8), make(chan struct{})
	s := newSite(t, func(http.ResponseWriter, *http.Request) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		arrived <- struct{}{}
		<-release
		now.Add(-1)
	})
	g := newGate(t, Options{PerHost: 2}, rule(open), s)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if _, err := g.Get(t.Context(), PageRequest, s.URL); err != nil {
				t.Error(err)
			}
		})
	}
	<-arrived
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := g.Get(ctx, PageRequest, s.URL); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third request got in: %v", err)
	}
	close(release)
	wg.Wait()
	if most.Load() != 2 {
		t.Errorf("%d requests at once, want 2", most.Load())
	}
}

func TestIdleHostsAreForgotten(t *testing.T) {
	hs := newHosts(1, time.Nanosecond, nil)
	for i := range 5 * manyHosts {
		v, err := hs.enter(t.Context(), fmt.Sprintf("h%d:80", i), fmt.Sprintf("h%d:80", i), PageRequest)
		if err != nil {
			t.Fatal(err)
		}
		v.start()
		v.leave()
	}
	if len(hs.m) > 2*manyHosts {
		t.Errorf("%d hosts kept", len(hs.m))
	}
}

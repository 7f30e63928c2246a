package gate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// gaps fails for requests to s that started less than want apart; the server's clock may be a little off the sender's.
func gaps(t *testing.T, s *site, want time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 1; i < len(s.when); i++ {
		if gap := s.when[i].Sub(s.when[i-1]); gap < want-5*time.Millisecond {
			t.Errorf("%s came %s after %s, want %s", s.log[i], gap, s.log[i-1], want)
		}
	}
}

func TestDelayBindsAllKinds(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/0" {
			http.Redirect(w, r, "/again", http.StatusFound)
		}
	})
	const delay = 60 * time.Millisecond
	g := newGate(t, Options{Delay: delay, PerHost: 4}, rule(open), s)
	var wg sync.WaitGroup
	for _, kind := range []Kind{PageRequest, Part, Sitemap, PolicyFile} {
		wg.Go(func() {
			if _, err := g.Get(t.Context(), kind, fmt.Sprintf("%s/%d", s.URL, kind)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(s.requests()); n != 5 {
		t.Errorf("%d requests", n)
	}
	gaps(t, s, delay)
}

func TestPaceOfHost(t *testing.T) {
	s, free := newSite(t, hello), newSite(t, hello)
	g := newGate(t, Options{Delay: time.Millisecond}, nil, s, free)
	const asked = 80 * time.Millisecond
	g.Pace(s.url(t), asked)
	for range 3 {
		if _, err := g.Fetch(t.Context(), s.URL); err != nil {
			t.Error(err)
		}
	}
	gaps(t, s, asked)
	start := time.Now()
	for range 3 {
		if _, err := g.Fetch(t.Context(), free.URL); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(start); took > 2*asked {
		t.Errorf("another host waited too: %s", took)
	}
}

func TestCrawlDelayOfPolicy(t *testing.T) {
	s := newSite(t, hello)
	g := newGate(t, Options{}, robots("User-agent: *\nCrawl-delay: 1\n"), s)
	if _, err := g.Get(t.Context(), PageRequest, s.URL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := g.Get(ctx, PageRequest, s.URL); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second request did not wait: %v", err)
	}
}

func TestPaceIsBounded(t *testing.T) {
	hs := newHosts(1, 0)
	hs.pace("h:80", 1000*time.Hour)
	h := hs.use("h:80")
	h.mark()
	if d := h.wait(0); d > MaxCrawlDelay || d < MaxCrawlDelay-time.Second {
		t.Errorf("waits %s", d)
	}
	if d := h.wait(time.Hour); d <= MaxCrawlDelay {
		t.Errorf("the crawl's own longer delay is cut to %s", d)
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
	hs := newHosts(1, time.Nanosecond)
	for i := range 5 * manyHosts {
		v, err := hs.enter(t.Context(), fmt.Sprintf("h%d:80", i))
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

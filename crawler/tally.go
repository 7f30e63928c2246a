package crawler

import (
	"sync"
	"time"
)

// tally counts what a run does, for all its workers.
type tally struct {
	mu    sync.Mutex
	s     Summary
	n     int // settled
	hosts map[string]struct{}
}

// end counts a visit.
func (t *tally) end(e End, requests int, bytes int64, r Receipt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Requests += requests
	t.s.Bytes += bytes
	switch e.State {
	case Queued:
		return
	case Fetched:
		t.s.Fetched++
	case Refused:
		t.s.Refused.Crawl++
	case Unreachable:
		t.s.Unreachable++
	case Failed:
		t.s.Errors++
	}
	t.n++
	for _, c := range []struct {
		yes bool
		n   *int
	}{
		{r.Stored, &t.s.Stored},
		{r.Indexed, &t.s.Indexed},
		{r.Unchanged, &t.s.Unchanged},
		{r.RefusedFollow, &t.s.Refused.Follow},
		{r.RefusedIndex, &t.s.Refused.Index},
		{r.RefusedPreserve, &t.s.Refused.Preserve},
	} {
		if c.yes {
			*c.n++
		}
	}
}

// visited counts a host that was sent a request.
func (t *tally) visited(host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hosts == nil {
		t.hosts = map[string]struct{}{}
	}
	t.hosts[host] = struct{}{}
	t.s.Hosts = len(t.hosts)
}

// skip counts an address that was found and not asked for.
func (t *tally) skip(s State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch s {
	case Outside:
		t.s.Skipped.Outside++
	case Deep:
		t.s.Skipped.Deep++
	case Trapped:
		t.s.Skipped.Trapped++
	}
}

func (t *tally) now() (Summary, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.s, t.n
}

// meter measures how fast a count grows.
type meter struct{ samples []sample }

type sample struct {
	at time.Time
	n  int
}

// window is how far back a meter looks.
const window = 10 * time.Second

// rate takes the count of now and returns by how much a second it grew within the window.
func (m *meter) rate(now time.Time, n int) float64 {
	m.samples = append(m.samples, sample{now, n})
	for len(m.samples) > 2 && now.Sub(m.samples[1].at) >= window {
		m.samples = m.samples[1:]
	}
	first := m.samples[0]
	return float64(n-first.n) / max(now.Sub(first.at).Seconds(), 1e-3)
}

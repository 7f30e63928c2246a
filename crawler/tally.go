package crawler

import (
	"sync"
	"time"
)

// tally counts what all workers of a run do. It is safe for concurrent use.
type tally struct {
	mu    sync.Mutex
	s     Summary
	n     int // number of addresses with an outcome
	pages int // number of page requests
	hosts map[string]struct{}
}

// sent counts the requests of one visit to host. page is false for a required resource, whose
// requests do not count as page requests.
func (t *tally) sent(host string, page bool, requests int, bytes int64) {
	if requests == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Requests += requests
	t.s.Bytes += bytes
	if page {
		t.pages += requests
	}
	if t.hosts == nil {
		t.hosts = map[string]struct{}{}
	}
	t.hosts[host] = struct{}{}
	t.s.Hosts = len(t.hosts)
}

// reached reports whether the number of page requests has reached pages, or the number of bytes has
// reached bytes. Zero means no limit.
func (t *tally) reached(pages int, bytes int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return pages > 0 && t.pages >= pages || bytes > 0 && t.s.Bytes >= bytes
}

// mean returns the mean number of bytes of a response.
func (t *tally) mean() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.s.Bytes / int64(max(t.s.Requests, 1))
}

// end counts the outcome of the visit of a page. again is true if another visit of this run counts
// the same page as fetched.
func (t *tally) end(e outcome, r Receipt, again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.State {
	case Queued:
		return
	case Fetched:
		if e.Final != "" {
			t.s.Redirected++
		}
		if again {
			r = Receipt{}
		} else {
			t.s.Fetched++
		}
	case Refused:
		if e.down != nil {
			t.s.TakenDown++
		} else {
			t.s.Refused.Crawl++
		}
	case Unreachable:
		t.s.Unreachable++
	case Failed:
		t.s.Errors++
	}
	t.n++
	t.s.Requests += r.Requests
	t.s.Bytes += r.Bytes
	for _, c := range []struct {
		yes bool
		n   *int
	}{
		{r.Stored, &t.s.Stored},
		{r.Indexed, &t.s.Indexed},
		{r.Rendered, &t.s.Rendered},
		{r.Unchanged, &t.s.Unchanged},
		{r.Cut, &t.s.Cut},
		{r.RefusedFollow, &t.s.Refused.Follow},
		{r.RefusedIndex, &t.s.Refused.Index},
		{r.RefusedPreserve, &t.s.Refused.Preserve},
	} {
		if c.yes {
			*c.n++
		}
	}
}

// skip counts an address that was found and not requested.
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

// meter measures how fast a number grows.
type meter struct{ samples []sample }

type sample struct {
	at time.Time
	n  int
}

// window is the period over which a meter measures.
const window = 10 * time.Second

// rate adds the count n at the time now, and returns its growth per second within the window.
func (m *meter) rate(now time.Time, n int) float64 {
	m.samples = append(m.samples, sample{now, n})
	for len(m.samples) > 2 && now.Sub(m.samples[1].at) >= window {
		m.samples = m.samples[1:]
	}
	first := m.samples[0]
	return float64(n-first.n) / max(now.Sub(first.at).Seconds(), 1e-3)
}

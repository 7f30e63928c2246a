package crawler

import (
	"cmp"
	"sync"
	"time"
)

// tally counts what all workers of a run do. It is safe for concurrent use.
type tally struct {
	mu    sync.Mutex
	s     Summary
	n     int   // number of addresses with an outcome
	pages int   // number of page requests
	kept  int64 // decoded bytes of bodies that the handler stored
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

// stored counts a body that the handler stored, by its decoded length.
func (t *tally) stored(bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept += int64(bytes)
}

// reached reports whether a limit of o is reached, and notes which.
func (t *tally) reached(o *Options) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := Limit("")
	switch {
	case o.MaxPages > 0 && t.pages >= o.MaxPages:
		limit = LimitPages
	case o.MaxBytes > 0 && t.s.Bytes >= o.MaxBytes:
		limit = LimitBytes
	case o.MaxStored > 0 && t.kept >= o.MaxStored:
		limit = LimitStored
	}
	t.s.Limit = cmp.Or(t.s.Limit, limit)
	return limit != ""
}

// timeUp notes that the time of the run has passed.
func (t *tally) timeUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.Limit = cmp.Or(t.s.Limit, LimitTime)
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

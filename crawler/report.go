package crawler

import (
	"sync"
	"time"
)

// Summary is what a run did. Its JSON is that of `crawl --json`.
type Summary struct {
	Fetched     int     `json:"fetched"` // addresses that gave a response
	Stored      int     `json:"stored"`
	Indexed     int     `json:"indexed"`
	Refused     Refusal `json:"refused"`
	Unreachable int     `json:"unreachable"` // addresses refused because their policy could not be read
	Errors      int     `json:"errors"`      // addresses that failed as often as they were tried
	Bytes       int64   `json:"bytes"`       // of bodies, as sent
	Duration    float64 `json:"duration_s"`
	Rate        float64 `json:"pages_per_s"`

	Requests    int  `json:"requests"`    // page requests, redirect hops included
	Queued      int  `json:"queued"`      // addresses left for another run
	Interrupted bool `json:"interrupted"` // stopped by its context or by the budget

	SeedsRefused     bool   `json:"-"` // there were seeds, and policy refused every one
	RefusedWhy       string `json:"-"` // the sentence that refused the first of them
	SeedsUnreachable bool   `json:"-"` // there were seeds, and none could be reached
}

// Refusal counts pages refused per usage.
type Refusal struct {
	Crawl    int `json:"crawl"`
	Follow   int `json:"follow"`
	Index    int `json:"index"`
	Preserve int `json:"preserve"`
}

// Progress is the state of a run at a moment.
type Progress struct {
	Done    int // addresses settled in this run, whatever the outcome
	Fetched int
	Refused int // unreachable ones included
	Errors  int
	Queued  int
	Hosts   int       // with something queued
	Rate    float64   // pages per second since the last report
	NextDue time.Time // when the next host is due; in the past while there is more to do than workers
}

// Skip is an address that was not fetched, and why. State is Refused, Unreachable, Failed, Outside or Deep.
type Skip struct {
	URL   string `json:"url"`
	State State  `json:"reason"`
	Why   string `json:"why"` // the sentence that decided
}

// tally counts what a run does, for all its workers.
type tally struct {
	mu sync.Mutex
	s  Summary
	n  int // settled
}

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
		{r.RefusedFollow, &t.s.Refused.Follow},
		{r.RefusedIndex, &t.s.Refused.Index},
		{r.RefusedPreserve, &t.s.Refused.Preserve},
	} {
		if c.yes {
			*c.n++
		}
	}
}

func (t *tally) now() (Summary, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.s, t.n
}

// progress calls report every interval until stop is closed.
func (r *run) progress(stop <-chan struct{}) {
	ticker := time.NewTicker(r.o.Every)
	defer ticker.Stop()
	before, since := 0, time.Now()
	for {
		select {
		case <-stop:
			return
		case t := <-ticker.C:
			s, n := r.tally.now()
			c := r.frontier.Counts()
			r.o.Progress(Progress{Done: n, Fetched: s.Fetched, Refused: s.Refused.Crawl + s.Unreachable, Errors: s.Errors,
				Queued: c.Queued, Hosts: c.Hosts, Rate: float64(s.Fetched-before) / max(t.Sub(since).Seconds(), 1e-3), NextDue: c.NextDue})
			before, since = s.Fetched, t
		}
	}
}

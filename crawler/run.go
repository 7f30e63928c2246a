package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"
)

// prepare queues the seeds and whatever this run gives a new chance.
func (r *run) prepare(seeds []string) (err error) {
	if r.seeds, err = r.frontier.AddSeeds(seeds...); err != nil {
		return err
	}
	all, err := r.frontier.Seeds()
	if err != nil {
		return err
	}
	if r.o.Promoted {
		if err := r.asBefore(); err != nil {
			return err
		}
	} else if len(all) == 0 {
		return errors.New("there is nothing to crawl; name a seed, such as https://example.com/")
	}
	if r.area, err = newArea(r.o.Scope, all); err != nil {
		return err
	}
	if r.own = r.area; len(r.seeds) > 0 {
		if r.own, err = newArea(r.o.Scope, r.seeds); err != nil {
			return err
		}
	}
	r.wanted, r.forbidden = newFilter(r.o.Include, r.o.Exclude), newFilter(nil, r.o.Exclude)
	r.named = map[string]bool{}
	for _, seed := range all {
		r.named[seed] = true
	}
	if r.numbers, err = r.frontier.seedsByHost(); err != nil {
		return err
	}
	r.frontier.hold(r.o.Depth >= 0)
	if err := errors.Join(r.frontier.restrict(r.o.Promoted, r.seeds), r.lift()); err != nil || r.o.Promoted {
		return err
	}
	if r.frontier.selects() {
		if err := r.frontier.revisitSeeds(r.seeds); err != nil {
			return err
		}
	}
	if _, err := r.frontier.Revive(r.start, r.o.Recrawl.Min <= 0); err != nil {
		return err
	}
	if err := r.widen(all); err != nil {
		return err
	}
	if r.o.Refetch {
		_, err := r.frontier.Revisit("", func(rec Record) bool {
			return !notAskedFor(rec.State) && r.frontier.visits(rec.from) && r.wants(rec)
		})
		return err
	}
	return r.retry()
}

// widen queues what an earlier run left out of scope or too deep and this one does not.
func (r *run) widen(seeds []string) error {
	text, err := json.Marshal(extent{r.o.Scope, r.o.Depth, r.o.Include, r.o.Exclude, seeds})
	if err != nil {
		return err
	}
	now := string(text)
	before, err := r.frontier.recall("extent")
	if err != nil || before == now {
		return err
	}
	if before != "" {
		_, err := r.frontier.Revisit("", func(rec Record) bool {
			return notAskedFor(rec.State) && r.wants(rec)
		})
		if err != nil {
			return err
		}
	}
	return r.frontier.remember("extent", now)
}

// extent is how far a crawl goes.
type extent struct {
	Scope            Scope
	Depth            int
	Include, Exclude []string
	Seeds            []string
}

// asBefore makes this run go as far as the one before.
func (r *run) asBefore() error {
	text, err := r.frontier.recall("extent")
	var e extent
	if err != nil || json.Unmarshal([]byte(text), &e) != nil { // there is none, or it is of an earlier version of this program
		return err
	}
	r.o.Scope, r.o.Depth, r.o.Include, r.o.Exclude = e.Scope, e.Depth, e.Include, e.Exclude
	return nil
}

// notAskedFor reports whether an address was found and left aside.
func notAskedFor(s State) bool { return s == Outside || s == Deep || s == Trapped }

// retry queues what could not be had from the origins that are named, and what pages require, so that they are tried again in every run
// that names them.
func (r *run) retry() error {
	origins := map[string]uint64{} // the number of a seed of each
	for _, seed := range r.seeds {
		u, err := url.Parse(seed)
		if err != nil {
			return err
		}
		if origins[u.Scheme+"://"+u.Host+"/"], err = r.frontier.seed(seed); err != nil {
			return err
		}
	}
	if len(origins) > 0 {
		origins[required] = foundByPages // wherever they are
	}
	for origin, seed := range origins {
		_, err := r.frontier.revisit(origin, seed, func(rec Record) bool {
			return (rec.State == Unreachable || rec.State == Failed) && r.wants(rec)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) wants(rec Record) bool {
	if _, _, part := partOf(rec.URL); part {
		return !notAskedFor(rec.State)
	}
	u, err := url.Parse(rec.URL)
	if err != nil {
		return false
	}
	state, _ := r.within(u, rec.URL, rec.Depth)
	return state == Queued
}

// lift queues again what a take-down barred that stands no longer.
func (r *run) lift() error {
	if r.o.Stands == nil {
		return nil
	}
	_, err := r.frontier.Lift("", r.o.Stands)
	return err
}

// tending is how often a run looks for addresses that are due to be visited again.
const tending = 30 * time.Second

// tend queues addresses that become due while the run goes on, until ended is closed.
func (r *run) tend(ended <-chan struct{}) {
	ticker := time.NewTicker(tending)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case now := <-ticker.C:
			err := r.lift()
			if r.o.Recrawl.Min > 0 && !r.o.Promoted {
				_, failed := r.frontier.Revive(now, false)
				err = errors.Join(err, failed)
			}
			if err != nil {
				r.fail(err)
				return
			}
		}
	}
}

// finish makes everything durable and sums up.
func (r *run) finish(leasing context.Context) (Summary, error) {
	err := r.frontier.Flush()
	s, _ := r.tally.now()
	s.Duration = time.Since(r.start).Seconds()
	s.Rate = float64(s.Fetched) / max(s.Duration, 1e-9)
	r.left(&s)
	s.Interrupted, s.Stopped = leasing.Err() != nil, r.stopped
	others, countErr := r.frontier.others()
	err = errors.Join(err, countErr)
	s.OtherSeeds = others
	if r.failed != nil {
		err = r.failed
	}
	if err != nil || len(r.seeds) == 0 {
		return s, err
	}
	s.SeedsRefused, s.SeedsUnreachable = true, true
	for _, seed := range r.seeds {
		rec, _, err := r.frontier.Get(seed)
		if err != nil {
			return s, err
		}
		if rec.State == Refused && s.RefusedWhy == "" {
			s.RefusedWhy = rec.Why
		}
		unreachable := rec.State == Unreachable || rec.State == Failed && rec.Status == 0
		if unreachable && s.UnreachableWhy == "" {
			s.UnreachableWhy = seed + ": " + rec.Why
		}
		s.SeedsRefused = s.SeedsRefused && rec.State == Refused
		s.SeedsUnreachable = s.SeedsUnreachable && unreachable
	}
	return s, nil
}

// graceful is a context that ends only a while after its parent.
func graceful(parent context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	done := make(chan struct{})
	ended := context.AfterFunc(parent, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-done:
		}
	})
	return ctx, func() {
		ended()
		close(done)
		cancel()
	}
}

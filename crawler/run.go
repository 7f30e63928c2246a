package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
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
	if len(all) == 0 {
		return errors.New("there is nothing to crawl; name a seed, such as https://example.com/")
	}
	if r.area, err = newArea(r.o.Scope, all); err != nil {
		return err
	}
	r.frontier.hold(r.o.Depth >= 0)
	if err := r.widen(all); err != nil {
		return err
	}
	if r.o.Refetch {
		_, err := r.frontier.Revisit("", func(rec Record) bool {
			return rec.State != Outside && rec.State != Deep && r.wants(rec)
		})
		return err
	}
	return r.retry()
}

// widen queues what an earlier run left out of scope or too deep and this one does not.
func (r *run) widen(seeds []string) error {
	extent := fmt.Sprintf("%s %d %s", r.o.Scope, r.o.Depth, strings.Join(seeds, " "))
	before, err := r.frontier.recall("extent")
	if err != nil || before == extent {
		return err
	}
	if before != "" {
		_, err := r.frontier.Revisit("", func(rec Record) bool {
			return (rec.State == Outside || rec.State == Deep) && r.wants(rec)
		})
		if err != nil {
			return err
		}
	}
	return r.frontier.remember("extent", extent)
}

// retry queues what could not be had from the origins that are named, so that they are tried again in every run that
// names them.
func (r *run) retry() error {
	origins := map[string]bool{}
	for _, seed := range r.seeds {
		u, err := url.Parse(seed)
		if err != nil {
			return err
		}
		origins[u.Scheme+"://"+u.Host+"/"] = true
	}
	for origin := range origins {
		_, err := r.frontier.Revisit(origin, func(rec Record) bool {
			return (rec.State == Unreachable || rec.State == Failed) && r.wants(rec)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) wants(rec Record) bool {
	u, err := url.Parse(rec.URL)
	if err != nil {
		return false
	}
	state, _ := r.within(u, rec.Depth)
	return state == Queued
}

// finish makes everything durable and sums up.
func (r *run) finish(leasing context.Context) (Summary, error) {
	err := r.frontier.Flush()
	s, _ := r.tally.now()
	s.Duration = time.Since(r.start).Seconds()
	s.Rate = float64(s.Fetched) / max(s.Duration, 1e-9)
	s.Queued = r.frontier.Counts().Queued
	s.Interrupted = leasing.Err() != nil
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
		s.SeedsRefused = s.SeedsRefused && rec.State == Refused
		s.SeedsUnreachable = s.SeedsUnreachable && (rec.State == Unreachable || rec.State == Failed && rec.Status == 0)
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

package crawler

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// prepare queues the seeds and the addresses that this run revisits.
func (r *run) prepare(seeds []string) error {
	for _, seed := range seeds {
		u, err := address.Normal(seed)
		if err != nil {
			return err
		}
		r.seeds = append(r.seeds, u)
	}
	before, extended, err := r.queue.Extent()
	if err != nil {
		return err
	}
	if r.o.Promoted && extended {
		r.o.Scope, r.o.Depth, r.o.Include, r.o.Exclude = before.Scope, before.Depth, before.Include, before.Exclude
	}
	if err := r.queue.Begin(Selection{Seeds: r.seeds, Promoted: r.o.Promoted, Exact: r.o.Depth >= 0,
		Skipped: func(rec Record) {
			r.skip(Skip{URL: rec.URL, State: rec.State, Why: rec.Why, When: rec.When})
		}}); err != nil {
		return err
	}
	if err := r.setExtent(); err != nil {
		return err
	}
	if err := r.lift(); err != nil || r.o.Promoted {
		return err
	}
	due := Filter{DueBy: r.start}
	if r.o.Recrawl.Min <= 0 {
		due.States = []State{Failed}
	}
	if _, err := r.queue.Requeue(due); err != nil {
		return err
	}
	if !extended || !before.equal(r.bounds.Load().extent) {
		if err := r.widen(extended); err != nil {
			return err
		}
	}
	if r.o.Refetch {
		_, err := r.queue.Requeue(Filter{States: []State{Fetched, Refused, Unreachable, Failed}, Selected: true,
			Within: &r.bounds.Load().extent})
		return err
	}
	return r.retry()
}

// widen queues addresses that this run visits, but that an earlier run skipped as out of scope, too
// deep or a crawler trap.
func (r *run) widen(extended bool) error {
	if extended {
		if _, err := r.queue.Requeue(Filter{States: []State{Outside, Deep, Trapped},
			Within: &r.bounds.Load().extent}); err != nil {
			return err
		}
	}
	return r.queue.SetExtent(r.bounds.Load().extent)
}

// retry requeues addresses that could not be fetched, if they have the origin of a seed of this run
// or are required resources.
func (r *run) retry() error {
	origins := map[string]uint64{required: RequiredByPages} // prefix of addresses → number of a seed
	if len(r.seeds) == 0 {
		return nil
	}
	for _, seed := range r.seeds {
		u, err := url.Parse(seed)
		if err != nil {
			return err
		}
		origins[u.Scheme+"://"+u.Host+"/"] = r.bounds.Load().numbers[seed]
	}
	for origin, seed := range origins {
		failed := Filter{Prefix: origin, States: []State{Unreachable, Failed}, Within: &r.bounds.Load().extent,
			From: seed}
		if _, err := r.queue.Requeue(failed); err != nil {
			return err
		}
	}
	return nil
}

// lift requeues addresses that were not visited because of a take-down that is no longer in force.
func (r *run) lift() error {
	if r.o.Stands == nil {
		return nil
	}
	_, err := lift(r.queue, "", r.o.Stands)
	return err
}

// setExtent determines which addresses this run visits.
func (r *run) setExtent() error {
	seeds, err := r.queue.SeedNumbers()
	if err != nil {
		return err
	}
	if len(seeds) == 0 && !r.o.Promoted {
		return errors.New("there is nothing to crawl; name a seed, such as https://example.com/")
	}
	b, err := r.newBounds(seeds)
	if err == nil {
		r.bounds.Store(b)
	}
	return err
}

// bounds says which addresses a run visits. It is immutable.
type bounds struct {
	extent  Extent
	reach   *reach            // decides which addresses are within the extent
	own     *area             // scope of the seeds of this run; without seeds, the scope of all seeds
	numbers map[string]uint64 // seed, or host of a seed → number of the seed
	known   map[uint64]bool   // the numbers of all seeds
}

// newBounds returns the bounds of a run. seeds are the seeds of this run and earlier ones, with their numbers.
func (r *run) newBounds(seeds map[string]uint64) (*bounds, error) {
	b := &bounds{numbers: map[string]uint64{}, known: map[uint64]bool{}}
	b.extent = Extent{r.o.Scope, r.o.Depth, r.o.Include, r.o.Exclude, slices.Sorted(maps.Keys(seeds))}
	for _, seed := range b.extent.Seeds {
		host, err := address.Host(seed)
		if err != nil {
			return nil, err
		}
		b.numbers[seed], b.numbers[host], b.known[seeds[seed]] = seeds[seed], seeds[seed], true
	}
	var err error
	if b.reach, err = newReach(b.extent); err != nil {
		return nil, err
	}
	if b.own = b.reach.area; len(r.seeds) > 0 {
		b.own, err = newArea(r.o.Scope, r.seeds)
	}
	return b, err
}

// knowSeed widens the bounds if an address was found from a seed that another machine has added during this run.
func (r *run) knowSeed(from uint64) error {
	if from < FirstSeed || r.bounds.Load().known[from] {
		return nil
	}
	r.widening.Lock()
	defer r.widening.Unlock()
	if r.bounds.Load().known[from] {
		return nil
	}
	if err := r.setExtent(); err != nil {
		return err
	}
	return r.widen(true)
}

// requeueInterval is the interval at which a run queues addresses that are due to be revisited.
const requeueInterval = 30 * time.Second

// requeueDue queues addresses that become due during the run, until ended is closed.
func (r *run) requeueDue(ended <-chan struct{}) {
	ticker := time.NewTicker(requeueInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case now := <-ticker.C:
			err := r.lift()
			if r.o.Recrawl.Min > 0 && !r.o.Promoted {
				_, failed := r.queue.Requeue(Filter{DueBy: now})
				err = errors.Join(err, failed)
			}
			if err != nil {
				r.fail(err)
				return
			}
		}
	}
}

// finish makes all changes of the run durable and returns the summary of the run.
func (r *run) finish(leasing context.Context) (Summary, error) {
	err := r.queue.Flush()
	s, _ := r.tally.now()
	s.Duration = time.Since(r.start).Seconds()
	s.Rate = float64(s.Fetched) / max(s.Duration, 1e-9)
	r.countLeft(&s)
	s.Interrupted, s.Stopped = leasing.Err() != nil, r.stopped
	others, countErr := r.queue.Others()
	err = errors.Join(err, countErr)
	s.OtherSeeds = others
	if r.failed != nil {
		err = r.failed
	}
	if err != nil || len(r.seeds) == 0 {
		return s, err
	}
	var ended []Record
	for _, seed := range r.seeds {
		rec, _, err := r.queue.Get(seed)
		if err != nil {
			return s, err
		}
		if why, is := r.unlicensed[seed]; is && rec.State != Refused {
			rec.State, rec.Why = Refused, why
		}
		ended = append(ended, rec)
	}
	s.NoteSeeds(ended)
	return s, nil
}

// graceful returns a context that ends when grace has passed after the end of parent.
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

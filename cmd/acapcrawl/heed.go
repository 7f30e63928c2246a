package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"
	"weak"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/disk"
	"github.com/acapcrawl/acapcrawl/holdings"
	"github.com/acapcrawl/acapcrawl/policy"
)

// heeded is what an origin said when its requests were executed and its pages put down to be judged again. All that is set once done
// is closed.
type heeded struct {
	origin weak.Pointer[policy.Origin] // others forget those that they do not need
	done   chan struct{}
	err    error
}

// heed has what o asks for executed by the first who comes with it; others wait until it has been, or take over where that one had no
// time left.
func (h *handler) heed(ctx context.Context, o *policy.Origin) error {
	if o.Status == policy.Unreachable {
		return nil
	}
	for {
		x, first := h.heeding(o)
		if first {
			h.execute(ctx, o, x)
			return x.err
		}
		select {
		case <-x.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !errors.Is(x.err, context.Canceled) && !errors.Is(x.err, context.DeadlineExceeded) {
			return x.err
		}
	}
}

// heeding is what o asks for, which the first who comes with it executes.
func (h *handler) heeding(o *policy.Origin) (x *heeded, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	is := weak.Make(o)
	if x = h.heeded[o.Key]; x != nil && x.origin == is {
		return x, false
	}
	if len(h.heeded) >= h.crowd {
		maps.DeleteFunc(h.heeded, func(_ string, x *heeded) bool { return x.origin.Value() == nil })
		h.crowd = max(2*len(h.heeded), leastCrowd)
	}
	x = &heeded{origin: is, done: make(chan struct{})}
	h.heeded[o.Key] = x
	return x, true
}

// leastCrowd is how many origins are remembered before those are looked for that nobody needs any more.
const leastCrowd = 1000

func (h *handler) execute(ctx context.Context, o *policy.Origin, x *heeded) {
	defer close(x.done)
	h.store.room.Make()
	if x.err = errors.Join(h.executor.Heed(ctx, h.store.reading(o)), h.store.bar(h.store.frontier, o)); x.err == nil {
		h.holdings.Rejudge(o.Key)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.heeded[o.Key] == x { // they are due again
		delete(h.heeded, o.Key)
	}
}

// reading is what an origin asks for.
func (s *store) reading(o *policy.Origin) actions.Reading {
	stale := func() bool {
		now, known := s.policy.HeldOf(o.Key)
		return known && now.Since.After(o.Since)
	}
	return actions.Reading{Origin: o.Key, Since: o.Since, Actions: o.Policy.Actions(), Digests: o.Digests, Incomplete: o.Incomplete, Stale: stale}
}

// executor executes action requests on what s holds. Where f is nil, re-crawls stay due.
func (s *store) executor(cfg *config.Config, f *crawler.Frontier) *actions.Executor {
	var r actions.Recrawler
	if f != nil {
		r = recrawler{f}
	}
	return actions.NewExecutor(s.ledger, eraser{s.holdings, f, s.room}, r,
		actions.Limits{Again: cfg.Actions.RecrawlAgain,
			Pending: cfg.Actions.MaxPending, PendingAll: cfg.Actions.MaxPendingAll, Day: cfg.Actions.MaxADay, Listed: cfg.Actions.MaxListed})
}

// resume has executed what a stop left: what the policies last read ask for that was not noted, then all that is open. What fails of one
// site keeps nothing of another from being done; the error joins it.
func (s *store) resume(ctx context.Context, x *actions.Executor, f *crawler.Frontier) error {
	failed := s.note(ctx, x, f)
	if failed != nil && !unexecuted(failed) {
		return failed
	}
	if err := s.ledger.Expire(); err != nil {
		return errors.Join(failed, err)
	}
	if failed = errors.Join(failed, x.Resume(ctx)); failed != nil && !unexecuted(failed) {
		return failed
	}
	return errors.Join(failed, s.compacted(ctx, x))
}

// unexecuted reports whether err says of nothing but requests that could not be executed, which is noted of each.
func unexecuted(err error) bool {
	if all, is := err.(interface{ Unwrap() []error }); is {
		return !slices.ContainsFunc(all.Unwrap(), func(err error) bool { return !unexecuted(err) })
	}
	_, is := err.(*actions.Failure)
	return is
}

// note has noted and executed what the policies ask for that came into force since that was last done.
func (s *store) note(ctx context.Context, x *actions.Executor, f *crawler.Frontier) error {
	began, by := time.Now(), fmt.Sprintf("%#v", s.who)
	passed, err := s.ledger.Passed(by)
	if err != nil {
		return err
	}
	var origins []string
	err = s.policy.Attempts(func(at policy.Attempt) error {
		if !at.Since.IsZero() && !at.Since.Before(passed) {
			origins = append(origins, at.Origin)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var failed error
	for _, key := range origins {
		o, known := s.policy.HeldOf(key)
		if !known || o.Since.IsZero() {
			continue
		}
		err := errors.Join(x.Heed(ctx, s.reading(o)), s.bar(f, o))
		if failed = errors.Join(failed, err); err != nil && !unexecuted(err) {
			return failed
		}
	}
	if failed != nil || f == nil || s.crawl != nil || s.lent { // the frontier was told nothing, or a policy may be on its way
		return failed
	}
	return s.ledger.Pass(by, began)
}

// compacted has x note what is gone from every file since the last compaction, whoever made it.
func (s *store) compacted(ctx context.Context, x *actions.Executor) error {
	began, err := s.holdings.Compacted()
	if err != nil || began.IsZero() {
		return err
	}
	return x.Compacted(ctx, began)
}

// settle has compacted before the process ends what would be compacted before next, when another one comes; zero: nobody may come.
func (s *store) settle(ctx context.Context, cfg *config.Config, x *actions.Executor, next time.Time) error {
	_, _, err := s.holdings.Settle(ctx, forgetting(cfg), next)
	if disk.Full(err) { // the keys of what was erased are destroyed
		fmt.Fprintf(s.stderr, "Notice: nothing that was erased can be read, but sealed remains of it stay in unused parts of the files, "+
			"since the disk has no room to rewrite them. Free space on the disk of %s, then run acapcrawl archive compact.\n", s.dir)
		return nil
	}
	if err != nil {
		return err
	}
	return s.compacted(ctx, x)
}

// eraser erases under the address that the crawler gives a page.
type eraser struct {
	h *holdings.Holdings
	f *crawler.Frontier // nil: there is none

	room *disk.Room
}

func (e eraser) Erase(ctx context.Context, rawurl, why, line string) (int, error) {
	e.room.Make()
	address, err := crawler.Normal(rawurl)
	if err != nil {
		return 0, nil // nothing is held under what is no address
	}
	if e.f != nil { // before it is forgotten what led there
		spelt, err := e.h.Spellings(address)
		if err != nil {
			return 0, err
		}
		for _, down := range spelt {
			if err := errors.Join(e.f.Bar(down), barLed(e.h, e.f, down)); err != nil {
				return 0, err
			}
		}
	}
	return e.h.Erase(ctx, address, why, line)
}

func (e eraser) Holds(rawurl string) (bool, error) {
	address, err := crawler.Normal(rawurl)
	if err != nil {
		return false, nil
	}
	return e.h.Holds(address)
}

func (e eraser) Verify(rawurl string, since time.Time) (v actions.Evidence, err error) {
	address, err := crawler.Normal(rawurl)
	if err != nil {
		return v, nil
	}
	r, err := e.h.Receipt(address)
	if err != nil {
		return v, err
	}
	v.Compacted, v.Settled, v.Pending = r.Compacted, r.Settled(), r.Pending
	for _, t := range r.Erasures {
		if t.Why == actions.TakenDown && !t.When.Before(since) {
			e := &v.Erased
			e.Captures += t.Captures
			e.Pictures += t.Pictures
			e.Aliases += t.Aliases
			e.Hops += t.Hops
			e.Derived += t.Derived
			e.Keys += len(t.Keys)
			e.Index, e.Excerpt = e.Index || t.Entry, e.Excerpt || t.Known
		}
	}
	for _, p := range r.Left {
		v.Left = append(v.Left, p.Where+" "+p.What)
	}
	return v, nil
}

// recrawler has pages visited by the crawl.
type recrawler struct{ *crawler.Frontier }

func (r recrawler) Visited(rawurl string, since time.Time) (v actions.Visit, visited bool, err error) {
	address, err := crawler.Normal(rawurl)
	if err != nil {
		return v, false, err
	}
	known, found, err := r.Get(address)
	if err != nil || !found || known.State == crawler.Queued || known.When.Before(since) {
		return v, false, err
	}
	v = actions.Visit{At: known.When, Status: known.Status, Why: known.Why}
	switch known.State {
	case crawler.Fetched:
	case crawler.Unreachable, crawler.Failed:
		v.Failed = true
	default:
		v.Refused = true
	}
	return v, true, nil
}

// takenDown tells the ledger what a take-down erased that nobody executed: a sweep found it, or it came while the policy changed.
func takenDown(x *actions.Executor, address, line string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	origin, err := policy.Key(u)
	if err != nil {
		return err
	}
	return x.Told(origin, address, line)
}

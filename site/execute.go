package site

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"weak"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/policy"
)

// execution is the execution of the requests in one version of a policy. The field err may be read
// once done is closed.
type execution struct {
	origin weak.Pointer[policy.Origin] // a weak pointer, so that the authority can forget unused origins
	done   chan struct{}
	err    error
}

// executeRequests executes the requests in the policy of o, once for each version of the policy.
// Concurrent callers wait for the first caller. If the context of the first caller ends, one of the
// waiting callers executes the requests.
func (s *session) executeRequests(ctx context.Context, o *policy.Origin) error {
	if o.Status == policy.Unreachable {
		return nil
	}
	for {
		x, first := s.executionOf(o)
		if first {
			s.execute(ctx, o, x)
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

// executionOf returns the execution of the requests of o. If first is true, the caller must execute
// them.
func (s *session) executionOf(o *policy.Origin) (x *execution, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := weak.Make(o)
	if x = s.executions[o.Key]; x != nil && x.origin == is {
		return x, false
	}
	if len(s.executions) >= s.crowd {
		maps.DeleteFunc(s.executions, func(_ string, x *execution) bool { return x.origin.Value() == nil })
		s.crowd = max(2*len(s.executions), leastCrowd)
	}
	x = &execution{origin: is, done: make(chan struct{})}
	s.executions[o.Key] = x
	return x, true
}

// leastCrowd is a number of stored executions. If more are stored, executions of origins that the
// authority has forgotten are removed.
const leastCrowd = 1000

func (s *session) execute(ctx context.Context, o *policy.Origin, x *execution) {
	defer close(x.done)
	s.site.room.Make()
	x.err = errors.Join(s.executor.ExecuteReading(ctx, s.site.reading(o)), s.site.blockTakenDown(s.site.frontier, o))
	if x.err == nil {
		s.holdings.Rejudge(o.Key)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.executions[o.Key] == x { // forget the execution, so that the next caller executes the requests again
		delete(s.executions, o.Key)
	}
}

// reading returns the requests in the policy of o, in the form that the ledger records.
func (s *Site) reading(o *policy.Origin) actions.Reading {
	stale := func() bool {
		now, known := s.policy.HeldOf(o.Key)
		return known && now.Since.After(o.Since)
	}
	r := actions.Reading{Origin: o.Key, Since: o.Since, Actions: o.Policy.Actions(), Digests: o.Digests,
		Incomplete: o.Incomplete, Stale: stale}
	if s.shared.Load() {
		r.Order = s.orders.heard(0)
		// only the node that owns the host visits it
		r.Actions = slices.DeleteFunc(slices.Clone(r.Actions), func(a acap.Action) bool {
			return a.Action == acap.ReCrawl && !s.visits(a.URL)
		})
	}
	return r
}

// executor returns an executor of requests for the site. f is the queue; if it is nil, the executor
// leaves re-crawl requests open.
func (s *Site) executor(f *crawler.Frontier) *actions.Executor {
	var r actions.Recrawler
	if f != nil {
		r = recrawler{f, s.visits}
	}
	a := s.cfg.Actions
	return actions.NewExecutor(s.ledger, eraser{s.holdings, f, s.room, s.changeQueue}, r,
		actions.Limits{Again: a.RecrawlAgain, Pending: a.MaxPending, PendingAll: a.MaxPendingAll, Day: a.MaxADay,
			Listed: a.MaxListed})
}

// resumeRequests executes the requests that an interrupted run left open. These are the requests in
// the policies read last that are not in the ledger yet, and all open requests in the ledger. If
// requests of one site fail, the requests of other sites are still executed. The error joins all
// failures (see unexecuted).
func (s *Site) resumeRequests(ctx context.Context, x *actions.Executor, f *crawler.Frontier) error {
	failed := s.noteRequests(ctx, x, f)
	if failed != nil && !unexecuted(failed) {
		return failed
	}
	if err := s.ledger.Expire(); err != nil {
		return errors.Join(failed, err)
	}
	if failed = errors.Join(failed, x.Resume(ctx)); failed != nil && !unexecuted(failed) {
		return failed
	}
	return errors.Join(failed, s.noteCompacted(ctx, x))
}

// unexecuted reports whether err consists only of failures to execute requests. The ledger records
// each of these failures.
func unexecuted(err error) bool {
	if all, is := err.(interface{ Unwrap() []error }); is {
		return !slices.ContainsFunc(all.Unwrap(), func(err error) bool { return !unexecuted(err) })
	}
	_, is := err.(*actions.Failure)
	return is
}

// noteRequests records and executes the requests of all policies that came into force since the
// last call of noteRequests.
func (s *Site) noteRequests(ctx context.Context, x *actions.Executor, f *crawler.Frontier) error {
	began, by := time.Now(), s.who.Key()
	passed, err := s.ledger.Passed(by)
	if err != nil {
		return err
	}
	var origins []string
	err = s.policy.Attempts("", func(at policy.Attempt) error {
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
		err := errors.Join(x.ExecuteReading(ctx, s.reading(o)), s.blockTakenDown(f, o))
		if failed = errors.Join(failed, err); err != nil && !unexecuted(err) {
			return failed
		}
	}
	// do not record this call as complete: the queue was not changed, or another goroutine may be
	// reading a policy now
	if failed != nil || f == nil || s.session != nil || s.lent {
		return failed
	}
	return s.ledger.Pass(by, began)
}

// noteCompacted records in the ledger which erased data no longer occurs in any file, because this
// or another process has completed a compaction.
func (s *Site) noteCompacted(ctx context.Context, x *actions.Executor) error {
	began, err := s.holdings.Compacted()
	if err != nil || began.IsZero() {
		return err
	}
	return x.Compacted(ctx, began)
}

// compactBeforeEnd compacts now if compaction would be due before next, the expected start of the
// next process. If next is zero, no other process is expected.
func (s *Site) compactBeforeEnd(ctx context.Context, x *actions.Executor, next time.Time) error {
	_, _, err := s.holdings.Settle(ctx, s.compactWithin(), next)
	// a full disk does no harm here, because the keys that decrypt the erased data are already
	// destroyed
	if disk.Full(err) {
		s.o.Notice(fmt.Sprintf(
			"nothing that was erased can be read, but encrypted remains of it stay in unused parts of the files, "+
				"since the disk has no room to rewrite them. Free space on the disk of %s, then run acapcrawl archive "+
				"compact.", s.cfg.Data))
		return nil
	}
	if err != nil {
		return err
	}
	return s.noteCompacted(ctx, x)
}

// compactWithin returns how soon after an erasure the process that has the directory open must compact archive and
// index.
func (s *Site) compactWithin() holdings.Within {
	return holdings.Within{Asked: s.owner.Actions.EraseWithin, Other: s.owner.CompactWithin}
}

// ExecuteRequests executes the requests with these ids in the ledger, and returns the requests with
// their new state. It queues pages again if their take-down is no longer in force. Other open
// requests are executed later, when they are due.
func (s *Site) ExecuteRequests(ctx context.Context, ids ...uint64) (list []actions.Request, err error) {
	if _, err := s.held(ctx); err != nil {
		return nil, err
	}
	do := func(f *crawler.Frontier) error {
		if list, err = s.executor(f).Execute(ctx, ids...); err != nil || f == nil {
			return err
		}
		for _, r := range list {
			if r.Action == acap.TakeDown && !r.Standing {
				if err := s.changeQueue(func() error { return s.lift(f, r.Origin) }); err != nil {
					return err
				}
			}
		}
		return nil
	}
	begun := false
	err = s.withOwnFrontier(func(f *crawler.Frontier) error {
		begun = true
		return do(f)
	})
	if !begun { // without a queue, re-crawl requests stay open; take-downs do not need a queue
		err = do(nil)
	}
	return list, errors.Join(err, s.changeQueue(s.queueErased))
}

// executeOpen records and executes the requests in the policies that RefreshPolicies may have just
// read.
func (s *Site) executeOpen(ctx context.Context) error {
	done := false
	err := s.withOwnFrontier(func(f *crawler.Frontier) error {
		done = true
		return s.resumeRequests(ctx, s.executor(f), f)
	})
	if err == nil && !done {
		err = s.resumeRequests(ctx, s.executor(nil), nil)
	}
	return errors.Join(err, s.changeQueue(s.queueErased))
}

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
	"github.com/acapcrawl/acapcrawl/disk"
	"github.com/acapcrawl/acapcrawl/holdings"
	"github.com/acapcrawl/acapcrawl/policy"
)

// execution is the execution of the requests of one version of a policy. Its err is set before done
// is closed.
type execution struct {
	origin weak.Pointer[policy.Origin] // weak: the authority forgets origins that nobody needs
	done   chan struct{}
	err    error
}

// executeRequests executes what o asks for, once for each version of a policy. Concurrent callers
// wait for the first one, and take over if its context ended.
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

// executionOf returns the execution of what o asks for. If first is set, the caller must execute
// it.
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

// leastCrowd is the number of executions that are kept before those of forgotten origins are
// removed.
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
	if s.executions[o.Key] == x { // the next caller executes it again
		delete(s.executions, o.Key)
	}
}

// reading returns what an origin asks for.
func (s *Site) reading(o *policy.Origin) actions.Reading {
	stale := func() bool {
		now, known := s.policy.HeldOf(o.Key)
		return known && now.Since.After(o.Since)
	}
	return actions.Reading{Origin: o.Key, Since: o.Since, Actions: o.Policy.Actions(), Digests: o.Digests,
		Incomplete: o.Incomplete, Stale: stale}
}

// executor returns an executor of requests on what the site holds. If f is nil, pages that are to
// be crawled again stay due.
func (s *Site) executor(f *crawler.Frontier) *actions.Executor {
	var r actions.Recrawler
	if f != nil {
		r = recrawler{f}
	}
	a := s.cfg.Actions
	return actions.NewExecutor(s.ledger, eraser{s.holdings, f, s.room}, r,
		actions.Limits{Again: a.RecrawlAgain, Pending: a.MaxPending, PendingAll: a.MaxPendingAll, Day: a.MaxADay,
			Listed: a.MaxListed})
}

// resumeRequests executes what a stop left: the requests of the policies that were read last and
// are not in the ledger, then all that are open. What fails for one site does not keep requests of
// another from being executed; the error joins what failed (see unexecuted).
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

// unexecuted reports whether err is only about requests that could not be executed, which the
// ledger notes for each.
func unexecuted(err error) bool {
	if all, is := err.(interface{ Unwrap() []error }); is {
		return !slices.ContainsFunc(all.Unwrap(), func(err error) bool { return !unexecuted(err) })
	}
	_, is := err.(*actions.Failure)
	return is
}

// noteRequests notes and executes what the policies ask for that came into force since this was
// last done.
func (s *Site) noteRequests(ctx context.Context, x *actions.Executor, f *crawler.Frontier) error {
	began, by := time.Now(), s.who.Key()
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
		err := errors.Join(x.ExecuteReading(ctx, s.reading(o)), s.blockTakenDown(f, o))
		if failed = errors.Join(failed, err); err != nil && !unexecuted(err) {
			return failed
		}
	}
	// the queue was not changed, or a policy may be on its way
	if failed != nil || f == nil || s.session != nil || s.lent {
		return failed
	}
	return s.ledger.Pass(by, began)
}

// noteCompacted notes in the ledger what is gone from every file since the last compaction, whoever
// made it.
func (s *Site) noteCompacted(ctx context.Context, x *actions.Executor) error {
	began, err := s.holdings.Compacted()
	if err != nil || began.IsZero() {
		return err
	}
	return x.Compacted(ctx, began)
}

// compactBeforeEnd compacts now what would be due before next, when another process comes; zero:
// nobody may come.
func (s *Site) compactBeforeEnd(ctx context.Context, x *actions.Executor, next time.Time) error {
	_, _, err := s.holdings.Settle(ctx, s.compactWithin(), next)
	if disk.Full(err) { // the keys of what was erased are destroyed
		s.o.Notice(fmt.Sprintf(
			"nothing that was erased can be read, but sealed remains of it stay in unused parts of the files, "+
				"since the disk has no room to rewrite them. Free space on the disk of %s, then run acapcrawl archive "+
				"compact.", s.cfg.Data))
		return nil
	}
	if err != nil {
		return err
	}
	return s.noteCompacted(ctx, x)
}

// compactWithin returns how soon after an erasure the files must be compacted.
func (s *Site) compactWithin() holdings.Within {
	return holdings.Within{Asked: s.cfg.Actions.EraseWithin, Other: s.cfg.CompactWithin}
}

// ExecuteRequests executes requests of the ledger, and returns what became of them. The pages of
// take-downs that are no longer in force are queued again. What else is open is executed at its
// time.
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
				if _, err := f.Lift(r.Origin+"/", s.mayBeTakenDown); err != nil {
					return err
				}
			}
		}
		return nil
	}
	begun := false
	err = s.withFrontier(func(f *crawler.Frontier) error {
		begun = true
		return do(f)
	})
	if !begun { // no queue can be opened: re-crawls stay due, and a take-down does not need it
		err = do(nil)
	}
	return list, err
}

// executeOpen notes and executes the requests that the policies last read make: RefreshPolicies may
// have read new ones.
func (s *Site) executeOpen(ctx context.Context) error {
	done := false
	err := s.withFrontier(func(f *crawler.Frontier) error {
		done = true
		return s.resumeRequests(ctx, s.executor(f), f)
	})
	if err != nil || done {
		return err
	}
	return s.resumeRequests(ctx, s.executor(nil), nil)
}

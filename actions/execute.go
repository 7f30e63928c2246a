package actions

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Eraser erases the stored data of a URL and knows what is stored (P1 2.6.1). URLs are in the form
// of requests.
type Eraser interface {
	// Erase erases everything that is stored of url and returns the number of copies.
	Erase(ctx context.Context, url, why, line string) (copies int, err error)
	// Holds reports whether anything is stored of url.
	Holds(url string) (bool, error)
	// Verify returns what was erased at the publisher's request since a time, and what is still
	// stored.
	Verify(url string, since time.Time) (Evidence, error)
}

// Evidence is the result of a take-down.
type Evidence struct {
	Erased    Erasure
	Compacted time.Time // when the last compaction began: no file contains traces of earlier erasures
	Settled   bool      // the last compaction began after the last erasure
	Pending   bool      // no compaction followed an erasure, for whatever reason: files may contain traces
	Left      []string  // what is still stored, in words
}

// Erasure counts what was erased.
type Erasure struct {
	Captures int  `json:"captures"`
	Pictures int  `json:"thumbnails"`
	Aliases  int  `json:"aliases"` // number of addresses that redirected to the URL
	Hops     int  `json:"hops"`    // number of redirects through the URL in copies of other pages
	Derived  int  `json:"derived"` // number of pages that lost data derived from the resource
	Keys     int  `json:"keys"`    // number of destroyed keys
	Index    bool `json:"index"`
	Excerpt  bool `json:"excerpt"` // a snippet or other data made from the page was erased
}

// TakenDown is the reason that a take-down passes to Erase.
const TakenDown = "taken down at the publisher's request"

// Failure is the error of a take-down that failed, or whose result is unknown. The Executor tries
// the take-down again.
type Failure struct{ err error }

func (f *Failure) Error() string { return f.err.Error() }
func (f *Failure) Unwrap() error { return f.err }

// Executor executes requests and notes the results in a ledger. It is safe for concurrent use, and
// several Executors may use one ledger. At any time, only one goroutine executes requests of an
// origin.
type Executor struct {
	ledger    *Ledger
	eraser    Eraser
	recrawler Recrawler
	limits    Limits
	fault     func(step) // called at each step, for tests
}

// step is a point in the execution of a request at which tests can interrupt it.
type step string

// The steps of a take-down. After each step the ledger or the archive has changed.
const (
	stepNoted     step = "noted"
	stepRunning   step = "running"
	stepErased    step = "erased"
	stepTold      step = "told"
	stepCompacted step = "compacted"
)

// NewExecutor returns an Executor for the requests of l. If r is nil, re-crawls stay due.
func NewExecutor(l *Ledger, e Eraser, r Recrawler, limits Limits) *Executor {
	return &Executor{ledger: l, eraser: e, recrawler: r, limits: limits, fault: func(step) {}}
}

// ExecuteReading notes and executes the requests in the policy of an origin. If nothing changed
// since the last call, ExecuteReading only reads the stored digest. The error joins the errors of
// take-downs, because the pages may still be stored. Failures of re-crawls are only noted.
func (x *Executor) ExecuteReading(ctx context.Context, reading Reading) error {
	end, ok := x.ledger.turns.acquire(ctx.Done(), reading.Origin)
	if !ok {
		return ctx.Err()
	}
	defer end()
	due, err := x.observe(reading)
	if err != nil || !due {
		return err
	}
	x.fault(stepNoted)
	return x.executeOrigin(ctx, reading.Origin, nil, true)
}

// Resume executes all requests of all origins that are due: requests that an earlier process did
// not begin or did not finish, requests that failed, and re-crawls that must be repeated now.
func (x *Executor) Resume(ctx context.Context) error {
	if err := x.Settle(ctx); err != nil {
		return err
	}
	now := x.ledger.o.Now()
	due, err := x.opened(func(r *Request) bool { return r.executable() && !r.waits(now) })
	if err != nil {
		return err
	}
	var again []string
	err = x.ledger.view(func(t *txn) error {
		return t.tx.Bucket(bHeard).ForEach(func(origin, _ []byte) error {
			if reached(t.heard(string(origin)).Revive, now) {
				again = append(again, string(origin))
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return errors.Join(x.execute(ctx, due, again...), x.settleCompacted(ctx))
}

// execute executes the requests in due, one origin after another. For the origins of these requests
// and for the origins in more, it also repeats the re-crawls whose time has come.
func (x *Executor) execute(ctx context.Context, due []Request, more ...string) error {
	by := map[string][]Request{}
	for _, origin := range more {
		by[origin] = nil
	}
	for _, r := range due {
		by[r.Origin] = append(by[r.Origin], r)
	}
	var failed []error
	for _, origin := range slices.Sorted(maps.Keys(by)) {
		end, ok := x.ledger.turns.acquire(ctx.Done(), origin)
		if !ok {
			return errors.Join(append(failed, ctx.Err())...)
		}
		failed = append(failed, x.executeOrigin(ctx, origin, by[origin], false))
		end()
	}
	return errors.Join(failed...)
}

// executeOrigin executes the requests in due and repeats the re-crawls of the origin whose time has
// come. If all is true, it also executes every other due request of the origin. The caller must
// have acquired the origin's turn.
//
// P1 2.6, 2.2.1 (P11, X31): all requests are executed, take-downs first.
func (x *Executor) executeOrigin(ctx context.Context, origin string, due []Request, all bool) error {
	var downs, crawls []Request
	sort := func(r Request) {
		if r.Action == acap.TakeDown {
			downs = append(downs, r)
		} else {
			crawls = append(crawls, r)
		}
	}
	for _, r := range due {
		sort(r)
	}
	var before heard
	err := x.ledger.view(func(t *txn) error {
		before = t.heard(origin)
		return t.of(origin, func(r Request) error {
			if all && r.executable() || r.Action == acap.ReCrawl && x.repeated(&r) {
				sort(r)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	err = x.takeDown(ctx, downs)
	h := before
	if all {
		h.Owed = err != nil
	}
	if ctx.Err() == nil && x.recrawler != nil {
		if some, is := x.recrawler.(interface{ Visits(url string) bool }); is { // other machines visit the rest
			crawls = slices.DeleteFunc(crawls, func(r Request) bool { return !some.Visits(r.URL) })
		}
		crawls = x.selectRecrawls(crawls, &h)
		err = errors.Join(err, x.promote(ctx, origin, crawls))
	}
	if h == before {
		return err
	}
	return errors.Join(err, x.ledger.update(func(t *txn) error {
		is := t.heard(origin)
		if is.Revive != before.Revive { // another goroutine changed Revive meanwhile, because a re-crawl was done
			h.Revive = earlier(h.Revive, is.Revive)
		}
		is.Owed, is.Revive, is.Day, is.Crawled, is.Listed = h.Owed, h.Revive, h.Day, h.Crawled, h.Listed
		return t.putHeard(origin, is)
	}))
}

// takeDown executes take-downs. The error joins their errors.
func (x *Executor) takeDown(ctx context.Context, list []Request) error {
	byID(list)
	var failed []error
	for some := range slices.Chunk(list, batch) {
		some, err := x.startRequests(some)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		x.fault(stepRunning)
		found := make(map[uint64]Evidence, len(some))
		why := map[uint64]error{}
		for i := range some {
			r := &some[i]
			ev, err := x.erase(ctx, r)
			if ctx.Err() != nil {
				some = some[:i]
				break
			}
			if found[r.ID] = ev; err != nil {
				why[r.ID] = &Failure{fmt.Errorf("%s of %s failed: %w", r.Action, r.URL, err)}
				failed = append(failed, why[r.ID])
			}
			x.fault(stepErased)
		}
		err = x.note(some, func(t *txn, r *Request) string {
			if r.State != Running {
				return ""
			}
			if why[r.ID] != nil {
				r.fail(why[r.ID].Error(), t.now)
				return string(Failed)
			}
			r.done(found[r.ID], t.now)
			return string(Done)
		}, func(t *txn, r *Request) error {
			if r.State != Done || r.Gone.IsZero() {
				return nil
			}
			return x.ledger.putReceipt(t, r.takenDown(found[r.ID]))
		})
		if err = errors.Join(err, ctx.Err()); err != nil {
			return errors.Join(append(failed, err)...)
		}
		x.fault(stepTold)
	}
	return errors.Join(failed...)
}

// startRequests sets requests to running and returns them. It leaves out requests that may not be
// executed any more, for example because they were withdrawn meanwhile.
func (x *Executor) startRequests(list []Request) (begun []Request, err error) {
	err = x.note(list, func(t *txn, r *Request) string {
		if !r.executable() && !x.repeated(r) {
			return ""
		}
		again := r.State == Running && !r.Began.After(t.now) // a Began in the future means that the clock was set back
		if !again {
			r.State, r.Why, r.Began, r.NotBefore = Running, "", t.now, time.Time{}
		}
		begun = append(begun, *r)
		if again {
			return ""
		}
		return string(Running)
	}, nil)
	return begun, err
}

// erase erases the page of a take-down and verifies that nothing of the page is still stored. It
// tries three times, because a crawler may store the page again meanwhile.
func (x *Executor) erase(ctx context.Context, r *Request) (found Evidence, err error) {
	for range 3 {
		if _, err = x.eraser.Erase(ctx, r.URL, TakenDown, r.Source); err != nil {
			return found, err
		}
		if found, err = x.eraser.Verify(r.URL, r.since()); err != nil || len(found.Left) == 0 {
			return found, err
		}
	}
	return found, fmt.Errorf("data of it is still stored: %s", found.Left[0])
}

// done sets r to executed. If no compaction is needed, because nothing was erased and the files
// contain no traces, r is finished.
func (r *Request) done(found Evidence, now time.Time) {
	r.State, r.Failures, r.Done, r.Gone, r.Erased = Done, 0, now, time.Time{}, found.Erased.Captures
	if found.Erased == (Erasure{}) && !found.Pending {
		r.Gone = now
	}
}

// takenDown returns the receipt of a take-down.
func (r *Request) takenDown(found Evidence) Receipt {
	out := newReceipt(*r)
	out.Erased = &found.Erased
	how := []string{}
	if len(found.Left) == 0 { // otherwise the line was removed and the page was fetched again
		how = append(how, "nothing of it is held", "the index has no entry of it")
	}
	if found.Erased.Keys > 0 {
		how = append(how, "its keys are destroyed")
	}
	if found.Erased != (Erasure{}) {
		how = append(how, "the files were rewritten")
	}
	out.Verified = &Verified{At: r.Gone, How: how, Left: append([]string{}, found.Left...)}
	return out
}

// fail sets r to failed. The pause before the next attempt doubles with each failure.
func (r *Request) fail(why string, now time.Time) {
	r.Failures++
	r.State, r.Why, r.NotBefore = Failed, why, now.Add(pause(r.Failures))
}

// note changes the requests in list in one transaction. fn changes a request and returns the name
// of the event, or "" for no change. then, unless nil, is called for each changed request.
func (x *Executor) note(list []Request, fn func(*txn, *Request) string, then func(*txn, *Request) error) error {
	if len(list) == 0 {
		return nil
	}
	return x.ledger.update(func(t *txn) error {
		for _, r := range list {
			var is *Request
			err := t.alter(r.ID, func(r *Request) string {
				event := fn(t, r)
				if event != "" {
					is = r
				}
				return event
			})
			if err == nil && is != nil && then != nil {
				err = then(t, is)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func byID(list []Request) {
	slices.SortFunc(list, func(a, b Request) int { return cmp.Compare(a.ID, b.ID) })
}

// open calls fn with each unfinished request, the oldest first. fn must not write.
func (t *txn) open(fn func(Request) error) error {
	return t.tx.Bucket(bOpen).ForEach(func(id, _ []byte) error {
		r, known, err := t.request(binary.BigEndian.Uint64(id))
		if err != nil || !known {
			return err
		}
		return fn(r)
	})
}

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

// Eraser erases what is held of a URL and knows what is (P1 2.6.1). URLs are those of requests.
type Eraser interface {
	// Erase erases all of it, or nothing where nothing is held, and returns the number of copies.
	Erase(ctx context.Context, url, why, line string) (copies int, err error)
	// Holds reports whether Erase would find anything.
	Holds(url string) (bool, error)
	// Verify tells what was erased at a publisher's request since then, and looks for what is left of it.
	Verify(url string, since time.Time) (Evidence, error)
}

// Evidence is what a take-down came to.
type Evidence struct {
	Erased    Erasure
	Compacted time.Time // the last compaction began then: no file holds a trace of what was erased before
	Settled   bool      // it began after the last erasure
	Pending   bool      // none came after one: files may hold a trace of it, whoever it was erased for
	Left      []string  // what is held all the same, in words
}

// Erasure counts what was erased.
type Erasure struct {
	Captures int  `json:"captures"`
	Pictures int  `json:"thumbnails"`
	Aliases  int  `json:"aliases"` // addresses that led to it
	Hops     int  `json:"hops"`    // its redirects in copies of other pages
	Derived  int  `json:"derived"` // pages of which something went that was made of it
	Keys     int  `json:"keys"`    // destroyed
	Index    bool `json:"index"`
	Excerpt  bool `json:"excerpt"` // or what else was known of it
}

// TakenDown is why a take-down erases.
const TakenDown = "taken down at the publisher's request"

// Failure is the error of a take-down that could not be executed, or of which nobody can tell whether it was. It is tried again.
type Failure struct{ err error }

func (f *Failure) Error() string { return f.err.Error() }
func (f *Failure) Unwrap() error { return f.err }

// Executor executes what requests ask for, and notes what came of it. It is safe for concurrent use, and so are several of one ledger:
// of an origin one at a time goes on.
type Executor struct {
	ledger    *Ledger
	eraser    Eraser
	recrawler Recrawler
	limits    Limits
	fault     func(step) // tests: is told each step
}

// step is a moment of the execution of a request.
type step string

// The steps of a take-down. Before and after each the ledger, or the archive, has something that it did not have.
const (
	stepNoted     step = "noted"
	stepRunning   step = "running"
	stepErased    step = "erased"
	stepTold      step = "told"
	stepCompacted step = "compacted"
)

// NewExecutor makes an executor for the requests of l. r may be nil: re-crawls stay due.
func NewExecutor(l *Ledger, e Eraser, r Recrawler, limits Limits) *Executor {
	return &Executor{ledger: l, eraser: e, recrawler: r, limits: limits, fault: func(step) {}}
}

// Heed notes what the policy of an origin asks for now, and executes it; where that was done before, it costs a look. The error joins
// those of the take-downs: what was to go may still be held, while a re-crawl that failed harms nobody.
func (x *Executor) Heed(ctx context.Context, reading Reading) error {
	end, ok := x.ledger.turns.take(ctx.Done(), reading.Origin)
	if !ok {
		return ctx.Err()
	}
	defer end()
	due, err := x.observe(reading)
	if err != nil || !due {
		return err
	}
	x.fault(stepNoted)
	return x.carryOut(ctx, reading.Origin, nil, true)
}

// Resume executes whatever is open, of all origins: what was due when a process ended, what it had begun, what failed, and the re-crawls
// that stand long enough to be done again (P04).
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
			if come(t.heard(string(origin)).Revive, now) {
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

// execute executes requests, and what else is to be done of more origins, one origin after the other.
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
		end, ok := x.ledger.turns.take(ctx.Done(), origin)
		if !ok {
			return errors.Join(append(failed, ctx.Err())...)
		}
		failed = append(failed, x.carryOut(ctx, origin, by[origin], false))
		end()
	}
	return errors.Join(failed...)
}

// carryOut executes what is due of an origin whose turn is taken, take-downs first (P11, X31), with all whatever its lines ask for, and
// makes the re-crawls again whose time has come.
func (x *Executor) carryOut(ctx context.Context, origin string, due []Request, all bool) error {
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
		crawls = x.pick(crawls, &h)
		err = errors.Join(err, x.promote(ctx, origin, crawls))
	}
	if h == before {
		return err
	}
	return errors.Join(err, x.ledger.update(func(t *txn) error {
		is := t.heard(origin)
		if is.Revive != before.Revive { // one was done meanwhile
			h.Revive = sooner(h.Revive, is.Revive)
		}
		is.Owed, is.Revive, is.Day, is.Crawled, is.Listed = h.Owed, h.Revive, h.Day, h.Crawled, h.Listed
		return t.hear(origin, is)
	}))
}

// takeDown executes take-downs. The error joins theirs.
func (x *Executor) takeDown(ctx context.Context, list []Request) error {
	byID(list)
	var failed []error
	for some := range slices.Chunk(list, batch) {
		some, err := x.begin(some)
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

// begin notes that requests are being executed, and gives those that may be: one may have been withdrawn meanwhile.
func (x *Executor) begin(list []Request) (begun []Request, err error) {
	err = x.note(list, func(t *txn, r *Request) string {
		if !r.executable() && !x.repeated(r) {
			return ""
		}
		again := r.State == Running && !r.Began.After(t.now) // what comes of it now would be before that
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

// erase erases what a take-down names, and looks whether anything is left: a page may have been on its way.
func (x *Executor) erase(ctx context.Context, r *Request) (found Evidence, err error) {
	for range 3 {
		if _, err = x.eraser.Erase(ctx, r.URL, TakenDown, r.Source); err != nil {
			return found, err
		}
		if found, err = x.eraser.Verify(r.URL, r.since()); err != nil || len(found.Left) == 0 {
			return found, err
		}
	}
	return found, fmt.Errorf("something of it is left: %s", found.Left[0])
}

// done notes that a take-down was executed.
func (r *Request) done(found Evidence, now time.Time) {
	r.State, r.Failures, r.Done, r.Gone, r.Erased = Done, 0, now, time.Time{}, found.Erased.Captures
	if found.Erased == (Erasure{}) && !found.Pending {
		r.Gone = now
	}
}

// takenDown is the receipt of a take-down.
func (r *Request) takenDown(found Evidence) Receipt {
	out := newReceipt(*r)
	out.Erased = &found.Erased
	how := []string{}
	if len(found.Left) == 0 { // else its line has gone since, and it was received again
		how = append(how, "nothing of it is held", "the index has no entry of it")
	}
	if found.Erased.Keys > 0 {
		how = append(how, "its keys are destroyed")
	}
	if found.Erased != (Erasure{}) {
		how = append(how, "the files were written anew")
	}
	out.Verified = &Verified{At: r.Gone, How: how, Left: append([]string{}, found.Left...)}
	return out
}

// fail notes that r failed, and waits longer each time.
func (r *Request) fail(why string, now time.Time) {
	r.Failures++
	r.State, r.Why, r.NotBefore = Failed, why, now.Add(pause(r.Failures))
}

// note changes requests, in one transaction. fn names the event; "" leaves the request as it is, and then, if it is given, is called with
// those that were changed.
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

// open calls fn with each request about which something is to be done, the oldest first. fn must not write.
func (t *txn) open(fn func(Request) error) error {
	return t.tx.Bucket(bOpen).ForEach(func(id, _ []byte) error {
		r, known, err := t.request(binary.BigEndian.Uint64(id))
		if err != nil || !known {
			return err
		}
		return fn(r)
	})
}

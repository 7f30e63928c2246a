package actions

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Settle notes the results of the running re-crawls.
func (x *Executor) Settle(ctx context.Context) error {
	if x.recrawler == nil {
		return nil
	}
	running, err := x.opened(func(r *Request) bool { return r.Action == acap.ReCrawl && r.State == Running })
	if err != nil {
		return err
	}
	for some := range slices.Chunk(running, batch) {
		visits := map[uint64]Visit{}
		for _, r := range some {
			if err := ctx.Err(); err != nil {
				return err
			}
			v, done, err := x.recrawler.Visited(r.URL, r.Began)
			if err != nil {
				return err
			}
			if done {
				visits[r.ID] = v
			}
		}
		some = slices.DeleteFunc(some, func(r Request) bool { _, done := visits[r.ID]; return !done })
		var failed error
		err := x.note(some, func(t *txn, r *Request) string {
			if r.State != Running {
				return ""
			}
			x.ledger.crawls.add(r.Origin, -1)
			switch v := visits[r.ID]; {
			case v.Refused:
				r.State, r.Why, r.NotBefore = Refused, v.Why, t.now.Add(x.limits.Again)
			case v.Failed:
				r.fail(v.Why, t.now)
				r.NotBefore = t.now.Add(lastPause)
				r.Status = v.Status
			default:
				r.State, r.Done, r.Status, r.Failures = Done, v.At.UTC(), v.Status, 0
				if x.repeated(r) {
					failed = errors.Join(failed, t.revive(r.Origin, r.again(x.limits.Again)))
				}
			}
			return string(r.State)
		}, func(t *txn, r *Request) error {
			if r.State != Done {
				return nil
			}
			receipt := newReceipt(*r)
			receipt.Visited = &Visited{At: r.Done, Status: r.Status}
			return x.ledger.putReceipt(t, receipt)
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
	return nil
}

// opened returns the unfinished requests for which pick returns true, the oldest first.
func (x *Executor) opened(pick func(*Request) bool) (list []Request, err error) {
	err = x.ledger.view(func(t *txn) error {
		return t.open(func(r Request) error {
			if pick(&r) {
				list = append(list, r)
			}
			return nil
		})
	})
	return list, err
}

// Compacted notes the end of a compaction that began at the time began: no file contains traces of
// data that was erased before that time.
func (x *Executor) Compacted(ctx context.Context, began time.Time) error {
	gone, err := x.opened(func(r *Request) bool { return r.State == Done })
	if err != nil {
		return err
	}
	for some := range slices.Chunk(gone, batch) {
		found := map[uint64]Evidence{}
		for _, r := range some {
			if err := ctx.Err(); err != nil {
				return err
			}
			if found[r.ID], err = x.eraser.Verify(r.URL, r.since()); err != nil {
				return err
			}
		}
		x.fault(stepCompacted)
		err := x.note(some, func(t *txn, r *Request) string {
			// Settled is needed because an erasure may be noted after the next compaction has begun
			over := r.Done.Before(began) || found[r.ID].Settled
			if r.State != Done || !r.Gone.IsZero() || !over || found[r.ID].Pending {
				return ""
			}
			if left := found[r.ID].Left; len(left) > 0 && r.Standing {
				r.State, r.Why = Due, "data of it is stored again: "+left[0]
				return string(Due)
			}
			r.Gone = t.now
			return "gone"
		}, func(t *txn, r *Request) error {
			if r.State != Done {
				return nil
			}
			return x.ledger.putReceipt(t, r.takenDown(found[r.ID]))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// settleCompacted notes the result of a finished compaction, if an earlier process ended before it
// could call Compacted.
func (x *Executor) settleCompacted(ctx context.Context) error {
	waiting, err := x.opened(func(r *Request) bool { return r.State == Done })
	if err != nil || len(waiting) == 0 {
		return err
	}
	found, err := x.eraser.Verify(waiting[0].URL, waiting[0].since())
	if err != nil || found.Compacted.IsZero() {
		return err
	}
	return x.Compacted(ctx, found.Compacted)
}

// NoteErased notes that data of a URL was erased because a take-down is in force, but not by the
// Executor. For example a sweep erased it, or the page was stored while the policy changed.
// NoteErased does not wait for other goroutines that work on the origin.
func (x *Executor) NoteErased(origin, rawurl, source string) error {
	u, err := url.Parse(rawurl)
	if err != nil {
		return err
	}
	name := acap.NewResource(u).URL
	r, known, err := x.lastOf(origin, name)
	if err != nil {
		return err
	}
	if known && r.Standing && r.State != Done { // the Executor will note the erasure when it executes the request
		return nil
	}
	found, err := x.eraser.Verify(name, r.Done)
	if err != nil || found.Erased == (Erasure{}) {
		return err
	}
	if known && r.Standing {
		if found, err = x.eraser.Verify(name, r.since()); err != nil {
			return err
		}
	}
	return x.ledger.update(func(t *txn) error {
		is, known, err := t.blockingTakeDown(origin, name)
		switch {
		case err != nil:
			return err
		case !known || !is.Standing:
			is = Request{Action: acap.TakeDown, URL: name, Origin: origin, Source: source, From: Source{Kind: Robots},
				Asked: t.now, Standing: true}
		case is.State != Done:
			return nil
		}
		is.done(found, t.now)
		return t.note(string(Done), &is)
	})
}

func (x *Executor) lastOf(origin, name string) (r Request, known bool, err error) {
	err = x.ledger.view(func(t *txn) error {
		r, known, err = t.blockingTakeDown(origin, name)
		return err
	})
	return r, known, err
}

package actions

import (
	"context"
	"slices"
	"time"
)

// Recrawler visits URLs before other work of their hosts; policy is asked when their turn comes (P1 2.6.2, P08).
type Recrawler interface {
	Promote(url string) error
	// Visited tells what became of a URL that was visited since then; false: nothing yet.
	Visited(url string, since time.Time) (Visit, bool, error)
}

// Visit is what became of a re-crawl.
type Visit struct {
	At      time.Time
	Status  int    // of the answer; 0: there was none
	Refused bool   // by policy, or by the scope of the crawl
	Failed  bool   // it was given up
	Why     string // of both
}

// repeated reports whether r, which was done, is done again while it stands (P04).
func (x *Executor) repeated(r *Request) bool {
	return r.State == Done && r.Standing && x.limits.Again > 0
}

// pick gives the re-crawls of an origin that are to be made now.
func (x *Executor) pick(list []Request, h *heard) (now []Request) {
	t := x.ledger.o.Now().UTC()
	h.roll(t)
	h.Revive = time.Time{}
	pending := 0
	for i := range list {
		if list[i].State != Done {
			pending++
		}
	}
	for _, r := range list {
		switch at := r.again(x.limits.Again); {
		case r.State == Done && at.After(t):
			h.Revive = sooner(h.Revive, at)
			continue
		case r.State == Done:
			if h.crawl(x.limits, pending) != "" {
				h.Revive = sooner(h.Revive, t.Add(reconsider))
				continue
			}
			pending++
		case r.State == Failed && (r.waits(t) || h.crawl(x.limits, 0) != ""), r.waits(t):
			continue
		}
		now = append(now, r)
	}
	return now
}

// promote has re-crawls made, as many as may be under way.
func (x *Executor) promote(ctx context.Context, origin string, list []Request) error {
	if len(list) == 0 {
		return nil
	}
	byID(list)
	room, err := x.ledger.room(origin, x.limits)
	if err != nil {
		return err
	}
	var begun []Request
	for _, r := range list {
		if r.State == Running { // a stop may have come before it was queued
			begun = append(begun, r)
		} else if room > 0 {
			room--
			x.ledger.crawls.under(origin, 1)
			begun = append(begun, r)
		}
	}
	for some := range slices.Chunk(begun, batch) {
		some, err := x.begin(some)
		if err != nil {
			return err
		}
		why := map[uint64]error{}
		for _, r := range some {
			if err := x.recrawler.Promote(r.URL); err != nil {
				why[r.ID] = err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := x.note(some, func(t *txn, r *Request) string {
			if r.State != Running || why[r.ID] == nil {
				return ""
			}
			x.ledger.crawls.under(origin, -1)
			r.fail(why[r.ID].Error(), t.now)
			return string(Failed)
		}, nil); err != nil {
			return err
		}
	}
	return nil
}

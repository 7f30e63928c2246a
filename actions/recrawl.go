package actions

import (
	"context"
	"slices"
	"time"
)

// Recrawler can visit a URL earlier than the other URLs of its host. P1 2.6.2 (P08): a request does
// not permit a crawl that the policy prohibits, so the policy is checked immediately before the
// visit.
type Recrawler interface {
	Promote(url string) error
	// Visited returns the result of a visit of url since the given time. It returns false if there
	// was no visit since then.
	Visited(url string, since time.Time) (Visit, bool, error)
}

// Visit is the result of a re-crawl.
type Visit struct {
	At      time.Time
	Status  int    // HTTP status of the answer; 0: no answer
	Refused bool   // the policy or the scope of the crawl prohibited the visit
	Failed  bool   // the visit was given up
	Why     string // reason of Refused or Failed
}

// repeated reports whether r, which is done, must be executed again at some time. P1 2.6 (P04): a
// re-crawl in force is repeated after Limits.Again.
func (x *Executor) repeated(r *Request) bool {
	return r.State == Done && r.Standing && x.limits.Again > 0
}

// selectRecrawls returns the re-crawls in list that are due now, and sets h.Revive to the time of
// the next one.
func (x *Executor) selectRecrawls(list []Request, h *heard) (now []Request) {
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
			h.Revive = earlier(h.Revive, at)
			continue
		case r.State == Done:
			if h.allowRecrawl(x.limits, pending) != "" {
				h.Revive = earlier(h.Revive, t.Add(reconsider))
				continue
			}
			pending++
		case r.State == Failed && (r.waits(t) || h.allowRecrawl(x.limits, 0) != ""), r.waits(t):
			continue
		}
		now = append(now, r)
	}
	return now
}

// promote starts re-crawls, as many as the limits permit.
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
		if r.State == Running { // the earlier process may have ended before the URL was queued
			begun = append(begun, r)
		} else if room > 0 {
			room--
			x.ledger.crawls.add(origin, 1)
			begun = append(begun, r)
		}
	}
	for some := range slices.Chunk(begun, batch) {
		some, err := x.startRequests(some)
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
			x.ledger.crawls.add(origin, -1)
			r.fail(why[r.ID].Error(), t.now)
			return string(Failed)
		}, nil); err != nil {
			return err
		}
	}
	return nil
}

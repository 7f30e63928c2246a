package main

import (
	"context"
	"errors"
	"hash/fnv"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/defect"
	"github.com/acapcrawl/acapcrawl/policy"
)

// rereaders is how many origins are read anew at once.
const rereaders = 4

// dueAgain is when the robots.txt of an origin is to be read anew so that what it asks for is seen within that time: somewhat before, so
// that origins that were read together are spread. What cannot be read is tried again after as long as it has been so, at least after
// what its Retry-After says, and after a day. What was read at a time to come was read before the clock went back, nobody knows when.
func dueAgain(at policy.Attempt, within time.Duration, now time.Time) time.Time {
	if at.At.After(now) {
		return now
	}
	wait := within - within/20 - spread(at, within*3/20)
	if at.Status == policy.Unreachable {
		wait = min(max(wait, at.At.Sub(at.Read)), policy.MaxAge)
		return latest(at.At.Add(wait), at.Expires)
	}
	return at.At.Add(wait)
}

// spread is a time below limit that is another one for every origin and reading.
func spread(at policy.Attempt, limit time.Duration) time.Duration {
	if limit <= 0 {
		return 0
	}
	sum := fnv.New64a()
	sum.Write([]byte(at.Origin + at.At.String()))
	return time.Duration(sum.Sum64() % uint64(limit))
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// reread is what came of reading anew.
type reread struct {
	Read        int       `json:"read"`            // origins that answered
	Unreachable int       `json:"unreachable"`     // origins that did not
	Next        time.Time `json:"next,omitzero"`   // when another is due
	Later       []string  `json:"later,omitempty"` // origins of which a line is waited for, and that were read just before
}

// justNow is how long what was read just now is not read again, for whatever reason.
const justNow = time.Minute

// rereading says what is read anew.
type rereading struct {
	named  []string      // these origins, whatever is due; none: those of which anything is held or asked
	within time.Duration // so that what it asks for is seen within that time; 0: all
	until  time.Time     // no origin is begun after it; zero: no end
	soon   []string      // origins of which a line is waited for: they are read anew unless that was done just now
	only   bool          // no other origin is
}

// reread reads anew what robots.txt and the files that it refers to say of the origins of which anything is held, or for which a request
// stands, and has executed what they ask for. The error joins those of all origins.
func (h *handler) reread(ctx context.Context, r rereading) (reread, error) {
	list, n, err := h.dueOrigins(r)
	if err != nil {
		return n, err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	due := make(chan string)
	for range min(rereaders, len(list)) {
		wg.Go(func() {
			for key := range due {
				o, err := h.readAnew(ctx, key)
				mu.Lock()
				switch {
				case err != nil:
					failed = append(failed, err)
				case o.Status == policy.Unreachable:
					n.Unreachable++
				default:
					n.Read++
				}
				mu.Unlock()
			}
		})
	}
	for _, key := range list {
		now := time.Now()
		if ctx.Err() != nil || !r.until.IsZero() && now.After(r.until) {
			n.Next = now
			break
		}
		due <- key
	}
	close(due)
	wg.Wait()
	if ctx.Err() != nil {
		return n, context.Cause(ctx)
	}
	return n, errors.Join(failed...)
}

// readAnew reads what is in force for the origin of key, and has executed what it asks for.
func (h *handler) readAnew(ctx context.Context, key string) (o *policy.Origin, err error) {
	defer defect.Catch(&err, key+"/robots.txt", h.store.defects)
	u, err := url.Parse(key)
	if err != nil {
		return nil, err
	}
	o, err = h.store.policy.Refresh(ctx, u)
	if err != nil {
		return nil, err
	}
	return o, h.heed(ctx, o)
}

// dueOrigins gives the origins that are to be read anew now, the longest due first, and when the next will be, were these read now.
func (h *handler) dueOrigins(r rereading) (list []string, n reread, err error) {
	if len(r.named) > 0 {
		return r.named, n, nil
	}
	standing := map[string]bool{}
	err = h.store.ledger.Asking(func(origin string) { standing[origin] = true })
	if err != nil {
		return nil, n, err
	}
	now := time.Now()
	n.Next = now.Add(r.within)
	var due []policy.Attempt
	err = h.store.policy.Attempts(func(at policy.Attempt) error {
		soon, within := slices.Contains(r.soon, at.Origin), r.within
		switch {
		case soon && (r.only || within > justNow):
			within = justNow
		case r.only:
			return nil
		}
		held, err := h.store.archive.HoldsUnder(at.Origin + "/")
		when := dueAgain(at, within, now)
		switch {
		case err != nil || !held && !standing[at.Origin]:
			return err
		case within == 0 || !when.After(now):
			due = append(due, at)
			return nil
		case soon:
			n.Later = append(n.Later, at.Origin)
		}
		if when.Before(n.Next) || r.only {
			n.Next = when
		}
		return nil
	})
	slices.SortFunc(due, func(a, b policy.Attempt) int { return a.At.Compare(b.At) })
	for _, at := range due {
		list = append(list, at.Origin)
	}
	return list, n, err
}

// keepReading reads anew as dueOrigins says, until the function that it returns is called; 0 is never.
func (h *handler) keepReading(ctx context.Context, within time.Duration) (end func()) {
	if within <= 0 {
		return func() {}
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			n, err := h.reread(ctx, rereading{within: within})
			err = errors.Join(err, h.store.compacted(ctx, h.executor)) // a compaction may have been over before it was noted what it was for
			if err != nil && ctx.Err() == nil {
				h.log.Error("what robots.txt asks for could not be seen, or not be executed; it is tried again", "error", err)
			}
			sleep(ctx, untilNext(n.Next, within))
		}
	})
	return func() {
		stop()
		wg.Wait()
	}
}

// untilNext is how long to wait for what is due next: not so short that looking for it is all that is done.
func untilNext(next time.Time, within time.Duration) time.Duration {
	return max(time.Until(next), within/20)
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

package site

import (
	"context"
	"errors"
	"hash/fnv"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/policy"
)

// rereaders is the number of origins whose policies are read again concurrently.
const rereaders = 4

// justRead is the minimum time between two readings of the policy of one origin.
const justRead = time.Minute

// Reread is the result of reading policies again.
type Reread struct {
	Read        int       `json:"read"`          // number of origins that answered
	Unreachable int       `json:"unreachable"`   // number of origins that did not answer
	Next        time.Time `json:"next,omitzero"` // when the policy of the next origin must be read
	// origins in RunOptions.Soon that were not read because they were just read
	Later []string `json:"later,omitempty"`
}

// rereadOptions select which policies are read again.
type rereadOptions struct {
	// read the policies of these origins even if not due; none: of all origins with stored pages or
	// requests
	named  []string
	within time.Duration // read each policy early enough to see new requests within that time; 0: read all now
	until  time.Time     // start to read no further policy after that time; zero: no limit
	soon   []string      // origins for which somebody waits: read their policies too, unless they were just read
	only   bool          // read only the policies of the origins in soon
}

// nextReading returns when the policy of an origin must be read again, so that new requests in the
// policy are seen within the duration within. To spread the load, the time is up to a fifth
// earlier, by a different amount for each origin. If the policy is unreachable, the wait is as long
// as the policy has been unreachable, but at least its Retry-After and at most a day. If the policy
// seems to have been read in the future, the clock was set back, and the policy is due now.
func nextReading(at policy.Attempt, within time.Duration, now time.Time) time.Time {
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

// spread returns a duration below limit that is different for each origin and each reading.
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

// rereadPolicies reads robots.txt and the files that robots.txt refers to again. It does so for the
// origins with stored pages or requests, and executes the requests in the policies. The error joins
// the errors of all origins.
func (s *session) rereadPolicies(ctx context.Context, o rereadOptions) (Reread, error) {
	list, n, err := s.originsDue(o)
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
				o, err := s.readAgain(ctx, key)
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
		if ctx.Err() != nil || !o.until.IsZero() && now.After(o.until) {
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

// readAgain reads a policy again, and executes the requests in it. The parameter key names the
// origin of the policy.
func (s *session) readAgain(ctx context.Context, key string) (o *policy.Origin, err error) {
	defer defect.Catch(&err, key+"/robots.txt", s.site.defect)
	u, err := url.Parse(key)
	if err != nil {
		return nil, err
	}
	if list := s.site.orders.connected(); list != nil && s.site.foreign(u) {
		if o, known := s.site.policy.HeldOf(key); known {
			return o, list.AskReading(key)
		}
	}
	o, err = s.site.policy.Refresh(ctx, u)
	if err != nil {
		return nil, err
	}
	return o, s.executeRequests(ctx, o)
}

// originsDue returns the origins whose policies are due, first those that have been due for the
// longest time. n.Next is set to the time when the next origin will be due, assuming that the
// policies of these origins are read now.
func (s *session) originsDue(o rereadOptions) (list []string, n Reread, err error) {
	if len(o.named) > 0 {
		return o.named, n, nil
	}
	asking := map[string]bool{}
	err = s.site.ledger.Asking(func(origin string) { asking[origin] = true })
	if err != nil {
		return nil, n, err
	}
	now := time.Now()
	n.Next = now.Add(o.within)
	var due []policy.Attempt
	err = s.site.policy.Attempts("", func(at policy.Attempt) error {
		soon, within := slices.Contains(o.soon, at.Origin), o.within
		switch {
		case soon && (o.only || within > justRead):
			within = justRead
		case o.only:
			return nil
		}
		held, err := s.site.archive.HoldsUnder(at.Origin + "/")
		when := nextReading(at, within, now)
		if at.At.Before(s.site.recovered) { // its pages are not shown before it was read again
			when = now
		}
		switch {
		case err != nil || !held && !asking[at.Origin]:
			return err
		case within == 0 || !when.After(now):
			due = append(due, at)
			return nil
		case soon:
			n.Later = append(n.Later, at.Origin)
		}
		if when.Before(n.Next) || o.only {
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

// keepReading starts a goroutine that reads policies again when they are due, until the caller
// calls end. New requests must be seen within the duration within; if within is 0, no policy is
// read.
func (s *session) keepReading(ctx context.Context, within time.Duration) (end func()) {
	if within <= 0 {
		return func() {}
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			n, err := s.rereadPolicies(ctx, rereadOptions{within: within})
			// this is repeated here, because a compaction may end before the ledger records the
			// erasure that caused it
			err = errors.Join(err, s.site.noteCompacted(ctx, s.executor))
			if err != nil && ctx.Err() == nil {
				s.log.Error("requests of publishers could not be read or executed; they are tried again", "error", err)
			}
			sleep(ctx, UntilNext(n.Next, within))
		}
	})
	return func() {
		stop()
		wg.Wait()
	}
}

// UntilNext returns how long to wait before reading the policy that is due at next. It waits at
// least a twentieth of within, so that checking for due policies takes little time.
func UntilNext(next time.Time, within time.Duration) time.Duration {
	return max(time.Until(next), within/20)
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

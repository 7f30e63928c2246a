package policy

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/defect"
)

// ErrClosed is the error of an authority after Close.
var ErrClosed = errors.New("the policy authority is closed")

// Options configure an Authority. Zero values take the default named.
type Options struct {
	Now    func() time.Time // time.Now
	MaxAge time.Duration    // how long a policy file serves at most; MaxAge, and never more
	Anew   time.Time        // what was read before is read again
	// is told an origin's Crawl-delay before more is fetched from it; may be nil
	Pace func(host *url.URL, d time.Duration)
	// is called for each panic, which makes an origin unreachable; may be nil
	Defect func(*defect.Error)
}

// Authority says what is in force for an origin, for one crawler. It is safe for concurrent use.
type Authority struct {
	*shared
	crawler acap.Crawler
	id      string // of the crawler
	derived bool   // made by For
}

// shared is what the authorities for several crawlers have in common.
type shared struct {
	fetch Fetcher
	store Store
	o     Options

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	flights map[string]*flight
	cache   cache
}

// flight is the one settling of an origin that is under way. All fields but done are guarded by
// shared.mu until it is closed.
type flight struct {
	id      string // for which crawler
	anew    bool
	waiters int
	cancel  context.CancelFunc
	done    chan struct{}
	origin  *Origin
	err     error
}

// New makes the authority for c. It owns s from now on.
func New(f Fetcher, c acap.Crawler, s Store, o Options) *Authority {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxAge <= 0 || o.MaxAge > MaxAge {
		o.MaxAge = MaxAge
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	sh := &shared{fetch: f, store: s, o: o, ctx: ctx, cancel: cancel, flights: map[string]*flight{}}
	sh.cache = newCache()
	return &Authority{shared: sh, crawler: c, id: c.Key()}
}

// For gives the authority for another crawler, on the same store and fetcher. It ends with a;
// closing it does nothing.
func (a *Authority) For(c acap.Crawler) *Authority {
	return &Authority{shared: a.shared, crawler: c, id: c.Key(), derived: true}
}

// Close ends what is under way and closes the store.
func (a *Authority) Close() error {
	if a.derived {
		return nil
	}
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil
	}
	a.closed = true
	a.mu.Unlock()
	a.cancel(ErrClosed)
	a.wg.Wait()
	return a.store.Close()
}

// Origin tells what is in force for the origin of u, and reads what is not fresh: robots.txt once,
// however many ask. An origin that cannot be read is not an error but an Origin that permits
// nothing. Errors are those of ctx, of the store and of a URL without origin.
func (a *Authority) Origin(ctx context.Context, u *url.URL) (*Origin, error) {
	return a.resolve(ctx, u, false)
}

// Refresh reads robots.txt and its references again, whatever is held.
func (a *Authority) Refresh(ctx context.Context, u *url.URL) (*Origin, error) {
	return a.resolve(ctx, u, true)
}

// Policy is the policy of Origin.
func (a *Authority) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	o, err := a.Origin(ctx, u)
	if err != nil {
		return nil, err
	}
	return o.Policy, nil
}

// Current returns the policy in force for the origin of u by the last attempt to read it, without a
// request. An origin that was never read, or could not be read last, permits nothing.
func (a *Authority) Current(u *url.URL) (*acap.Policy, error) {
	o, err := a.CurrentOrigin(u)
	if err != nil {
		return nil, err
	}
	return o.Policy, nil
}

// CurrentOrigin is Current with all that is known of the origin.
func (a *Authority) CurrentOrigin(u *url.URL) (*Origin, error) {
	key, err := Key(u)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	now := a.cache.view(key, a.id).now
	a.mu.Unlock()
	if now != nil {
		return now, nil
	}
	o, known := a.HeldOf(key)
	switch {
	case !known:
		return a.unreachable(key, Document{Err: "it was never read"}), nil
	case o.Status == Unreachable: // RFC 9309 2.3.1.4, whatever an earlier version says
		return a.unreachable(key, Document{Err: o.Why, HTTP: o.HTTP}), nil
	}
	return o, nil
}

func (a *Authority) resolve(ctx context.Context, u *url.URL, anew bool) (*Origin, error) {
	key, err := Key(u)
	if err != nil {
		return nil, err
	}
	for {
		a.mu.Lock()
		if a.closed {
			a.mu.Unlock()
			return nil, ErrClosed
		}
		if o := a.cache.view(key, a.id).now; !anew && o != nil && o.Expires.After(a.o.Now()) {
			a.mu.Unlock()
			return o, nil
		}
		f := a.flights[key]
		if f == nil {
			f = a.start(key, anew)
		}
		f.waiters++
		ours := f.id == a.id && (f.anew || !anew)
		a.mu.Unlock()
		if err := a.wait(ctx, key, f); err != nil {
			return nil, err
		}
		if ours {
			return f.origin, f.err
		}
	}
}

// start begins a flight; mu is held.
func (a *Authority) start(key string, anew bool) *flight {
	ctx, cancel := context.WithCancel(a.ctx)
	f := &flight{id: a.id, anew: anew, cancel: cancel, done: make(chan struct{})}
	a.flights[key] = f
	a.wg.Go(func() {
		defer cancel()
		o, err := a.settleSafely(ctx, key, anew)
		a.mu.Lock()
		defer a.mu.Unlock()
		if f.origin, f.err = o, err; err == nil && a.flights[key] == f { // one that nobody waits for may be overtaken
			a.cache.add(key, a.id, o, func(v *view) { v.now = o })
		}
		if a.flights[key] == f {
			delete(a.flights, key)
		}
		close(f.done)
	})
	return f
}

// settleSafely is settle; an origin on which the program fails counts as one that could not be
// read.
func (a *Authority) settleSafely(ctx context.Context, key string, anew bool) (o *Origin, err error) {
	defer func() {
		if e, is := errors.AsType[*defect.Error](err); is {
			o, err = a.unreachable(key, Document{Err: e.Error()}), nil
		}
	}()
	defer defect.Catch(&err, key+"/robots.txt", a.o.Defect)
	return a.settle(ctx, key, anew)
}

// wait waits for f. Who gives up leaves the others their result; when nobody waits any more the
// flight is ended.
func (a *Authority) wait(ctx context.Context, key string, f *flight) error {
	var err error
	select {
	case <-f.done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if f.waiters--; f.waiters == 0 {
		f.cancel()
		if a.flights[key] == f {
			delete(a.flights, key)
		}
	}
	return err
}

// save keeps a record and forgets what was built from the one before.
func (a *Authority) save(key string, r Record) error {
	err := a.store.Save(key, r)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cache.drop(key)
	return err
}

// Held tells, without a request, what the last version read of the origin of u says; false: it was
// never asked for. Status and Why are those of the last attempt: where that is Unreachable, crawl
// and follow are prohibited whatever Policy says (X63). An origin that was never read, and one that
// the store cannot give, permits nothing.
func (a *Authority) Held(u *url.URL) (*Origin, bool) {
	key, err := Key(u)
	if err != nil {
		return nil, false
	}
	return a.HeldOf(key)
}

// HeldOf is Held for the origin of a key.
func (a *Authority) HeldOf(key string) (*Origin, bool) {
	a.mu.Lock()
	o, saved := a.cache.view(key, a.id).held, a.cache.dropped
	a.mu.Unlock()
	if o != nil {
		return o, true
	}
	rec, known, err := a.store.Load(key)
	switch {
	case err != nil:
		return a.unreachable(key, Document{Err: err.Error()}), true
	case !known:
		return nil, false
	case rec.Held == nil:
		return a.unreachable(key, rec.Last), true
	}
	o = a.build(key, parse(key, rec.Held.Robots), rec.Held)
	o.Status, o.HTTP, o.Why = rec.Last.Status(), rec.Last.HTTP, rec.Last.Err
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cache.dropped == saved {
		a.cache.add(key, a.id, o, func(v *view) { v.held = o })
	}
	return o, true
}

// History gives the versions of u's origin, oldest first.
func (a *Authority) History(u *url.URL) ([]Version, error) {
	key, err := Key(u)
	if err != nil {
		return nil, err
	}
	return a.store.History(key)
}

// Origins lists the keys of all origins asked for.
func (a *Authority) Origins() (keys []string, err error) {
	err = a.store.Each(func(at Attempt) error {
		keys = append(keys, at.Origin)
		return nil
	})
	return keys, err
}

// Attempts tells of all origins asked for what came of it last. fn must not use the authority.
func (a *Authority) Attempts(fn func(Attempt) error) error { return a.store.Each(fn) }

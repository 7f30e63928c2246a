package policy

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/defect"
)

// ErrClosed is returned by an Authority after Close.
var ErrClosed = errors.New("the policy authority is closed")

// Options configure an Authority. Zero values mean the defaults in the comments.
type Options struct {
	Now    func() time.Time // default: time.Now
	MaxAge time.Duration    // longest time that a policy file is fresh; default and maximum: MaxAge
	Reread time.Time        // policy files that were read before this time are read again
	// Pace is called with an origin's Crawl-delay before further files are fetched from the origin.
	// It may be nil.
	Pace func(host *url.URL, d time.Duration)
	// Shared holds the records that several machines have; nil: this machine reads all policies itself.
	Shared Shared
	// Defect is called for each panic. The origin then counts as unreachable. It may be nil.
	Defect func(*defect.Error)
}

// Authority returns the policy in force for an origin, for one crawler. It is safe for concurrent
// use.
type Authority struct {
	*shared
	crawler acap.Crawler
	id      string // Crawler.Key of the crawler that the policies are for
	derived bool   // this Authority was returned by For, so its Close does nothing
}

// shared is the state that the authorities for several crawlers share.
type shared struct {
	fetch Fetcher
	store Store
	o     Options

	ctx    context.Context // cancelled by Close
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	saving  sync.Mutex // held while a record is stored; locked before mu
	mu      sync.Mutex
	closed  bool
	flights map[string]*flight
	cache   cache

	past     map[pastKey]*past        // earlier versions of policies
	licences map[string]Document      // licence documents that pages name, by URL
	reading  map[string]chan struct{} // licence documents that are being read, by URL; closed when they are
}

// flight is the reading of an origin that is in progress; an origin has at most one. Until done is
// closed, shared.mu protects all other fields.
type flight struct {
	id      string // Crawler.Key of the crawler that the origin is read for
	reread  bool
	waiters int
	cancel  context.CancelFunc
	done    chan struct{}
	origin  *Origin
	err     error
}

// New returns an Authority for the crawler c. Close closes s.
func New(f Fetcher, c acap.Crawler, s Store, o Options) *Authority {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxAge <= 0 || o.MaxAge > MaxAge {
		o.MaxAge = MaxAge
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	sh := &shared{fetch: f, store: s, o: o, ctx: ctx, cancel: cancel, flights: map[string]*flight{},
		licences: map[string]Document{}, reading: map[string]chan struct{}{}, past: map[pastKey]*past{}}
	sh.cache = newCache()
	return &Authority{shared: sh, crawler: c, id: c.Key()}
}

// For returns an Authority for another crawler with the same store and fetcher. It can be used
// until a is closed. Its own Close does nothing.
func (a *Authority) For(c acap.Crawler) *Authority {
	return &Authority{shared: a.shared, crawler: c, id: c.Key(), derived: true}
}

// Close cancels all reading in progress and closes the store.
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

// Origin returns the state of the origin of u with the policy in force. It reads files that are not
// fresh; concurrent callers share one request. If robots.txt cannot be read, the result is an
// Origin that permits nothing, not an error. Errors come from ctx, from the store, or from a URL
// without origin.
func (a *Authority) Origin(ctx context.Context, u *url.URL) (*Origin, error) {
	return a.waitForOrigin(ctx, u, false)
}

// Refresh is Origin, but reads robots.txt and its references again even if they are fresh.
func (a *Authority) Refresh(ctx context.Context, u *url.URL) (*Origin, error) {
	return a.waitForOrigin(ctx, u, true)
}

// Policy returns the policy of Origin.
func (a *Authority) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	o, err := a.Origin(ctx, u)
	if err != nil {
		return nil, err
	}
	return o.Policy, nil
}

// Current returns the policy in force for the origin of u without making a request. The policy is
// the result of the last attempt to read robots.txt. If robots.txt was never read, or the last
// attempt failed, it permits nothing.
func (a *Authority) Current(u *url.URL) (*acap.Policy, error) {
	o, err := a.CurrentOrigin(u)
	if err != nil {
		return nil, err
	}
	return o.Policy, nil
}

// CurrentOrigin is Current, but returns the whole Origin.
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
	case o.Status == Unreachable: // RFC 9309 2.3.1.4: everything is prohibited, even if an earlier version was read
		return a.unreachable(key, Document{Err: o.Why, HTTP: o.HTTP}), nil
	}
	return o, nil
}

// waitForOrigin returns the origin of u from the cache or from a flight, which it starts if there
// is none. If reread is true, only a flight that reads all files again is used.
func (a *Authority) waitForOrigin(ctx context.Context, u *url.URL, reread bool) (*Origin, error) {
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
		if o := a.cache.view(key, a.id).now; !reread && o != nil && o.Expires.After(a.o.Now()) {
			a.mu.Unlock()
			return o, nil
		}
		f := a.flights[key]
		if f == nil {
			f = a.start(key, reread)
		}
		f.waiters++
		ours := f.id == a.id && (f.reread || !reread)
		a.mu.Unlock()
		if err := a.wait(ctx, key, f); err != nil {
			return nil, err
		}
		if ours {
			return f.origin, f.err
		}
	}
}

// start begins to read an origin. The caller must hold mu.
func (a *Authority) start(key string, reread bool) *flight {
	ctx, cancel := context.WithCancel(a.ctx)
	f := &flight{id: a.id, reread: reread, cancel: cancel, done: make(chan struct{})}
	a.flights[key] = f
	a.wg.Go(func() {
		defer cancel()
		o, err := a.readOriginSafely(ctx, key, reread)
		a.mu.Lock()
		defer a.mu.Unlock()
		// if no caller waits for f any more, another flight may have replaced f in the map
		if f.origin, f.err = o, err; err == nil && a.flights[key] == f {
			a.cache.add(key, a.id, o, func(v *view) { v.now = o })
		}
		if a.flights[key] == f {
			delete(a.flights, key)
		}
		close(f.done)
	})
	return f
}

// readOriginSafely is readOrigin, except that an origin counts as unreachable if reading it causes
// a panic.
func (a *Authority) readOriginSafely(ctx context.Context, key string, reread bool) (o *Origin, err error) {
	defer func() {
		if e, is := errors.AsType[*defect.Error](err); is {
			o, err = a.unreachable(key, Document{Err: e.Error()}), nil
		}
	}()
	defer defect.Catch(&err, key+"/robots.txt", a.o.Defect)
	return a.readOrigin(ctx, key, reread)
}

// wait waits until f is done or ctx ends. If no caller waits for f any more, it cancels f.
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

// save stores a record and removes the origin from the cache.
func (a *Authority) save(key string, r Record) error {
	a.saving.Lock()
	defer a.saving.Unlock()
	return a.saveLocked(key, r)
}

// saveLocked is save for a caller that has locked saving.
func (a *Authority) saveLocked(key string, r Record) error {
	err := a.store.Save(key, r)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cache.drop(key)
	return err
}

// Held returns the origin of u with the policy of the last version that was read, without a
// request. It returns false if the origin was never requested. Status and Why describe the last
// attempt. RFC 9309 2.3.1.4 (X63): if Status is Unreachable, crawl and follow are prohibited
// whatever Policy says. If no version was ever read, or the store fails, nothing is permitted.
func (a *Authority) Held(u *url.URL) (*Origin, bool) {
	key, err := Key(u)
	if err != nil {
		return nil, false
	}
	return a.HeldOf(key)
}

// HeldOf is Held for the key of an origin.
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
	o = a.OriginOf(key, rec)
	o.Status, o.HTTP, o.Why = rec.Last.Status(), rec.Last.HTTP, rec.Last.Err
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cache.dropped == saved {
		a.cache.add(key, a.id, o, func(v *view) { v.held = o })
	}
	return o, true
}

// Since returns the key of the origin of u, and Origin.Since as in the result of Held; zero if no
// version was ever read. It does not parse the policy, so it costs less than Held.
func (a *Authority) Since(u *url.URL) (key string, since time.Time, err error) {
	if key, err = Key(u); err != nil {
		return "", time.Time{}, err
	}
	a.mu.Lock()
	held := a.cache.view(key, a.id).held
	a.mu.Unlock()
	if held != nil {
		return key, held.Since, nil
	}
	since, err = a.store.Since(key)
	return key, since, err
}

// History returns the stored versions of the origin of u, oldest first.
func (a *Authority) History(u *url.URL) ([]Version, error) {
	key, err := Key(u)
	if err != nil {
		return nil, err
	}
	return a.store.History(key)
}

// Origins returns the keys of all origins that were requested.
func (a *Authority) Origins() (keys []string, err error) {
	err = a.store.Each("", func(at Attempt) error {
		keys = append(keys, at.Origin)
		return nil
	})
	return keys, err
}

// Attempts calls fn with the last attempt to read robots.txt, once for each origin whose key comes
// after the key after, in the order of keys, until fn returns an error. fn must not use the authority.
func (a *Authority) Attempts(after string, fn func(Attempt) error) error {
	return a.store.Each(after, fn)
}

// Attempt returns the last attempt to read the robots.txt of the origin with this key. known is false if
// it was never requested.
func (a *Authority) Attempt(key string) (at Attempt, known bool, err error) {
	rec, known, err := a.store.Load(key)
	return attempt(key, rec.Last, rec.Held), known, err
}

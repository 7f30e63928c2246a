package gate

import (
	"context"
	"sync"
	"time"
)

// MaxCrawlDelay is the longest Crawl-delay that is obeyed. A longer Crawl-delay counts as
// MaxCrawlDelay.
const MaxCrawlDelay = time.Minute

// manyHosts is the number of stored hosts above which idle hosts are deleted.
const manyHosts = 4096

// hosts stores the pauses and slots of each host (host:port), or of each network address. Its
// memory is bounded by the number of hosts that are in use or in their pause.
type hosts struct {
	slots int           // concurrent requests to a host
	delay time.Duration // shortest time between the starts of two requests to a host
	held  func(key string) time.Time

	mu    sync.Mutex
	m     map[string]*host
	sweep int // size of the map m at which idle hosts are deleted the next time
}

type host struct {
	slots chan struct{} // contains an element for each request in progress
	turn  chan struct{} // full while a request waits for the pause
	users int           // number of requests that use the host; protected by hosts.mu

	mu         sync.Mutex
	crawlDelay time.Duration // the Crawl-delay of the host
	last       time.Time     // start of the last request to the host
	rest       time.Time     // the host asks for no request before this time (Retry-After)
}

// newHosts returns hosts without pauses. held is Options.Held.
func newHosts(slots int, delay time.Duration, held func(string) time.Time) *hosts {
	if held == nil {
		held = func(string) time.Time { return time.Time{} }
	}
	return &hosts{slots: slots, delay: delay, held: held, m: map[string]*host{}, sweep: manyHosts}
}

// use returns the host of key. The caller must call done when it no longer uses the host.
func (hs *hosts) use(key string) *host {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if len(hs.m) >= hs.sweep {
		hs.forget()
	}
	h := hs.m[key]
	if h == nil {
		h = &host{slots: make(chan struct{}, hs.slots), turn: make(chan struct{}, 1)}
		hs.m[key] = h
	}
	h.users++
	return h
}

func (hs *hosts) done(h *host) {
	hs.mu.Lock()
	h.users--
	hs.mu.Unlock()
}

// forget deletes hosts that no request uses and whose pause is over. The Crawl-delay of such a host
// is set again before its next page is requested.
func (hs *hosts) forget() {
	for key, h := range hs.m {
		if h.users == 0 && h.wait(h.gap(hs.delay)) <= 0 && h.resting() <= 0 {
			delete(hs.m, key)
		}
	}
	hs.sweep = max(manyHosts, 2*len(hs.m))
}

// pace sets the Crawl-delay of the host key.
func (hs *hosts) pace(key string, d time.Duration) {
	h := hs.use(key)
	defer hs.done(h)
	h.mu.Lock()
	h.crawlDelay = min(max(d, 0), MaxCrawlDelay)
	h.mu.Unlock()
}

// gap returns the time between the starts of two requests: delay or the Crawl-delay of the host,
// whichever is longer.
func (h *host) gap(delay time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(delay, h.crawlDelay)
}

// wait returns how long the next request must wait until gap has passed since the last start.
func (h *host) wait(gap time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if gap == 0 || h.last.IsZero() {
		return 0
	}
	return time.Until(h.last.Add(gap))
}

// mark records that a request started at the time at, unless a later one has started.
func (h *host) mark(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at.After(h.last) {
		h.last = at
	}
}

// visit is the use of a host by one request, from waiting to the end of the answer.
type visit struct {
	hs      *hosts
	key     string
	h       *host // the host or network address whose slot is used
	name    *host // the host whose Crawl-delay applies; often the same as h
	started sync.Once

	mu   sync.Mutex
	sent time.Time // when start was called
}

// maxTravel is the longest time that a request is assumed to take until its host has noticed it. The pause begins when
// that is certain: when its answer comes, or after this time. So the host never notices two requests at a shorter
// interval. On a busy host, 100 ms were measured.
const maxTravel = 250 * time.Millisecond

// enter waits for a slot at place, and for the pauses of place and of the host key; see also waitFor. place is key
// itself or a network address that several hosts share. The caller calls start when the request is
// written, and leave when the exchange has ended. A pause lasts from the start of one request to
// the start of the next, for requests of all kinds. Its length is the delay of the crawl or the
// Crawl-delay of the host, whichever is longer.
func (hs *hosts) enter(ctx context.Context, key, place string, kind Kind) (*visit, error) {
	v := &visit{hs: hs, key: key, h: hs.use(place), name: hs.use(key)}
	h := v.h
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		v.releaseHosts()
		return nil, context.Cause(ctx)
	}
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		v.release()
		return nil, context.Cause(ctx)
	}
	if err := v.pause(ctx, kind); err != nil {
		<-h.turn
		v.release()
		return nil, err
	}
	v.mark(time.Now())
	return v, nil
}

// pause waits until the request may start.
func (v *visit) pause(ctx context.Context, kind Kind) error {
	for {
		d, err := v.waitFor(kind)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case d <= 0:
			return nil
		}
		t := time.NewTimer(d)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
}

// wait returns how long the request must wait before it starts.
func (v *visit) wait() time.Duration {
	gap := v.name.gap(v.hs.delay)
	return max(v.h.wait(gap), v.name.wait(gap))
}

func (v *visit) mark(at time.Time) {
	v.h.mark(at)
	if v.name != v.h {
		v.name.mark(at)
	}
}

// start records that the request was written. The next request then waits for the pause.
func (v *visit) start() {
	v.started.Do(func() {
		now := time.Now()
		v.mark(now)
		v.mu.Lock()
		v.sent = now
		v.mu.Unlock()
		<-v.h.turn
	})
}

// answered records that the first byte of the answer has arrived. The request cannot have arrived
// later. Before start has been called there is nothing to record: start or leave marks a later time.
func (v *visit) answered() {
	v.mu.Lock()
	sent := v.sent
	v.mu.Unlock()
	if !sent.IsZero() {
		v.mark(sent.Add(min(time.Since(sent), maxTravel)))
	}
}

// leave ends the visit. On a busy machine, a short answer can be read before the goroutine that wrote
// the request goes on and calls start; then the pause begins now, not with enter, which was earlier
// than the request.
func (v *visit) leave() {
	v.started.Do(func() {
		v.mark(time.Now())
		<-v.h.turn
	})
	v.release()
}

func (v *visit) release() {
	<-v.h.slots
	v.releaseHosts()
}

func (v *visit) releaseHosts() {
	v.hs.done(v.h)
	v.hs.done(v.name)
}

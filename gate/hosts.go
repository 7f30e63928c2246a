package gate

import (
	"context"
	"sync"
	"time"
)

// MaxCrawlDelay is the longest pause that a Crawl-delay can ask for; longer ones count as this.
const MaxCrawlDelay = time.Minute

// manyHosts is the number of hosts from which idle ones are forgotten.
const manyHosts = 4096

// hosts keeps the pauses and slots of each host (host:port), or of each network address. Memory is
// bounded by the hosts in use or in their pause.
type hosts struct {
	slots int           // requests under way at once
	delay time.Duration // between the starts of two requests

	mu    sync.Mutex
	m     map[string]*host
	sweep int // size of m at which to look for idle hosts next
}

type host struct {
	slots chan struct{} // one element per request under way
	turn  chan struct{} // full while one request waits for its start
	users int           // guarded by hosts.mu

	mu    sync.Mutex
	asked time.Duration // the host's own Crawl-delay
	last  time.Time     // start of the last request
}

func newHosts(slots int, delay time.Duration) *hosts {
	return &hosts{slots: slots, delay: delay, m: map[string]*host{}, sweep: manyHosts}
}

// use gives the host of key; done must be called when it is no longer used.
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

// forget drops hosts that nobody uses and whose pause is over. Their Crawl-delay is told again with
// their next page.
func (hs *hosts) forget() {
	for key, h := range hs.m {
		if h.users == 0 && h.wait(h.gap(hs.delay)) <= 0 {
			delete(hs.m, key)
		}
	}
	hs.sweep = max(manyHosts, 2*len(hs.m))
}

// pace sets the Crawl-delay that the host of key asks for.
func (hs *hosts) pace(key string, d time.Duration) {
	h := hs.use(key)
	defer hs.done(h)
	h.mu.Lock()
	h.asked = min(max(d, 0), MaxCrawlDelay)
	h.mu.Unlock()
}

// gap is the pause between two starts, where delay is the crawl's own.
func (h *host) gap(delay time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(delay, h.asked)
}

// wait is how long the next start has to wait for gap to pass.
func (h *host) wait(gap time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if gap == 0 || h.last.IsZero() {
		return 0
	}
	return time.Until(h.last.Add(gap))
}

func (h *host) mark() {
	h.mu.Lock()
	h.last = time.Now()
	h.mu.Unlock()
}

// visit is one request's stay at a host.
type visit struct {
	hs      *hosts
	h       *host // whose slots are taken
	name    *host // whose Crawl-delay holds; often the same
	started sync.Once

	mu   sync.Mutex
	sent time.Time
}

// way is how much of the time until an answer may have been the way of the request to its host: the
// pause begins with its end, so that the host never sees two requests closer than asked.
const way = 50 * time.Millisecond

// enter waits for a slot at the place, which is the host of key or stands for several, and for the
// pause of both. The caller calls start when the request is on the wire and leave when it is over.
// The pause runs from start to start, whatever kind of request; the larger of the crawl's and the
// host's holds.
func (hs *hosts) enter(ctx context.Context, key, place string) (*visit, error) {
	v := &visit{hs: hs, h: hs.use(place), name: hs.use(key)}
	h := v.h
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		v.forgo()
		return nil, context.Cause(ctx)
	}
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		v.release()
		return nil, context.Cause(ctx)
	}
	for d := v.wait(); d > 0; d = v.wait() {
		t := time.NewTimer(d)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			<-h.turn
			v.release()
			return nil, context.Cause(ctx)
		}
	}
	if err := ctx.Err(); err != nil {
		<-h.turn
		v.release()
		return nil, context.Cause(ctx)
	}
	v.mark()
	return v, nil
}

// wait is how long the start has to wait.
func (v *visit) wait() time.Duration {
	gap := v.name.gap(v.hs.delay)
	return max(v.h.wait(gap), v.name.wait(gap))
}

func (v *visit) mark() {
	v.h.mark()
	if v.name != v.h {
		v.name.mark()
	}
}

// start notes that the request has been written, and lets the next one begin its pause.
func (v *visit) start() {
	v.started.Do(func() {
		v.mark()
		v.mu.Lock()
		v.sent = time.Now()
		v.mu.Unlock()
		<-v.h.turn
	})
}

// answered notes that the request has arrived.
func (v *visit) answered() {
	v.mu.Lock()
	took := time.Since(v.sent)
	v.mu.Unlock()
	if took < way {
		v.mark()
	}
}

func (v *visit) leave() {
	v.started.Do(func() { <-v.h.turn })
	v.release()
}

func (v *visit) release() {
	<-v.h.slots
	v.forgo()
}

func (v *visit) forgo() {
	v.hs.done(v.h)
	v.hs.done(v.name)
}

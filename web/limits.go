package web

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The rates. A bucket begins full.
const (
	allRate, allBurst     = 100, 200      // requests a second of all clients
	oneRate, oneBurst     = 10.0, 60      // requests a second of one client
	tokenRate, tokenBurst = 1.0, 20       // requests a second with one token
	failRate, failBurst   = 10.0 / 60, 10 // failed authentications a second of one client
	remembered            = 10_000        // clients, and tokens
)

// limits bounds what clients can ask for. It is safe for concurrent use, and its memory is bounded.
type limits struct {
	now     func() time.Time
	all     *rate.Limiter
	clients buckets
	tokens  buckets
	fails   buckets
}

func newLimits(now func() time.Time) *limits {
	return &limits{now: now, all: rate.NewLimiter(allRate, allBurst),
		clients: buckets{rate: oneRate, burst: oneBurst}, tokens: buckets{rate: tokenRate, burst: tokenBurst}, fails: buckets{rate: failRate, burst: failBurst}}
}

// any takes a request of a client, whatever it is. One that asks too often does not spend what is there for others.
func (l *limits) any(client string) bool {
	now := l.now()
	if wait, _ := l.clients.left(client, now); wait > 0 {
		return false
	}
	l.clients.take(client, now)
	return l.all.AllowN(now, 1)
}

// wait says how long a client with a token has to wait: because it failed too often to prove who it is, unless the token was good before,
// or because so much was asked for with the token.
func (l *limits) wait(client, token string) time.Duration {
	wait, good := l.tokens.left(token, l.now())
	if good {
		return wait
	}
	wait, known := l.fails.left(client, l.now())
	if !known && l.fails.full(l.now()) {
		return time.Minute
	}
	return wait
}

// good notes a request with a token that proved to be good, failed one of a client that did not prove who it is.
func (l *limits) good(token string)    { l.tokens.take(token, l.now()) }
func (l *limits) failed(client string) { l.fails.take(client, l.now()) }

// buckets are token buckets by name.
type buckets struct {
	rate  rate.Limit
	burst int

	mu sync.Mutex
	of map[string]*rate.Limiter
}

// take takes one from the bucket of name; it may owe some.
func (b *buckets) take(name string, now time.Time) {
	if b.full(now) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.of[name]
	if l == nil {
		if b.of == nil {
			b.of = map[string]*rate.Limiter{}
		}
		l = rate.NewLimiter(b.rate, b.burst)
		b.of[name] = l
	}
	l.ReserveN(now, 1)
}

// left says how long it takes until there is something in the bucket of name, and whether it has one.
func (b *buckets) left(name string, now time.Time) (wait time.Duration, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.of[name]
	if l == nil || l.TokensAt(now) >= 1 {
		return 0, l != nil
	}
	return time.Duration((1 - l.TokensAt(now)) / float64(b.rate) * float64(time.Second)), true
}

// full reports whether there is no room for a new name. Full buckets are dropped for it: they are as new ones.
func (b *buckets) full(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.of) < remembered {
		return false
	}
	for name, l := range b.of {
		if l.TokensAt(now) >= float64(b.burst) {
			delete(b.of, name)
		}
	}
	return len(b.of) >= remembered
}

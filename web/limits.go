package web

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The rates. A bucket is full at first.
const (
	allRate, allBurst     = 100, 200      // requests per second of all clients
	oneRate, oneBurst     = 10.0, 60      // requests per second of one client
	tokenRate, tokenBurst = 1.0, 20       // requests per second with one access token
	failRate, failBurst   = 10.0 / 60, 10 // failed authentications per second of one client
	remembered            = 10_000        // maximal number of clients, and of tokens, in memory
)

// limits limits the rates of requests. It is safe for concurrent use and uses a bounded amount of
// memory.
type limits struct {
	now     func() time.Time
	all     *rate.Limiter
	clients buckets
	tokens  buckets
	fails   buckets
}

func newLimits(now func() time.Time) *limits {
	return &limits{now: now, all: rate.NewLimiter(allRate, allBurst),
		clients: buckets{rate: oneRate, burst: oneBurst}, tokens: buckets{rate: tokenRate, burst: tokenBurst},
		fails: buckets{rate: failRate, burst: failBurst}}
}

// allowRequest counts a request of a client and reports whether it is allowed. Requests over the
// client's rate do not count against the rate of all clients.
func (l *limits) allowRequest(client string) bool {
	now := l.now()
	if wait, _ := l.clients.waitTime(client, now); wait > 0 {
		return false
	}
	l.clients.spend(client, now)
	return l.all.AllowN(now, 1)
}

// waitTime returns how long a client with a token must wait. It must wait if it failed too often to
// authenticate, unless the token was valid before, or if it sent too many requests with the token.
func (l *limits) waitTime(client, token string) time.Duration {
	wait, good := l.tokens.waitTime(token, l.now())
	if good {
		return wait
	}
	wait, known := l.fails.waitTime(client, l.now())
	if !known && l.fails.noRoom(l.now()) {
		return time.Minute
	}
	return wait
}

// countValid counts a request with a valid token, and countFailed a failed authentication of a
// client.
func (l *limits) countValid(token string)   { l.tokens.spend(token, l.now()) }
func (l *limits) countFailed(client string) { l.fails.spend(client, l.now()) }

// buckets is a set of token buckets by name.
type buckets struct {
	rate  rate.Limit
	burst int

	mu sync.Mutex
	of map[string]*rate.Limiter
}

// spend removes a token from the bucket of name. The number of tokens may become negative.
func (b *buckets) spend(name string, now time.Time) {
	if b.noRoom(now) {
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

// waitTime returns the time until the bucket of name has a token, and whether there is a bucket of
// that name.
func (b *buckets) waitTime(name string, now time.Time) (wait time.Duration, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.of[name]
	if l == nil || l.TokensAt(now) >= 1 {
		return 0, l != nil
	}
	return time.Duration((1 - l.TokensAt(now)) / float64(b.rate) * float64(time.Second)), true
}

// noRoom reports whether there is no room for a new name. If necessary, it deletes full buckets,
// because they are equal to new ones.
func (b *buckets) noRoom(now time.Time) bool {
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

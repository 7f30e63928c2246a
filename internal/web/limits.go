package web

import (
	"cmp"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// requests per second with one access token, and the size of its token bucket, which is full when new
	tokenRate, tokenBurst = 1.0, 20
	// maximum number of failed authentications of one client within failPeriod
	mostFails  = 10
	failPeriod = time.Minute
	// maximum number of clients, and also of access tokens, for which rates are kept in memory
	remembered = 10_000
)

// Limits are the limits of requests and connections. A zero field has its default.
type Limits struct {
	Rate        float64 // requests of one client per second; default 50
	Burst       int     // requests that one client may send at once; default 200
	PerClient   int     // connections of one client, trusted proxies excepted; default 64
	Connections int     // connections of all clients; default 16,384
}

func (l *Limits) setDefaults() {
	l.Rate, l.Burst = cmp.Or(l.Rate, 50), cmp.Or(l.Burst, 200)
	l.PerClient, l.Connections = cmp.Or(l.PerClient, 64), cmp.Or(l.Connections, 16_384)
}

// limits limits the rates of HTTP requests. It is safe for concurrent use, and its memory is
// limited.
type limits struct {
	now     func() time.Time
	clients buckets
	tokens  buckets
	fails   failures
}

func newLimits(l Limits, now func() time.Time) *limits {
	return &limits{now: now,
		clients: buckets{rate: rate.Limit(l.Rate), burst: l.Burst}, tokens: buckets{rate: tokenRate, burst: tokenBurst}}
}

// allowRequest counts a request of a client and reports whether it is allowed.
func (l *limits) allowRequest(client string) bool {
	now := l.now()
	if wait, _ := l.clients.waitTime(client, now); wait > 0 {
		return false
	}
	l.clients.spend(client, now)
	return true
}

// waitTime returns how long a client that sends an access token must wait, or 0. A client must wait
// if it sent too many requests with this token, or if it sent wrong tokens too often and this token
// is not known to be valid.
func (l *limits) waitTime(client, token string) time.Duration {
	wait, good := l.tokens.waitTime(token, l.now())
	if good {
		return wait
	}
	return l.fails.waitTime(client, l.now())
}

// countValid counts a request with a valid access token. countFailed counts a failed authentication
// of a client.
func (l *limits) countValid(token string)   { l.tokens.spend(token, l.now()) }
func (l *limits) countFailed(client string) { l.fails.add(client, l.now()) }

// tryLogin counts a login of a client as failed, until loginWorked is called. If the client must wait, tryLogin
// returns how long.
func (l *limits) tryLogin(client string) time.Duration {
	return l.fails.tryAdd(client, l.now())
}

// loginWorked removes the login that tryLogin counted.
func (l *limits) loginWorked(client string) { l.fails.removeLast(client) }

// buckets is a set of token buckets, which limit rates. The names are clients or access tokens.
type buckets struct {
	rate  rate.Limit
	burst int

	mu sync.Mutex
	of map[string]*rate.Limiter
}

// spend takes one token from the bucket with the given name. The number of tokens may become
// negative.
func (b *buckets) spend(name string, now time.Time) {
	if b.noRoom(now) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bucket(name).ReserveN(now, 1)
}

// bucket returns the bucket with the given name, and makes it if it does not exist. b.mu must be locked.
func (b *buckets) bucket(name string) *rate.Limiter {
	l := b.of[name]
	if l == nil {
		if b.of == nil {
			b.of = map[string]*rate.Limiter{}
		}
		l = rate.NewLimiter(b.rate, b.burst)
		b.of[name] = l
	}
	return l
}

// waitTime returns the time until the bucket with the given name has a token. known reports whether
// such a bucket exists.
func (b *buckets) waitTime(name string, now time.Time) (wait time.Duration, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.of[name]
	if l == nil || l.TokensAt(now) >= 1 {
		return 0, l != nil
	}
	return time.Duration((1 - l.TokensAt(now)) / float64(b.rate) * float64(time.Second)), true
}

// noRoom reports whether no bucket can be added, because the maximum number is reached. If
// necessary, noRoom first deletes full buckets, because a full bucket is equal to a new one.
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

package gate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/coding"
)

// policyCap is the limit for a policy file in bytes, as sent and decoded. P1 4 (A19): only 500 KiB
// of a policy file are read. The limit is higher, so that the parser notices that the file is
// longer.
const policyCap = 1 << 20

// attempts is the maximum number of times that one request is sent, if its connection turns out to
// be closed.
const attempts = 3

// Policies returns the policy in force for the origin of a URL.
type Policies interface {
	// Policy requests robots.txt and the files that it refers to, unless they are stored and fresh.
	Policy(ctx context.Context, u *url.URL) (*acap.Policy, error)
	// Current makes no request. It returns the policy that was read last, with the take-downs in
	// force at this moment.
	Current(u *url.URL) (*acap.Policy, error)
}

// Options configure a Gate. Zero values mean the defaults in the comments.
type Options struct {
	UserAgent    string        // sent with every request; default: acapcrawl
	Delay        time.Duration // shortest time between the starts of two requests to a host; 0: only Crawl-delay counts
	PerHost      int           // concurrent requests to a host; default: 1
	Timeout      time.Duration // time limit from dialling to the end of the body; default: 60 s
	MaxBody      int64         // limit for a decoded body in bytes; default: 32 MiB
	MaxRaw       int64         // limit for a body as sent in bytes; default: MaxBody
	AllowPrivate bool          // allow private and loopback addresses for all hosts
	// ByAddress makes hosts at one network address share pauses and slots. A request that waits for
	// a pause or a slot blocks its worker.
	ByAddress bool
	// Proxy returns the proxy for a request (http, https or socks5); nil: the request is sent directly. It
	// must be safe for concurrent use. Since proxies resolve host names themselves, the address rule then
	// covers only localhost and hosts that are written as addresses, and ByAddress has no effect. A request
	// through a proxy fails if Tenure is set.
	Proxy func(*http.Request) (*url.URL, error)
	// Credentials returns header fields that identify the operator to the host of a URL, such as Authorization
	// and Cookie. They are sent with every request to that host, of all kinds, and their values are replaced
	// by "redacted" in Hop.Sent, as are those for a proxy, unless KeepCredentials is set. It must be safe for
	// concurrent use. nil: none.
	Credentials     func(*url.URL) http.Header
	KeepCredentials bool
	Sign            *Signer // signs every request; nil: requests are not signed
	MaxPages        int     // limit for page requests; 0: no limit
	// Reserve takes page requests from a budget that several machines share, when this machine has
	// used up what it has reserved before. It returns 0 if the budget of MaxPages is spent, and an
	// error if the budget cannot be asked. nil: the budget is for this machine alone.
	Reserve func(context.Context) (int, error)

	// Tenure returns nil if this machine may send a request to the host (host:port) at this moment,
	// otherwise an error that wraps ErrForeign or ErrPaused. nil: requests are always permitted. The
	// gate calls it several times for each request, last immediately before bytes of a request are
	// written to the network. It must return at once, must not use the gate, and must be safe for
	// concurrent use.
	Tenure func(host string) error
	// Held returns the time before which the host (host:port) must not be requested, for example
	// because the machine that owned it before may have requested it just before. It must return soon
	// and must be safe for concurrent use. nil: there is no such time.
	Held func(host string) time.Time
	// Errand passes a request to the machine that owns the host (host:port). The gate calls it for
	// requests for which Tenure returns ErrForeign, except page requests. It returns what Execute
	// returned on that machine, or an error if there is no answer within a time limit that Errand
	// sets. If no machine owns the host, the error wraps ErrForeign. nil: such requests are refused.
	Errand func(ctx context.Context, host string, e Errand) (ErrandAnswer, error)
}

// Gate is safe for concurrent use. Close it when done.
type Gate struct {
	o         Options
	policies  Policies
	transport *http.Transport
	named     named
	hosts     *hosts
	addresses *addressCache
	decoders  *coding.Decoders

	reserving sync.Mutex // held while Options.Reserve is called
	mu        sync.Mutex
	pages     int  // number of page requests that were begun
	granted   int  // number of page requests that may be begun, if there is a limit
	spent     bool // the budget is spent, so granted does not increase any more
}

// New returns a gate that admits only policy files until Use is called.
func New(o Options) *Gate {
	if o.UserAgent == "" {
		o.UserAgent = "acapcrawl"
	}
	if o.PerHost <= 0 {
		o.PerHost = 1
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 32 << 20
	}
	if o.MaxRaw <= 0 {
		o.MaxRaw = o.MaxBody
	}
	o.ByAddress = o.ByAddress && o.Proxy == nil
	g := &Gate{o: o, hosts: newHosts(o.PerHost, max(o.Delay, 0), o.Held), addresses: newAddressCache(),
		decoders: coding.NewDecoders()}
	if o.Reserve == nil {
		g.granted, g.spent = o.MaxPages, true
	}
	g.transport = &http.Transport{ // does not decode bodies
		Proxy:                  chosenProxy,
		DialContext:            g.dialPlain,
		DialTLSContext:         g.dialTLS,
		DisableCompression:     true,
		ResponseHeaderTimeout:  min(o.Timeout, 30*time.Second),
		MaxResponseHeaderBytes: maxHead,
		MaxIdleConns:           1024, // enough to keep one connection to each of a thousand hosts
		MaxIdleConnsPerHost:    o.PerHost,
		IdleConnTimeout:        30 * time.Second,
		ForceAttemptHTTP2:      true, // if this is not set, DialTLSContext disables HTTP/2
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 1 << 20,
			MaxReceiveBufferPerConnection: 2 << 20, WriteByteTimeout: 15 * time.Second},
	}
	return g
}

// Use sets the source of the policies. It must be called once, before the first page is requested.
func (g *Gate) Use(p Policies) { g.policies = p }

// Pace sets the Crawl-delay of the host of u before its first page is requested, for example for
// the files that its robots.txt refers to. A delay above MaxCrawlDelay counts as MaxCrawlDelay.
func (g *Gate) Pace(u *url.URL, d time.Duration) {
	if key, err := address.Endpoint(u); err == nil {
		g.hosts.pace(key, d)
	}
}

// Close closes the idle connections.
func (g *Gate) Close() { g.transport.CloseIdleConnections() }

// RoundTrip checks and sends one request. Its kind and its Trace come from the context (see With);
// the exchange is added to the trace. The body of the response is decoded and complete within the
// limits. Its header is as sent, except for the content coding. If a rule of the gate or the policy
// forbids the request, the error is a *Refusal.
func (g *Gate) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_ = req.Body.Close() // a GET or HEAD request has no body
	}
	p := purposeOf(req.Context())
	hop, resp, err := g.checkAndSend(req, p)
	if err != nil {
		p.refused(err)
		return nil, err
	}
	p.add(hop)
	return resp, nil
}

// checkAndSend checks one request, and sends it or passes it to the machine that owns its host. The
// owner may change meanwhile, so there are two tries.
func (g *Gate) checkAndSend(req *http.Request, p purpose) (Hop, *http.Response, error) {
	u, key, err := target(req)
	if err != nil {
		return Hop{}, nil, err
	}
	lease := g.tenure(key) // checked first, so that no policy is read in vain
	if lease != nil && !g.passesOn(lease, p) {
		return Hop{}, nil, withURL(u, lease)
	}
	if err := g.admit(req.Context(), u, key, p); err != nil {
		return Hop{}, nil, withURL(u, err)
	}
	for again := false; ; again = true {
		hop, resp, err := Hop{}, (*http.Response)(nil), lease
		switch {
		case lease == nil:
			hop, resp, err = g.sendHere(req, u, key, p)
		case g.passesOn(lease, p):
			hop, resp, err = g.passOn(req, u, key, p)
		}
		if again || !g.passesOn(err, p) || req.Context().Err() != nil {
			return hop, resp, withURL(u, err)
		}
		lease = g.tenure(key)
	}
}

// sendHere sends one request that was admitted. If the connection was closed, or was broken by
// another request, sendHere sends the request again.
func (g *Gate) sendHere(req *http.Request, u *url.URL, key string, p purpose) (Hop, *http.Response, error) {
	alone := false
	for n := 1; ; n++ {
		a := &attempt{Gate: g, req: req, url: u, key: key, why: p, alone: alone}
		hop, resp, err := a.send()
		stale, shared := errors.Is(err, errStale) && n < attempts, errors.Is(err, errShared)
		if !stale && !shared || req.Context().Err() != nil {
			return hop, resp, err
		}
		alone = alone || shared // errShared cannot occur on a connection that is not shared
	}
}

// withURL sets the URL in a refusal that names only the host. It returns any other error unchanged.
func withURL(u *url.URL, err error) error {
	var r *Refusal
	if !errors.As(err, &r) {
		return err
	}
	named := *r
	named.URL = u.String()
	return &named
}

// admit applies the address rule, the policy and the take-downs of the publisher to a request for
// u.
func (g *Gate) admit(ctx context.Context, u *url.URL, key string, why purpose) error {
	if err := g.checkLiteral(key); err != nil {
		return err
	}
	// REP 1 (F23): policy files may always be fetched. Also, Policy is the caller here, and would
	// wait for its own result.
	if why.kind == PolicyFile {
		return nil
	}
	if why.kind == PageRequest && g.pagesSpent() {
		return g.budgetRefusal() // checked first, so that no policy is fetched in vain
	}
	if g.policies == nil {
		return &Refusal{Decision: acap.Decision{Usage: acap.Crawl, Reason: acap.Unavailable}}
	}
	p, err := g.policies.Policy(ctx, u)
	if err != nil {
		return fmt.Errorf("the policy for %s could not be read: %w", u, err)
	}
	if err := why.permits(p, u); err != nil {
		return err
	}
	g.hosts.pace(key, p.CrawlDelay())
	return nil
}

// admitAgain applies the policy and the take-downs again immediately before the request is sent:
// the policy and the take-downs may have changed while the request waited for its host.
func (g *Gate) admitAgain(u *url.URL, why purpose) error {
	if why.kind == PolicyFile {
		return nil
	}
	p, err := g.policies.Current(u)
	if err != nil {
		return fmt.Errorf("the policy for %s could not be read: %w", u, err)
	}
	return why.permits(p, u)
}

// Pages returns the number of page requests that were begun.
func (g *Gate) Pages() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pages
}

// spendPage counts a page request to the host key against the budget. The error is a *Refusal if the
// budget is spent.
func (g *Gate) spendPage(ctx context.Context, key string) error {
	for !g.countPage() {
		if g.pagesSpent() {
			return g.budgetRefusal()
		}
		if err := g.reserve(ctx); err != nil {
			return leaseRefusal(key, fmt.Errorf("%w (%w)", ErrPaused, err))
		}
	}
	return nil
}

// countPage counts a page request if the reserved ones are not used up.
func (g *Gate) countPage() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.o.MaxPages > 0 && g.pages >= g.granted {
		return false
	}
	g.pages++
	return true
}

// reserve reserves more page requests, if the reserved ones are used up.
func (g *Gate) reserve(ctx context.Context) error {
	g.reserving.Lock()
	defer g.reserving.Unlock()
	g.mu.Lock()
	enough := g.pages < g.granted || g.spent
	g.mu.Unlock()
	if enough {
		return nil
	}
	n, err := g.o.Reserve(ctx)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.granted += n
	g.spent = n == 0
	return nil
}

// Unused returns how many page requests are reserved and were not begun.
func (g *Gate) Unused() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(g.granted-g.pages, 0)
}

func (g *Gate) pagesSpent() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.o.MaxPages > 0 && g.spent && g.pages >= g.granted
}

func (g *Gate) refundPage(kind Kind) {
	if kind != PageRequest {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pages--
}

func (g *Gate) budgetRefusal() error {
	return &Refusal{Rule: RuleBudget, Why: fmt.Sprintf("the budget of %d page requests is spent", g.o.MaxPages)}
}

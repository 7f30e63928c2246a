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
	"github.com/acapcrawl/acapcrawl/address"
	"github.com/acapcrawl/acapcrawl/coding"
)

// policyCap bounds a policy file in bytes, as sent and decoded: more than the 500 KiB that are read
// of it (A19), so that its reader sees that there was more.
const policyCap = 1 << 20

// attempts is how often a request is begun at most where the transport may begin it again.
const attempts = 3

// Policies returns the policy in force for the origin of a URL.
type Policies interface {
	// Policy reads what it needs, which may take requests.
	Policy(ctx context.Context, u *url.URL) (*acap.Policy, error)
	// Current makes no request: it returns what was read last, with the take-downs in force at this
	// moment.
	Current(u *url.URL) (*acap.Policy, error)
}

// Options configure a Gate. Zero values take the default named.
type Options struct {
	UserAgent    string        // sent with every request; "acapcrawl"
	Delay        time.Duration // between the starts of two requests to a host; 0: only what the host asks for
	PerHost      int           // requests to a host under way at once; 1
	Timeout      time.Duration // one exchange, from dialling to the end of the body; 60 s
	MaxBody      int64         // bytes of a decoded body; 32 MiB
	MaxRaw       int64         // bytes of a body as sent; as MaxBody
	AllowPrivate bool          // open every address
	ByAddress    bool          // hosts at one network address share pauses and slots; who waits for them holds a worker
	Sign         *Signer       // signs every request; nil: none does
	MaxPages     int           // page requests in all; 0: no limit
}

// Gate is safe for concurrent use. Close it when done.
type Gate struct {
	o         Options
	policies  Policies
	transport *http.Transport
	named     named
	hosts     *hosts
	places    *places
	decoders  *coding.Decoders

	mu    sync.Mutex
	pages int // page requests begun
}

// New makes a gate that admits policy files alone until Use is called.
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
	g := &Gate{o: o, hosts: newHosts(o.PerHost, max(o.Delay, 0)), places: newPlaces(), decoders: coding.NewDecoders()}
	g.transport = &http.Transport{ // no proxy, no decoding of its own
		DialContext:            g.dialPlain,
		DialTLSContext:         g.dialTLS,
		DisableCompression:     true,
		ResponseHeaderTimeout:  min(o.Timeout, 30*time.Second),
		MaxResponseHeaderBytes: maxHead,
		MaxIdleConns:           1024, // so that a thousand hosts a second apart keep theirs
		MaxIdleConnsPerHost:    o.PerHost,
		IdleConnTimeout:        30 * time.Second,
		ForceAttemptHTTP2:      true, // over TLS; a dialler of our own would turn it off
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 1 << 20,
			MaxReceiveBufferPerConnection: 2 << 20, WriteByteTimeout: 15 * time.Second},
	}
	return g
}

// Use sets who tells the policies. It is called once, before the first page is requested.
func (g *Gate) Use(p Policies) { g.policies = p }

// Pace tells the Crawl-delay of u's host, for requests made before its policy is asked for. At most
// MaxCrawlDelay counts.
func (g *Gate) Pace(u *url.URL, d time.Duration) {
	if key, err := address.Endpoint(u); err == nil {
		g.hosts.pace(key, d)
	}
}

// Close closes the connections kept.
func (g *Gate) Close() { g.transport.CloseIdleConnections() }

// RoundTrip judges and sends one hop, as the Kind of its context (With), and adds it to the Trace
// there. The body of the response is decoded and complete within the caps; its header is as sent
// but for the content coding. A request that is not sent gives a *Refusal.
func (g *Gate) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_ = req.Body.Close() // GET and HEAD carry none
	}
	p := purposeOf(req.Context())
	hop, resp, err := g.visit(req, p)
	if err != nil {
		p.refused(err)
		return nil, err
	}
	p.add(hop)
	return resp, nil
}

// visit admits and sends one hop.
func (g *Gate) visit(req *http.Request, p purpose) (Hop, *http.Response, error) {
	u, key, err := target(req)
	if err != nil {
		return Hop{}, nil, err
	}
	if err := g.admit(req.Context(), u, key, p); err != nil {
		return Hop{}, nil, about(u, err)
	}
	alone := false
	for n := 1; ; n++ {
		a := &attempt{Gate: g, req: req, url: u, key: key, why: p, alone: alone}
		hop, resp, err := a.send()
		stale, shared := errors.Is(err, errStale) && n < attempts, errors.Is(err, errShared)
		if !stale && !shared || req.Context().Err() != nil {
			return hop, resp, about(u, err)
		}
		alone = alone || shared // so that this is the last attempt of its kind
	}
}

// about names the URL in a refusal made where only the host was known.
func about(u *url.URL, err error) error {
	var r *Refusal
	if !errors.As(err, &r) {
		return err
	}
	named := *r
	named.URL = u.String()
	return &named
}

// admit applies address rule, policy and what is taken down.
func (g *Gate) admit(ctx context.Context, u *url.URL, key string, why purpose) error {
	if err := g.literal(key); err != nil {
		return err
	}
	if why.kind == PolicyFile { // may always be fetched (F23), and would wait for itself
		return nil
	}
	if why.kind == PageRequest && g.spent() {
		return g.overspent() // before policy is fetched in vain
	}
	if g.policies == nil {
		return &Refusal{Decision: acap.Decision{Usage: acap.Crawl, Reason: acap.Unavailable}}
	}
	p, err := g.policies.Policy(ctx, u)
	if err != nil {
		return fmt.Errorf("the policy for %s could not be had: %w", u, err)
	}
	if err := why.permits(p, u); err != nil {
		return err
	}
	g.hosts.pace(key, p.CrawlDelay())
	return nil
}

// readmit decides again at the moment of sending: policy and take-downs may have changed while the
// request waited for its host.
func (g *Gate) readmit(u *url.URL, why purpose) error {
	if why.kind == PolicyFile {
		return nil
	}
	p, err := g.policies.Current(u)
	if err != nil {
		return fmt.Errorf("the policy for %s could not be had: %w", u, err)
	}
	return why.permits(p, u)
}

func (g *Gate) spend() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.o.MaxPages > 0 && g.pages >= g.o.MaxPages {
		return false
	}
	g.pages++
	return true
}

func (g *Gate) spent() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.o.MaxPages > 0 && g.pages >= g.o.MaxPages
}

func (g *Gate) refund(kind Kind) {
	if kind != PageRequest {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pages--
}

func (g *Gate) overspent() error {
	return &Refusal{Rule: RuleBudget, Why: fmt.Sprintf("the budget of %d page requests is spent", g.o.MaxPages)}
}

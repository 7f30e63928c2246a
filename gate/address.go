package gate

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// named is the set of hosts (host:port) that the operator named. A named host may have a private or
// loopback address, until it was reached at a public address. Therefore a later DNS answer cannot
// redirect the crawler to an internal network.
type named struct {
	mu sync.RWMutex
	m  map[string]*atomic.Bool // host → true if the host was reached at a public address
}

func (n *named) add(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.m == nil {
		n.m = map[string]*atomic.Bool{}
	}
	if n.m[key] == nil {
		n.m[key] = new(atomic.Bool)
	}
}

func (n *named) get(key string) *atomic.Bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.m[key]
}

// Name allows requests to the host and port of u even if their address is private, loopback or
// otherwise special.
func (g *Gate) Name(u *url.URL) {
	if key, err := address.Endpoint(u); err == nil {
		g.named.add(key)
	}
}

// checkAddress returns a Refusal if the address a of the host key (host:port) must not be
// requested.
func (g *Gate) checkAddress(key string, a netip.Addr) error {
	what, public := address.Special(a), g.named.get(key)
	switch {
	case what == "":
		if public != nil {
			public.Store(true)
		}
		return nil
	case g.o.AllowPrivate, public != nil && !public.Load():
		return nil
	}
	return notPublic(key, a.String(), what)
}

// notPublic returns the refusal of key (host:port). host is its name or address, and what is the kind of that, such as
// "a loopback".
func notPublic(key, host, what string) error {
	return &Refusal{URL: key, Rule: RuleAddress, Why: host + " is " + what +
		" address; name " + key + " as a seed or allow private addresses"}
}

// checkLiteral applies the address rule to a host that is written as an IP address, before any
// request to it.
func (g *Gate) checkLiteral(key string) error {
	host, _, err := net.SplitHostPort(key)
	if err != nil {
		return &Refusal{URL: key, Rule: RuleAddress, Why: err.Error()}
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return g.checkAddress(key, a)
	}
	if address.Odd(host) {
		return &Refusal{URL: key, Rule: RuleAddress, Why: host + " is not the usual spelling of an address"}
	}
	return nil
}

type pinKey struct{}

// pin returns a context in which dial connects to the address a, even if DNS has another address
// for the host name by then.
func pin(ctx context.Context, a netip.Addr) context.Context {
	return context.WithValue(ctx, pinKey{}, a)
}

// dial connects to addr. It applies the address rule to each address that it actually dials, after
// the name was resolved. The lease is checked there too, immediately before the connect.
func (g *Gate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	key := strings.ToLower(addr)
	if proxyOf(ctx) != nil { // addr is the address of the proxy, which the operator chose
		d := net.Dialer{Timeout: dialTime(g.o.Timeout)}
		c, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: c, lease: func() error { return nil }}, nil
	}
	if a, ok := ctx.Value(pinKey{}).(netip.Addr); ok {
		addr = net.JoinHostPort(a.String(), key[strings.LastIndexByte(key, ':')+1:])
	}
	d := net.Dialer{
		Timeout: dialTime(g.o.Timeout),
		Control: func(_, real string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(real)
			if err != nil {
				return &Refusal{URL: key, Rule: RuleAddress, Why: real + " is not an internet address"}
			}
			if err := g.checkAddress(key, ap.Addr()); err != nil {
				return err
			}
			return g.tenure(key)
		},
	}
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: c, lease: g.leaseOf(key)}, nil
}

// dialTime returns the time limit for resolving a name or dialling. whole is the time limit for the
// whole exchange.
func dialTime(whole time.Duration) time.Duration { return min(whole, 15*time.Second) }

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

	"github.com/acapcrawl/acapcrawl/address"
)

// named is the set of hosts (host:port) that the operator named. A name is closed again to inner
// addresses once it has been reached at a public one, so that a later DNS answer cannot turn it
// inwards.
type named struct {
	mu sync.RWMutex
	m  map[string]*atomic.Bool // true: reached at a public address
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

// Name opens the host and port of u, and them alone, for addresses that are closed otherwise.
func (g *Gate) Name(u *url.URL) {
	if key, err := address.Endpoint(u); err == nil {
		g.named.add(key)
	}
}

// address judges a dialled or literally written address of the host key.
func (g *Gate) address(key string, a netip.Addr) error {
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
	return &Refusal{URL: key, Rule: RuleAddress, Why: a.String() + " is " + what +
		" address; name " + key + " as a seed or allow private addresses"}
}

// literal applies the address rule to a host written as an address, before anything is asked of it.
func (g *Gate) literal(key string) error {
	host, _, err := net.SplitHostPort(key)
	if err != nil {
		return &Refusal{URL: key, Rule: RuleAddress, Why: err.Error()}
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return g.address(key, a)
	}
	if address.Odd(host) {
		return &Refusal{URL: key, Rule: RuleAddress, Why: host + " is not the usual spelling of an address"}
	}
	return nil
}

type pinKey struct{}

// pin makes dial connect to the address a under the context, whatever the name stands for by then.
func pin(ctx context.Context, a netip.Addr) context.Context {
	return context.WithValue(ctx, pinKey{}, a)
}

// dial connects to addr. The rule is applied to each address that is really dialled, after name
// resolution.
func (g *Gate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	key := strings.ToLower(addr)
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
			return g.address(key, ap.Addr())
		},
	}
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &line{Conn: c}, nil
}

// dialTime is how long resolving a name or dialling may take, of the time for the whole exchange.
func dialTime(whole time.Duration) time.Duration { return min(whole, 15*time.Second) }

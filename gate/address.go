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
)

// inner lists the addresses that are not open to a crawl beside those that netip itself classifies (IANA special-purpose
// registries).
var inner = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "a this-network"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a shared (carrier-grade NAT)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a protocol-assignment"},
	{netip.MustParsePrefix("192.0.2.0/24"), "a documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay"},
	{netip.MustParsePrefix("198.18.0.0/15"), "a benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), "a documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "a documentation"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved"},
	{netip.MustParsePrefix("::/96"), "an IPv4-compatible"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a local NAT64"},
	{netip.MustParsePrefix("100::/64"), "a discard"},
	{netip.MustParsePrefix("2001::/23"), "a protocol-assignment"},
	{netip.MustParsePrefix("2001:db8::/32"), "a documentation"},
	{netip.MustParsePrefix("3fff::/20"), "a documentation"},
	{netip.MustParsePrefix("5f00::/16"), "a segment-routing"},
	{netip.MustParsePrefix("fec0::/10"), "a site-local"},
}

// embedding lists the prefixes that carry an IPv4 address, and the byte it starts at.
var embedding = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
}

// closed says what kind of address a is when it is not open to a crawl, "" when it is.
func closed(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	switch {
	case a.IsUnspecified():
		return "the unspecified"
	case a.IsLoopback():
		return "a loopback"
	case a.IsPrivate():
		return "a private"
	case a.IsLinkLocalUnicast():
		return "a link-local"
	case a.IsMulticast():
		return "a multicast"
	}
	for _, e := range embedding {
		if e.prefix.Contains(a) {
			b := a.As16()
			return closed(netip.AddrFrom4([4]byte(b[e.at : e.at+4])))
		}
	}
	for _, r := range inner {
		if r.prefix.Contains(a) {
			return r.what
		}
	}
	return ""
}

// Inner returns the kind of address of a host, such as "a loopback", if a crawl requests it only
// when it is named on the command line (X84). It returns "" for a public address, and for a name,
// which only the DNS can resolve.
func Inner(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	switch a, err := netip.ParseAddr(host); {
	case err == nil:
		return closed(a)
	case host == "localhost" || strings.HasSuffix(host, ".localhost"): // RFC 6761 6.3
		return "a loopback"
	case oddNumber(host):
		return "an unusually spelt"
	}
	return ""
}

// named is the set of hosts (host:port) that the operator named. A name is closed again to inner addresses once it has
// been reached at a public one, so that a later DNS answer cannot turn it inwards.
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
	if key, err := hostKey(u); err == nil {
		g.named.add(key)
	}
}

// address judges a dialled or literally written address of the host key.
func (g *Gate) address(key string, a netip.Addr) error {
	what, public := closed(a), g.named.get(key)
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
	if oddNumber(host) {
		return &Refusal{URL: key, Rule: RuleAddress, Why: host + " is not the usual spelling of an address"}
	}
	return nil
}

type pinKey struct{}

// pin makes dial connect to the address a under the context, whatever the name stands for by then.
func pin(ctx context.Context, a netip.Addr) context.Context {
	return context.WithValue(ctx, pinKey{}, a)
}

// dial connects to addr. The rule is applied to each address that is really dialled, after name resolution.
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

package gate

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// resolvedFor is how long an address from DNS determines pauses and slots before the name is
// resolved again.
const resolvedFor = 5 * time.Minute

// addressCache caches the network address of each host name. It is safe for concurrent use.
type addressCache struct {
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

	mu    sync.Mutex
	m     map[string]cachedAddress // cached addresses by host name
	sweep int                      // size of the map m at which expired addresses are deleted the next time
}

type cachedAddress struct {
	addr  netip.Addr
	until time.Time
}

func newAddressCache() *addressCache {
	return &addressCache{lookup: net.DefaultResolver.LookupNetIP, m: map[string]cachedAddress{}, sweep: manyHosts}
}

// addressOf returns the address of the host key (host:port). If a name has several addresses,
// addressOf always returns the same one: it prefers addresses that a crawl may request, then those
// of the family that the system prefers, then the lowest.
func (ac *addressCache) addressOf(ctx context.Context, key string) (netip.Addr, error) {
	name, _, err := net.SplitHostPort(key)
	if err != nil {
		return netip.Addr{}, err
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return a.Unmap(), nil
	}
	if a, ok := ac.known(name); ok {
		return a, nil
	}
	found, err := ac.lookup(ctx, "ip", name)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%s could not be resolved: %w", name, err)
	}
	if len(found) == 0 {
		return netip.Addr{}, fmt.Errorf("%s has no address", name)
	}
	for i, a := range found {
		found[i] = a.Unmap()
	}
	preferred := found[0].Is4()
	a := slices.MinFunc(found, func(a, b netip.Addr) int {
		return cmp.Or(compareBool(address.Special(a) != "", address.Special(b) != ""), compareBool(a.Is4() != preferred,
			b.Is4() != preferred), a.Compare(b))
	})
	ac.learn(name, a)
	return a, nil
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (ac *addressCache) known(name string) (netip.Addr, bool) {
	ac.mu.Lock()
	defer ac.mu.Unlock()
	p, ok := ac.m[name]
	return p.addr, ok && time.Now().Before(p.until)
}

func (ac *addressCache) learn(name string, a netip.Addr) {
	ac.mu.Lock()
	defer ac.mu.Unlock()
	now := time.Now()
	if len(ac.m) >= ac.sweep {
		for name, p := range ac.m {
			if now.After(p.until) {
				delete(ac.m, name)
			}
		}
		ac.sweep = max(manyHosts, 2*len(ac.m))
	}
	ac.m[name] = cachedAddress{a, now.Add(resolvedFor)}
}

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

	"github.com/acapcrawl/acapcrawl/address"
)

// resolvedFor is how long an answer of the DNS is used for pauses and slots.
const resolvedFor = 5 * time.Minute

// places knows the network address that each host name stands for. It is safe for concurrent use.
type places struct {
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

	mu    sync.Mutex
	m     map[string]place // by name
	sweep int              // size of m at which to look for old ones next
}

type place struct {
	addr  netip.Addr
	until time.Time
}

func newPlaces() *places {
	return &places{lookup: net.DefaultResolver.LookupNetIP, m: map[string]place{}, sweep: manyHosts}
}

// of gives the address of the host key: of several always the same, of the family that the system
// prefers, and one that is open to a crawl before others.
func (ps *places) of(ctx context.Context, key string) (netip.Addr, error) {
	name, _, err := net.SplitHostPort(key)
	if err != nil {
		return netip.Addr{}, err
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return a.Unmap(), nil
	}
	if a, ok := ps.known(name); ok {
		return a, nil
	}
	found, err := ps.lookup(ctx, "ip", name)
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
		return cmp.Or(later(address.Special(a) != "", address.Special(b) != ""), later(a.Is4() != preferred,
			b.Is4() != preferred), a.Compare(b))
	})
	ps.learn(name, a)
	return a, nil
}

// later compares what is true with what is false.
func later(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (ps *places) known(name string) (netip.Addr, bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p, ok := ps.m[name]
	return p.addr, ok && time.Now().Before(p.until)
}

func (ps *places) learn(name string, a netip.Addr) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	now := time.Now()
	if len(ps.m) >= ps.sweep {
		for name, p := range ps.m {
			if now.After(p.until) {
				delete(ps.m, name)
			}
		}
		ps.sweep = max(manyHosts, 2*len(ps.m))
	}
	ps.m[name] = place{a, now.Add(resolvedFor)}
}

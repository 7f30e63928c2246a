package present

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Resolver sends DNS queries; *net.Resolver implements it.
type Resolver interface {
	LookupAddr(ctx context.Context, addr string) ([]string, error)
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// These are the limits of Names.
const (
	maxNames    = 8 // number of DNS names of one IP address
	namesWithin = 2 * time.Second
	namesFor    = 5 * time.Minute // how long the names of an address are cached
	maxKnown    = 4096            // number of addresses whose names are cached
)

// Names finds the DNS names of IP addresses. It returns only names for which DNS in turn returns
// the same address. It is safe for concurrent use.
type Names struct {
	resolver Resolver
	within   time.Duration
	now      func() time.Time

	mu    sync.Mutex
	known map[netip.Addr]names
}

type names struct {
	list  []string
	err   error
	until time.Time
}

// NewNames returns a Names that sends its DNS queries through r.
func NewNames(r Resolver) *Names {
	return &Names{resolver: r, within: namesWithin, now: time.Now, known: map[netip.Addr]names{}}
}

// Of returns all verified names of ip. It returns no name if DNS does not answer for one of the
// names, or if there are more than maxNames names. The reason is that a condition on a reader's
// domain must hold for all names (K10). If there is no name, the error says why.
func (n *Names) Of(ctx context.Context, ip netip.Addr) ([]string, error) {
	ip = ip.Unmap().WithZone("")
	now := n.now()
	n.mu.Lock()
	a, known := n.known[ip]
	n.mu.Unlock()
	if known && now.Before(a.until) {
		return a.list, a.err
	}
	a = names{until: now.Add(namesFor)}
	if a.list, a.err = n.ask(ctx, ip); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= maxKnown {
		clear(n.known)
	}
	n.known[ip] = a
	return a.list, a.err
}

func (n *Names) ask(ctx context.Context, ip netip.Addr) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, n.within)
	defer cancel()
	claimed, err := n.resolver.LookupAddr(ctx, ip.String())
	switch {
	case notFound(err):
		return nil, fmt.Errorf("%s has no host name", ip)
	case err != nil:
		return nil, fmt.Errorf("the names of %s cannot be found: %w", ip, err)
	case len(claimed) > maxNames:
		return nil, fmt.Errorf("%s has more than %d names", ip, maxNames)
	}
	var verified []string
	for _, name := range claimed {
		addresses, err := n.resolver.LookupNetIP(ctx, "ip", name)
		if err != nil && !notFound(err) {
			return nil, fmt.Errorf("%s, a name of %s, cannot be verified: %w", name, ip, err)
		}
		if slices.ContainsFunc(addresses, func(a netip.Addr) bool { return a.Unmap().WithZone("") == ip }) {
			verified = append(verified, strings.ToLower(strings.TrimSuffix(name, ".")))
		}
	}
	if verified == nil {
		return nil, fmt.Errorf("no host name of %s resolves back to it", ip)
	}
	return verified, nil
}

func notFound(err error) bool {
	dns, is := errors.AsType[*net.DNSError](err)
	return is && dns.IsNotFound
}

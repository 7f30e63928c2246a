package crawler

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Scope says how far from its seeds a crawl goes.
type Scope string

// The scopes. Ports and schemes are not compared.
const (
	ScopeHost   Scope = "host"   // the hosts of the seeds, as written
	ScopeDomain Scope = "domain" // their registrable domains (public suffix list)
	ScopePrefix Scope = "prefix" // their hosts, below the folder of the seed
	ScopeAny    Scope = "any"
)

// area is a scope with its seeds, immutable once made.
type area struct {
	scope   Scope
	names   map[string]bool     // hosts or registrable domains
	folders map[string][]string // host → folders
}

// newArea takes seeds in normal form.
func newArea(s Scope, seeds []string) (*area, error) {
	a := &area{scope: s, names: map[string]bool{}, folders: map[string][]string{}}
	switch s {
	case ScopeHost, ScopeDomain, ScopePrefix, ScopeAny:
	case "":
		a.scope = ScopeHost
	default:
		return nil, fmt.Errorf("scope %q is not known; use host, domain, prefix or any", s)
	}
	for _, seed := range seeds {
		u, err := url.Parse(seed)
		if err != nil {
			return nil, fmt.Errorf("seed %q is not an address: %w", seed, err)
		}
		host := u.Hostname()
		a.names[host] = true
		a.folders[host] = append(a.folders[host], folder(u))
		if a.scope == ScopeDomain {
			a.names[domain(host)] = true
		}
	}
	return a, nil
}

// holds reports whether an address in normal form lies in the area.
func (a *area) holds(u *url.URL) bool {
	host := u.Hostname()
	switch a.scope {
	case ScopeHost:
		return a.names[host]
	case ScopeDomain:
		return a.names[host] || a.names[domain(host)]
	case ScopePrefix:
		for _, f := range a.folders[host] {
			if strings.HasPrefix(u.EscapedPath(), f) {
				return true
			}
		}
		return false
	}
	return a.scope == ScopeAny
}

// domain is the registrable domain of a host name; an IP address or a name without one stands for itself.
func domain(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	if d, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return d
	}
	return host
}

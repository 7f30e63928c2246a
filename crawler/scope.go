package crawler

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/address"
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
			a.names[address.Domain(host)] = true
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
		return a.names[host] || a.names[address.Domain(host)]
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

// filter is the patterns of the addresses that a crawl includes and excludes, immutable once made.
// In a pattern * stands for any characters and a final $ for the end of the address. One that
// begins with / or * is compared with path and query, any other with the whole address; all from
// the start.
type filter struct {
	include, exclude []pattern
}

type pattern struct {
	raw   string
	whole bool // compared with the whole address
	glob  acap.Glob
}

func newFilter(include, exclude []string) *filter {
	return &filter{include: patterns(include), exclude: patterns(exclude)}
}

func patterns(raw []string) []pattern {
	var out []pattern
	for _, s := range raw {
		text, whole := globText(s)
		out = append(out, pattern{s, whole, acap.NewGlob(text)})
	}
	return out
}

// globText is what addresses in normal form are compared with, and whether they are as a whole.
func globText(raw string) (text string, whole bool) {
	if whole = raw != "" && raw[0] != '/' && raw[0] != '*'; whole {
		raw = normalStart(raw)
	}
	return address.Escape(raw), whole
}

// normalStart writes scheme and host of a pattern as addresses have them, where both are written
// out.
func normalStart(s string) string {
	end := address.HostEnd(s)
	if end == len(s) || strings.Contains(s[:end], "*") {
		return s
	}
	u, err := address.Parse(s[:end])
	if err != nil {
		return s
	}
	return u.Scheme + "://" + u.Host + s[end:]
}

// admits reports whether an address in normal form is to be visited, else the sentence that says
// which pattern decides. An address that is excluded is so whatever includes it.
func (f *filter) admits(u *url.URL) (ok bool, why string) {
	if len(f.include)+len(f.exclude) == 0 {
		return true, ""
	}
	local := u.EscapedPath()
	if u.RawQuery != "" || u.ForceQuery {
		local += "?" + u.RawQuery
	}
	whole := u.Scheme + "://" + u.Host + local
	for _, p := range f.exclude {
		if p.matches(local, whole) {
			return false, "excluded by the pattern " + p.raw
		}
	}
	var names []string
	for _, p := range f.include {
		if p.matches(local, whole) {
			return true, ""
		}
		names = append(names, p.raw)
	}
	if len(names) == 0 {
		return true, ""
	}
	return false, "not included by the pattern " + strings.Join(names, " or ")
}

func (p pattern) matches(local, whole string) bool {
	if p.whole {
		return p.glob.Matches(whole)
	}
	return p.glob.Matches(local)
}

// folder returns the path of u up to and with its last slash.
func folder(u *url.URL) string {
	dir, _ := path.Split(u.EscapedPath())
	return dir
}

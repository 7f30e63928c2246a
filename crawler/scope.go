package crawler

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/address"
)

// Scope says which addresses a crawl visits, relative to its seeds.
type Scope string

// The scopes. Ports and schemes do not matter.
const (
	ScopeHost   Scope = "host"   // the hosts of the seeds, exactly
	ScopeDomain Scope = "domain" // the registrable domains of the seeds (public suffix list)
	ScopePrefix Scope = "prefix" // the hosts of the seeds, below the folder of the seed
	ScopeAny    Scope = "any"
)

// area is a scope together with its seeds. It is immutable.
type area struct {
	scope   Scope
	names   map[string]bool     // hosts and registrable domains of the seeds
	folders map[string][]string // host → folders of its seeds
}

// newArea returns the area of a scope. The seeds must be in normal form.
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

// holds reports whether an address in normal form is in the area.
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

// filter holds the patterns of the addresses that a crawl includes and excludes. It is immutable.
// In a pattern, * matches any characters and a final $ matches the end of the address. A pattern
// that begins with / or * is compared with path and query, any other with the whole address, both
// from the start.
type filter struct {
	include, exclude []pattern
}

// Patterns select addresses. Their syntax is that of Options.Include.
type Patterns struct{ filter *filter }

// NewPatterns returns the patterns in list; without any, no address is selected.
func NewPatterns(list []string) Patterns { return Patterns{newFilter(list, nil)} }

// Match reports whether a pattern matches u, which must be in normal form.
func (p Patterns) Match(u *url.URL) bool {
	if p.filter == nil || len(p.filter.include) == 0 {
		return false
	}
	ok, _ := p.filter.admits(u)
	return ok
}

type pattern struct {
	raw   string
	whole bool // compare with the whole address
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

// globText returns the text of a pattern in normal form, and whether it is compared with whole
// addresses.
func globText(raw string) (text string, whole bool) {
	if whole = raw != "" && raw[0] != '/' && raw[0] != '*'; whole {
		raw = normalStart(raw)
	}
	return address.Escape(raw), whole
}

// normalStart puts scheme and host of a pattern into normal form if they contain no *.
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

// admits reports whether the patterns admit an address in normal form. If they do not, admits
// returns a sentence that names the deciding pattern. An exclude pattern has priority over an
// include pattern.
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

// folder returns the path of u up to and including its last slash.
func folder(u *url.URL) string {
	dir, _ := path.Split(u.EscapedPath())
	return dir
}

package second

import (
	"net/netip"
	"net/url"
	"strings"
)

// fetched is the result of requesting a URL of the case's web, after redirects.
type fetched struct {
	url      *url.URL // the URL after redirects
	response response
	ok       bool // there was a response that is not a redirect
}

const maxHops = 5

// get requests a URL and follows redirects to URLs for which allowed returns true.
func (q *question) get(u *url.URL, allowed func(*url.URL) bool) fetched {
	for hops := 0; hops <= maxHops; hops++ {
		if !allowed(u) {
			return fetched{}
		}
		r, listed := q.Web[u.String()]
		if !listed {
			return fetched{url: u, response: response{Status: 404}, ok: true}
		}
		if r.Status == 0 {
			r.Status = 200
		}
		if r.Error != "" {
			return fetched{}
		}
		if r.Status < 300 || r.Status > 399 {
			return fetched{url: u, response: r, ok: true}
		}
		locations := r.Header["Location"]
		if len(locations) == 0 { // X51: a redirect without Location, or a 304 without a stored copy
			return fetched{}
		}
		next, err := u.Parse(locations[0])
		if err != nil || next.Scheme != "http" && next.Scheme != "https" {
			return fetched{}
		}
		next.Fragment = ""
		u = next
	}
	return fetched{}
}

func anywhere(*url.URL) bool { return true }

// root returns the URL of a path below the root of the origin of u.
func root(u *url.URL, path string) *url.URL {
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: path}
}

// isPrivate reports whether a URL has a private, loopback or link-local address as its host.
func isPrivate(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host == "localhost" || strings.HasSuffix(host, ".localhost")
	}
	ip = ip.Unmap()
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()
}

// reachable reports whether a reference or required resource at u is available for a resource of an
// origin: a private address is not available, unless it is on the host that the question is about
// (X84).
func reachable(u, origin *url.URL) bool {
	return !isPrivate(u) || strings.EqualFold(u.Host, origin.Host)
}

// robots is the state of an origin's robots.txt.
type robots struct {
	status string // "read", "none" or "unreachable"
	body   string
}

func (q *question) robots(u *url.URL) robots {
	got := q.get(root(u, "/robots.txt"), anywhere)
	switch {
	case !got.ok, got.response.Status == 429, got.response.Status >= 500, got.response.Status < 200:
		return robots{status: "unreachable"}
	case got.response.Status >= 400:
		return robots{status: "none"}
	}
	return robots{"read", got.response.bytes()}
}

package web

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/view"
)

// label returns the part of a host name in front of the replay domain. It returns "" if there is no replay domain,
// or if the host has another name.
func (s *Server) label(r *http.Request) string {
	label, found := strings.CutSuffix(hostName(r.Host), "."+hostName(s.o.ReplayDomain))
	if s.o.ReplayDomain == "" || !found || strings.Contains(label, ".") || namesServer(s.public.names, r) {
		return ""
	}
	return label
}

// setReplay sets what a visitor must know of the replay domain. Its hosts have the port of this server.
func (s *Server) setReplay(who *view.Visitor, r *http.Request) {
	if s.o.ReplayDomain == "" {
		return
	}
	port := ""
	if _, p, err := net.SplitHostPort(r.Host); err == nil {
		port = ":" + p
	}
	scheme := s.scheme(r) + "://"
	who.Label = s.label(r)
	if who.Label == "" {
		who.Replay = scheme + "*." + hostName(s.o.ReplayDomain) + port
		return
	}
	var hosts []string
	for name := range s.public.names {
		if _, _, err := net.SplitHostPort(name); err != nil {
			name += port
		}
		// a Content-Security-Policy cannot name an IPv6 address
		if !strings.Contains(name, "[") && !strings.HasPrefix(name, anyAddress) {
			hosts = append(hosts, scheme+name)
		}
	}
	slices.Sort(hosts)
	who.Ancestors = strings.Join(hosts, " ")
	who.Base = scheme + s.main + port // s.main has brackets if it is an IPv6 address
}

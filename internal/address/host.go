package address

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Origin returns the origin of u: scheme, host and port, in lower case, the host in punycode, the
// port only if it is not the default of the scheme. The text of an error is a clause. Its subject
// is the word "it", which stands for the address, or the part of the address that is wrong.
func Origin(u *url.URL) (string, error) {
	scheme := strings.ToLower(u.Scheme)
	if scheme != "http" && scheme != "https" || u.Hostname() == "" {
		return "", errors.New("it is not an absolute http or https URL")
	}
	host, port, err := hostPort(u)
	if err != nil {
		return "", err
	}
	if port == defaultPort(scheme) {
		return scheme + "://" + bracketed(host), nil
	}
	return scheme + "://" + bracketed(host) + ":" + strconv.Itoa(port), nil
}

// Endpoint returns the host and port that u is requested from, as it is dialled: in lower case, the
// host in punycode, the port always written.
func Endpoint(u *url.URL) (string, error) {
	host, port, err := hostPort(u)
	switch {
	case err != nil:
		return "", err
	case host == "":
		return "", errors.New("it names no host")
	case port == 0:
		return "", fmt.Errorf("%s is not a port", u.Port())
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// hostPort returns the host of u in lower case and punycode, without brackets, and its port or the
// default port.
func hostPort(u *url.URL) (host string, port int, err error) {
	host = strings.ToLower(u.Hostname())
	if !ascii(host) {
		if host, err = hostProfile().ToASCII(host); err != nil {
			return "", 0, fmt.Errorf("the host cannot be written as a domain name: %w", err)
		}
	}
	if u.Port() == "" {
		return host, defaultPort(strings.ToLower(u.Scheme)), nil
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%s is not a port", u.Port())
	}
	return host, int(n), nil
}

// hostProfile returns a profile that maps names in other scripts to the form that the DNS looks up.
// It does not refuse names that only look odd.
func hostProfile() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.Transitional(false))
}

func defaultPort(scheme string) int {
	if scheme == "https" {
		return 443
	}
	return 80
}

// bracketed returns host as it is written before a port.
func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Host returns the host of an address in normal form, with its port if that is not the default.
func Host(normal string) (string, error) {
	if _, rest, ok := strings.Cut(normal, "://"); ok {
		if host, _, ok := strings.Cut(rest, "/"); ok && host != "" {
			return host, nil
		}
	}
	return "", fmt.Errorf("%q is not an address in normal form", normal)
}

// Public reports whether the names below host belong to different owners, as those below co.uk do.
func Public(host string) bool {
	suffix, _ := publicsuffix.PublicSuffix(host)
	return suffix == host
}

// Domain returns the registrable domain of a host by the public suffix list. An IP address, and a
// name without a registrable domain, is returned as it is.
func Domain(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	if d, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return d
	}
	return host
}

package gate

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// hostKey is the host and port that u is fetched from, as it is dialled: lower case, punycode, port always written.
func hostKey(u *url.URL) (string, error) {
	host := strings.ToLower(u.Hostname())
	if !ascii(host) {
		a, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", fmt.Errorf("%q is not a host name", u.Hostname())
		}
		host = a
	}
	if host == "" {
		return "", errors.New("it names no host")
	}
	port := "80"
	if strings.EqualFold(u.Scheme, "https") {
		port = "443"
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return "", fmt.Errorf("%q is not a port", p)
		}
		port = strconv.FormatUint(n, 10)
	}
	return net.JoinHostPort(host, port), nil
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// target checks method and scheme, and returns the URL as it will be asked for and sent (no user, no fragment; path and
// query untouched) with the host that it goes to.
func target(req *http.Request) (*url.URL, string, error) {
	u := *req.URL
	refuse := func(rule, why string) (*url.URL, string, error) {
		return nil, "", &Refusal{URL: req.URL.Redacted(), Rule: rule, Why: why}
	}
	if m := req.Method; m != "" && m != http.MethodGet && m != http.MethodHead {
		return refuse(RuleMethod, "only GET and HEAD are sent, not "+m)
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Scheme != "http" && u.Scheme != "https" {
		return refuse(RuleScheme, fmt.Sprintf("only http and https are fetched, not %q", u.Scheme))
	}
	if u.Opaque != "" { // would be sent instead of the path that policy is asked about
		return refuse(RuleScheme, "it is not a hierarchical URL")
	}
	key, err := hostKey(&u)
	if err != nil {
		return refuse(RuleScheme, err.Error())
	}
	if strings.HasPrefix(u.Port(), "0") { // 080 is 80, for the pause as well
		u.Host = key
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	return &u, key, nil
}

// oddNumber reports whether host is an address in a spelling other than the usual one (decimal, hexadecimal, octal, short):
// a last label that is a number makes it one, as in the URL standard.
func oddNumber(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	last := strings.TrimSuffix(host, ".")
	last = last[strings.LastIndexByte(last, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

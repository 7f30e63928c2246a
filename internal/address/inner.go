package address

import (
	"net/netip"
	"strings"
)

// inner lists the ranges of special-purpose addresses (IANA registries) that package netip does not
// classify.
var inner = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "a this-network"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a shared (carrier-grade NAT)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a protocol-assignment"},
	{netip.MustParsePrefix("192.0.2.0/24"), "a documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay"},
	{netip.MustParsePrefix("198.18.0.0/15"), "a benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), "a documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "a documentation"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved"},
	{netip.MustParsePrefix("::/96"), "an IPv4-compatible"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a local NAT64"},
	{netip.MustParsePrefix("100::/64"), "a discard"},
	{netip.MustParsePrefix("2001::/23"), "a protocol-assignment"},
	{netip.MustParsePrefix("2001:db8::/32"), "a documentation"},
	{netip.MustParsePrefix("3fff::/20"), "a documentation"},
	{netip.MustParsePrefix("5f00::/16"), "a segment-routing"},
	{netip.MustParsePrefix("fec0::/10"), "a site-local"},
}

// embedding lists the prefixes of addresses that contain an IPv4 address, and the index of the byte
// at which the IPv4 address begins.
var embedding = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // the prefix of NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // the prefix of 6to4
}

// Special returns the kind of a special-purpose address, such as "a loopback", "a private" or "a
// link-local", and "" for a public address. An IPv6 address that contains an IPv4 address has the
// kind of the IPv4 address. A crawl requests a special-purpose address only if the host is named
// (P1 2.3.2, X84).
func Special(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	switch {
	case a.IsUnspecified():
		return "the unspecified"
	case a.IsLoopback():
		return "a loopback"
	case a.IsPrivate():
		return "a private"
	case a.IsLinkLocalUnicast():
		return "a link-local"
	case a.IsMulticast():
		return "a multicast"
	}
	for _, e := range embedding {
		if e.prefix.Contains(a) {
			b := a.As16()
			return Special(netip.AddrFrom4([4]byte(b[e.at : e.at+4])))
		}
	}
	for _, r := range inner {
		if r.prefix.Contains(a) {
			return r.what
		}
	}
	return ""
}

// Inner is like Special, for a host as it is written in a URL. For a spelling that Odd reports, it
// returns "an unusually spelt". For a name that only the DNS can resolve, it returns "".
func Inner(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	switch a, err := netip.ParseAddr(host); {
	case err == nil:
		return Special(a)
	case host == "localhost" || strings.HasSuffix(host, ".localhost"):
		// RFC 6761 6.3: these names are loopback addresses
		return "a loopback"
	case Odd(host):
		return "an unusually spelt"
	}
	return ""
}

// Odd reports whether host is an IP address in a spelling other than the usual one: decimal,
// hexadecimal, octal or short. As in the URL standard, a host whose last label is a number is an
// address.
func Odd(host string) bool {
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

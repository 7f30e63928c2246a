package second

import (
	"net/netip"
	"slices"
	"strings"
)

// readTargets reads the values of target-condition, a 1.1 qualifier. A rulesref is ignored next to
// other values; without them it cannot be interpreted. P1 2.5.5.9 (K13).
func readTargets(r *reading, values []string) {
	r.new()
	for _, v := range values {
		kind, list, _ := strings.Cut(v, ":")
		kind = strings.ToLower(kind)
		if kind == "rulesref" {
			continue
		}
		if !goodTarget(kind, list) {
			r.bad = true
			return
		}
		r.terms.targets = append(r.terms.targets, kind+":"+strings.ToLower(list))
	}
	if len(r.terms.targets) == 0 {
		r.bad = true
	}
}

func goodTarget(kind, list string) bool {
	items := strings.Split(list, ",")
	if slices.Contains(items, "") {
		return false
	}
	for _, item := range items {
		switch kind {
		case "ipaddressrangelist":
			from, to, ranged := strings.Cut(item, "-")
			if !ranged {
				to = from
			}
			if !isAddress(from) || !isAddress(to) {
				return false
			}
		case "ipaddressmasklist":
			address, mask, ok := strings.Cut(item, "/")
			if !ok || !isAddress(address) || !goodMask(mask) {
				return false
			}
		case "permitteddomainlist", "prohibiteddomainlist", "permittedcountrylist":
		// K11: an unknown country code in a prohibited list makes the permission a prohibition
		case "prohibitedcountrylist":
			if !isCountry(item) && !strings.EqualFold(item, "uk") {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// goodMask reports whether a mask is a valid wildcard mask, in which free bits are ones. A mask of
// leading ones is ambiguous. P1 2.5.5.9 (K08, X59).
func goodMask(s string) bool {
	m, err := netip.ParseAddr(s)
	if err != nil || !m.Is4() {
		return false
	}
	return m.As4()[0] < 128
}

// isCountry reports whether code is one of the country codes that the generator uses.
func isCountry(s string) bool {
	return slices.Contains([]string{"be", "fr", "de", "gb", "us"}, strings.ToLower(s))
}

// meets reports whether the device of a reader meets one condition. If the property is not known,
// the condition is not met. P1 2.5.5.9 (K10, K15).
func meets(condition string, t *target) bool {
	if t == nil {
		return false
	}
	kind, list, _ := strings.Cut(condition, ":")
	items := strings.Split(list, ",")
	ip, err := netip.ParseAddr(t.IP)
	switch kind {
	case "ipaddressrangelist":
		return err == nil && slices.ContainsFunc(items, func(s string) bool { return inRange(ip.Unmap(), s) })
	case "ipaddressmasklist":
		return err == nil && slices.ContainsFunc(items, func(s string) bool { return inMask(ip.Unmap(), s) })
	case "permitteddomainlist":
		return t.Domain != "" && slices.ContainsFunc(items, func(s string) bool { return under(t.Domain, s) })
	case "prohibiteddomainlist":
		return t.Domain != "" && !slices.ContainsFunc(items, func(s string) bool { return under(t.Domain, s) })
	case "permittedcountrylist": // P1 2.5.5.9 (K07): the listed countries are permitted; UK matches no country (X29)
		return t.Country != "" && slices.Contains(items, strings.ToLower(t.Country)) &&
			!strings.EqualFold(t.Country, "uk")
	default: // P1 2.5.5.9 (X59): UK in a list of prohibited countries means GB
		c := strings.ToLower(t.Country)
		return c != "" && !slices.Contains(items, c) && !(c == "gb" && slices.Contains(items, "uk"))
	}
}

func inRange(ip netip.Addr, s string) bool {
	from, to, ranged := strings.Cut(s, "-")
	if !ranged {
		to = from
	}
	a, b := netip.MustParseAddr(from).Unmap(), netip.MustParseAddr(to).Unmap()
	return ip.BitLen() == a.BitLen() && a.BitLen() == b.BitLen() && a.Compare(ip) <= 0 && ip.Compare(b) <= 0
}

func inMask(ip netip.Addr, s string) bool {
	address, mask, _ := strings.Cut(s, "/")
	a, m := netip.MustParseAddr(address), netip.MustParseAddr(mask)
	if !ip.Is4() || !a.Is4() {
		return false
	}
	x, y, free := ip.As4(), a.As4(), m.As4()
	for i := range x {
		if (x[i]^y[i])&^free[i] != 0 {
			return false
		}
	}
	return true
}

// under reports whether a domain name equals the given one or is a subdomain of it. P1 2.5.5.9
// (K10).
func under(name, domain string) bool {
	name, domain = strings.ToLower(strings.Trim(name, ".")), strings.ToLower(strings.Trim(domain, "."))
	return name == domain || strings.HasSuffix(name, "."+domain)
}

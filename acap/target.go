package acap

import (
	"fmt"
	"net/netip"
	"strings"
)

// condition is one value of target-condition (P1 2.5.5.9).
type condition struct {
	text string // the condition in normal form, for Limits
	met  func(Target) bool
}

// readTarget reads all conditions of target-condition. All of them must be met (P1 2.5.5.9, K12).
// Next to other conditions, rulesref is ignored; as the only condition it cannot be evaluated (P1
// 2.5.5.9, K13).
func readTarget(r *restrictions, values []string, _ bool) string {
	var dropped []string
	for _, v := range values {
		kind, list, _ := strings.Cut(v, ":")
		kind = strings.ToLower(kind)
		if kind == "rulesref" {
			dropped = append(dropped, v)
			continue
		}
		met, text, why := readCondition(kind, list, func(n note) {
			n.token = "target-condition=" + v
			r.notes = append(r.notes, n)
		})
		if why != "" {
			return fmt.Sprintf("%q: %s", v, why)
		}
		r.targets = append(r.targets, condition{text: kind + ":" + text, met: met})
	}
	if len(r.targets) == 0 {
		return "the rules at rulesref cannot be evaluated"
	}
	for _, v := range dropped {
		r.notes = append(r.notes, note{code: "ignored-condition", severity: Notice, token: "target-condition=" + v,
			text: "rulesref next to other conditions is ignored", hint: "leave it out"})
	}
	return ""
}

// conditionTypes returns the condition types that can be evaluated (P1 2.5.5.9).
func conditionTypes() []string {
	return []string{"ipaddressrangelist", "ipaddressmasklist", "permitteddomainlist", "prohibiteddomainlist",
		"permittedcountrylist", "prohibitedcountrylist"}
}

// readCondition returns one condition. It calls tell for a part of the condition that has no
// effect, or that has another effect than its words suggest. why is not empty if the condition
// cannot be interpreted.
func readCondition(kind, list string, tell func(note)) (met func(Target) bool, text, why string) {
	text = strings.ToLower(list)
	items := strings.Split(text, ",")
	for _, it := range items {
		if it == "" {
			return nil, "", "an empty item in the list"
		}
	}
	switch kind {
	case "ipaddressrangelist":
		met, why = readRanges(items, tell)
	case "ipaddressmasklist":
		met, why = readMasks(items)
	case "permitteddomainlist":
		met, why = readDomains(items, true)
	case "prohibiteddomainlist":
		met, why = readDomains(items, false)
	case "permittedcountrylist": // P1 2.5.5.9 (K07): permittedcountrylist permits only the listed countries
		for _, it := range items {
			// P1 2.5.5.9 (K11, X29): a country code has two letters; an unknown code in a
			// prohibited list makes the permission a prohibition; in a permitted list, UK is not a
			// country
			if !isCountry(it) {
				n := pointless("%q is not an ISO 3166 alpha-2 country code and matches nothing", it)
				if it == "uk" {
					n.hint = "write gb"
				}
				tell(n)
			}
		}
		// P1 2.5.5.9 (X29): in a permitted list, UK matches no country
		met = func(t Target) bool { return contains(items, strings.ToLower(t.Country)) }
	case "prohibitedcountrylist":
		met, why = readProhibitedCountries(items, tell)
	default:
		why = fmt.Sprintf("the condition type %q is not known", kind)
	}
	return met, text, why
}

func pointless(format string, args ...any) note {
	return note{code: "pointless-condition", severity: Error, text: fmt.Sprintf(format, args...),
		hint: "write it as it is meant, or leave it out"}
}

// readRanges reads ranges of IP addresses. A range whose first address is higher than its last is
// empty; the other ranges remain in force (P1 2.5.5.9, K06).
func readRanges(items []string, tell func(note)) (func(Target) bool, string) {
	type span struct{ from, to netip.Addr }
	var spans []span
	for _, it := range items {
		first, last, pair := strings.Cut(it, "-")
		from, err := netip.ParseAddr(first)
		if err != nil {
			return nil, fmt.Sprintf("%q is not an IP address", first)
		}
		to := from
		if pair {
			if to, err = netip.ParseAddr(last); err != nil {
				return nil, fmt.Sprintf("%q is not an IP address", last)
			}
		}
		from, to = from.Unmap(), to.Unmap()
		if from.BitLen() != to.BitLen() {
			return nil, fmt.Sprintf("%q mixes IPv4 and IPv6", it)
		}
		if to.Less(from) {
			tell(pointless("the range %q is reversed and holds no address", it))
		}
		spans = append(spans, span{from, to})
	}
	return func(t Target) bool {
		// P1 2.5.5.9 (K09): ranges may contain IPv6 addresses; IPv4-mapped IPv6 addresses are
		// treated as IPv4
		ip := t.IP.Unmap()
		for _, s := range spans {
			if ip.BitLen() == s.from.BitLen() && ip.Compare(s.from) >= 0 && ip.Compare(s.to) <= 0 {
				return t.IP.IsValid()
			}
		}
		return false
	}, ""
}

// readMasks reads wildcard masks, in which a bit with the value 1 stands for any value (P1 2.5.5.9,
// K08). A mask whose first bits are 1 may be meant as a netmask, so it cannot be interpreted (P1
// 2.5.5.9, X59).
func readMasks(items []string) (func(Target) bool, string) {
	type template struct{ addr, free [4]byte }
	var templates []template
	for _, it := range items {
		a, m, ok := strings.Cut(it, "/")
		addr, err1 := netip.ParseAddr(a)
		mask, err2 := netip.ParseAddr(m)
		if !ok || err1 != nil || err2 != nil || !addr.Is4() || !mask.Is4() {
			return nil, fmt.Sprintf("%q is not an address and a wildcard mask", it)
		}
		free := mask.As4()
		if free[0]&0x80 != 0 {
			return nil, fmt.Sprintf("%q may be a netmask; a wildcard mask begins with zeros", m)
		}
		templates = append(templates, template{addr.As4(), free})
	}
	return func(t Target) bool {
		ip := t.IP.Unmap()
		if !ip.Is4() {
			return false
		}
		b := ip.As4()
		for _, tm := range templates {
			same := true
			for i := range b {
				same = same && (b[i]^tm.addr[i])&^tm.free[i] == 0
			}
			if same {
				return true
			}
		}
		return false
	}, ""
}

// readDomains returns a condition on the verified names of the device, compared label by label. For
// permitted domains, all names of the device must belong to these domains; for prohibited domains,
// no name may belong to them. A device without a name does not meet the condition (P1 2.5.5.9,
// K10).
func readDomains(items []string, permitted bool) (func(Target) bool, string) {
	for i, it := range items {
		items[i] = strings.Trim(it, ".")
		if items[i] == "" || strings.ContainsAny(items[i], "/:*$@") {
			return nil, fmt.Sprintf("%q is not a domain name", it)
		}
	}
	return func(t Target) bool {
		for _, name := range t.Domains {
			if name = strings.Trim(strings.ToLower(name), "."); name == "" || below(name, items) != permitted {
				return false
			}
		}
		return len(t.Domains) > 0
	}, ""
}

// below reports whether name is one of the domains, or a subdomain of one.
func below(name string, domains []string) bool {
	for _, d := range domains {
		if rest, ok := strings.CutSuffix(name, d); ok && (rest == "" || strings.HasSuffix(rest, ".")) {
			return true
		}
	}
	return false
}

// readProhibitedCountries reads the country codes of a prohibited list. UK means GB (P1 2.5.5.9,
// X59). If a code is invalid, the list cannot be interpreted (P1 2.5.5.9, K11).
func readProhibitedCountries(items []string, tell func(note)) (func(Target) bool, string) {
	listed := make([]string, 0, len(items))
	for _, it := range items {
		if it == "uk" {
			tell(note{code: "country-alias", severity: Warning,
				text: `"uk" is not an ISO 3166 alpha-2 country code and is read as GB`, hint: "write gb"})
			it = "gb"
		}
		if !isCountry(it) {
			return nil, fmt.Sprintf("%q is not an ISO 3166 alpha-2 country code", it)
		}
		listed = append(listed, it)
	}
	return func(t Target) bool { return t.Country != "" && !contains(listed, strings.ToLower(t.Country)) }, ""
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// countries are the ISO 3166-1 alpha-2 codes assigned in 2026.
const countries = " ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq" +
	" br bs bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm" +
	" do dz ec ee eg eh er es et fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs" +
	" gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn" +
	" kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq" +
	" mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm" +
	" pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv" +
	" sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug um us uy uz va vc ve vg vi" +
	" vn vu wf ws ye yt za zm zw "

func isCountry(code string) bool {
	return len(code) == 2 && !strings.Contains(code, " ") && strings.Contains(countries, " "+code+" ")
}

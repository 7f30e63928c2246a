package second

import "strings"

// policy holds the statements of robots.txt and of the page, for one crawler and purpose.
type policy struct {
	robots []statement // statements of robots.txt that address this crawler and purpose
	page   []statement // META statements that address this crawler and purpose
	path   string      // the path with which patterns are compared
	strict bool
	root   bool // compare patterns with a leading slash, in the second of two runs (P1 2.4.4, X34)
}

// overrides reports whether the statement s overrides the statement t. It does if it is at least as
// specific as t in addressee and in purpose, and more specific in one of them. P1 2.2.1 (C02 to
// C04).
func (s statement) overrides(t statement) bool {
	return s.addressee >= t.addressee && s.purpose >= t.purpose &&
		(s.addressee > t.addressee || s.purpose > t.purpose)
}

// atLeast reports whether the statement s of the page is at least as specific as t in addressee and
// purpose. P2 2.2.8 (N02, X16).
func (s statement) atLeast(t statement) bool {
	return s.addressee >= t.addressee && s.purpose >= t.purpose
}

// narrower reports whether s has a narrower scope than t. If t is a prohibition that covers
// everything, narrower returns false (X35).
func (p policy) narrower(s, t statement) bool {
	if s.pattern.all || t.pattern.all || s.page || t.page {
		return s.page && !t.page && !t.pattern.all
	}
	return narrower(s.pattern.rooted(p.root), t.pattern.rooted(p.root), p.strict)
}

// maximal returns the statements of a list that decide: those that no other statement overrides,
// and of these the ones with the narrowest scope (step 6). The list is from robots.txt or from the
// page.
func (p policy) maximal(list []statement) []statement {
	return keep(keep(list, statement.overridden), func(s statement, rest []statement) bool {
		if s.pattern.all {
			return false
		}
		for _, t := range rest {
			if p.narrower(t, s) {
				return true
			}
		}
		return false
	})
}

func (s statement) overridden(rest []statement) bool {
	for _, t := range rest {
		if t.overrides(s) {
			return true
		}
	}
	return false
}

// keep returns the statements of a list for which dropped is false. The arguments of dropped are a
// statement and the whole list.
func keep(list []statement, dropped func(statement, []statement) bool) []statement {
	var out []statement
	for _, s := range list {
		if !dropped(s, list) {
			out = append(out, s)
		}
	}
	return out
}

// of returns the statements of a list that are about a usage and match the path.
func (p policy) of(list []statement, usage string) []statement {
	var out []statement
	for _, s := range list {
		if s.usage == usage && (s.page || s.pattern.matches(p.path)) {
			out = append(out, s)
		}
	}
	return out
}

// layers joins the statements of robots.txt and of the page about a usage. P2 2.2.8 (N02, N03): a
// permission of the page replaces statements of robots.txt that are not more specific in addressee
// or purpose; otherwise both apply (X15, X16). A prohibition of the page replaces no statement of
// robots.txt (X82).
func (p policy) layers(robots, page []statement) []statement {
	robots, page = p.maximal(robots), p.maximal(page)
	out := append([]statement{}, page...)
	for _, r := range robots {
		replaced := false
		for _, m := range page {
			// X35: only an override replaces a prohibition that covers everything
			replaced = replaced || m.allow && m.atLeast(r) && (!r.pattern.all || m.overrides(r))
		}
		if !replaced || prohibits(page) {
			out = append(out, r)
		}
	}
	return out
}

func prohibits(list []statement) bool {
	for _, s := range list {
		if !s.allow {
			return true
		}
	}
	return false
}

func permissions(list []statement) []statement {
	return keep(list, func(s statement, _ []statement) bool { return !s.allow })
}

// described returns the permissions in a list, and the prohibitions that replace a permission.
func described(list []statement) []statement {
	return keep(list, func(s statement, _ []statement) bool { return !s.allow && !s.replaced })
}

// choice is the decision about a usage, with the statements that decided it.
type choice struct {
	allowed bool
	reason  string
	by      []statement // the statements that decided
	general []statement // permissions of present that also limit a specific type (P1 2.5.5, F18, X83)
}

// choose decides about a usage, without qualifiers.
func (p policy) choose(usage string) choice {
	specific := p.layers(p.of(p.robots, usage), p.of(p.page, usage))
	if !strings.HasPrefix(usage, "present-") {
		if len(specific) > 0 {
			return p.verdict(specific)
		}
		return p.silence(usage)
	}
	robots, page := p.of(p.robots, "present"), p.of(p.page, "present")
	general := p.layers(robots, page)
	switch {
	case len(specific) == 0 && len(general) == 0:
		return p.silence(usage)
	case len(specific) == 0:
		c := p.verdict(general)
		if c.allowed {
			c.by, c.general = nil, general
		}
		return c
	case prohibits(specific): // P1 2.5.5 (F17): a prohibition of the specific type always applies
		return p.verdict(specific)
	}
	for _, g := range general {
		if !g.allow && !p.beaten(g, specific) {
			return p.verdict([]statement{g})
		}
	}
	// P1 2.5.5 (F18): general permissions limit the specific type, even if general prohibitions
	// displace them that a specific permission wins against (X83). So do prohibitions that replace
	// a permission that could not be interpreted (X81).
	behind := p.layers(described(robots), described(page))
	if prohibits(behind) {
		return choice{reason: "fallback"}
	}
	return choice{allowed: true, reason: "permission", by: specific, general: behind}
}

// beaten reports whether one of the specific permissions wins against a general prohibition. P1
// 2.5.5 (F17, X43).
func (p policy) beaten(g statement, specific []statement) bool {
	// P1 2.4.3 (X81, X35): no permission wins against a replacement or a prohibition of everything
	if g.replaced || g.pattern.all {
		return false
	}
	for _, s := range specific {
		switch {
		case s.page && g.page: // P2 2.2.8 (N04): two statements of one page
			return true
		case g.page: // the page's own statement has the narrower scope
		case s.page: // P2 2.2.8 (N02): a permission for any crawler never wins against a prohibition for this one
			if s.atLeast(g) {
				return true
			}
		case s.pattern.rooted(p.root) == g.pattern.rooted(p.root) || p.narrower(s, g):
			return true
		}
	}
	return false
}

// verdict decides by the statements in the list: the usage is permitted if all of them permit it.
func (p policy) verdict(list []statement) choice {
	c := choice{by: list}
	switch {
	case !prohibits(list):
		c.allowed, c.reason = true, "permission"
	case len(permissions(list)) > 0:
		c.reason = "conflict"
		for _, s := range list {
			if s.page && !s.allow {
				c.reason = "prohibition"
			}
		}
	default:
		c.reason = "prohibition"
		for _, s := range list {
			if s.replaced {
				c.reason = "fallback"
			}
		}
	}
	return c
}

// silence decides about a usage if no statement is about it: a prohibition of other usages applies,
// otherwise the default decides. P1 2.5.6 (F19), P1 2.4.3 (F21). In META it never applies to crawl
// (X68).
func (p policy) silence(usage string) choice {
	list := p.of(p.robots, "other")
	if usage != "crawl" {
		list = append(list, p.of(p.page, "other")...)
	}
	for _, s := range list {
		if !s.allow && !s.offer {
			return choice{reason: "other", by: []statement{s}}
		}
	}
	return choice{allowed: true, reason: "default"}
}

// chooseTwice decides about a usage twice: with patterns as written, and with patterns that get a
// leading slash. The usage is permitted if both decisions permit it, with the limits of both. P1
// 2.4.4 (X34).
func (p policy) chooseTwice(usage string) choice {
	raw := p.choose(usage)
	p.root = true
	rooted := p.choose(usage)
	switch {
	case !raw.allowed:
		return raw
	case !rooted.allowed:
		return rooted
	}
	raw.by = append(raw.by, rooted.by...)
	raw.general = append(raw.general, rooted.general...)
	return raw
}

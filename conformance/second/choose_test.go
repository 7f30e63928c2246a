package second

import "strings"

// A policy is what robots.txt and the page say together, for one crawler and purpose.
type policy struct {
	robots []statement // those that reach us
	page   []statement // META statements that reach us
	path   string      // what patterns are matched with
	strict bool
	root   bool // compare with rooted patterns, in the second of two runs (X34)
}

// overrides reports whether a statement overrides another by addressee and purpose: at least as
// specific in both, more so in one (C02 to C04).
func (s statement) overrides(t statement) bool {
	return s.addressee >= t.addressee && s.purpose >= t.purpose &&
		(s.addressee > t.addressee || s.purpose > t.purpose)
}

// atLeast reports whether a statement of the page is at least as specific as t in addressee and
// purpose (N02, X16).
func (s statement) atLeast(t statement) bool {
	return s.addressee >= t.addressee && s.purpose >= t.purpose
}

// narrower reports whether s has the narrower scope. Nothing is narrower than a prohibition that
// covers everything (X35).
func (p policy) narrower(s, t statement) bool {
	if s.pattern.all || t.pattern.all || s.page || t.page {
		return s.page && !t.page && !t.pattern.all
	}
	return narrower(s.pattern.rooted(p.root), t.pattern.rooted(p.root), p.strict)
}

// maximal returns the statements that decide within one layer: those not overridden, and of these
// the ones that nothing beats by scope (step 6).
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

// keep returns the statements for which dropped is false, judged beside all of the list.
func keep(list []statement, dropped func(statement, []statement) bool) []statement {
	var out []statement
	for _, s := range list {
		if !dropped(s, list) {
			out = append(out, s)
		}
	}
	return out
}

// of returns the statements of a usage that match.
func (p policy) of(list []statement, usage string) []statement {
	var out []statement
	for _, s := range list {
		if s.usage == usage && (s.page || s.pattern.matches(p.path)) {
			out = append(out, s)
		}
	}
	return out
}

// layers joins what robots.txt and the page say on a usage. A permission of the page takes the
// place of statements of robots.txt that are not more specific in addressee or purpose (N02, N03);
// else both bind (X15, X16). A prohibition of the page hides none of robots.txt (X82).
func (p policy) layers(robots, page []statement) []statement {
	robots, page = p.maximal(robots), p.maximal(page)
	out := append([]statement{}, page...)
	for _, r := range robots {
		replaced := false
		for _, m := range page {
			replaced = replaced || m.allow && m.atLeast(r) && (!r.pattern.all || m.overrides(r)) // X35
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

// described returns the permissions, and the prohibitions made of permissions.
func described(list []statement) []statement {
	return keep(list, func(s statement, _ []statement) bool { return !s.allow && !s.replaced })
}

// A choice is the result of steps 6 to 9 for a usage.
type choice struct {
	allowed bool
	reason  string
	by      []statement // what decided
	general []statement // permissions of present that describe a specific type, too (F18, X83)
}

// choose decides a usage, qualifiers aside.
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
	case prohibits(specific): // F17: a specific prohibition always stands
		return p.verdict(specific)
	}
	for _, g := range general {
		if !g.allow && !p.beaten(g, specific) {
			return p.verdict([]statement{g})
		}
	}
	// X83: the permissions that beaten prohibitions displace still describe any presentation; X81:
	// so does what stands for one that could not be interpreted.
	behind := p.layers(described(robots), described(page))
	if prohibits(behind) {
		return choice{reason: "fallback"}
	}
	return choice{allowed: true, reason: "permission", by: specific, general: behind}
}

// beaten reports whether one of the specific permissions beats a general prohibition (F17, X43).
func (p policy) beaten(g statement, specific []statement) bool {
	if g.replaced || g.pattern.all { // X81, X35
		return false
	}
	for _, s := range specific {
		switch {
		case s.page && g.page: // N04
			return true
		case g.page: // the page's own statement is the narrower
		case s.page: // N02: never a named prohibition by a generic permission
			if s.atLeast(g) {
				return true
			}
		case s.pattern.rooted(p.root) == g.pattern.rooted(p.root) || p.narrower(s, g):
			return true
		}
	}
	return false
}

// verdict decides by the statements that remain: permitted if all permit.
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

// silence decides where nothing is said: a prohibition of other usages, else the default (F19,
// F21). In META it never reaches crawl (X68).
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

// chooseTwice decides with raw and with rooted patterns; only what both permit is permitted, with
// the limits of both (X34).
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

package second

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// A mark is one class statement on an element (P2 2.2.5).
type mark struct {
	element *html.Node
	verdict verdict
}

// marks returns the class statements of a page, spelled out. They are addressed to any crawler and
// any purpose (N08).
func (e *engine) marks(p *page, v version, defs *definitions) []mark {
	if p.document == nil {
		return nil
	}
	var out []mark
	for n := range p.document.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, token := range strings.Fields(attribute(n,
			"class")) { // N10: a list of tokens, letter case does not count
			rest, ok := cutFold(token, "the-acap:")
			if !ok || !isStatement(rest) {
				continue
			}
			fd, _ := newStatement(line{name: "acap-" + strings.ToLower(rest)})
			gated := v == versionMajor || fd.usage == "other" && v != versionNew &&
				(v == versionOld || e.ability.strict)
			if e.coarse() && !gated && isUsage(fd.usage) && fd.permission && !fd.local {
				out = append(out, mark{n, verdict{usage: fd.usage, allow: fd.permission}}) // X87: also one in cannot
				continue
			}
			for _, s := range e.ability.expand(fd, v, defs, true) {
				out = append(out, mark{n, s})
			}
		}
	}
	return out
}

// coarse reports whether this crawler cannot process statements at the element level.
func (e *engine) coarse() bool { return slices.Contains(e.ability.cannot, "element-level") }

// pageProhibitions returns the usages that class statements prohibit for the page as a whole.
func (e *engine) pageProhibitions(marks []mark) map[string]bool {
	out := map[string]bool{}
	for _, m := range marks {
		u := m.verdict.usage
		if u == "other" && (m.verdict.offer || m.verdict.allow) &&
			!e.ability.strict { // L05: an offer reaches no other usage
			if e.coarse() || m.verdict.offer && (m.element.Data == "html" || m.element.Data == "head") {
				out["offer"] = true
			}
			continue
		}
		if e.coarse() { // N07: whatever it says, the usage is prohibited; but a permission to crawl has no effect (X77)
			if u != "crawl" || !m.verdict.allow {
				out[u] = true
			}
			continue
		}
		if m.verdict.allow {
			continue
		}
		if m.element.Data == "html" || m.element.Data == "head" || within(m.element, "head") { // N27
			out[u] = true
		}
		switch u {
		case "crawl", "present-original", "present-link": // N28: these cannot be cut
			out[u] = true
		case "present": // X13
			out["present-original"], out["present-link"] = true, true
		}
	}
	return out
}

// cut reports whether a class prohibition takes an element out of a usage: one on it or on any
// element around it (N06). On one element a specific permission beats the general prohibition
// (X13). A prohibition of other usages takes it out unless it is permitted explicitly, on the
// element or for the page (F19).
func cut(n *html.Node, usage string, marks []mark, explicit bool) bool {
	for ; n != nil; n = n.Parent {
		specific, permitted, general := false, false, false
		for _, m := range marks {
			if m.element != n {
				continue
			}
			switch {
			case m.verdict.usage == usage && m.verdict.allow:
				permitted = true
			case m.verdict.usage == usage:
				specific = true
			case m.verdict.usage == "present" && !m.verdict.allow && strings.HasPrefix(usage, "present-"):
				general = true
			case m.verdict.usage == "other" && !m.verdict.allow && !m.verdict.offer && !explicit:
				general = true
			}
		}
		if specific || general && !permitted {
			return true
		}
	}
	return false
}

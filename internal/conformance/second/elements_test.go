package second

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// mark is one statement in the class attribute of an element. P2 2.2.5.
type mark struct {
	element *html.Node
	verdict verdict
}

// marks returns the class statements of a page, one for each usage. They address any crawler and
// any purpose. P2 2.2.5 (N08).
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
			"class")) { // P2 2.2.5 (N10): the class attribute is a list of tokens; letter case does not matter
			rest, ok := cutFold(token, "the-acap:")
			if !ok || !isStatement(rest) {
				continue
			}
			fd, _ := newStatement(line{name: "acap-" + strings.ToLower(rest)})
			gated := v == versionMajor || fd.usage == "other" && v != versionNew &&
				(v == versionOld || e.ability.strict)
			if e.coarse() && !gated && isUsage(fd.usage) && fd.permission && !fd.local {
				// P2 2.2.6 (X87): the statement has this effect even if the crawler cannot
				// interpret the usage
				out = append(out, mark{n, verdict{usage: fd.usage, allow: fd.permission}})
				continue
			}
			for _, s := range e.ability.expand(fd, v, defs, true) {
				out = append(out, mark{n, s})
			}
		}
	}
	return out
}

// coarse reports whether this crawler cannot apply statements to single elements.
func (e *engine) coarse() bool { return slices.Contains(e.ability.cannot, "element-level") }

// pageProhibitions returns the usages that class statements prohibit for the page as a whole.
func (e *engine) pageProhibitions(marks []mark) map[string]bool {
	out := map[string]bool{}
	for _, m := range marks {
		u := m.verdict.usage
		if u == "other" && (m.verdict.offer || m.verdict.allow) &&
			!e.ability.strict { // P1 2.5.6 (L05): a replaced allow-other affects no listed usage
			if e.coarse() || m.verdict.offer && (m.element.Data == "html" || m.element.Data == "head") {
				out["offer"] = true
			}
			continue
		}
		// P2 2.2.6 (N07): such a crawler treats the usage as prohibited for the page; an element's
		// permission to crawl has no effect (X77)
		if e.coarse() {
			if u != "crawl" || !m.verdict.allow {
				out[u] = true
			}
			continue
		}
		if m.verdict.allow {
			continue
		}
		// P2 2.2.5 (N27): statements outside the body apply to the page
		if m.element.Data == "html" || m.element.Data == "head" || within(m.element, "head") {
			out[u] = true
		}
		switch u {
		// P2 2.2.6 (N28): an element cannot be removed from these usages
		case "crawl", "present-original", "present-link":
			out[u] = true
		case "present": // X13: an element's prohibition of present also prohibits original and link for the page
			out["present-original"], out["present-link"] = true, true
		}
	}
	return out
}

// cut reports whether a class prohibition on an element, or on an element around it, removes the
// element from a usage (P2 2.2.6, N06). On one element a specific permission wins against the
// general prohibition (X13). A prohibition of other usages removes the element unless it is
// explicitly permitted, on the element or for the page (P1 2.5.6, F19).
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

package page

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Canonical returns the absolute address, without fragment, that the page declares as canonical in
// its head or in a Link header (RFC 6596). It returns "" if the page declares none, or more than
// one.
func (p *Page) Canonical() string {
	t := p.tree()
	g := newGathering(newBase(p.url, t))
	own := baseOf(p.url)
	for _, l := range p.linkHeaders(own) {
		if hasRel(l.rel, "canonical") {
			g.from(own, l.ref)
		}
	}
	walk(t.root, func(n *html.Node) bool {
		if n.DataAtom == atom.Link && hasRel(attr(n.Attr, "rel"), "canonical") && inHead(n) {
			if ref, _ := hrefOf(n); ref != "" {
				g.add(ref)
			}
		}
		return n.DataAtom != atom.Body
	}, func(*html.Node) {})
	if len(g.links) != 1 {
		return ""
	}
	return g.links[0]
}

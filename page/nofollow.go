package page

import "golang.org/x/net/html"

// NoFollow returns the absolute addresses of the links that the page marks with rel=nofollow,
// without duplicates. all is false if the page has more such links than were read.
func (p *Page) NoFollow() (links []string, all bool) {
	t := p.tree()
	g := newGathering(newBase(p.url, t))
	walk(t.root, func(n *html.Node) bool {
		if n.Type != html.ElementNode {
			return n.Type == html.DocumentNode
		}
		if ref, ok := hrefOf(n); ok && hasRel(attr(n.Attr, "rel"), "nofollow") {
			g.add(ref)
		}
		return true
	}, func(*html.Node) {})
	return g.links, !g.more
}

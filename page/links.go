package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of the links of one page, and of its requisites. What is over is passed over.
const (
	maxLinks     = 50_000
	maxLinkBytes = 8 << 20 // duplicates included: a long base makes long addresses of short references
)

// Links are the absolute addresses that the page leads to and that may be followed from it, without
// duplicates: of Refresh and Link headers (RFC 8288) with rel next, prev or alternate, then in
// document order of A, AREA, IFRAME, of LINK with one of these rel and of META refresh, resolved
// against the base element; of the items of a feed. They are http and https, without fragment. What
// has rel=nofollow is left out, and what c cuts; headers and feeds are as the page itself.
func (p *Page) Links(c Cut) []string {
	t := p.tree()
	s := t.scope(c)
	if s.none() {
		return nil
	}
	g := newGathering(newBase(p.url, t))
	if s.page {
		p.headerLinks(g)
		p.feedLinks(g)
	}
	walk(t.root, func(n *html.Node) bool {
		if n.Type != html.ElementNode {
			return n.Type == html.DocumentNode
		}
		if ref, ok := target(n); ok && s.at(n) {
			g.add(ref)
		}
		return true
	}, func(*html.Node) {})
	p.gathered(g, "links")
	return g.links
}

// gathered notes that there are more references than were gathered.
func (p *Page) gathered(g *gathering, what string) {
	if g.more {
		p.cutBy("only its first %d %s are followed, or fewer where they are long", maxLinks, what)
	}
}

// target is the reference that n asks to follow.
func target(n *html.Node) (string, bool) {
	switch n.DataAtom {
	case atom.A, atom.Area:
		if hinders(n) {
			return "", false
		}
		return hrefOf(n)
	case atom.Link:
		if hinders(n) || !leads(attr(n.Attr, "rel")) {
			return "", false
		}
		return hrefOf(n)
	case atom.Iframe:
		return attr(n.Attr, "src"), has(n.Attr, "src")
	case atom.Meta:
		if strings.EqualFold(attr(n.Attr, "http-equiv"), "refresh") {
			return refresh(attr(n.Attr, "content"))
		}
	}
	return "", false
}

func hinders(n *html.Node) bool {
	rel := attr(n.Attr, "rel")
	return rel != "" && (hasRel(rel, "nofollow") || hasRel(rel, "stylesheet"))
}

// leads reports whether a LINK or a Link header of that rel is to be followed.
func leads(rel string) bool {
	return hasRel(rel, "next") || hasRel(rel, "prev") || hasRel(rel, "alternate")
}

// hasRel reports whether a list of relation types has one, given in lower case.
func hasRel(list, rel string) bool {
	for list != "" {
		word := list
		if i := strings.IndexFunc(list, isBlank); i >= 0 {
			word, list = list[:i], list[i+1:]
		} else {
			list = ""
		}
		if strings.EqualFold(word, rel) {
			return true
		}
	}
	return false
}

// hrefOf is the href of n, in SVG also the older xlink:href.
func hrefOf(n *html.Node) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == "href" && (a.Namespace == "" || a.Namespace == "xlink") {
			return a.Val, true
		}
	}
	return "", false
}

// gathering is the addresses found so far, in order.
type gathering struct {
	base  *base
	seen  map[string]bool
	links []string
	bytes int  // resolved so far
	more  bool // there were more
}

func newGathering(b *base) *gathering { return &gathering{base: b, seen: map[string]bool{}} }

func (g *gathering) full() bool { return len(g.links) >= maxLinks || g.bytes > maxLinkBytes }

// add takes a reference of the page.
func (g *gathering) add(ref string) { g.from(g.base, ref) }

// from takes a reference that is relative to b.
func (g *gathering) from(b *base, ref string) {
	if g.full() {
		g.more = true
		return
	}
	link, ok := b.resolve(ref)
	g.bytes += len(link)
	if ok && !g.seen[link] {
		g.seen[link] = true
		g.links = append(g.links, link)
	}
}

package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits on the links and requisites of one page. References over a limit are ignored.
const (
	maxLinks = 50_000
	// bytes of absolute addresses, including duplicates: with a long base address, short references
	// become long addresses
	maxLinkBytes = 8 << 20
)

// Links returns the absolute http and https addresses that the page links to and that may be
// followed, without duplicates and fragments. It takes them from Refresh and Link headers (RFC
// 8288) with rel next, prev or alternate; then, in document order, from A, AREA, IFRAME, META
// refresh and LINK with one of these rel values, relative to the BASE element; or from the items of
// a feed. It leaves out links with rel=nofollow and those that c cuts. Headers and feeds count as
// part of the page itself.
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

// gathered records for Cuts that references were left out, if there were more than the limits of g.
func (p *Page) gathered(g *gathering, what string) {
	if g.more {
		p.cutBy("only its first %d %s are followed, or fewer where they are long", maxLinks, what)
	}
}

// target returns the reference in n that a crawler should follow.
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

// leads reports whether a crawler should follow a LINK or Link header with this rel.
func leads(rel string) bool {
	return hasRel(rel, "next") || hasRel(rel, "prev") || hasRel(rel, "alternate")
}

// hasRel reports whether a list of relation types contains rel, which must be in lower case.
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

// hrefOf returns the href of n; in SVG also the older xlink:href.
func hrefOf(n *html.Node) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == "href" && (a.Namespace == "" || a.Namespace == "xlink") {
			return a.Val, true
		}
	}
	return "", false
}

// gathering collects addresses in order, without duplicates.
type gathering struct {
	base  *base
	seen  map[string]bool
	links []string
	bytes int  // total size of the addresses resolved so far
	more  bool // a limit was reached
}

func newGathering(b *base) *gathering { return &gathering{base: b, seen: map[string]bool{}} }

func (g *gathering) full() bool { return len(g.links) >= maxLinks || g.bytes > maxLinkBytes }

// add adds a reference relative to the page.
func (g *gathering) add(ref string) { g.from(g.base, ref) }

// from adds a reference relative to b.
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

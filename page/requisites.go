package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Requisites returns the absolute addresses of the subresources of the page, or the references of a
// style sheet, without duplicates and without the page itself. They come from Link headers and LINK
// with rel stylesheet, icon, preload, modulepreload or manifest; then, in document order, from
// images, scripts, frames, objects and media, from references of SVG to other documents, and from
// the styles of the page. The rules for resolving and leaving out are those of Links.
func (p *Page) Requisites(c Cut) []string {
	t := p.tree()
	s := t.scope(c)
	if s.none() {
		return nil
	}
	g := newGathering(newBase(p.url, t))
	if self, ok := g.base.resolve(p.url.String()); ok {
		g.seen[self] = true
	}
	if s.page {
		p.headerRequisites(g)
		if p.mime == "text/css" {
			styleRefs(p.Source(), g.part)
		}
	}
	walk(t.root, func(n *html.Node) bool {
		if n.Type != html.ElementNode {
			return n.Type == html.DocumentNode
		}
		if n.DataAtom == atom.Template && !shadow(n) { // the content of a template is not shown without scripts
			return false
		}
		if len(n.Attr) > 0 || n.DataAtom == atom.Style {
			g.requisites(n, s)
		}
		return true
	}, func(*html.Node) {})
	p.gathered(g, "requisites")
	return g.links
}

// shadow reports whether the content of a TEMPLATE is shown as the content of the element around it
// (HTML, declarative shadow roots).
func shadow(n *html.Node) bool {
	mode := attr(n.Attr, "shadowrootmode")
	return strings.EqualFold(mode, "open") || strings.EqualFold(mode, "closed")
}

func (p *Page) headerRequisites(g *gathering) {
	b := baseOf(p.url)
	for _, l := range p.linkHeaders(b) {
		if !shows(l.rel) || hasRel(l.rel, "nofollow") {
			continue
		}
		if l.ref != "" {
			g.from(b, l.ref)
		}
		candidates(l.srcset, func(ref string) { g.from(b, ref) })
	}
}

// shows reports whether a LINK or Link header with that rel names a subresource of the page.
func shows(rel string) bool {
	return hasRel(rel, "stylesheet") || hasRel(rel, "icon") || hasRel(rel, "preload") ||
		hasRel(rel, "modulepreload") || hasRel(rel, "manifest")
}

// part adds a reference to a subresource. It ignores an empty reference and one that points into
// the page itself, because browsers request neither.
func (g *gathering) part(ref string) {
	if ref = strings.TrimLeft(ref, blanks); ref != "" && ref[0] != '#' {
		g.add(ref)
	}
}

// requisites adds the references in n if s permits that.
func (g *gathering) requisites(n *html.Node, s *scope) {
	if !refers(n) || !s.at(n) {
		return
	}
	switch n.Namespace {
	case "":
		g.ofHTML(n)
	case "svg":
		switch n.Data {
		case "image", "use", "feImage", "script":
			ref, _ := hrefOf(n)
			g.part(ref)
		}
	}
	if n.DataAtom == atom.Style {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			styleRefs(c.Data, g.part)
		}
	}
	if style := attr(n.Attr, "style"); style != "" {
		styleRefs(style, g.part)
	}
}

// refers reports whether n may contain references to subresources.
func refers(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Img, atom.Source, atom.Input, atom.Script, atom.Link, atom.Iframe, atom.Frame, atom.Embed, atom.Object,
		atom.Video,
		atom.Audio, atom.Track, atom.Style:
		return true
	}
	return n.Namespace == "svg" || has(n.Attr, "style") || has(n.Attr, "background")
}

func (g *gathering) ofHTML(n *html.Node) {
	switch n.DataAtom {
	case atom.Img, atom.Source:
		g.part(attr(n.Attr, "src"))
		candidates(attr(n.Attr, "srcset"), g.part)
	case atom.Input:
		if strings.EqualFold(attr(n.Attr, "type"), "image") {
			g.part(attr(n.Attr, "src"))
		}
	case atom.Script, atom.Iframe, atom.Frame, atom.Embed, atom.Audio, atom.Track:
		g.part(attr(n.Attr, "src"))
	case atom.Video:
		g.part(attr(n.Attr, "poster"))
		g.part(attr(n.Attr, "src"))
	case atom.Object:
		g.part(attr(n.Attr, "data"))
	case atom.Link:
		if rel := attr(n.Attr, "rel"); shows(rel) && !hasRel(rel, "nofollow") {
			g.part(attr(n.Attr, "href"))
			candidates(attr(n.Attr, "imagesrcset"), g.part)
		}
	case atom.Body, atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th:
		g.part(attr(n.Attr, "background"))
	}
}

// candidates calls ref with each reference in a srcset attribute (HTML, parsing a srcset
// attribute).
func candidates(srcset string, ref func(string)) {
	for {
		srcset = strings.TrimLeft(srcset, blanks+",")
		if srcset == "" {
			return
		}
		end := strings.IndexAny(srcset, blanks)
		if end < 0 {
			end = len(srcset)
		}
		address := strings.TrimRight(srcset[:end], ",")
		ref(address)
		if len(address) < end { // a comma ends the address: there are no descriptors
			srcset = srcset[end:]
			continue
		}
		srcset = srcset[end:]
		within := false // inside parentheses
		next := strings.IndexFunc(srcset, func(r rune) bool {
			if r == '(' || r == ')' {
				within = r == '('
			}
			return r == ',' && !within
		})
		if next < 0 {
			return
		}
		srcset = srcset[next:]
	}
}

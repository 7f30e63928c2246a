package page

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Kind is the kind of a block of a page.
type Kind string

// The kinds of blocks. The zero value is main content.
const (
	Prose   Kind = ""
	Heading Kind = "heading" // an element H1 to H6
	// navigation, blocks of links, header and footer of the site
	Aside Kind = "aside"
)

// Block is a separate part of a text, such as a paragraph, a heading, a list item or a table cell.
type Block struct {
	Kind       Kind
	Start, End int // byte offsets in the text
}

// Blocks returns the result of Text, and its blocks in order without overlap. Each word of the text
// is in one block, except the words of the TITLE.
func (p *Page) Blocks(c Cut) (text string, blocks []Block) {
	w := newWriter(len(p.Source()) / 2)
	w.parts = true
	return p.text(c, w)
}

// kind returns the kind of a block that begins at the current position. An H1 is always a heading.
func (w *writer) kind() Kind {
	switch {
	case w.titles || w.heading != nil && (w.aside == nil || w.heading.DataAtom == atom.H1):
		return Heading
	case w.aside != nil:
		return Aside
	}
	return Prose
}

// standsAside reports whether n is not main content: a part that every page of a site has, or a
// part unrelated to this page.
func standsAside(n *html.Node) bool {
	if n.Namespace != "" {
		return false
	}
	switch n.DataAtom {
	case atom.Nav, atom.Aside:
		return true
	case atom.Header, atom.Footer:
		return !sectioned(n.Parent)
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "role":
			switch strings.ToLower(strings.TrimSpace(a.Val)) {
			case "navigation", "banner", "contentinfo", "complementary":
				return true
			}
		case "class", "id":
			if n.DataAtom == atom.Div || n.DataAtom == atom.Table || n.DataAtom == atom.Ul || n.DataAtom == atom.Ol {
				for name := range strings.FieldsSeq(a.Val) {
					if slices.Contains(customary, strings.ToLower(name)) {
						return true
					}
				}
			}
		}
	}
	return false
}

// customary lists classes and ids that many pages use for navigation and similar parts, instead of
// the HTML elements and roles for them.
var customary = []string{"nav", "navbar", "navbox", "navheader", "navfooter", "navigation", "breadcrumb",
	"breadcrumbs", "sidebar", "toc", "footer",
	"docnav", "banner", "menu", "pager", "pagination", "site-header", "site-footer", "page-footer"}

// sectioned reports whether n is in an element that has its own header and footer (HTML, 4.3.8).
func sectioned(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		switch n.DataAtom {
		case atom.Article, atom.Main, atom.Section:
			return true
		}
	}
	return false
}

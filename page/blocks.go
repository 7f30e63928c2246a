package page

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Kind is the kind of a block of a page.
type Kind string

// The kinds of block. The zero value is what a page is read for.
const (
	Prose   Kind = ""
	Heading Kind = "heading" // H1 to H6
	// navigation, blocks of links, header and footer of the site
	Aside Kind = "aside"
)

// Block is a part of a text that reads by itself, as a paragraph, a heading, a list item or a table
// cell does.
type Block struct {
	Kind       Kind
	Start, End int // bytes of the text
}

// Blocks is Text with its blocks, in order and apart. All words of the text but those of the TITLE
// are in one.
func (p *Page) Blocks(c Cut) (text string, blocks []Block) {
	w := newWriter(len(p.Source()) / 2)
	w.parts = true
	return p.text(c, w)
}

// kind returns the kind of a block that begins now. An H1 is always a heading.
func (w *writer) kind() Kind {
	switch {
	case w.titles || w.heading != nil && (w.aside == nil || w.heading.DataAtom == atom.H1):
		return Heading
	case w.aside != nil:
		return Aside
	}
	return Prose
}

// standsAside reports whether n is part of every page of a site, or not part of the matter of this
// one.
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

// customary are the classes and identifiers that pages of before these elements and roles commonly
// have for the same.
var customary = []string{"nav", "navbar", "navbox", "navheader", "navfooter", "navigation", "breadcrumb",
	"breadcrumbs", "sidebar", "toc", "footer",
	"docnav", "banner", "menu", "pager", "pagination", "site-header", "site-footer", "page-footer"}

// sectioned reports whether n is in a part of the page that has a header and a footer of its own
// (HTML, 4.3.8).
func sectioned(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		switch n.DataAtom {
		case atom.Article, atom.Main, atom.Section:
			return true
		}
	}
	return false
}

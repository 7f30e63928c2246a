package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Drawable reports whether a browser without scripts parses the page as this package does. Only
// then do the publisher's class tokens apply to the same elements in a thumbnail of the page. whole
// means that no part of the page is missing: incomplete XHTML may not be valid XML. A page with
// srcdoc frames is not drawable, because this package does not read class tokens inside such
// frames.
func (p *Page) Drawable(whole bool) bool {
	if p.xhtml() && !whole {
		return false
	}
	t := p.tree()
	framed, noscript := false, false
	walk(t.root, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Iframe:
			framed = framed || has(n.Attr, "srcdoc")
		case atom.Noscript:
			noscript = true
		}
		return true
	}, func(*html.Node) {})
	switch {
	case framed:
		return false
	case !noscript, p.xhtml(), len(t.marks)+len(t.lost) == 0:
		return true
	}
	return alike(p.Source())
}

// alike reports whether parsing src gives the same tree with and without scripting. A browser with
// scripts treats the content of NOSCRIPT as text; without scripts, tags in it can open and close
// elements around it.
func alike(src string) bool {
	tags := strings.Count(src, "<")
	tamed, ok := tame(src, false, tags, 0, maxNodes)
	if e := extentOf(src, false); !ok || e.end < len(src) {
		return false
	}
	there, err := html.ParseWithOptions(strings.NewReader(tamed), html.ParseOptionEnableScripting(false))
	if err != nil {
		return false
	}
	here, err := render(parse(src, false).root)
	if err != nil {
		return false
	}
	is, err := render(there)
	return err == nil && is == here
}

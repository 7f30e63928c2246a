package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Drawable reports whether a browser without scripts reads the page as this package does, so that
// marks also apply to a picture of it. whole means that no part of the page was cut out or is
// missing at its end: incomplete XHTML may not be valid XML. Marks in a frame with inline content
// (srcdoc) are never read.
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

package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Drawable reports whether a browser without scripts reads the page as it is read here, so that
// marks hold in a picture of it; whole says that nothing was cut out of it, nor is missing at its
// end. Nobody reads the marks in a frame that has its content itself (srcdoc), and XHTML of which
// something is missing may be no XML any more.
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

// alike reports whether src is the same tree with the content of NOSCRIPT as a part of its own, and
// with its tags in their place: there they can end and begin what stands around it.
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

package page

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// AppearsEmpty reports whether the page shows nothing without its scripts: its body has neither text, except in
// NOSCRIPT, nor images, and there are scripts that may add some.
func (p *Page) AppearsEmpty() bool {
	if !p.HTML() {
		return false
	}
	scripts, shows := false, false
	walk(p.tree().root, func(n *html.Node) bool {
		switch {
		case n.Type == html.TextNode:
			shows = shows || strings.TrimSpace(n.Data) != ""
		case n.Type != html.ElementNode:
			return n.Type == html.DocumentNode
		case n.DataAtom == atom.Script:
			scripts = scripts || runs(n)
			return false
		case n.DataAtom == atom.Head: // its title is not shown in the page, and its scripts may run
			for c := n.FirstChild; c != nil; c = c.NextSibling {
				scripts = scripts || c.DataAtom == atom.Script && runs(c)
			}
			return false
		case n.DataAtom == atom.Noscript, n.DataAtom == atom.Style, n.DataAtom == atom.Template:
			return false
		}
		shows = shows || slices.Contains(shownWithoutText, n.DataAtom)
		return true
	}, func(*html.Node) {})
	return scripts && !shows
}

// shownWithoutText are elements that show something without text.
var shownWithoutText = []atom.Atom{atom.Img, atom.Picture, atom.Video, atom.Audio, atom.Svg, atom.Iframe, atom.Object}

// runs reports whether a SCRIPT contains a script, and not data.
func runs(n *html.Node) bool {
	kind := strings.ToLower(strings.TrimSpace(attr(n.Attr, "type")))
	return kind == "" || kind == "module" || strings.HasSuffix(kind, "javascript")
}

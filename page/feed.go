package page

import (
	"strings"
)

// feedLinks adds the links of the items of a feed in RSS 0.9x, 1.0 or 2.0 or in Atom (RFC 4287),
// and the other pages of the feed (RFC 5005). Other documents have no such links.
func (p *Page) feedLinks(g *gathering) {
	if p.xml() {
		readFeed(p.Source(), g)
		g.more = g.more || g.full()
	}
}

// readFeed reads a feed up to the first error.
func readFeed(text string, g *gathering) {
	x := NewXML(strings.NewReader(text))
	linked, permalink := false, "" // state of the current item
	for !g.full() {
		open, err := x.Next()
		if err != nil {
			return
		}
		switch open[0].Name {
		case "rss", "rdf", "feed":
		default:
			return
		}
		e, parent := &open[len(open)-1], ""
		if len(open) > 1 {
			parent = open[len(open)-2].Name
		}
		switch e.Name {
		case "item", "entry":
			if !linked && permalink != "" {
				g.add(permalink)
			}
			linked, permalink = false, ""
		case "guid": // RSS 2.0: a guid is an address unless isPermaLink is false
			if text := e.Text(); parent == "item" && !strings.EqualFold(e.Attr("ispermalink"), "false") &&
				strings.Contains(text, "://") {
				permalink = text
			}
		case "link":
			if ref := feedLink(e, parent); ref != "" {
				linked = linked || parent != "feed" && parent != "channel"
				g.from(g.within(open), ref)
			}
		}
	}
}

// feedLink returns the address in a link element inside the element parent; "" if it must not be
// followed.
func feedLink(e *Element, parent string) string {
	rel, href := e.Attr("rel"), e.Attr("href")
	switch {
	case hasRel(rel, "nofollow"):
	case parent == "item" || parent == "entry":
		switch {
		case href == "" && parent == "item":
			return e.Text()
		case rel == "" || hasRel(rel, "alternate"):
			return href
		}
	case parent == "channel" || parent == "feed":
		if hasRel(rel, "next") || hasRel(rel, "prev") || hasRel(rel, "previous") {
			return href
		}
	}
	return ""
}

// within returns the base address of the page, changed by the xml:base attributes of the open
// elements.
func (g *gathering) within(open []Element) *base {
	b := g.base
	for i := range open {
		ref := open[i].Attr("xml:base")
		if ref == "" || i > 0 && i < len(open)-2 {
			continue
		}
		g.bytes += len(ref)
		if u, ok := b.absolute(ref); ok {
			b = baseOf(u)
		}
	}
	return b
}

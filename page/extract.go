package page

import (
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// Extract returns the text of the elements that locator names, in document order, joined by blanks
// (P1 2.5.5.6, X07). Elements inside other matches are not repeated (I06). found reports whether at
// least one of the elements may be used and is part of the text of the page. If found is false, the
// caller must not use another part of the page instead (I01). A page that is not HTML has no such
// elements (I08).
//
// A locator is the part after "the-acap:extract:" (P1 2.5.3.2): "id:a", "idlist:a,b", "class:a",
// "classlist:a,b", "meta:a" or "taglist:p,h1". Ids and class tokens are case-sensitive, META and
// tag names are not (I05, X21). META is found only in the head; its text is its content attribute.
func (p *Page) Extract(locator string, c Cut) (text string, found bool) {
	t := p.tree()
	s := t.scope(c)
	w := newWriter(0)
	for _, n := range t.find(locator) {
		if content, ok := metaContent(n); ok && isMeta(locator) {
			if s.at(n) {
				w.gap()
				w.text(content)
				found = true
			}
			continue
		}
		if !s.visible(n) {
			continue
		}
		size := w.Len()
		w.gap()
		t.write(w, s, n, nil)
		w.gap()
		found = found || s.at(n) || w.Len() > size
	}
	return w.String(), found
}

// Link finds the first element, in document order, that the locator of a link role names by "id:",
// "class:" or "meta:" (X08). It returns the text of the element and its absolute http or https
// address. If the element has no address, Link returns the address of the first A inside it. If
// href is empty, the caller shows the text instead of a link.
func (p *Page) Link(locator string) (href, text string, found bool) {
	t := p.tree()
	nodes := t.find(locator)
	if len(nodes) == 0 {
		return "", "", false
	}
	n := nodes[0]
	w := newWriter(0)
	if content, ok := metaContent(n); ok && isMeta(locator) {
		w.text(content)
		return "", w.String(), true
	}
	t.write(w, t.scope(Cut{}), n, nil)
	address, ok := hrefOf(n)
	if !ok {
		address, ok = goquery.NewDocumentFromNode(n).Find("a[href]").First().Attr("href")
	}
	if ok {
		if u, ok := newBase(p.url, t).absolute(address); ok {
			href = u.String()
		}
	}
	return href, w.String(), true
}

func isMeta(locator string) bool { return strings.HasPrefix(locator, "meta:") }

func metaContent(n *html.Node) (string, bool) {
	return unquote(attr(n.Attr, "content")), n.Data == "meta"
}

// find returns the outermost elements that locator names, in document order. Its running time is
// linear in the locator and in the page.
func (t *tree) find(locator string) []*html.Node {
	kind, value, ok := strings.Cut(locator, ":")
	if !ok || value == "" || t.root == nil {
		return nil
	}
	names := map[string]bool{value: true}
	if strings.HasSuffix(kind, "list") {
		clear(names)
		for name := range strings.SplitSeq(value, ",") {
			names[name] = true
		}
	}
	delete(names, "")
	switch kind {
	case "id", "idlist":
		return t.collect(func(n *html.Node) bool { // if several elements have the id, only the first of them is used
			id := attr(n.Attr, "id")
			named := names[id]
			delete(names, id)
			return named
		})
	case "class", "classlist":
		return t.collect(func(n *html.Node) bool {
			return slices.ContainsFunc(strings.FieldsFunc(attr(n.Attr, "class"), isBlank),
				func(s string) bool { return names[s] })
		})
	case "taglist":
		folded := make(map[string]bool, len(names))
		for name := range names {
			folded[strings.ToLower(name)] = true
		}
		return t.collect(func(n *html.Node) bool { return folded[strings.ToLower(n.Data)] })
	case "meta":
		return slices.DeleteFunc(slices.Clone(t.metas), func(n *html.Node) bool {
			return !strings.EqualFold(unquote(attr(n.Attr, "name")), value)
		})
	}
	return nil
}

// collect returns the elements that match, in document order, without elements inside other
// matches.
func (t *tree) collect(match func(*html.Node) bool) []*html.Node {
	var nodes []*html.Node
	var outer *html.Node
	walk(t.root, func(n *html.Node) bool {
		if n.Type == html.ElementNode && match(n) && outer == nil {
			nodes, outer = append(nodes, n), n
		}
		return true
	}, func(n *html.Node) {
		if n == outer {
			outer = nil
		}
	})
	return nodes
}

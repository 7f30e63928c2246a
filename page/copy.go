package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Copy returns the part of Document that may be kept. If nothing must be cut, that is the unchanged
// document, and cut is false. Otherwise it is the document without the elements that c cuts, in the
// original encoding (N28). The result is nil if nothing may be kept, or if a prohibited part cannot
// be separated from the rest. If only some elements of a prohibited page may be kept, the elements
// around them keep only names and classes.
func (p *Page) Copy(c Cut) (body []byte, cut bool) {
	t := p.tree()
	if len(t.marks) == 0 && len(t.lost) == 0 && !(c.Snippet && t.nosnippet) {
		if !c.keeps(nil) {
			return nil, true
		}
		return p.Document(), false
	}
	for _, m := range t.lost {
		if !c.keeps([]acap.Mark{m}) {
			return nil, true
		}
	}
	pr := t.prune(c)
	switch {
	case !pr.changed:
		return p.Document(), false
	case !pr.kept:
		return nil, true
	}
	want, err := render(pr.root)
	if err != nil {
		return nil, true
	}
	source := p.source()
	text, ok := "", false
	if !pr.shells {
		text, ok = cutSource(source.text, pr.removed, p.xhtml())
	}
	if ok {
		// The original bytes around the cut are kept only if parsing them gives exactly the tree
		// that may be kept.
		got, err := render(parse(text, p.xhtml()).root)
		ok = err == nil && got == want
	}
	if !ok {
		text = want
	}
	body, err = source.encode(text)
	if err != nil {
		return nil, true
	}
	return body, true
}

// pruned is a copy of a tree without the nodes that must be cut.
type pruned struct {
	root    *html.Node
	changed bool
	kept    bool       // at least one permitted node remains
	shells  bool       // some element remains only because it contains permitted elements
	removed []*removal // the outermost removed elements, in document order
	seam    seam
}

// prune copies the tree without the nodes that c cuts. A prohibited element that contains a
// permitted one remains without its content and attributes, and so do HTML, HEAD and BODY.
func (t *tree) prune(c Cut) *pruned {
	s := t.scope(c)
	p := &pruned{seam: seam{tree: t}}
	kept := s.page
	var at *html.Node // copy of the current element
	gone := 0         // nesting depth inside an element that is certainly cut
	walk(t.root, func(n *html.Node) bool {
		if t.marks[n] != nil {
			kept = s.at(n)
		}
		if n.Type == html.ElementNode && s.hides(n) || gone > 0 {
			gone++
			p.changed = true
			p.seam.enter(n, false)
			return true
		}
		p.seam.enter(n, kept)
		clone := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: n.Attr,
			Parent: at}
		at = clone
		return true
	}, func(n *html.Node) {
		inside := kept
		p.seam.leave(n, inside && gone == 0)
		if t.marks[n] != nil {
			kept = s.at(n.Parent)
		}
		if gone > 0 {
			if gone--; gone == 0 {
				p.seam.removed(&removal{parent: at, before: at.LastChild})
			}
			return
		}
		clone := at
		at = clone.Parent
		clone.Parent = nil
		p.insert(n, clone, at, inside, kept)
	})
	return p
}

// insert adds clone, the copy of n, to parent if n may be kept. inside says whether the direct
// content of n may be used, and around says the same about the parent of n.
func (p *pruned) insert(n, clone, parent *html.Node, inside, around bool) {
	switch {
	case n.Type == html.DocumentNode:
		p.root = clone
		return
	case inside || n.Type == html.DoctypeNode:
		p.kept = p.kept || n.Type != html.DoctypeNode
	case n.Type == html.ElementNode && metaCharset(html.Token{Data: n.Data, Attr: n.Attr}) != "":
	case n.Type == html.ElementNode && (clone.FirstChild != nil || skeleton(n)):
		p.changed, p.shells = true, true
		clone.Attr = nil
		if class := attr(n.Attr, "class"); class != "" {
			clone.Attr = []html.Attribute{{Key: "class", Val: class}}
		}
	default:
		p.changed = true
		if around {
			r := &removal{class: attr(n.Attr, "class"), parent: parent, before: parent.LastChild}
			p.removed = append(p.removed, r)
			p.seam.removed(r)
		}
		return
	}
	parent.AppendChild(clone)
}

func skeleton(n *html.Node) bool {
	return n.DataAtom == atom.Html || n.DataAtom == atom.Head || n.DataAtom == atom.Body
}

// cutSource removes elements from the markup src, each from its start tag to its end tag. It finds
// start tags by the class attributes in removed, in order, and end tags by counting open elements
// of the same name. It returns false if it cannot find the elements with certainty.
func cutSource(src string, removed []*removal, xhtml bool) (string, bool) {
	z := html.NewTokenizer(strings.NewReader(src))
	z.AllowCDATA(xhtml)
	var out strings.Builder
	name, open := "", 0 // name of the element being cut, and how many elements of that name are open
	offset := 0
	for {
		kind := z.Next()
		raw := src[offset : offset+len(z.Raw())]
		offset += len(raw)
		switch kind {
		case html.ErrorToken:
			out.WriteString(raw)
			return out.String(), open == 0 && len(removed) == 0
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			empty := xhtml && kind == html.SelfClosingTagToken
			if empty {
				z.NextIsNotRawText()
			}
			empty = empty || void(t.Data)
			switch {
			case open > 0:
				if t.Data == name && !empty {
					open++
				}
				continue
			case len(removed) > 0 && attr(t.Attr, "class") == removed[0].class:
				out.WriteString(removed[0].markup(xhtml))
				removed = removed[1:]
				if !empty {
					name, open = t.Data, 1
				}
				continue
			}
		case html.EndTagToken:
			if tag, _ := z.TagName(); open > 0 && string(tag) == name {
				open--
				continue
			}
		}
		if open == 0 {
			out.WriteString(raw)
		}
	}
}

// render returns a tree as markup. It changes the tree, so the caller must not use it afterwards.
func render(root *html.Node) (string, error) {
	var failure error
	walk(root, func(n *html.Node) bool { return true }, func(n *html.Node) {
		if n.DataAtom != atom.Noscript || n.Namespace != "" || n.FirstChild == nil {
			return
		}
		// In this tree the content of NOSCRIPT is parsed markup, but html.Render would write it as
		// text.
		var b strings.Builder
		for n.FirstChild != nil {
			if err := html.Render(&b, n.FirstChild); err != nil {
				failure = err
			}
			n.RemoveChild(n.FirstChild)
		}
		n.AppendChild(&html.Node{Type: html.RawNode, Data: b.String()})
	})
	if failure != nil {
		return "", failure
	}
	var b strings.Builder
	err := html.Render(&b, root)
	return b.String(), err
}

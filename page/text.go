package page

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Text returns the text of the page that may be used, in document order, with its TITLE first.
// White space is collapsed to single blanks; there is a blank between blocks, table cells and
// lines, and none at inline markup. Scripts, styles, templates, form texts and hidden elements are
// left out; alternative texts of images are included (X10). For a page that is not HTML, Text
// returns the readable text, "" if there is none.
func (p *Page) Text(c Cut) string {
	text, _ := p.text(c, newWriter(len(p.Source())/2))
	return text
}

// text returns the result of Text, and the blocks. w says whether to collect blocks, and the
// maximum size of the text.
func (p *Page) text(c Cut, w *writer) (string, []Block) {
	if !p.HTML() {
		if !c.keeps(nil) {
			return "", nil
		}
		r := p.reading()
		return r.text, slices.Clone(r.blocks)
	}
	t := p.tree()
	s := t.scope(c)
	if s.none() {
		return "", nil
	}
	parts, most := w.parts, w.most
	w.parts, w.most = false, min(most, maxTitle)
	t.write(w, s, t.title, nil)
	w.gap()
	w.parts, w.most, w.full = parts, most, false
	t.write(w, s, t.body, t.title)
	w.end()
	p.reached(w)
	return w.String(), w.blocks
}

// reached records a cut if a text or title exceeds the size limit of w.
func (p *Page) reached(w *writer) {
	if why := w.missing(); why != "" {
		p.cutBy("%s", why)
	}
}

// Title returns the permitted text of the TITLE element, otherwise of the first H1. For a page that
// is not HTML it returns the title of the document.
func (p *Page) Title(c Cut) string {
	if !p.HTML() {
		if !c.keeps(nil) {
			return ""
		}
		return p.reading().title
	}
	t := p.tree()
	s := t.scope(c)
	w := newWriter(0)
	w.most = maxTitle
	defer p.reached(w)
	if t.titled() {
		t.write(w, s, t.title, nil)
		return w.String()
	}
	for _, n := range t.h1 {
		if !s.visible(n) {
			continue
		}
		if t.write(w, s, n, nil); w.Len() > 0 {
			break
		}
	}
	return w.String()
}

// titled reports whether the page has a TITLE with text.
func (t *tree) titled() bool {
	return t.title != nil && t.title.FirstChild != nil && strings.TrimSpace(t.title.FirstChild.Data) != ""
}

// write adds the text of root and its descendants, without the text of skip. Elements that are cut
// separate the words around them as they did before (X89).
func (t *tree) write(w *writer, s *scope, root, skip *html.Node) {
	if root == nil {
		return
	}
	var out, hidden *html.Node // the element being skipped, and the outermost hidden element
	kept := s.at(root)
	walk(root, func(n *html.Node) bool {
		if w.full {
			return false
		}
		if n.Type == html.TextNode {
			if kept && hidden == nil {
				w.text(n.Data)
			} else {
				w.cut(n.Data)
			}
			return false
		}
		if n.Type != html.ElementNode {
			return true
		}
		if t.unseen(n) {
			if embeds(n) {
				w.gap()
			}
			out = n
			return false
		}
		w.part(n)
		if n == skip {
			out = n
			return false
		}
		if hidden == nil && s.hides(n) {
			hidden = n
		}
		w.enter(n)
		if t.marks[n] != nil {
			kept = s.at(n)
		}
		if kept && hidden == nil {
			w.text(alt(n))
		} else {
			w.cut(alt(n))
		}
		return true
	}, func(n *html.Node) {
		if n.Type != html.ElementNode {
			return
		}
		if n == out {
			out = nil
			return
		}
		w.part(n)
		w.leave(n)
		if n == hidden {
			hidden = nil
		}
		if t.marks[n] != nil && n != root {
			kept = s.at(n.Parent)
		}
	})
}

// separates reports whether n is separated from the text around it by a blank.
func separates(n *html.Node) bool {
	if n.Namespace != "" {
		return n.Namespace == "svg" && (n.Data == "text" || n.Data == "title" || n.Data == "desc")
	}
	switch n.DataAtom {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Br, atom.Button, atom.Caption,
		atom.Center, atom.Dd,
		atom.Details, atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure,
		atom.Footer, atom.Form, atom.Frameset, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header,
		atom.Hgroup, atom.Hr, atom.Legend, atom.Li, atom.Listing, atom.Main, atom.Menu, atom.Nav, atom.Ol,
		atom.Optgroup,
		atom.Option, atom.P, atom.Plaintext, atom.Pre, atom.Search, atom.Section, atom.Summary, atom.Table, atom.Tbody,
		atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Title, atom.Tr, atom.Ul, atom.Xmp:
		return true
	}
	return false
}

// alt returns the text that replaces an image.
func alt(n *html.Node) string {
	switch n.DataAtom {
	case atom.Img, atom.Area:
		return attr(n.Attr, "alt")
	case atom.Input:
		if strings.EqualFold(attr(n.Attr, "type"), "image") {
			return attr(n.Attr, "alt")
		}
	}
	return ""
}

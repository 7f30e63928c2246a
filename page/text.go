package page

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Text is the text of the page that may be used, in document order, its title first. White space is collapsed to single
// blanks; there is a blank between blocks, table cells and line breaks, and none inside inline markup. Scripts, styles,
// templates, form texts and hidden elements are out, alternative texts of images are in (X10). Other text than HTML is
// given whole, anything else as "".
func (p *Page) Text(c Cut) string {
	if !p.HTML() {
		if !p.textual() || !c.keeps(nil) {
			return ""
		}
		w := newWriter(len(p.Source()))
		w.text(p.Source())
		return w.String()
	}
	t := p.tree()
	s := t.scope(c)
	if s.none() {
		return ""
	}
	w := newWriter(len(p.Source()) / 2)
	t.write(w, s, t.title, nil)
	w.gap()
	t.write(w, s, t.body, t.title)
	return w.String()
}

// Title is the text of the TITLE element that may be used.
func (p *Page) Title(c Cut) string {
	t := p.tree()
	if t.title == nil {
		return ""
	}
	w := newWriter(0)
	t.write(w, t.scope(c), t.title, nil)
	return w.String()
}

// write adds the text of root and what it holds, except of skip.
func (t *tree) write(w *writer, s *scope, root, skip *html.Node) {
	if root == nil {
		return
	}
	var out *html.Node // the element being passed over
	kept := s.at(root)
	walk(root, func(n *html.Node) bool {
		if n.Type == html.TextNode {
			if kept {
				w.text(n.Data)
			}
			return false
		}
		if n.Type != html.ElementNode {
			return true
		}
		if unseen(n) {
			out = n
			return false
		}
		if separates(n) {
			w.gap()
		}
		if n == skip || s.hides(n) {
			out = n
			return false
		}
		if t.marks[n] != nil {
			kept = s.at(n)
		}
		if kept {
			w.text(alt(n))
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
		if separates(n) {
			w.gap()
		}
		if t.marks[n] != nil && n != root {
			kept = s.at(n.Parent)
		}
	})
}

// visible reports whether neither n nor an element around it is left out of the text.
func (s *scope) visible(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && (unseen(n) || s.hides(n)) {
			return false
		}
	}
	return true
}

// unseen elements are not shown to a reader, or are not text of the page.
func unseen(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Textarea, atom.Select,
		atom.Iframe, atom.Noembed, atom.Noframes: // the last three hold markup as text
		return true
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "style":
			if displayNone(a.Val) {
				return true
			}
		}
	}
	return false
}

// displayNone reports whether an inline style ends in display:none.
func displayNone(style string) bool {
	none := false
	for declaration := range strings.SplitSeq(style, ";") {
		property, value, _ := strings.Cut(declaration, ":")
		if strings.EqualFold(strings.TrimSpace(property), "display") {
			value, _, _ = strings.Cut(value, "!")
			none = strings.EqualFold(strings.TrimSpace(value), "none")
		}
	}
	return none
}

// separates reports whether n is set apart from the text around it by a blank.
func separates(n *html.Node) bool {
	if n.Namespace != "" {
		return false
	}
	switch n.DataAtom {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Br, atom.Caption, atom.Center, atom.Dd,
		atom.Details, atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure,
		atom.Footer, atom.Form, atom.Frameset, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header,
		atom.Hgroup, atom.Hr, atom.Legend, atom.Li, atom.Listing, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.Optgroup,
		atom.Option, atom.P, atom.Plaintext, atom.Pre, atom.Search, atom.Section, atom.Summary, atom.Table, atom.Tbody,
		atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Title, atom.Tr, atom.Ul, atom.Xmp:
		return true
	}
	return false
}

// alt is the text that stands for an image.
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

// writer collects text with its white space collapsed, none at the ends.
type writer struct {
	strings.Builder
	blank bool // a blank is due before the next word
}

func newWriter(size int) *writer {
	w := &writer{}
	w.Grow(size)
	return w
}

// gap asks for a blank before what follows.
func (w *writer) gap() { w.blank = true }

func (w *writer) text(s string) {
	for len(s) > 0 {
		start := 0
		for start < len(s) {
			size := space(s[start:])
			if size == 0 {
				break
			}
			w.blank = true
			start += size
		}
		// Words parted by single blanks are taken as they are.
		end := start
		for end < len(s) {
			if c := s[end]; c > ' ' && c < 0xC2 || c > 0xE3 {
				end++
				continue
			}
			if space(s[end:]) > 0 && !(s[end] == ' ' && end+1 < len(s) && space(s[end+1:]) == 0) {
				break
			}
			end++
		}
		if end > start {
			if w.blank && w.Len() > 0 {
				w.WriteByte(' ')
			}
			w.blank = false
			w.WriteString(s[start:end])
		}
		s = s[end:]
	}
}

// space is the length of the white space character that s begins with, or 0.
func space(s string) int {
	if b := s[0]; b < utf8.RuneSelf {
		if b == ' ' || b >= '\t' && b <= '\r' {
			return 1
		}
		return 0
	}
	if s[0] < 0xC2 || s[0] > 0xE3 { // no white space begins with such a byte
		return 0
	}
	if r, size := utf8.DecodeRuneInString(s); unicode.IsSpace(r) {
		return size
	}
	return 0
}

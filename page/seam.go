package page

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// seam watches the words of a copy while it is made, so that those around a cut stay as far apart
// as they were: a blank is left where white space stood in what was cut, a line break where one
// was, and the break of a block where a block was (X89). Nothing is added if a neighbour separates
// the words already.
type seam struct {
	tree   *tree
	unseen *html.Node // the outermost element around that is not shown

	word   bool // a word is before, in the same block
	spaced bool // white space follows it
	blank  bool // such was cut since: white space,
	line   bool // a line break,
	block  bool // a block
	at     *removal
}

// removal is a place in a copy where an element was removed.
type removal struct {
	class  string     // of the element
	leaves *html.Node // what is there now; nil: nothing
	parent *html.Node // in the copy
	before *html.Node // the sibling before; nil: there is none
}

// enter is called at the begin of n; kept says whether n is part of the copy.
func (s *seam) enter(n *html.Node, kept bool) {
	switch {
	case s.unseen != nil:
	case n.Type == html.TextNode:
		s.text(n.Data, kept)
	case n.Type != html.ElementNode:
	case s.tree.unseen(n):
		s.unseen = n
		if embeds(n) {
			s.text(" ", kept)
		}
	default:
		s.part(n, kept)
		s.text(alt(n), kept)
	}
}

// leave notes that n ends.
func (s *seam) leave(n *html.Node, kept bool) {
	if n == s.unseen {
		s.unseen = nil
	} else if n.Type == html.ElementNode && s.unseen == nil {
		s.part(n, kept)
	}
}

// part notes the start or the end of an element.
func (s *seam) part(n *html.Node, kept bool) {
	switch {
	case !separates(n):
	case kept:
		*s = seam{tree: s.tree}
	case n.DataAtom == atom.Br:
		s.line = true
	case n.DataAtom == atom.Button:
		s.blank = true
	default:
		s.block = true
	}
}

// removed notes that an element was removed at a place.
func (s *seam) removed(at *removal) {
	if s.at == nil && s.word {
		s.at = at
	}
}

// text notes text of the copy, or text that is cut.
func (s *seam) text(data string, kept bool) {
	switch {
	case data == "":
	case !kept:
		s.blank = s.blank || strings.ContainsFunc(data, unicode.IsSpace)
	case strings.TrimSpace(data) == "":
		s.spaced = true
	default:
		if s.spaced = s.spaced || strings.TrimLeftFunc(data, unicode.IsSpace) != data; s.at != nil {
			s.close()
		}
		*s = seam{tree: s.tree, word: true, spaced: strings.TrimRightFunc(data, unicode.IsSpace) != data}
	}
}

// close leaves at the place of the cut what parts the words on both sides of it.
func (s *seam) close() {
	in := s.at.parent
	switch {
	case s.block && in.Namespace == "" && in.DataAtom != atom.P: // which a block would end
		s.at.leaves = &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
	case (s.block || s.line) && in.Namespace == "":
		s.at.leaves = &html.Node{Type: html.ElementNode, Data: "br", DataAtom: atom.Br}
	case (s.block || s.line || s.blank) && !s.spaced:
		s.at.leaves = &html.Node{Type: html.TextNode, Data: " "}
	default:
		return
	}
	next := in.FirstChild
	if s.at.before != nil {
		next = s.at.before.NextSibling
	}
	in.InsertBefore(s.at.leaves, next)
}

// markup is what a removed element leaves, as the source writes it.
func (r *removal) markup(xhtml bool) string {
	switch {
	case r.leaves == nil:
		return ""
	case r.leaves.Type == html.TextNode:
		return r.leaves.Data
	case r.leaves.DataAtom == atom.Div:
		return "<div></div>"
	case xhtml:
		return "<br/>"
	}
	return "<br>"
}

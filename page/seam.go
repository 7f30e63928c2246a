package page

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// seam tracks the words of a copy while it is made. Where elements were cut out, it keeps the words
// around the cut as far apart as before: it leaves a blank for cut white space, a line break for a
// cut line break, and a block break for a cut block (X89). It adds nothing if the words are already
// separated.
type seam struct {
	tree   *tree
	unseen *html.Node // the outermost enclosing element that is not shown

	word   bool // there is a word before this position in the same block
	spaced bool // white space follows that word
	blank  bool // white space was cut since that word
	line   bool // a line break was cut since that word
	block  bool // a block was cut since that word
	at     *removal
}

// removal is a place in a copy where an element was removed.
type removal struct {
	class  string     // class attribute of the removed element
	leaves *html.Node // the node that replaces the removed element; nil: none
	parent *html.Node // parent of the removed element in the copy
	before *html.Node // the sibling before the removed element in the copy; nil: there is none
}

// enter records the beginning of n; kept says whether n is part of the copy.
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

// leave records the end of n.
func (s *seam) leave(n *html.Node, kept bool) {
	if n == s.unseen {
		s.unseen = nil
	} else if n.Type == html.ElementNode && s.unseen == nil {
		s.part(n, kept)
	}
}

// part records the start or the end of an element.
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

// removed records the place at which an element was removed.
func (s *seam) removed(at *removal) {
	if s.at == nil && s.word {
		s.at = at
	}
}

// text records text that is in the copy (kept is true) or is cut.
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

// close inserts a blank, a line break or a block at the place of the cut, if the words on both
// sides of the cut would not be separated as before.
func (s *seam) close() {
	in := s.at.parent
	switch {
	// a P cannot contain a block: the parser would end the P
	case s.block && in.Namespace == "" && in.DataAtom != atom.P:
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

// markup returns the replacement of a removed element as source text.
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

package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// visible reports whether n and all elements around it are part of the text.
func (s *scope) visible(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && (s.tree.unseen(n) || s.hides(n)) {
			return false
		}
	}
	return true
}

// unseen reports whether n is not shown to a reader, or is not part of the text of the page (X10).
func (t *tree) unseen(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Textarea, atom.Select:
		return true
	case atom.Html, atom.Body: // some pages hide HTML or BODY until a script has run
		return has(n.Attr, "hidden") || displayOf(attr(n.Attr, "style")) == "none"
	}
	if embeds(n) {
		return true
	}
	display, named := "", false
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			if strings.EqualFold(strings.TrimSpace(a.Val), "true") {
				return true
			}
		case "style":
			if display = displayOf(a.Val); display == "none" || valueOf(a.Val, "visibility") == "hidden" {
				return true
			}
		case "class", "id":
			named = true
		}
	}
	return named && display == "" && t.styles.hide(n)
}

// embeds reports whether a browser shows something else instead of the content of n.
func embeds(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Iframe, atom.Noembed, atom.Noframes, // the parser returns the markup in these elements as text
		atom.Video, atom.Audio, atom.Canvas:
		return n.Namespace == ""
	case atom.Object: // an OBJECT without data shows its content
		return n.Namespace == "" && has(n.Attr, "data")
	}
	return false
}

func displayOf(style string) string { return valueOf(style, "display") }

// valueOf returns the value in lower case of the last declaration of a property in style.
func valueOf(style, property string) string {
	value, fixed := "", false
	for declaration := range strings.SplitSeq(uncommented(style), ";") {
		if name, v, _ := strings.Cut(declaration, ":"); strings.EqualFold(strings.TrimSpace(name), property) {
			v, _, important := strings.Cut(v, "!")
			if important || !fixed {
				value, fixed = strings.ToLower(strings.TrimSpace(v)), important
			}
		}
	}
	return value
}

// hide reports whether a style sheet hides n by one of its class tokens or its id, and no rule
// shows it.
func (s *styles) hide(n *html.Node) bool {
	if len(s.hidden) == 0 {
		return false
	}
	hidden := false
	for name := range namesOf(n) {
		if s.shown[name] {
			return false
		}
		hidden = hidden || s.hidden[name]
	}
	return hidden
}

// namesOf yields the class tokens and the id of n as CSS selectors.
func namesOf(n *html.Node) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, a := range n.Attr {
			switch {
			case a.Namespace != "":
			case a.Key == "id":
				if !yield("#" + a.Val) {
					return
				}
			case a.Key == "class":
				for _, token := range strings.FieldsFunc(a.Val, isBlank) {
					if !yield("." + token) {
						return
					}
				}
			}
		}
	}
}

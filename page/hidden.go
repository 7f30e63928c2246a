package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// visible reports whether neither n nor an element around it is left out of the text.
func (s *scope) visible(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && (s.tree.unseen(n) || s.hides(n)) {
			return false
		}
	}
	return true
}

// unseen elements are not shown to a reader, or are not text of the page (X10).
func (t *tree) unseen(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Textarea, atom.Select:
		return true
	case atom.Html, atom.Body: // hidden until a script has run
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

// embeds reports whether something else is shown in the place of what n holds, as far as that is text at all.
func embeds(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Iframe, atom.Noembed, atom.Noframes, // these hold markup as text
		atom.Video, atom.Audio, atom.Canvas:
		return n.Namespace == ""
	case atom.Object: // without data it shows what it holds
		return n.Namespace == "" && has(n.Attr, "data")
	}
	return false
}

func displayOf(style string) string { return valueOf(style, "display") }

// valueOf is the value in lower case that declarations give a property at last.
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

// styles are the classes (".a") and ids ("#a") that the style sheets in a page speak of.
type styles struct {
	hidden map[string]bool // display:none by a rule of its own
	shown  map[string]bool // another display by any rule: of a wide screen, or when a reader asks for it
}

// longestSelector bounds what is read of the selectors of one rule, in bytes.
const longestSelector = 1 << 10

// hide reports whether n is hidden by one of its names, and never shown by another.
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

// namesOf gives the class tokens and the id of n as selectors.
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

// note reads a STYLE element, unless it is for paper or speech, for readers without scripts or for a copy that a script makes. What one
// hides for some screens alone is not hidden; what it shows is shown.
func (s *styles) note(n *html.Node) {
	medium := strings.ToLower(strings.TrimSpace(attr(n.Attr, "media")))
	kind := strings.ToLower(strings.TrimSpace(attr(n.Attr, "type")))
	if n.FirstChild == nil || n.Namespace != "" || kind != "" && kind != "text/css" || medium == "print" || medium == "speech" {
		return
	}
	for p := n.Parent; p != nil; p = p.Parent {
		if p.DataAtom == atom.Noscript || p.DataAtom == atom.Template {
			return
		}
	}
	s.read(n.FirstChild.Data, medium != "" && medium != "all" && medium != "screen")
}

// rule is an open block of a style sheet.
type rule struct {
	prelude string
	display string // what its declarations give
	paper   bool   // it is for paper alone
}

// deepestRule bounds the blocks of a style sheet within each other.
const deepestRule = 16

// read notes which names the rules of a style sheet hide, unless it counts under a condition, and which they show. Faults are passed over.
func (s *styles) read(css string, condition bool) {
	css = uncommented(css)
	var open []rule
	start := 0 // behind the last brace or semicolon
	for i := 0; i < len(css); i++ {
		switch css[i] {
		case '"', '\'':
			_, next := cssString(css, i)
			i = next - 1
			continue
		case '\\':
			i++
			continue
		case '{':
			if len(open) == deepestRule {
				s.hidden = nil // what the rest shows is not known
				return
			}
			prelude := strings.TrimSpace(css[start:i])
			open = append(open, rule{prelude: prelude, paper: paper(prelude) || len(open) > 0 && open[len(open)-1].paper})
		case ';', '}':
			if n := len(open); n > 0 {
				if display := displayOf(css[start:i]); display != "" {
					open[n-1].display = display
				}
				if css[i] == '}' {
					s.take(open[n-1], condition || n > 1)
					open = open[:n-1]
				}
			}
		default:
			continue
		}
		start = i + 1
	}
}

// uncommented is a style sheet without comments.
func uncommented(css string) string {
	if !strings.Contains(css, "/*") {
		return css
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(css, "/*")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, css, _ = strings.Cut(rest, "*/")
	}
}

// take notes what a rule says, within another or not.
func (s *styles) take(r rule, within bool) {
	if r.display == "" || r.paper || strings.HasPrefix(r.prelude, "@") || r.display == "none" && len(r.prelude) > longestSelector {
		return
	}
	if r.display != "none" {
		for name := range selected(r.prelude) {
			put(&s.shown, name)
		}
		return
	}
	if within {
		return
	}
	for selector := range strings.SplitSeq(r.prelude, ",") {
		selector = strings.TrimSpace(selector)
		selected(selector)(func(name string) bool {
			if name == cssUnescape(selector) { // nothing but a name
				put(&s.hidden, name)
			}
			return false
		})
	}
}

// paper reports whether a rule is for paper alone.
func paper(prelude string) bool {
	if len(prelude) > longestSelector {
		return false
	}
	prelude = strings.ToLower(prelude)
	return strings.HasPrefix(prelude, "@media") && strings.Contains(prelude, "print") && !strings.Contains(prelude, ",") && !strings.Contains(prelude, "not")
}

func put(set *map[string]bool, name string) {
	if *set == nil {
		*set = map[string]bool{}
	}
	(*set)[name] = true
}

// selected gives the classes and ids that selectors speak of.
func selected(selectors string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := 0; i < len(selectors); i++ {
			if selectors[i] != '.' && selectors[i] != '#' {
				continue
			}
			end := i + 1
			for end < len(selectors) && (identifies(selectors[end]) || selectors[end] == '\\' && end+1 < len(selectors)) {
				if selectors[end] == '\\' {
					end++
				}
				end++
			}
			if end > i+1 && !yield(selectors[i:i+1]+cssUnescape(selectors[i+1:end])) {
				return
			}
			i = end - 1
		}
	}
}

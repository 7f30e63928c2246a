package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// styles are the classes (".a") and ids ("#a") that the style sheets in a page speak of.
type styles struct {
	hidden map[string]bool // display:none by a rule of its own
	shown  map[string]bool // another display by any rule: of a wide screen, or when a reader asks for it
	unsure bool            // if elements are shown is not known, so none counts as hidden
}

// Bounds of what is read of a style sheet.
const (
	longestSelector = 1 << 10 // bytes of the selectors of one rule
	deepestRule     = 16      // blocks within each other
)

// note reads a STYLE element, unless it is for paper or speech, for readers without scripts or for
// a copy that a script makes. What one hides for some screens alone is not hidden; what it shows is
// shown.
func (s *styles) note(n *html.Node) {
	medium := strings.ToLower(strings.TrimSpace(attr(n.Attr, "media")))
	kind := strings.ToLower(strings.TrimSpace(attr(n.Attr, "type")))
	if n.FirstChild == nil || n.Namespace != "" || kind != "" && kind != "text/css" || medium == "print" ||
		medium == "speech" {
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
	prelude   string
	selectors string // with those of the rules around it; "" where they are not known
	display   string // what its declarations give
	within    bool   // it, or one around it, is for elements
	paper     bool   // it is for paper alone
	sometimes bool   // it may not count
}

// read notes which names the rules of a style sheet hide, unless they count under a condition, and
// which they show. Faults are passed over.
func (s *styles) read(css string, condition bool) {
	css = uncommented(css)
	open := []rule{{sometimes: condition}} // the sheet itself
	start := 0                             // behind the last brace or semicolon
	for i := 0; i < len(css); i++ {
		last := &open[len(open)-1]
		switch css[i] {
		case '"', '\'':
			_, next := cssString(css, i)
			i = next - 1
			continue
		case '\\':
			i++
			continue
		case '{':
			if len(open) > deepestRule {
				s.hidden, s.unsure = nil, true
				return
			}
			open = append(open, last.with(strings.TrimSpace(css[start:i])))
		case ';', '}':
			if len(open) > 1 {
				if display := displayOf(css[start:i]); display != "" {
					last.display = display
				}
				if css[i] == '}' {
					s.take(*last)
					open = open[:len(open)-1]
				}
			}
		default:
			continue
		}
		start = i + 1
	}
}

// with returns a rule inside r. A rule inside an at-rule has the selectors around it (CSS Nesting
// 1, 2).
func (r rule) with(prelude string) rule {
	in := rule{prelude: prelude, selectors: r.selectors, within: r.within, paper: r.paper || paper(prelude),
		sometimes: r.sometimes}
	switch {
	case strings.HasPrefix(prelude, "@"):
		in.sometimes = in.sometimes || !always(prelude)
		return in
	case r.within:
		in.selectors = nested(r.selectors, prelude)
	case len(prelude) <= longestSelector:
		in.selectors = prelude
	}
	in.within = true
	return in
}

// nested returns the selectors of a rule inside another (CSS Nesting 1, 3), "" if they are too
// long.
func nested(around, selectors string) string {
	var list []string
	size := 0
	for inner := range strings.SplitSeq(selectors, ",") {
		for outer := range strings.SplitSeq(around, ",") {
			inner, outer := strings.TrimSpace(inner), strings.TrimSpace(outer)
			nests := strings.Count(inner, "&")
			if size += len(inner) + max(nests, 1)*len(outer) + len(" ,"); size > longestSelector || outer == "" {
				return ""
			}
			if nests == 0 {
				inner = "& " + inner
			}
			list = append(list, strings.ReplaceAll(inner, "&", outer))
		}
	}
	return strings.Join(list, ",")
}

// always reports whether an at-rule counts on every screen.
func always(prelude string) bool {
	name, condition, _ := strings.Cut(strings.ToLower(prelude), " ")
	switch strings.TrimSpace(condition) {
	case "screen", "all", "only screen":
		return name == "@media"
	}
	return name == "@layer"
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

// take reads a rule.
func (s *styles) take(r rule) {
	if r.display == "" || r.paper {
		return
	}
	if r.display != "none" {
		shown := r.prelude
		if strings.HasPrefix(shown, "@") || strings.Contains(shown, "&") {
			if shown = r.selectors; shown == "" {
				s.hidden, s.unsure = nil, true
			}
		}
		for name := range selected(shown) {
			put(&s.shown, name)
		}
		return
	}
	// lists within those are part of longer selectors
	if r.sometimes || s.unsure || strings.ContainsAny(r.selectors, "([") {
		return
	}
	for selector := range strings.SplitSeq(r.selectors, ",") {
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
	return strings.HasPrefix(prelude, "@media") && strings.Contains(prelude, "print") &&
		!strings.Contains(prelude, ",") && !strings.Contains(prelude, "not")
}

func put(set *map[string]bool, name string) {
	if *set == nil {
		*set = map[string]bool{}
	}
	(*set)[name] = true
}

// selected yields the classes and ids in selectors.
func selected(selectors string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := 0; i < len(selectors); i++ {
			if selectors[i] != '.' && selectors[i] != '#' {
				continue
			}
			end := i + 1
			for end < len(selectors) && (identifies(selectors[end]) || selectors[end] == '\\' &&
				end+1 < len(selectors)) {
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

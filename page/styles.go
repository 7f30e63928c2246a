package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// styles records the classes (".a") and ids ("#a") that the style sheets in a page hide or show.
type styles struct {
	hidden map[string]bool // names that a rule hides with display:none, if the whole selector of the rule is the name
	shown  map[string]bool // names that any rule shows, for example on wide screens or on a reader's action
	unsure bool            // a style sheet could not be read completely, so no element counts as hidden
}

// Limits on what is read of a style sheet.
const (
	longestSelector = 1 << 10 // bytes of the selectors of one rule
	deepestRule     = 16      // nesting depth of rules
)

// note reads a STYLE element. It ignores one that is for print or speech, for readers without
// scripts, or inside a template. If a STYLE element applies only to some screens, its rules can
// show elements but not hide them.
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
	selectors string // selectors including those of the rules around it; "" if unknown
	display   string // the last value of the property display
	within    bool   // the rule, or a rule around it, has selectors
	paper     bool   // the rule is only for print
	sometimes bool   // the rule applies only under a condition
}

// read records which names the rules of a style sheet hide and show. If condition is true, the
// whole sheet applies only under a condition, so its rules hide nothing. Syntax errors are ignored.
func (s *styles) read(css string, condition bool) {
	css = uncommented(css)
	open := []rule{{sometimes: condition}} // the style sheet itself, as outermost rule
	start := 0                             // offset after the last brace or semicolon
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
					s.apply(*last)
					open = open[:len(open)-1]
				}
			}
		default:
			continue
		}
		start = i + 1
	}
}

// with returns a rule that has the given prelude and is inside r. A rule inside an at-rule has the
// selectors around the at-rule (CSS Nesting 1, 2).
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

// nested returns the selectors of a rule nested in another rule (CSS Nesting 1, 3); "" if they are
// too long.
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

// always reports whether an at-rule applies on every screen.
func always(prelude string) bool {
	name, condition, _ := strings.Cut(strings.ToLower(prelude), " ")
	switch strings.TrimSpace(condition) {
	case "screen", "all", "only screen":
		return name == "@media"
	}
	return name == "@layer"
}

// uncommented returns a style sheet without comments.
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

// apply records the names that the rule r hides or shows.
func (s *styles) apply(r rule) {
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
	// in a selector with brackets, a comma or a name may be part of a longer selector
	if r.sometimes || s.unsure || strings.ContainsAny(r.selectors, "([") {
		return
	}
	for selector := range strings.SplitSeq(r.selectors, ",") {
		selector = strings.TrimSpace(selector)
		selected(selector)(func(name string) bool {
			if name == cssUnescape(selector) { // the selector is a single name
				put(&s.hidden, name)
			}
			return false
		})
	}
}

// paper reports whether a rule applies only to print.
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

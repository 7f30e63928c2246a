package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits on the tree of one page. If a page never closes its formatting elements, a parser opens
// them again in every block, so that a tree can have many more nodes than the page has tags. If
// that is likely, only a few kinds of formatting elements are kept. The parser fails at 512 open
// elements: a page with more open elements is parsed again without its deepest plain elements.
const (
	maxNodes  = 1_000_000 // nodes while a page is parsed
	moreNodes = 50_000    // nodes that are kept, in addition to three for each tag
	maxOpen   = 512       // open elements at which the parser fails
	maxDepth  = 256       // nesting depth kept if the parser fails
)

// build parses a page. It never fails: if a page cannot be parsed within the limits, build parses
// only its head, and why gives the reason. All statements of such a page are still obeyed, but none
// of its text is used.
func build(src string, xhtml bool, tags int) (root *html.Node, why string) {
	nodes, depth := maxNodes, 0
	for range 3 {
		tamed, ok := tame(src, xhtml, tags, depth, nodes)
		if !ok {
			break
		}
		root, err := html.Parse(strings.NewReader(tamed))
		switch {
		case err != nil:
			depth = maxDepth
		case countNodes(root) > 3*tags+moreNodes && nodes == maxNodes:
			nodes = 3*tags + moreNodes
		default:
			return root, ""
		}
	}
	if root, err := html.Parse(strings.NewReader(headOf(src))); err == nil {
		return root, "only its head is read: its elements are nested too deep, " +
			"or too many formatting elements are not closed"
	}
	return &html.Node{Type: html.DocumentNode}, "its markup cannot be read"
}

func countNodes(root *html.Node) (n int) {
	walk(root, func(*html.Node) bool { n++; return true }, func(*html.Node) {})
	return n
}

// buildFragment parses the content of a NOSCRIPT element; tags is the number of tags of the page.
func buildFragment(src string, tags int) ([]*html.Node, error) {
	context := &html.Node{Type: html.ElementNode, DataAtom: atom.Div, Data: "div"}
	tamed, ok := tame(src, false, tags, 0, maxNodes)
	if !ok {
		return nil, nil
	}
	return html.ParseFragmentWithOptions(strings.NewReader(tamed), context, html.ParseOptionEnableScripting(false))
}

// tame rewrites src so that it can be parsed within the limits. It returns false for markup with
// too many formatting elements that must not be left out.
func tame(src string, xhtml bool, tags, depth, nodes int) (string, bool) {
	r := rewriter{xhtml: xhtml, kinds: -1, depth: depth}
	if tags*maxOpen > nodes && tags*min(maxOpen, countFormatting(src)) > nodes {
		r.kinds = nodes / (3 * tags) // the parser opens an element of one kind again at most three times
	}
	if !xhtml && r.kinds < 0 && depth == 0 {
		return src, true
	}
	return r.rewrite(src)
}

// countFormatting returns an upper limit for the number of start tags of formatting elements.
func countFormatting(src string) int {
	count := 0
	for {
		i := strings.IndexByte(src, '<')
		if i < 0 {
			return count
		}
		src = src[i+1:]
		end := strings.IndexAny(src[:min(len(src), 7)], " \t\n\r\f/>")
		if end > 0 && formatting(strings.ToLower(src[:end])) {
			count++
		}
	}
}

// formatting reports whether a parser opens unclosed elements of that name again. A and NOBR are
// not included, because each closes the previous one.
func formatting(name string) bool {
	switch name {
	case "b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u":
		return true
	}
	return false
}

// plain reports whether elements of that name do nothing except separate words.
func plain(name string) bool {
	switch name {
	case "address", "article", "aside", "blockquote", "center", "dd", "div", "dl", "dt", "footer", "header", "li",
		"main",
		"nav", "ol", "p", "section", "ul", "span":
		return true
	}
	return formatting(name)
}

func void(name string) bool {
	switch name {
	case "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr":
		return true
	}
	return false
}

// rewriter copies markup token by token, without the elements that make trees grow.
type rewriter struct {
	xhtml bool
	kinds int // number of kinds of formatting elements to keep; -1: all
	depth int // number of open elements to keep; 0: all

	out     strings.Builder
	seen    map[string]bool
	open    []string
	dropped map[string]int
}

func (r *rewriter) rewrite(src string) (string, bool) {
	r.out.Grow(len(src))
	r.seen, r.dropped = map[string]bool{}, map[string]int{}
	z := html.NewTokenizer(strings.NewReader(src))
	z.AllowCDATA(r.xhtml)
	for {
		kind := z.Next()
		raw := string(z.Raw())
		switch kind {
		case html.ErrorToken:
			r.out.WriteString(raw)
			return r.out.String(), true
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			empty := r.xhtml && kind == html.SelfClosingTagToken && !void(t.Data)
			if empty {
				z.NextIsNotRawText()
			}
			if !r.start(raw, t, empty) {
				return "", false
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			r.end(raw, string(name))
		default:
			if cdata, ok := strings.CutPrefix(raw, "<![CDATA["); ok && r.xhtml {
				raw = html.EscapeString(strings.TrimSuffix(cdata, "]]>"))
			}
			r.out.WriteString(raw)
		}
	}
}

// start copies a start tag or leaves it out. It returns false if the tag must not be left out and
// cannot be copied within the limits.
func (r *rewriter) start(raw string, t html.Token, empty bool) bool {
	if r.kinds >= 0 && formatting(t.Data) && !r.seen[raw] {
		if len(r.seen) >= r.kinds {
			return !restricts(t.Attr)
		}
		r.seen[raw] = true
	}
	if empty {
		r.out.WriteString(strings.TrimSuffix(raw, "/>") + "></" + t.Data + ">")
		return true
	}
	if r.depth > 0 && !void(t.Data) {
		if len(r.open) >= r.depth && plain(t.Data) && !restricts(t.Attr) {
			r.dropped[t.Data]++
			r.gap(t.Data)
			return true
		}
		r.open = append(r.open, t.Data)
	}
	r.out.WriteString(raw)
	return true
}

func (r *rewriter) end(raw, name string) {
	if r.dropped[name] > 0 {
		r.dropped[name]--
		r.gap(name)
		return
	}
	for i := len(r.open) - 1; i >= 0; i-- {
		if r.open[i] == name {
			r.open = r.open[:i]
			break
		}
	}
	r.out.WriteString(raw)
}

// gap separates the words around an element that was left out, if the element separated them.
func (r *rewriter) gap(name string) {
	if name != "span" && !formatting(name) {
		r.out.WriteString("<br>")
	}
}

// restricts reports whether these attributes may prohibit the use of an element.
func restricts(attrs []html.Attribute) bool {
	return has(attrs, "hidden") || has(attrs, "style") || has(attrs, "data-nosnippet") || mentions(attr(attrs, "class"))
}

// headOf returns the part of src before the first tag that ends the head.
func headOf(src string) string {
	z := html.NewTokenizer(strings.NewReader(src))
	offset := 0
	for {
		kind := z.Next()
		size := len(z.Raw())
		switch kind {
		case html.ErrorToken:
			return src[:offset]
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			switch string(name) {
			case "html", "head", "title", "meta", "link", "base", "script", "style", "noscript":
			default:
				return src[:offset]
			}
		}
		offset += size
	}
}

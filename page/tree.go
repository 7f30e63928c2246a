package page

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/acapcrawl/acapcrawl/acap"
)

// tree is a parsed page and what one walk over it found. The zero tree is a page without markup.
type tree struct {
	root  *html.Node
	html  *html.Node
	title *html.Node
	body  *html.Node // BODY or FRAMESET
	base  *html.Node // the first BASE with an href
	h1    []*html.Node

	metas     []*html.Node // META elements of the head with a name and content (N11)
	tags      []acap.Tag   // those of them that may carry rules
	outside   []*html.Node // META elements behind the head that look like such
	strays    []acap.Tag   // what those say
	marked    []*html.Node // elements with marks, document order
	marks     map[*html.Node][]acap.Mark
	elements  int         // numbered so far
	listed    []acap.Mark // every mark of the page, document order
	lost      []acap.Mark // those of them that the parser left without an element
	nosnippet bool        // some element has data-nosnippet
	styles    styles
	languages []string // that META http-equiv declares

	spoken    int    // elements that say something of the page
	talkative bool   // it declares too much; what follows is not listed
	why       string // why not all of the source is in the tree; "" where it is
	unread    string // why its declarations are not known; "" if they are
}

// mostH1 bounds the elements among which a title is looked for.
const mostH1 = 8

func parse(src string, xhtml bool) *tree {
	e := extentOf(src, xhtml)
	tags := strings.Count(src[:e.end], "<")
	root, why := build(src[:e.end], xhtml, tags)
	t := &tree{root: root, marks: map[*html.Node][]acap.Mark{}, why: cmp.Or(e.unread, e.why, why), unread: e.unread}
	walk(t.root, func(n *html.Node) bool {
		if n.Type == html.ElementNode {
			t.note(n, tags)
		}
		return true
	}, func(*html.Node) {})
	if t.unread == "" && !t.talkative {
		t.locate(src, xhtml)
		t.markFragments(src, xhtml)
	}
	// its declarations are not known, so none is used
	if t.unread = cmp.Or(t.unread, t.said()); t.unread != "" {
		t.tags, t.strays, t.listed, t.lost, t.marked = nil, nil, nil, nil, nil
		clear(t.marks)
		t.why = t.unread
	}
	return t
}

// note keeps what n means for the page. The content of noscript, which the parser leaves as text,
// becomes its children.
func (t *tree) note(n *html.Node, tags int) {
	switch n.DataAtom {
	case atom.Html:
		t.html = first(t.html, n)
	case atom.Body, atom.Frameset:
		t.body = first(t.body, n)
	case atom.Title:
		if n.Namespace == "" {
			t.title = first(t.title, n)
		}
	case atom.Base:
		if has(n.Attr, "href") {
			t.base = first(t.base, n)
		}
	case atom.Meta:
		t.noteMeta(n)
	case atom.H1:
		if len(t.h1) < mostH1 {
			t.h1 = append(t.h1, n)
		}
	case atom.Style:
		t.styles.note(n)
	case atom.Noscript:
		readNoscript(n, tags)
	}
	for _, a := range n.Attr {
		switch {
		case a.Key == "data-nosnippet":
			t.nosnippet = true
		case a.Key == "class" && a.Namespace == "":
			t.noteClass(n, a.Val)
		}
	}
}

// noteMeta keeps a META tag that may carry rules: one in the head, and one elsewhere if it does.
func (t *tree) noteMeta(n *html.Node) {
	if strings.EqualFold(attr(n.Attr, "http-equiv"), "content-language") && inHead(n) {
		t.languages = append(t.languages, attr(n.Attr, "content"))
	}
	switch name, content, ok := metaText(n.Attr); {
	case ok && inHead(n):
		t.metas = append(t.metas, n)
		if speaks(name, content) {
			t.heard()
		}
	case ok && speaks(name, content) && len(t.outside) <= maxSaid:
		t.outside = append(t.outside, n)
	}
}

// noteClass keeps the marks in the class attribute of n.
func (t *tree) noteClass(n *html.Node, class string) {
	if marks := marksOf(n, class); marks != nil && !t.talkative {
		t.heard()
		t.marked = append(t.marked, n)
		t.number(marks)
		t.marks[n] = marks
	}
}

// heard counts an element that declares something about the page.
func (t *tree) heard() {
	t.spoken++
	t.talkative = t.spoken > maxSaid
}

func first(old, n *html.Node) *html.Node {
	if old != nil {
		return old
	}
	return n
}

func inHead(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n.DataAtom == atom.Head && n.Namespace == "" {
			return true
		}
	}
	return false
}

// readNoscript adds the elements to n that a reader without scripts sees. The parser reads pages as
// if scripts run, so that an image in a noscript of the head does not end the head.
func readNoscript(n *html.Node, tags int) {
	text := n.FirstChild
	if text == nil || text.Type != html.TextNode || !strings.ContainsAny(text.Data, "<&") {
		return
	}
	children, err := buildFragment(text.Data, tags)
	if err != nil {
		return
	}
	n.RemoveChild(text)
	for _, c := range children {
		n.AppendChild(c)
	}
}

// marksOf lists the marks among the tokens of a class attribute, without position (P2 2.2.5, N10).
func marksOf(n *html.Node, class string) []acap.Mark {
	if !mentions(class) {
		return nil
	}
	var marks []acap.Mark
	for _, token := range strings.FieldsFunc(class, isBlank) {
		token = unquote(token)
		if foldPrefix(token, "the-acap:") || foldPrefix(token, "acap:") {
			marks = append(marks, acap.Mark{Token: token, Place: placeOf(n)})
		}
	}
	return marks
}

// number gives the marks of each element a number of their own (X13).
func (t *tree) number(marks []acap.Mark) {
	t.elements++
	for i := range marks {
		marks[i].Element = t.elements
	}
}

// placeOf returns whether a mark on n applies to the page or to its element, which BODY is too
// (N27). A nil node has no place.
func placeOf(n *html.Node) acap.Place {
	if n != nil && (n.DataAtom == atom.Html && n.Namespace == "" || inHead(n)) {
		return acap.OnHead
	}
	return acap.OnElement
}

// mentions reports whether s holds "acap:" in any case.
func mentions(s string) bool {
	for i := 0; ; i++ {
		colon := strings.IndexByte(s[i:], ':')
		if colon < 0 {
			return false
		}
		i += colon
		if i >= 4 && strings.EqualFold(s[i-4:i], "acap") {
			return true
		}
	}
}

// isBlank holds for the white space of HTML.
func isBlank(r rune) bool { return r < 0x80 && strings.IndexByte(" \t\n\r\f", byte(r)) >= 0 }

func foldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

const curly = "“”„‟‘’‚‛"

// unquote strips the curly quotes that a word processor left around an attribute value, when no
// blank is inside (N14).
func unquote(v string) string {
	r := []rune(v)
	if len(r) < 2 || !strings.ContainsRune(curly, r[0]) || slices.ContainsFunc(r, isBlank) {
		return v
	}
	if r[len(r)-1] == '/' { // <meta content=”noindex”/>: the slash belongs to the unquoted value
		r = r[:len(r)-1]
	}
	if len(r) < 2 || !strings.ContainsRune(curly, r[len(r)-1]) {
		return v
	}
	return string(r[1 : len(r)-1])
}

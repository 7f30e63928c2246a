package page

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/acapcrawl/acapcrawl/acap"
)

// tree is a parsed page and the results of one walk over it. The zero tree is a page without
// markup.
type tree struct {
	root  *html.Node
	html  *html.Node
	title *html.Node
	body  *html.Node // the BODY or FRAMESET element
	base  *html.Node // the first BASE element with an href
	h1    []*html.Node

	metas     []*html.Node // META elements in the head with a name and content (N11)
	tags      []acap.Tag   // META tags in the head that may contain rules
	outside   []*html.Node // META elements outside the head that look like rules
	strays    []acap.Tag   // the names and contents of the META elements in outside
	licences  []*html.Node // elements that associate the page with licence documents
	plain     []*html.Node // LINK elements that name a licence, without the media type of RSL
	marked    []*html.Node // elements with marks, in document order
	marks     map[*html.Node][]acap.Mark
	elements  int         // number of elements numbered so far
	listed    []acap.Mark // every mark of the page, in document order
	lost      []acap.Mark // marks for which the parser made no element
	nosnippet bool        // at least one element has data-nosnippet
	styles    styles
	languages []string // languages that META http-equiv declares

	spoken    int    // number of elements with statements about the page
	talkative bool   // the number of statements exceeds the limit; further ones are not listed
	why       string // why a part of the source is not in the tree; "" if the whole source is
	unread    string // why the page's statements are unknown; "" if they are known
}

// mostH1 is the maximum number of H1 elements that are searched for a title.
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
	// if the statements of the page are incomplete, none of them is used
	if t.unread = cmp.Or(t.unread, t.said()); t.unread != "" {
		t.tags, t.strays, t.listed, t.lost, t.marked = nil, nil, nil, nil, nil
		clear(t.marks)
		t.why = t.unread
	}
	return t
}

// note records the statements in n. If n is a NOSCRIPT, the parser leaves the content of n as text.
// Then note parses this text, and adds the result to n as children.
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
	case atom.Link, atom.Script:
		t.noteLicence(n)
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

// noteMeta records a META tag that may contain rules, in the head or elsewhere.
func (t *tree) noteMeta(n *html.Node) {
	if strings.EqualFold(attr(n.Attr, "http-equiv"), "content-language") && inHead(n) {
		t.languages = append(t.languages, attr(n.Attr, "content"))
	}
	switch name, content, ok := metaText(n.Attr); {
	case ok && inHead(n):
		t.metas = append(t.metas, n)
		if mayRule(name, content) {
			t.countStatement()
		}
	case ok && mayRule(name, content) && len(t.outside) <= maxSaid:
		t.outside = append(t.outside, n)
	}
}

// noteClass records the marks in the class attribute of n.
func (t *tree) noteClass(n *html.Node, class string) {
	if marks := marksOf(n, class); marks != nil && !t.talkative {
		t.countStatement()
		t.marked = append(t.marked, n)
		t.number(marks)
		t.marks[n] = marks
	}
}

// countStatement counts an element with a statement about the page.
func (t *tree) countStatement() {
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

// readNoscript parses the content of a NOSCRIPT element n, which a reader without scripts sees, and
// adds the result to n. Pages are parsed as if scripts run, so that an image in a NOSCRIPT of the
// head does not end the head.
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

// marksOf returns the marks among the tokens of a class attribute, without their positions (P2
// 2.2.5, N10).
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

// number gives all marks of one element the same number, and the marks of each element another
// number (X13).
func (t *tree) number(marks []acap.Mark) {
	t.elements++
	for i := range marks {
		marks[i].Element = t.elements
	}
}

// placeOf returns whether a mark on n applies to the page or to an element; BODY counts as an
// element too (N27). A nil node has no place.
func placeOf(n *html.Node) acap.Place {
	if n != nil && (n.DataAtom == atom.Html && n.Namespace == "" || inHead(n)) {
		return acap.OnHead
	}
	return acap.OnElement
}

// mentions reports whether s contains "acap:", in upper or lower case.
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

// isBlank reports whether r is white space in HTML.
func isBlank(r rune) bool { return r < 0x80 && strings.IndexByte(" \t\n\r\f", byte(r)) >= 0 }

func foldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

const curly = "“”„‟‘’‚‛"

// unquote removes the typographic quotation marks that a word processor left around an attribute
// value, if the value contains no blank (N14).
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

package second

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// content adds the text and the links of a page to the answer. It also reports whether the second
// engine covers text and links. It does not if there are required resources, or if an element is
// permitted although the page, or an element around it, prohibits other usages. P2 2.2.8 (N05), P1
// 2.5.6 (F19).
func (e *engine) content(subjects []*subject, a *answer) (textModelled, linksModelled bool) {
	p := subjects[0].page
	if p == nil {
		return true, true
	}
	if p.document == nil {
		return false, false
	}
	marks := subjects[0].marks
	index, follow := a.Decisions["index"], a.Decisions["follow"]
	open := !slices.ContainsFunc(marks, func(m mark) bool { return m.verdict.usage == "other" && !m.verdict.allow })
	textModelled = index.Allowed && len(index.Limits.MustUse) == 0 && open || !permitsAny(marks, "index")
	linksModelled = follow.Allowed && open || !permitsAny(marks, "follow")
	textModelled = textModelled && (!index.Allowed || len(index.Limits.MustUse) == 0)
	if index.Allowed && textModelled {
		s := pageText(p.document, marks, index.Reason == "permission")
		a.Text = &s
	}
	if follow.Allowed {
		list := pageLinks(p, marks, follow.Reason == "permission")
		for _, s := range subjects {
			list = slices.DeleteFunc(list, s.asks)
		}
		a.Links = &list
	}
	return textModelled, linksModelled
}

// asks reports whether fetching the link would be a request for permission: a permission-link of
// allow-other names the address. P1 2.5.6 (L02).
func (s *subject) asks(link string) bool {
	said := func(list []statement) []statement {
		return keep(s.policy.of(list, "other"), func(st statement, _ []statement) bool { return st.offer })
	}
	for _, st := range s.policy.layers(said(s.policy.robots), said(s.policy.page)) {
		for _, v := range st.terms.usageRefs {
			id, ok := cutFold(v, "the-acap:permission-link:id:")
			for n := range s.page.document.Descendants() {
				if ok && n.Data == "a" && attribute(n, "id") == id {
					u, err := s.page.url.Parse(attribute(n, "href"))
					if err == nil && u.String() == link {
						return true
					}
				}
			}
		}
	}
	return false
}

func permitsAny(marks []mark, usage string) bool {
	return slices.ContainsFunc(marks, func(m mark) bool { return m.verdict.allow && m.verdict.usage == usage })
}

// isBlock reports whether an element of the generated pages is a block, separate from the text
// around it.
func isBlock(n *html.Node) bool {
	return n.Type == html.ElementNode && slices.Contains([]string{"html", "head", "title", "body", "p", "div",
		"h1"}, n.Data)
}

// pageText returns the indexable text of title and body, with collapsed white space. In place of
// removed text there is a blank if the text contained or touched white space, and a block break if
// it was a block (X89).
func pageText(doc *html.Node, marks []mark, explicit bool) string {
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			return
		}
		if n.Data == "script" {
			return
		}
		if cut(n, "index", marks, explicit) {
			b.WriteString(traces(n))
			return
		}
		if isBlock(n) {
			b.WriteString("\n")
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
		if isBlock(n) {
			b.WriteString("\n")
		}
	}
	walk(doc)
	return strings.Join(strings.Fields(b.String()), " ")
}

// traces returns the white space that stays in the text in place of a removed element.
func traces(n *html.Node) string {
	if isBlock(n) || strings.ContainsAny(textOf(n), " \t\r\n\f") {
		return " "
	}
	for d := range n.Descendants() {
		if isBlock(d) {
			return " "
		}
	}
	return ""
}

// pageLinks returns the addresses of the links that may be followed, in document order, once each.
func pageLinks(p *page, marks []mark, explicit bool) []string {
	out := []string{}
	for n := range p.document.Descendants() {
		href := attribute(n, "href")
		if n.Data != "a" || href == "" || strings.Contains(attribute(n, "rel"), "nofollow") || cut(n, "follow",
			marks, explicit) {
			continue
		}
		u, err := p.url.Parse(href)
		if err == nil && !slices.Contains(out, u.String()) {
			out = append(out, u.String())
		}
	}
	return out
}

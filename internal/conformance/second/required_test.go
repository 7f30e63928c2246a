package second

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// fulfils reports whether a must-use-resource is available for a usage of a page (X05). relative is
// the base of relative URIs.
func (e *engine) fulfils(usage, value string, relative *url.URL, p *page, marks []mark) bool {
	rest, ours := cutFold(value, "the-acap:")
	if !ours {
		return e.canUse(value, relative, p)
	}
	kind, arg, _ := strings.Cut(rest, ":")
	if strings.EqualFold(kind, "text") {
		return true
	}
	kind, arg, _ = strings.Cut(arg, ":")
	return e.extracts(usage, strings.ToLower(kind), arg, p, marks, false)
}

// extracts reports whether a selector finds text in the page that may be used. P1 2.5.3.2 (I01,
// I08). whole means that no part of that text may be removed. It ignores what class statements
// remove from pictures.
func (e *engine) extracts(usage, kind, arg string, p *page, marks []mark, whole bool) bool {
	if p.document == nil {
		return false
	}
	if kind == "meta" {
		return slices.ContainsFunc(p.metas, func(m meta) bool {
			return strings.EqualFold(m.name, arg) && strings.TrimSpace(m.content) != ""
		})
	}
	found := false
	for n := range p.document.Descendants() {
		if n.Type != html.ElementNode || !selected(n, kind, arg) {
			continue
		}
		for t := range n.Descendants() {
			if t.Type != html.TextNode || strings.TrimSpace(t.Data) == "" {
				continue
			}
			if !whole && (usage == "present" || strings.HasSuffix(usage, "thumbnail")) ||
				!cut(t.Parent, usage, marks, true) {
				found = true
			} else if whole {
				return false
			}
		}
		if kind == "id" { // only the first element with an id counts
			return found
		}
	}
	return found
}

func selected(n *html.Node, kind, arg string) bool {
	list := strings.Split(arg, ",")
	switch kind {
	case "id", "idlist":
		return slices.Contains(list, attribute(n, "id"))
	case "class", "classlist":
		// P1 2.5.3.2 (I05): the argument is one token of the class attribute; letter case matters
		return slices.ContainsFunc(strings.Fields(attribute(n, "class")),
			func(c string) bool { return slices.Contains(list, c) })
	case "taglist":
		return slices.ContainsFunc(list, func(t string) bool { return strings.EqualFold(t, n.Data) })
	}
	return false
}

// canUse reports whether another resource is available: reachable, permitted to crawl at every
// redirect, found, and without a prohibition of crawl in itself. P1 2.5.3.2 (I02, I03, X30, X84).
// The page itself is always available.
func (e *engine) canUse(value string, relative *url.URL, p *page) bool {
	u, err := relative.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	u.Fragment = ""
	if u.String() == p.url.String() {
		return true
	}
	got := e.q.get(u, func(hop *url.URL) bool { return reachable(hop, p.url) && e.mayCrawl(hop) })
	if !got.ok || got.response.Status < 200 || got.response.Status > 299 {
		return false
	}
	other := readPage(got.url, got.response)
	other.web = e.q
	for _, pur := range e.purposes() {
		if e.subject(other.url, pur, other).discarded() {
			return false
		}
	}
	return !e.needsServer(other.url, other)
}

// mayCrawl reports whether any purpose may crawl a URL, before it is fetched.
func (e *engine) mayCrawl(u *url.URL) bool {
	return e.crawlable(u) && !e.needsServer(u, nil)
}

// crawlable reports whether ACAP and RFC 9309 permit any purpose to crawl a URL.
func (e *engine) crawlable(u *url.URL) bool {
	for _, pur := range e.purposes() {
		if e.subject(u, pur, nil).crawlable() {
			return true
		}
	}
	return false
}

// includes reports whether a must-include-resource can be shown next to a usage. P1 2.5.5.6 (J12,
// X05, X08).
func (e *engine) includes(usage, value string, relative *url.URL, p *page, marks []mark) bool {
	_, rest, _ := strings.Cut(value, ":")
	role, locator, _ := strings.Cut(rest, ":")
	role = strings.ToLower(role)
	kind, arg, _ := strings.Cut(locator, ":")
	kind = strings.ToLower(kind)
	switch kind {
	case "text":
		return true
	case "id", "class", "meta":
		if role == "extract" || role == "credit" {
			return e.extracts(usage, kind, arg, p, marks, true)
		}
		// whether the target of the link may be crawled matters, not the text of the link
		return e.extracts(usage, kind, arg, p, nil, false) && e.linkTarget(kind, arg, p)
	}
	return e.mayLink(locator, relative, p)
}

// mayLink reports whether the target of a link may be crawled. The target need not exist (X08).
func (e *engine) mayLink(s string, relative *url.URL, p *page) bool {
	u, err := relative.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return reachable(u, p.url) && e.mayCrawl(u)
}

// linkTarget finds the target of a link in the page: the element's href, otherwise that of its
// first A element, otherwise its text (X08).
func (e *engine) linkTarget(kind, arg string, p *page) bool {
	if kind == "meta" {
		for _, m := range p.metas {
			if strings.EqualFold(m.name, arg) {
				return e.mayLink(m.content, p.url, p)
			}
		}
	}
	for n := range p.document.Descendants() {
		if n.Type != html.ElementNode || !selected(n, kind, arg) {
			continue
		}
		href := attribute(n, "href")
		for d := range n.Descendants() {
			if href == "" && d.Data == "a" {
				href = attribute(d, "href")
			}
		}
		if href == "" {
			href = strings.TrimSpace(textOf(n))
		}
		return e.mayLink(href, p.url, p)
	}
	return false
}

func textOf(n *html.Node) string {
	s := ""
	for t := range n.Descendants() {
		if t.Type == html.TextNode {
			s += t.Data
		}
	}
	return s
}

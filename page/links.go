package page

import (
	"net/url"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/idna"
)

// linking selects the elements that links come from.
var linking = cascadia.MustCompile("a, area, iframe, link[rel]")

// Links are the absolute addresses that the page leads to and that may be followed from it, in document order without
// duplicates: of A, AREA, IFRAME and LINK with rel next, prev or alternate, resolved against the base element, http and
// https, without fragment. Elements with rel=nofollow are left out, and those that c cuts.
func (p *Page) Links(c Cut) []string {
	t := p.tree()
	if t.doc == nil {
		return nil
	}
	s := t.scope(c)
	if s.none() {
		return nil
	}
	base := newBase(p.url, t)
	var links []string
	seen := map[string]bool{}
	for _, n := range t.doc.FindMatcher(linking).Nodes {
		ref, ok := target(n)
		if !ok || !s.at(n) {
			continue
		}
		if link, ok := base.resolve(ref); ok && !seen[link] {
			seen[link] = true
			links = append(links, link)
		}
	}
	return links
}

// target is the reference that n asks to follow.
func target(n *html.Node) (string, bool) {
	if n.DataAtom == atom.Iframe {
		return attr(n.Attr, "src"), has(n.Attr, "src")
	}
	follow := n.DataAtom != atom.Link
	for _, rel := range strings.FieldsFunc(attr(n.Attr, "rel"), isBlank) {
		switch strings.ToLower(rel) {
		case "nofollow", "stylesheet":
			return "", false
		case "next", "prev", "alternate":
			follow = true
		}
	}
	if !follow {
		return "", false
	}
	return hrefOf(n)
}

// hrefOf is the href of n, in SVG also the older xlink:href.
func hrefOf(n *html.Node) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == "href" && (a.Namespace == "" || a.Namespace == "xlink") {
			return a.Val, true
		}
	}
	return "", false
}

// base resolves references of one page.
type base struct{ url *url.URL }

// newBase is the page's address, or what its first BASE element makes of it.
func newBase(page *url.URL, t *tree) base {
	b := base{page}
	if t.base != nil {
		if ref, err := parseReference(attr(t.base.Attr, "href")); err == nil {
			if u := page.ResolveReference(ref); web(u) {
				b.url = u
			}
		}
	}
	return b
}

// resolve makes ref absolute: scheme and host in lower case, the host in ASCII, no default port, no fragment, a path.
func (b base) resolve(ref string) (string, bool) {
	u, ok := b.absolute(ref)
	if !ok {
		return "", false
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String(), true
}

// absolute is resolve with the fragment.
func (b base) absolute(ref string) (*url.URL, bool) {
	r, err := parseReference(ref)
	if err != nil {
		return nil, false
	}
	u := b.url.ResolveReference(r)
	if !web(u) || !normaliseHost(u) {
		return nil, false
	}
	if u.Path == "" {
		u.Path = "/"
	}
	u.RawQuery = escape(u.RawQuery)
	return u, true
}

func web(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Opaque == "" && u.Host != ""
}

func normaliseHost(u *url.URL) bool {
	if !ascii(u.Host) {
		name, err := idna.Lookup.ToASCII(u.Hostname())
		if err != nil {
			return false
		}
		if port := u.Port(); port != "" {
			name += ":" + port
		}
		u.Host = name
	}
	u.Host = strings.ToLower(u.Host)
	switch {
	case u.Scheme == "http":
		u.Host = strings.TrimSuffix(u.Host, ":80")
	case u.Scheme == "https":
		u.Host = strings.TrimSuffix(u.Host, ":443")
	}
	u.Host = strings.TrimSuffix(u.Host, ":")
	return u.Host != ""
}

// parseReference reads what an attribute gives as a URL: blanks around it and line breaks in it do not count, and a
// percent sign that escapes nothing is one.
func parseReference(ref string) (*url.URL, error) {
	ref = strings.TrimFunc(ref, func(r rune) bool { return r <= ' ' })
	if strings.ContainsAny(ref, "\t\r\n") {
		ref = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(ref)
	}
	u, err := url.Parse(ref)
	if err != nil && strings.Contains(ref, "%") {
		u, err = url.Parse(escapePercent(ref))
	}
	return u, err
}

func escapePercent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		if s[i] == '%' && (i+2 >= len(s) || !hex(s[i+1]) || !hex(s[i+2])) {
			b.WriteString("25")
		}
	}
	return b.String()
}

// escape percent-encodes what may not stand in a query.
func escape(query string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(query) {
		switch c := query[i]; {
		case c <= ' ', c >= 0x7F, c == '"', c == '<', c == '>':
			if b.Len() == 0 {
				b.WriteString(query[:i])
			}
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		default:
			if b.Len() > 0 {
				b.WriteByte(c)
			}
		}
	}
	if b.Len() == 0 {
		return query
	}
	return b.String()
}

func hex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

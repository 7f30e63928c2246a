package second

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// page is a fetched page: its statements, elements and headers.
type page struct {
	url      *url.URL
	html     bool
	body     string
	web      *question // the web from which the page and the documents that it names are read
	document *html.Node
	lines    map[*html.Node]int // lines on which META, LINK and SCRIPT elements begin
	header   map[string][]string
	metas    []meta // META elements of the head (P2, N11)
}

type meta struct {
	name, content string
	line          int
}

// readPage reads a fetched response.
func readPage(u *url.URL, r response) *page {
	p := &page{url: u, header: canonical(r.Header), body: r.bytes(), lines: map[*html.Node]int{}}
	kind := "text/html"
	if list := p.header["Content-Type"]; len(list) > 0 {
		kind = list[0]
	} else if strings.HasSuffix(u.Path, "/robots.txt") {
		kind = "text/plain"
	}
	p.html = strings.HasPrefix(kind, "text/html")
	if !p.html {
		return p
	}
	doc, err := html.Parse(strings.NewReader(p.body))
	if err != nil {
		p.html = false
		return p
	}
	p.document = doc
	p.number()
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "meta" && within(n, "head") {
			p.metas = append(p.metas, meta{curly(attribute(n, "name")), curly(attribute(n, "content")), p.lines[n]})
		}
	}
	return p
}

// canonical returns headers under their usual names.
func canonical(header map[string][]string) map[string][]string {
	out := map[string][]string{}
	for _, name := range sortedKeys(header) {
		key := http.CanonicalHeaderKey(name)
		out[key] = append(out[key], header[name]...)
	}
	return out
}

// metaAt returns the place of a META element.
func (p *page) metaAt(m meta) because {
	return because{Source: "meta", URL: p.url.String(), Line: m.line}
}

// number finds the lines of elements. The elements of one name are in the tree in the same order as
// in the text.
func (p *page) number() {
	found := map[string][]int{}
	line := 1
	for z := html.NewTokenizer(strings.NewReader(p.body)); z.Next() != html.ErrorToken; {
		raw := string(z.Raw())
		if t := z.Token(); t.Type == html.StartTagToken || t.Type == html.SelfClosingTagToken {
			found[t.Data] = append(found[t.Data], line)
		}
		line += strings.Count(raw, "\n")
	}
	for n := range p.document.Descendants() {
		if list := found[n.Data]; n.Type == html.ElementNode && len(list) > 0 &&
			slices.Contains([]string{"meta", "link", "script"}, n.Data) {
			p.lines[n], found[n.Data] = list[0], list[1:]
		}
	}
}

func within(n *html.Node, tag string) bool {
	for a := range n.Ancestors() {
		if a.Data == tag {
			return true
		}
	}
	return false
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// curly removes the curly quotation marks around a value. P2 (N14).
func curly(s string) string { return strings.Trim(strings.TrimSpace(s), "“”") }

// tag is one META element that addresses this crawler: 1 by the name robots, 2 by the name of the
// crawler. listed means that its name attribute is a list (X20).
type tag struct {
	addressee int
	listed    bool
	content   string
	at        because
}

func (e *engine) tags(p *page) []tag {
	var out []tag
	for _, m := range p.metas {
		names := strings.Split(m.name, ",")
		t := tag{listed: len(names) > 1, content: m.content, at: p.metaAt(m)}
		for _, n := range names {
			n = strings.TrimSpace(n)
			if namesUs(n, e.tokens) {
				t.addressee = 2
			} else if strings.EqualFold(n, "robots") && t.addressee == 0 {
				t.addressee = 1
			}
		}
		if t.addressee > 0 {
			out = append(out, t)
		}
	}
	return out
}

// acapTokens returns the tokens that follow the word ACAP in the content of a META element. A
// conventional rule may precede that word (X19).
func acapTokens(content string) ([]string, bool) {
	for i, f := range strings.Fields(content) {
		if strings.EqualFold(f, "ACAP") {
			return strings.Fields(content)[i+1:], i == 0
		}
	}
	return nil, false
}

// pageVersion returns the version of a page. A version statement may be anywhere, and address this
// crawler or any crawler. P2 2.2.7 (B12).
func pageVersion(tags []tag) version {
	var values []string
	for _, t := range tags {
		f, _ := acapTokens(t.content)
		if len(f) > 1 && strings.EqualFold(f[0], "version") && !isStatement(f[1]) {
			values = append(values, f[1])
		}
	}
	return combineVersions(values)
}

func isStatement(s string) bool {
	s = strings.ToLower(s)
	return strings.HasPrefix(s, "allow-") || strings.HasPrefix(s, "disallow-")
}

// metaStatements returns the ACAP statements in META of a page that apply to this crawler and
// purpose.
func (e *engine) metaStatements(p *page, pur purpose, defs *definitions) []statement {
	tags := e.tags(p)
	v := pageVersion(tags)
	var out []statement
	for _, t := range tags {
		tokens, first := acapTokens(t.content)
		out = append(out, e.metaTag(t, tokens, first, v, pur, defs)...)
	}
	return out
}

// metaTag reads the content of one META element. Statements after the first one have an effect only
// if they are prohibitions. A permission followed by anything except qualifiers cannot be
// interpreted, so it prohibits. P2 3 (N15).
func (e *engine) metaTag(t tag, tokens []string, first bool, v version, pur purpose, defs *definitions) []statement {
	var purposes []string
	if len(tokens) > 1 && !isStatement(tokens[0]) {
		if strings.EqualFold(tokens[0], "version") && !isStatement(tokens[1]) {
			return nil
		}
		purposes, tokens = tokens[:1], tokens[1:]
	}
	var out []statement
	for i, token := range tokens {
		if !isStatement(token) {
			continue
		}
		fd, _ := newStatement(line{name: "acap-" + strings.ToLower(token)})
		if fd.permission {
			behind := tokens[i+1:]
			// P2 2.2.2 (N16): another statement is not a qualifier of an unknown usage
			if !isUsage(fd.usage) && !fd.local {
				behind = slices.DeleteFunc(slices.Clone(behind), isStatement)
			}
			fd.rest = strings.Join(behind, " ")
		}
		for _, s := range e.ability.expand(fd, v, defs, true) {
			if t.listed && fd.permission || s.allow && (!first || i > 0) || !pur.applies(purposes, s.allow) {
				continue
			}
			st := statement{usage: s.usage, allow: s.allow, terms: s.terms, replaced: s.replaced, offer: s.offer,
				addressee: t.addressee, page: true, source: "meta"}
			if len(purposes) > 0 {
				st.purpose = 1
			}
			out = append(out, st)
		}
	}
	return out
}

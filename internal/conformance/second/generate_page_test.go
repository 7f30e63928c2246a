package second

import (
	"fmt"
	"net/url"
	"strings"
)

// qualifiers writes up to n qualifiers for a usage. A few have an error or belong to another usage.
func (m *maker) qualifiers(usage string, page bool, n int) string {
	var fit []string
	for _, name := range []string{"time-limit", "time-limit", "max-length", "must-use-resource",
		"must-include-resource",
		"prohibited-modification", "prohibited-context", "required-context", "target-condition", "usage-ref"} {
		if applies(name, strings.ToLower(usage)) {
			fit = append(fit, name)
		}
	}
	if page {
		fit = append(fit, "location")
	}
	out := ""
	for range n {
		name := m.pick(append(fit, m.pick("time-limit", "location", "max-length", "must-use-resource"))...)
		if len(fit) > 0 && !m.chance(m.noise*2) {
			name = m.pick(fit...)
		}
		value := m.value(name)
		if m.chance(m.noise * 2) {
			name, value = m.pick("tiem-limit", name, name), m.pick("foo", "", "it's", value, "3-dais")
		}
		equals := "="
		if m.chance(20) {
			equals = " = "
		}
		out += " " + m.letters(name) + equals + value
		if m.chance(6) {
			out += " " + name + "=" + m.value(name)
		}
	}
	return out
}

func (m *maker) value(name string) string {
	switch name {
	case "time-limit":
		return m.pick("3-days", "9-days", "0-days", "until-recrawled", "until-recrawl", "until-2026-06-14",
			"until-2026-06-15",
			"until-2026-12-31", "plus-terms", "until-2026-02-30", "Until-Recrawled",
			"99999999999999999999-days", "-3-days", "3-DAYS")
	case "max-length":
		return m.pick("9-words", "250-chars", "0-chars", "0-words", "3-WORDS", "12chars", "250-chars")
	case "must-use-resource":
		return m.pick("the-acap:extract:id:x", "the-acap:extract:id:nope", "the-acap:extract:class:lead",
			"the-acap:extract:idlist:x,y",
			"the-acap:extract:taglist:h1,p", "the-acap:extract:classlist:lead,nope", "the-acap:text:hello",
			"/sub.html", "sub.html",
			"http://h2.example/sub.html", "/missing.html", "the-acap:idlist:x", "the-acap:extract:meta:abstract",
			"http://10.0.0.1/sub.html", "The-Acap:Extract:ID:x", "the-acap:extract:text:hello", "/moved.html")
	case "must-include-resource":
		return m.pick("the-acap:credit:text:Reuters", "the-acap:extract:id:x", "the-acap:extract:class:lead",
			"the-acap:link:id:l",
			"the-acap:license-link:id:l", "the-acap:credit:id:nope", "the-acap:link:/sub.html", "plus-terms",
			"http://h.example/x",
			"the-acap:registration-link:http://h2.example/sub.html", "the-acap:foo:text:x", "the-acap:credit:id:x")
	case "prohibited-modification":
		return m.pick("any", "format", "style", "translation", "annotation", "appearance", "content",
			"metadata", "structure",
			"plus-terms", "Style")
	case "prohibited-context":
		return m.pick("within-user-frame", "within-user-frame", "within-original-frame")
	case "required-context":
		return m.pick("within-user-frame", "within-original-frame", "Within-Original-Frame")
	case "target-condition":
		return m.pick("permittedcountrylist:be,fr", "permittedcountrylist:BE", "prohibitedcountrylist:be,uk",
			"permittedcountrylist:uk",
			"prohibitedcountrylist:xx", "permitteddomainlist:be", "prohibiteddomainlist:be,fr",
			"rulesref:http://h.example/rules",
			"ipaddressrangelist:1.2.3.1-1.2.3.50", "ipaddressrangelist:1.2.3.50-1.2.3.1,10.1.1.9",
			"ipaddressmasklist:10.1.1.0/0.0.0.255",
			"ipaddressmasklist:10.1.1.0/255.255.255.0", "ipaddressmasklist:10.1.1.0/24", "foo:x",
			"ipaddressrangelist:2001:db8::-2001:db8::f")
	case "usage-ref":
		return m.pick("the-acap:terms-link:/t", "http://h.example/terms", "the-acap:credit:/x",
			"the-acap:permission-link:id:l")
	default:
		return m.pick(m.q.URL, m.q.URL, "http://else.example/a", strings.Replace(m.q.URL, "http://h", "HTTP://H", 1))
	}
}

// page writes the HTML page that the question is about.
func (m *maker) page() {
	if m.chance(4) {
		return
	}
	u, err := url.Parse(m.q.URL)
	if err != nil {
		panic(err)
	}
	r := response{Body: m.html(), Header: map[string][]string{}}
	if m.chance(8) {
		r.Header["Content-Type"] = []string{m.pick("text/plain", "text/html; charset=utf-8")}
	}
	if m.chance(5) {
		name := m.pick("Robots-Tag", "X-Robots-Tag")
		for range 1 + m.IntN(2) {
			r.Header[name] = append(r.Header[name], m.header(name))
		}
	}
	m.q.Web[root(u, "/").ResolveReference(u).String()] = r
}

func (m *maker) header(name string) string {
	rule := func() string {
		return m.pick("noindex", "nofollow", "nosnippet", "noarchive", "none", "all", "NoIndex", "foo",
			"noimageindex")
	}
	if name == "Robots-Tag" {
		return m.pick("*;", "foo;", "Foo;", "other;", `"foo";`) + m.pick(rule(), rule()+";"+rule(),
			"max-snippet=20", rule()+"=?0",
			`unavailable_after="`+m.date()+`"`) + m.pick("", ", *;"+rule(), ", other;"+rule(), ", "+rule())
	}
	return m.pick("", "", "foo: ", "other: ") + m.pick(rule(), rule()+", "+rule(), "max-snippet: 30",
		"unavailable_after: "+m.date(),
		rule()+", other: "+rule(), "unavailable_after: "+m.date()+", "+rule())
}

func (m *maker) date() string {
	return m.pick("2031-01-01", "2020-01-01", "2031-01-01T00:00:00Z", "Wed, 01 Jan 2031 00:00:00 GMT",
		"Wednesday, 01-Jan-31 00:00:00 GMT", "Wed, 01 Jan 2020 00:00:00 GMT", "soon", "2026-06-15")
}

func (m *maker) html() string {
	lines := []string{"<html" + m.class(30) + ">", "<head>", "<title>One title</title>"}
	if m.chance(2) {
		lines = append(lines, m.meta(m.pick("robots", "foo"), "ACAP version "+m.pick("1.1", "1.1", "1.1", "1.1",
			"1.0", "2.0", "x")))
	}
	for range m.IntN(4) {
		lines = append(lines, m.metaStatement())
	}
	if m.chance(3) {
		lines = append(lines, `<meta name="abstract" content="an abstract">`)
	}
	lines = append(lines, "</head>", "<body"+m.class(30)+">")
	if m.chance(12) {
		lines = append(lines, m.metaStatement())
	}
	for range m.IntN(4) {
		lines = append(lines, m.element(2)...)
	}
	return strings.Join(append(lines, "</body>", "</html>"), "\n") + "\n"
}

func (m *maker) meta(name, content string) string {
	return fmt.Sprintf(`<meta name="%s" content="%s">`, name, content)
}

func (m *maker) metaStatement() string {
	name := m.pick("robots", "robots", "robots", "foo", "foo", "Foo", "other", "robots, foo")
	if m.chance(4) {
		return m.meta(name, m.pick("noindex", "nofollow", "nosnippet", "noarchive", "none", "all",
			"index nofollow", "noindex, nofollow",
			"max-snippet:20", "max-snippet: 0", "max-snippet:-1", "unavailable_after: "+m.date(),
			"unavailable_after: "+m.date()+", notranslate", "noimageindex", "NOINDEX", "noindex, ACAP disallow-follow"))
	}
	usage := m.usage()
	if m.chance(12) {
		usage = "(" + m.pick(append(m.locals, "nope")...) + ")"
	}
	purpose := ""
	if m.chance(6) {
		purpose = m.pick("news", "web", "new", "version") + " "
	}
	if m.chance(2) {
		return m.meta(name, "ACAP "+purpose+"disallow-"+usage+m.pick("", "", "", "", " allow-index"))
	}
	content := "ACAP " + purpose + "allow-" + usage
	if m.chance(2) && usage[0] != '(' {
		content += m.qualifiers(usage, true, 1+m.IntN(2))
	} else if m.chance(m.noise * 2) {
		content += m.pick(" disallow-index", " stray", " allow-follow")
	}
	return m.meta(name, strings.ReplaceAll(content, `"`, ""))
}

// class writes a class attribute in about one of n elements.
func (m *maker) class(n int) string {
	if !m.chance(n) {
		return ""
	}
	usage := m.usage()
	if m.chance(m.noise * 2) {
		usage = "(" + m.pick(append(m.locals, "nope")...) + ")"
	}
	token := m.letters("the-acap:") + m.pick("allow-", "disallow-", "disallow-") + usage
	if m.chance(8) {
		token += " the-acap:" + m.pick("allow-", "disallow-") + m.usage()
	}
	return fmt.Sprintf(` class="%s%s"`, m.pick("", "lead ", "Lead "), token)
}

// element writes an element that may contain further elements, and returns its lines.
func (m *maker) element(depth int) []string {
	tag := m.pick("p", "div", "div", "b", "h1")
	class := m.class(4)
	if class == "" {
		class = m.pick("", "", ` class="lead"`, ` id="x"`, ` id="y"`)
	}
	lines := []string{"<" + tag + class + ">", m.pick("alpha", "beta gamma", "delta", `<a href="/next.html">next</a>`,
		`<a id="l" href="/sub.html">terms</a>`, `<a href="/private.html" rel="nofollow">no</a>`)}
	if m.chance(4) {
		lines[1] = m.pick("one", "one ") + "<b" + m.class(2) + ">" + m.pick("two", " two", "two ") + "</b>" +
			m.pick("three", " three")
	}
	if depth > 0 {
		for range m.IntN(2) {
			lines = append(lines, m.element(depth-1)...)
		}
	}
	return append(lines, "</"+tag+">")
}

// others writes the files and pages that references and required resources name.
func (m *maker) others() {
	for _, at := range []string{m.host + "/ref.txt", "http://h2.example/ref.txt", "http://10.0.0.1/ref.txt"} {
		m.q.Web[at] = response{Body: m.file(m.chance(6))}
		if m.chance(12) {
			m.q.Web[at] = response{Status: 503}
		}
	}
	m.q.Web[m.host+"/moved.txt"] = response{Status: 302, Header: map[string][]string{"Location": {m.pick("/ref.txt",
		"http://h2.example/ref.txt", "http://10.0.0.1/ref.txt", "/moved.txt", "/missing.txt")}}}
	for _, host := range []string{m.host, "http://h2.example", "http://10.0.0.1"} {
		body := "<html><head><title>Sub</title></head><body>sub text</body></html>"
		if m.chance(8) {
			body = strings.Replace(body, "</head>", `<meta name="robots" content="ACAP disallow-crawl"></head>`, 1)
		}
		m.q.Web[host+"/sub.html"] = response{Body: body}
	}
	m.q.Web[m.host+"/moved.html"] = response{Status: 302, Header: map[string][]string{"Location": {m.pick("/sub.html",
		"http://h2.example/sub.html", "/moved.html")}}}
	if m.chance(4) {
		m.q.Web["http://h2.example/robots.txt"] = response{Body: m.pick("User-agent: *\nDisallow: /sub.html\n",
			"ACAP-crawler: foo\nACAP-disallow-crawl: /\n", "")}
	}
}

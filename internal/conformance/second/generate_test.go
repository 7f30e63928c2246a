package second

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// maker makes random questions. It uses a small vocabulary, so that patterns, names and usages
// often coincide.
type maker struct {
	*rand.Rand
	host     string
	paths    []string
	names    []string
	usages   []string
	sets     []string
	locals   []string
	purposes []string
	layers   bool // the ACAP layer and the conventional layer of robots.txt have the same patterns
	noise    int  // one in this many fields has a typing error
	q        *question
}

// makeQuestion returns the question of a seed.
func makeQuestion(seed uint64) *question {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 16))}
	m.host = m.pick("http://h.example", "http://h.example", "http://h.example", "http://h.example",
		"http://127.0.0.1:8080",
		"https://h.example:8443")
	m.paths = m.some(4, "/", "/a/", "/a", "/a/b", "/a/b/", "/A/", "/*", "/a*", "/a/*", "/a$", "/a/b$", "*b", "*.html",
		"/*.html$", "/a/*b", "/*/b", "a/", "/%61/", "/a/b?x=1", "/*x=", "/caf%C3%A9/", "/café/", "/caf*a9/", "/caf*A9/",
		"/a**b", "*", "/a/b.html", "/a%2Fb", "/a/%62", "*$", "/$")
	m.paths = append(m.paths, "/", "/a/")
	m.names = m.some(3, "*", "foo", "foo", "Foo/1.0", "bar", "other", "*")
	m.usages = m.some(4, usages()...)
	if m.chance(3) {
		m.usages = append(m.usages, "present", "present-snippet", "present-thumbnail")
	}
	if m.chance(3) {
		m.usages = append(m.usages, "crawl", "crawl", "index")
	}
	m.sets = []string{"s", "t"}
	m.locals = []string{"q", "r", "c"}
	m.purposes = []string{"news", "news*", "NEWS", "web", "new", "n*s$", "http://p.example/x"}
	m.noise = []int{4, 12, 1000}[m.IntN(3)]
	m.q = &question{ID: fmt.Sprint("seed ", seed), Web: map[string]response{}}
	m.q.Want = []string{"decision", "by_purpose", "policy", "text", "links"}
	m.q.URL = m.host + m.pick("/a/b/c.html", "/a", "/a/b", "/", "/a/b.html", "/a/b?x=1", "/A/b", "/caf%C3%A9/b",
		"/a/x", "/%61/b",
		"/a/b", "/a/b.html", "/a/c/../b")
	m.crawler()
	m.facts()
	m.collide()
	m.robots()
	m.page()
	m.others()
	return m.q
}

// collide makes some questions have many statements about the same thing: one pattern in both
// layers and for both addressees, or elements with usages that this crawler cannot interpret.
func (m *maker) collide() {
	switch m.IntN(12) {
	case 0:
		m.layers = true
	case 1:
		u := m.pick(usages()...)
		m.q.Cannot, m.usages = []string{"element-level", u}, []string{u}
	case 2:
		m.names, m.usages = []string{"foo", "*"}, []string{"present", m.pick(usages()[4:13]...)}
	}
}

// bothLayers writes a robots.txt that has only a few patterns. They occur in ACAP and in
// conventional records, for any crawler and for this crawler.
func (m *maker) bothLayers() string {
	path := func() string { return m.pick("/a/", "/a/", "/", "/a") }
	body := ""
	for _, name := range m.some(2, "foo", "*") {
		body += "User-agent: " + name + "\n" + m.pick("Disallow: ", "Disallow: ", "Allow: ") + path() + "\n"
	}
	for _, name := range m.some(3, "foo", "*", "foo", "*", "other") {
		body += "ACAP-crawler: " + name + "\nACAP-" + m.pick("allow", "disallow") + "-crawl: " + path() + "\n"
	}
	return body
}

func (m *maker) chance(n int) bool { return m.IntN(n) == 0 }

func (m *maker) pick(list ...string) string { return list[m.IntN(len(list))] }

// some returns up to n elements of a list.
func (m *maker) some(n int, list ...string) []string {
	var out []string
	for range 1 + m.IntN(n) {
		out = append(out, m.pick(list...))
	}
	return out
}

func (m *maker) crawler() {
	m.q.Crawler = []string{"foo"}
	if m.chance(5) {
		m.q.Crawler = []string{"foo", "bar"}
	}
	switch m.IntN(6) {
	case 0:
		m.q.Purposes = &[]string{}
	case 1, 2:
		m.q.Purposes = &[]string{"news"}
	case 3:
		m.q.Purposes = &[]string{"news", "web"}
	}
	if m.chance(3) {
		all := append(usages(), "time-limit", "max-length", "must-use-resource", "must-include-resource",
			"prohibited-modification", "prohibited-context", "required-context", "target-condition", "usage-ref",
			"location",
			"element-level", "element-level")
		m.q.Cannot = m.some(2, append(all, m.usages...)...)
	}
	m.q.Strict = m.chance(8)
}

func (m *maker) facts() {
	now := day("2026-06-15")
	f := facts{Now: now, Recrawled: m.chance(3)}
	date := func() *time.Time {
		if m.chance(2) {
			return nil
		}
		t := now.AddDate(0, 0, -m.IntN(12))
		return &t
	}
	f.FirstCrawled, f.FirstIndexed, f.FirstPreserved, f.FirstPresented = date(), date(), date(), date()
	m.q.Facts = f
	if m.chance(2) {
		m.q.Target = &target{IP: m.pick("", "1.2.3.4", "10.1.1.9", "2001:db8::1", "::ffff:1.2.3.4"),
			Domain: m.pick("", "h.be", "notbe.example", "x.fr"), Country: m.pick("", "BE", "fr", "GB", "DE")}
	}
}

// robots writes the origin's robots.txt.
func (m *maker) robots() {
	at := m.host + "/robots.txt"
	switch m.IntN(40) {
	case 0:
		m.q.Web[at] = response{Status: []int{404, 403, 429, 503, 500, 304, 410}[m.IntN(7)],
			Body: "User-agent: *\nDisallow: /\n"}
		return
	case 1:
		m.q.Web[at] = response{Error: m.pick("timeout", "refused", "dns")}
		return
	case 2:
		return
	case 3:
		m.q.Web[at] = response{Status: 301, Header: map[string][]string{"Location": {m.pick("/r.txt",
			"http://h2.example/r.txt",
			"/robots.txt", "/missing.txt", "")}}}
		at = m.host + "/r.txt"
	}
	m.q.Web[at] = response{Body: m.file(true)}
	if m.layers {
		m.q.Web[at] = response{Body: m.bothLayers()}
	}
}

// file writes a robots.txt file, or a file to which robots.txt refers.
func (m *maker) file(references bool) string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	versions := func() {
		if !m.chance(4) {
			add("%s: %s", m.letters("ACAP-version"), m.pick("1.1", "1.1", "1.1", "1.1", "1.1", "1.0", "2.0",
				"1.5", "1", "1.1.5", "v1.1",
				"0.9", "", "2"))
		}
	}
	if m.chance(12) {
		add("##ACAP version=%s", m.pick("1.0", "1.1"))
	}
	groups := m.IntN(3)
	for range groups {
		m.group(add)
	}
	versions()
	if m.chance(12) {
		add("ACAP-ignore-conventional-records%s", m.pick("", "", ":", ": yes"))
	}
	for range m.IntN(4) {
		m.definition(add)
	}
	if m.chance(12) {
		m.statement(add)
	}
	for range 1 + m.IntN(3) {
		m.record(add, references)
		if m.chance(6) {
			m.group(add)
		}
		if m.chance(10) {
			m.definition(add)
		}
	}
	if m.chance(20) {
		versions()
	}
	end := m.pick("\n", "\n", "\n", "\r\n", "\r")
	return m.pick("", "", "", "\ufeff") + strings.Join(lines, end) + m.pick("", end)
}

// letters changes letter case where it has no meaning.
func (m *maker) letters(s string) string {
	switch m.IntN(12) {
	case 0:
		return strings.ToUpper(s)
	case 1:
		return strings.ToLower(s)
	}
	return s
}

// group writes a conventional group.
func (m *maker) group(add func(string, ...any)) {
	for range 1 + m.IntN(2) {
		add("User-agent: %s", m.pick(append(m.names, "*")...))
		if m.chance(10) {
			add("%s", m.pick("Crawl-delay: 1", "Foo: bar", "Sitemap: http://h.example/s.xml"))
		}
	}
	for range m.IntN(4) {
		add("%s: %s", m.pick("Allow", "Disallow", "Disallow"), m.pick(append(m.paths, m.path(), "")...))
	}
}

func (m *maker) path() string {
	if m.chance(m.noise) {
		return m.pick("", "$", "/a$b", "$x", "/a/$b", "/*$/")
	}
	return m.pick(m.paths...)
}

func (m *maker) resource() string {
	if m.chance(6) {
		return m.letters("the-acap:resource-set:") + m.pick(append(m.sets, "S", "nope")...)
	}
	return m.path()
}

func (m *maker) definition(add func(string, ...any)) {
	switch m.IntN(3) {
	case 0:
		add("ACAP-resource-set: %s %s", m.pick(m.sets...), strings.Join(m.some(2, append(m.paths, m.path())...), " "))
	case 1:
		u := m.usage()
		add("ACAP-qualified-usage: %s %s%s", m.pick(m.locals[:2]...), u, m.qualifiers(u, false, 1+m.IntN(2)))
	default:
		add("ACAP-composite-usage: %s %s", m.pick("c", "c", "q"), strings.Join(m.some(3, append(m.usages, "(q)",
			"(r)", "(q)", "(c)",
			"(nope)", "r")...), " "))
	}
}

func (m *maker) record(add func(string, ...any), references bool) {
	for range 1 + m.IntN(2) {
		add("%s: %s", m.letters("ACAP-crawler"), m.pick(m.names...))
		if m.chance(25) {
			add("%s", m.pick("ACAP-foo: 1", "Disallow: /a/", "", "# comment"))
		}
	}
	if m.chance(40) {
		add("ACAP-crawler:")
	}
	for range m.IntN(5) {
		m.statement(add)
	}
	if references && m.chance(8) {
		for range 1 + m.IntN(2)/1*m.IntN(2) {
			add("ACAP-permissions-reference: %s", m.pick("/ref.txt", "ref.txt", m.host+"/ref.txt",
				"http://h2.example/ref.txt",
				"//h2.example/ref.txt", "http://10.0.0.1/ref.txt", "/missing.txt", "/moved.txt", "/robots.txt"))
		}
	}
	for range m.IntN(3) / 2 {
		for range 1 + m.IntN(2) {
			add("ACAP-usage-purpose: %s", m.pick(m.purposes...))
		}
		for range m.IntN(4) {
			m.statement(add)
		}
	}
}

func (m *maker) usage() string {
	if m.chance(m.noise * 2) {
		return m.pick("print", "present-foo", "index-images", "Present-Snippet")
	}
	if m.chance(6) {
		return m.pick(usages()...)
	}
	return m.pick(m.usages...)
}

// statement writes a permission or prohibition.
func (m *maker) statement(add func(string, ...any)) {
	usage := m.usage()
	field := usage
	if m.chance(7) {
		field = "(" + m.pick(append(m.locals, "nope", "Q")...) + ")"
	}
	colon := ":"
	if m.chance(m.noise * 3) {
		colon = m.pick("", " :")
	}
	marker := ""
	if m.chance(m.noise * 4) {
		marker = "[V1.1] "
	}
	if m.chance(2) {
		add("%s%s%s %s%s", marker, m.letters("ACAP-disallow-"+field), colon, m.resource(), m.pick("", "", "",
			" # why"))
		return
	}
	qualifiers := ""
	switch {
	case field != usage:
		if m.chance(12) {
			qualifiers = m.qualifiers(usage, false, 1)
		}
	case usage == "other" || m.chance(2):
		qualifiers = m.qualifiers(usage, false, 1+m.IntN(2))
	}
	add("%s%s%s %s%s", marker, m.letters("ACAP-allow-"+field), colon, m.resource(), qualifiers)
	if m.chance(m.noise * 4) {
		add("%s", strings.TrimSpace(m.qualifiers("present", false, 1)))
	}
}

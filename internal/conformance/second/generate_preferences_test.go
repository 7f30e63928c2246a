package second

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
)

// makePreferences returns the question of a seed about newer vocabularies.
func makePreferences(seed uint64) *question {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 19)), noise: 6}
	m.host = m.pick("http://h.example", "http://h.example", "https://h.example", "http://h.example:8080")
	m.paths = m.some(3, "/", "/a/", "/a", "/a/b", "/A/", "/*", "/a*", "/a/b$", "/a/b.html$", "/*.html", "/*b", "/%61/",
		"/a/b?x=1", "/*x=", "/caf%C3%A9/", "/café/", "/a%2Fb", "/a/**b", "/a/*.html", "/a/b.htm*")
	m.names = m.some(2, "*", "*", "foo", "foo", "Foo/1.0", "bar", "other")
	m.q = &question{ID: fmt.Sprint("preferences ", seed), Crawler: []string{"foo"}, Usages: everyUsage(),
		Want: []string{"decision", "text", "links", "policy", "preferences"}}
	if m.chance(6) {
		m.q.Crawler = append(m.q.Crawler, "bar")
	}
	if m.chance(12) {
		m.q.Purposes = &[][]string{{}, {"news"}, {"news", "web"}}[m.IntN(3)]
	}
	if m.chance(20) {
		m.q.Cannot = []string{m.pick("element-level", "other", "index")}
	}
	m.q.URL = m.host + m.pick("/a/b.html", "/a/b.html", "/a/b", "/a/b?x=1", "/", "/caf%C3%A9/b", "/%61/b", "/a%2Fb",
		"/A/b")
	m.q.Facts = facts{Now: day("2026-06-15")}
	m.q.Strict = m.chance(5)
	m.settings()
	if m.chance(4) {
		m.q.Held = &held{m.preferenceWeb()}
		if r := m.q.Held.Web[m.host+"/robots.txt"]; r.Status == 503 {
			delete(m.q.Held.Web, m.host+"/robots.txt") // a copy cannot have been fetched then
		}
		if r := m.q.Held.Web[m.q.URL]; r.Status != 0 {
			delete(m.q.Held.Web, m.q.URL)
		}
		m.q.Want = []string{"decision", "policy", "preferences"}
	}
	m.q.Web = m.preferenceWeb()
	return m.q
}

// settings chooses the vocabularies in force, and what the operator sets.
func (m *maker) settings() {
	no := false
	if m.chance(5) {
		list := []string{}
		if m.chance(4) {
			list = append(list, vocabularies()[m.IntN(6)])
		} else {
			list = append(list, m.some(3, vocabularies()...)...)
		}
		m.q.Preferences = &list
	}
	if m.chance(12) {
		m.q.Preferences = &[]string{}
	}
	if m.chance(6) {
		m.q.TDMRepCoversAI = &no
	}
	if m.chance(6) {
		m.q.ContentSignalUse = &no
	}
	m.q.OperatorKind = m.pick("", "", "commercial", "education")
	m.q.OperatorCountry = m.pick("", "", "FR", "CH")
}

// preferenceWeb writes a web: robots.txt, tdmrep.json, the page and documents of RSL.
func (m *maker) preferenceWeb() map[string]response {
	web := map[string]response{m.host + "/robots.txt": {Body: m.preferenceRobots()}}
	if m.chance(30) {
		web[m.host+"/robots.txt"] = response{Status: []int{404, 503, 403}[m.IntN(3)]}
	}
	if m.chance(3) {
		m.tdmrepJSON(web)
	}
	if !m.chance(5) {
		web[m.q.URL] = m.preferencePage()
	}
	for _, host := range []string{m.host, "https://h.example", "https://l.example"} {
		for _, name := range []string{"/l.xml", "/m.xml"} {
			web[host+name] = response{Body: m.rslBody(false)}
			if m.chance(12) {
				web[host+name] = response{Status: []int{404, 500, 403, 204}[m.IntN(4)]}
			}
		}
	}
	web[m.host+"/ref.txt"] = response{Body: m.preferenceRobots()}
	web["https://h.example/moved.xml"] = response{Status: 301, Header: map[string][]string{"Location": {m.pick("/l.xml",
		"http://l.example/l.xml", "https://l.example/m.xml", "/moved.xml")}}}
	web["http://l.example/l.xml"] = response{Body: m.rslBody(false)}
	return web
}

// preferenceRobots writes a robots.txt with lines of newer vocabularies.
func (m *maker) preferenceRobots() string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if m.chance(5) {
		add("ACAP-version: 1.1")
		if m.chance(6) {
			add("ACAP-ignore-conventional-records")
		}
		add("ACAP-crawler: %s", m.pick("*", "foo", "other"))
		add("ACAP-%s: %s", m.pick("disallow-other", "disallow-index", "allow-index", "disallow-crawl", "allow-other",
			"allow-present-snippet", "allow-crawl", "allow-crawl"), m.pick(m.paths...))
		if m.chance(6) {
			add("ACAP-permissions-reference: /ref.txt")
		}
	}
	if m.chance(4) {
		add("%s", m.preferenceLine())
	}
	for range 1 + m.IntN(3) {
		for range 1 + m.IntN(2) {
			add("%s: %s", m.pick("User-agent", "user-agent"), m.pick(m.names...))
			if m.chance(12) {
				add("%s", m.pick("Crawl-delay: 1", "# comment", "", "ACAP-crawler: *"))
			}
		}
		for range m.IntN(4) {
			if m.chance(6) {
				add("%s: %s", m.pick("Allow", "Disallow"), m.pick(append(m.paths, "/a/b", "")...))
				continue
			}
			add("%s", m.preferenceLine())
		}
	}
	end := m.pick("\n", "\n", "\n", "\r\n", "\r")
	return m.pick("", "", "", "\ufeff") + strings.Join(lines, end) + m.pick("", end)
}

func (m *maker) preferenceLine() string {
	switch m.IntN(3) {
	case 0:
		path := m.pick("", "", m.pick(m.paths...)+m.pick(" ", " ", "\t", "  "))
		if m.chance(m.noise * 3) {
			path = m.pick("/a", "*.html ", "a/ ", m.pick(m.paths...)+",")
		}
		return m.letters("Content-Usage") + ":" + m.pick(" ", " ", "") + path + m.contentUsage() + m.pick("", "",
			" # why")
	case 1:
		return m.letters(m.pick("Content-Signal", "Content-Signal", "Content-Signals")) + ": " + m.contentSignals()
	}
	return m.letters("License") + ": " + m.licenceAddress()
}

func (m *maker) contentUsage() string {
	var list []string
	for range 1 + m.IntN(3) {
		list = append(list, m.pick("train-ai", "train-ai", "ai-use", "search", "bots")+"="+m.pick("n", "n", "y"))
	}
	s := strings.Join(list, m.pick(", ", ",", ", "))
	if !m.chance(m.noise) {
		return s
	}
	return m.pick("", s+",", "Train-AI=n, "+s, s+", train-ai", s+";x=1", "train-ai=N", "train-ai = n", s+" search=y",
		"search=?0, "+s, `train-ai="n"`, "search=(n y), "+s, "train-ai=no", s+";", "ai-use;a=n, "+s, "train-ai=n;q, "+s,
		"train-ai=n y, search=n", "SEARCH=N, ai-use=n", "train-ai=nope, ,search=n", `x=",train-ai=n,"x`,
		"ai-train=n, search=n",
		"train-ai =n", "train-ai=n.", "train-ai=y;n, search=n,", "(train-ai=n), ai-use=n", "train-ai=n;")
}

func (m *maker) contentSignals() string {
	var list []string
	for range 1 + m.IntN(3) {
		if m.chance(3) {
			list = append(list, "use="+m.pick("immediate", "reference", "full", "reference", "none"))
			continue
		}
		list = append(list, m.pick("ai-train", "ai-input", "search", "search")+"="+m.pick("no", "yes"))
	}
	s := strings.Join(list, m.pick(", ", ",", " , "))
	if !m.chance(m.noise) {
		return s
	}
	return m.pick("", s+",", strings.ToUpper(s), "/a/ "+s, s+", /a/ ai-train=no", "search = no, "+s, "search",
		"search=no yes",
		"train-ai=no", "search=n", s+" ai-train=no", "search=no;x, "+s, `search="no"`, "ai-train=no/a",
		"use=full=x, "+s,
		"ai-train==no", "ai-input=no\tx")
}

func (m *maker) licenceAddress() string {
	if m.chance(m.noise) {
		return m.pick("/l.xml", "l.xml", "http://l.example/l.xml", "https://h.example/gone.xml",
			"https://h.example/moved.xml",
			"ftp://h.example/l.xml", "https://h.example/l.xml#x", "https://10.0.0.1/l.xml", "//h.example/l.xml")
	}
	return m.pick(m.host+"/l.xml", "https://h.example/l.xml", "https://h.example/m.xml", "https://l.example/l.xml",
		"https://l.example/m.xml")
}

func (m *maker) tdmrepJSON(web map[string]response) {
	var entries []string
	for range 1 + m.IntN(3) {
		entries = append(entries, m.tdmrepEntry())
	}
	body := "[" + m.pick("", "\n") + strings.Join(entries, ",\n") + "]\n"
	if m.chance(m.noise * 3) {
		body = m.pick(entries[0], body+"x", body[:len(body)-3], "", "[]", "\ufeff"+body, "{\"a\": "+body+"}", "null")
	}
	r := response{Body: body}
	at := m.host + "/.well-known/tdmrep.json"
	switch m.IntN(20) {
	case 0:
		r.Status = []int{404, 503, 401, 204}[m.IntN(4)]
	case 1:
		web[m.host+"/tdm.json"] = r
		r = response{Status: 302, Header: map[string][]string{"Location": {m.pick("/tdm.json", "/gone.json",
			"/.well-known/tdmrep.json")}}}
	}
	web[at] = r
}

func (m *maker) tdmrepEntry() string {
	value := m.pick("1", "1", "0", `"1"`, `"0"`)
	if m.chance(m.noise * 2) {
		value = m.pick("2", "true", "null", `"x"`, `""`, "1.0", "[1]", `" 1"`)
	}
	location := fmt.Sprintf(`"location": %q`, m.pick(append(m.paths, "/", "a/", "*.html")...))
	policy := m.pick("", "", "", fmt.Sprintf(`, "tdm-policy": %q`, m.pick("https://h.example/p", "https://h.example/q",
		"/p",
		"")))
	s := fmt.Sprintf(`{%s, "tdm-reservation": %s%s}`, location, value, policy)
	if !m.chance(m.noise * 2) {
		return s
	}
	return m.pick(`"x"`, "1", "null", `{"location": "/"}`, `{"tdm-reservation": 1}`,
		`{"location": 5, "tdm-reservation": 1}`,
		`{`+location+`, "tdm-reservation": 0, "tdm-reservation": `+value+`}`, `{`+location+`, "TDM-Reservation": 1}`,
		`{`+location+`, "tdm-reservation": 1, "tdm-policy": 5}`, "[]", `{"location": "", "tdm-reservation": 1}`,
		`{`+location+`, "tdm-reservation": 1, "x": {"y": [1]}}`,
		`{`+location+`, "tdm-reservation": 1, "tdm-policy": null}`)
}

// preferencePage writes the page, or an image.
func (m *maker) preferencePage() response {
	r := response{Header: map[string][]string{}}
	add := func(name string, values ...string) { r.Header[name] = append(r.Header[name], values...) }
	if m.chance(25) {
		r.Status = []int{401, 402, 401, 404, 403}[m.IntN(5)]
		add("WWW-Authenticate", m.pick("License error=\"x\"", "license", "Basic realm=\"License\"", "Licensed x"))
	}
	for range m.IntN(3) {
		switch m.IntN(6) {
		case 0:
			add("Content-Usage", m.pick(m.contentUsage(), "", m.contentUsage()), m.contentUsage())
		case 1:
			add("Content-Signal", m.contentSignals())
		case 2:
			add("Tdm-Reservation", m.pick("1", "0", "1", "0", " 1", "x", "0, 1", "1,0", "01", `"1"`))
		case 3:
			add("Tdm-Policy", m.pick("https://h.example/p", "https://h.example/r", "", "/p"))
		case 4:
			add(m.pick("X-Robots-Tag", "Robots-Tag"), m.pick("noai", "noimageai", "foo: noai", "other: noai", "*;noai",
				"foo;noimageai;noai", "other;noai", "NoAI", "all, noai", "noai=?0", "*;noai=?0", "index noai",
				"noai-x", "none"))
		default:
			add("Link", m.licenceLink())
		}
	}
	if m.chance(6) {
		add("Content-Type", m.pick("image/png", "image/jpeg", "Image/PNG; q=1"))
		r.Base64 = picture(m.packet())
		return r
	}
	if m.chance(12) {
		add("Content-Type", m.pick("text/plain", "text/html; charset=utf-8", "application/pdf"))
	}
	r.Body = m.preferenceHTML()
	return r
}

// picture returns a PNG file with a packet of XMP and no pixels.
func picture(packet string) []byte {
	out := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(kind, data string) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
		out = append(out, kind+data...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE([]byte(kind+data)))
	}
	chunk("IHDR", "\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00")
	chunk("iTXt", "XML:com.adobe.xmp\x00\x00\x00\x00\x00"+packet)
	chunk("IEND", "")
	return out
}

func (m *maker) licenceLink() string {
	s := "<" + m.licenceAddress() + ">; " + m.pick(`rel="license"`, `rel=license`, `rel="License x"`) + "; " +
		m.pick(`type="application/rsl+xml"`, `type="application/rsl+xml"`, `type="Application/RSL+XML; charset=utf-8"`)
	if m.chance(m.noise) {
		s = m.pick("</a.css>; rel=preload, "+s, `<https://l.example/l.xml>; rel="license"`, s+`; title="a, b; c"`,
			`<https://l.example/l.xml>; type="application/rsl+xml"`, "<https://l.example/l.xml>", s+", "+s,
			`<https://l.example/l.xml>; rel="license-x"; type="application/rsl+xml"`, "nonsense")
	}
	return s
}

// packet writes the XMP metadata of an image.
func (m *maker) packet() string {
	term := "http://ns.useplus.org/ldf/vocab/DMI-" + m.pick("ALLOWED", "PROHIBITED", "PROHIBITED-AIMLTRAINING",
		"PROHIBITED-GENAIMLTRAINING", "PROHIBITED-EXCEPTSEARCHENGINEINDEXING", "PROHIBITED-SEECONSTRAINT",
		"PROHIBITED-SEEEMBEDDEDRIGHTSEXPR", "PROHIBITED-SEELINKEDRIGHTSEXPR", "UNSPECIFIED", "SOMETHING")
	const space = ` xmlns:plus="http://ns.useplus.org/ldf/xmp/1.0/"`
	description := m.pick("<rdf:Description"+space+"><plus:DataMining>"+term+"</plus:DataMining></rdf:Description>",
		"<rdf:Description"+space+` plus:DataMining="`+term+`"/>`,
		"<rdf:Description"+space+`><plus:DataMining rdf:resource="`+term+`"/></rdf:Description>`,
		`<rdf:Description xmlns:plus="http://example.com/"><plus:DataMining>`+term+
			"</plus:DataMining></rdf:Description>")
	return `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">` +
		description + "</rdf:RDF></x:xmpmeta>"
}

func (m *maker) preferenceHTML() string {
	lines := []string{"<html>", "<head>", "<title>One title</title>"}
	body := []string{"<p>alpha", `<a href="/next.html">next</a></p>`}
	for range m.IntN(3) {
		name := m.pick("robots", "robots", "foo", "other", "Robots")
		element := m.pick(m.meta("tdm-reservation", m.pick("1", "0", "1", "0", "x", " 1 ", "")),
			m.meta(m.pick("tdm-policy", "TDM-Policy"), m.pick("https://h.example/s", "", "/p")),
			m.meta(name, m.pick("noai", "noai, noimageai", "noimageai", "index, noai", "NoAI", "noindex",
				"ACAP disallow-other",
				"nofollow noai", "ACAP allow-index noai", "noai, ACAP allow-index")),
			`<link rel="license" type="application/rsl+xml" href="`+m.licenceAddress()+`">`,
			`<link rel="license" type="text/html" href="https://l.example/l.xml">`,
			`<script type="application/rsl+xml">`+m.rslBody(true)+`</script>`)
		if m.chance(4) {
			body = append(body, "<div>"+element+"</div>")
			continue
		}
		lines = append(lines, element)
	}
	if m.chance(12) {
		body = append(body, `<p class="the-acap:disallow-other">beta</p>`)
	}
	return strings.Join(append(append(lines, "</head>", "<body>"), append(body, "</body>", "</html>")...), "\n") + "\n"
}

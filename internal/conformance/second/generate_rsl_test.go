package second

import (
	"fmt"
	"strings"
)

// rslBody writes a document of RSL. own means that it is about one page.
func (m *maker) rslBody(own bool) string {
	var b strings.Builder
	for range 1 + m.IntN(3)*m.IntN(2) {
		at := m.pick(append(m.paths, "/", "/a/", "a/")...)
		if m.chance(5) {
			at = m.pick("", m.host+"/", "https://h.example/a/", "https://H.EXAMPLE/a", "https://other.example/",
				"https://h.example", "http://h.example:8080/a/")
		}
		if own && !m.chance(4) || m.chance(8) {
			at = ""
		}
		server := ""
		if m.chance(10) {
			server = m.pick(` server="https://s.example/"`, ` server="https://s.example/"`, ` server=""`)
		}
		fmt.Fprintf(&b, "<content url=%q%s>\n", at, server)
		for range 1 + m.IntN(3)/2 {
			b.WriteString(m.licenceXML() + "\n")
		}
		b.WriteString("</content>\n")
	}
	body := `<rsl xmlns="` + rslSpace + `">` + "\n" + b.String() + "</rsl>\n"
	if m.chance(m.noise * 3) {
		return m.spoiled(body)
	}
	return body
}

// spoiled returns a document in a rare form, which may not conform.
func (m *maker) spoiled(body string) string {
	once := func(old, text string) string { return strings.Replace(body, old, text, 1) }
	prefixed := strings.NewReplacer("</", "</R:", "<", "<R:", "xmlns=", "xmlns:R=").Replace(body)
	const foreign = `<y:a xmlns:y="https://y.example/"><content/></y:a>`
	const root = `<rsl xmlns="` + rslSpace + `">`
	return m.pick(prefixed, body+"x", body+body, "\ufeff"+body, "<!-- x -->"+body, once(root, "<rsl>"),
		`<?xml version="1.0" encoding="utf-8"?>`+"\n"+body, once("</content>", ""), once("<content", "<x/><content"),
		once("</content>", "<schema>https://l.example/s</schema></content>"), once("url=", "uri="),
		once("<content", "text<content"), once("<content", foreign+"<content"), root+"</rsl>",
		root+`<content url="/"></content></rsl>`, root+"<license></license></rsl>")
}

// licenceXML writes a license element.
func (m *maker) licenceXML() string {
	tokens := func() string {
		return strings.Join(m.some(2, "ai-train", "ai-input", "ai-index", "ai-all", "all", "search", "search",
			"ai-train", "x", "AI-TRAIN"), m.pick(" ", " ", ",", ", "))
	}
	s := ""
	if !m.chance(4) {
		s += `<permits type="usage">` + tokens() + "</permits>"
	}
	if m.chance(3) {
		s += `<prohibits type="usage">` + tokens() + "</prohibits>"
	}
	if m.chance(6) {
		list := m.pick("permits", "permits", "prohibits")
		s += "<" + list + ` type="user">` +
			m.pick("commercial", "education", "education, government", "") + "</" + list + ">"
	}
	if m.chance(8) {
		s += `<permits type="geo">` + m.pick("EU", "FR", "CH US", "eu") + "</permits>"
	}
	if m.chance(4) {
		s += m.pick(`<payment type="free"/>`, `<payment type="attribution"></payment>`, `<payment type="crawl"/>`,
			"<payment/>", `<payment type="use"><standard>https://l.example/rates</standard></payment>`,
			`<payment type="purchase"><custom>https://l.example/c</custom><amount currency="EUR">1</amount></payment>`,
			`<payment type="free"><standard>https://l.example/free</standard></payment>`)
	}
	if m.chance(12) {
		s += `<reporting type="telemetry" profile="https://l.example/r"/>`
	}
	if m.chance(m.noise * 3) {
		s += m.pick("<legal type=\"contact\">x</legal>", "<permit/>", `<permits type="usage">search</permits>`,
			`<permits>ai-train</permits>`, `<permits type="kind">x</permits>`, "text", `<content url="/"/>`,
			`<y:a xmlns:y="https://y.example/"><z/></y:a>`, "<payment/><payment type=\"free\"/>", "&amp;", "&unknown;",
			"<prohibits type=\"usage\"></prohibits>")
	}
	return "<license>" + s + "</license>"
}

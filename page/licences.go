package page

import (
	"strings"

	"golang.org/x/net/html"

	"github.com/acapcrawl/acapcrawl/acap"
)

// rslType is the media type of licence documents of RSL.
const rslType = "application/rsl+xml"

// maxLicences is how many associations with licence documents are read from one page.
const maxLicences = 32

// isRSL reports whether a media type, which may have parameters, is that of licence documents.
func isRSL(mime string) bool {
	mime, _, _ = strings.Cut(mime, ";")
	return strings.EqualFold(strings.TrimSpace(mime), rslType)
}

// noteLicence records an element that associates the page, or its parent element, with a licence
// document: a LINK that names one, or a SCRIPT that contains one (RSL 4.6).
func (t *tree) noteLicence(n *html.Node) {
	if !isRSL(attr(n.Attr, "type")) {
		if n.Data == "link" && len(t.plain) < maxLicences && hasRel(attr(n.Attr, "rel"), "license") {
			t.plain = append(t.plain, n)
		}
		return
	}
	if len(t.licences) > maxLicences {
		return
	}
	if n.Data == "script" || hasRel(attr(n.Attr, "rel"), "license") && has(n.Attr, "href") {
		t.licences = append(t.licences, n)
	}
}

// readLicences returns the associations of the page with licence documents: those of Link headers
// (RSL 4.5), then those of elements. Documents that the page only names have no text yet.
func (p *Page) readLicences(t *tree) (list []acap.Licence) {
	left := maxHeader
	for i, value := range p.Last().Header.Values("Link") {
		value = value[:min(len(value), left)]
		left -= len(value)
		for _, l := range parseLinkHeader(value) {
			if hasRel(l.rel, "license") && isRSL(l.mime) {
				list = append(list, p.licence(acap.Tag{Source: acap.Header, Name: "Link", Content: value, Line: i + 1,
					Column: 1}, l.ref))
			}
		}
	}
	at := cursor{src: p.Source(), spot: spot{line: 1, column: 1}}
	for _, n := range t.licences {
		part := !inHead(n)
		at.tagWith(attr(n.Attr, "type")) // other elements may name the same address
		if n.Data == "script" {
			text := innerText(n)
			line := at.find(text)
			tag := acap.Tag{Source: acap.Meta, Name: "script", Content: `<script type="` + rslType + `">`,
				Line: line.line, Column: line.column}
			list = append(list, acap.Licence{Tag: tag, Part: part, Text: []byte(text)})
			continue
		}
		href := attr(n.Attr, "href")
		line := at.find(href)
		l := p.licence(acap.Tag{Source: acap.Meta, Name: "link", Content: `<link rel="license" type="` + rslType +
			`" href="` + href + `">`, Line: line.line, Column: line.column}, strings.TrimSpace(href))
		l.Part = part
		list = append(list, l)
	}
	for i := range list {
		if i >= maxLicences {
			list[i].URL, list[i].Text, list[i].Err = "", nil, acap.TooManyLicences
		}
	}
	return list
}

// licence returns the association with a document at an address.
func (p *Page) licence(tag acap.Tag, address string) acap.Licence {
	l := acap.Licence{Tag: tag, Err: acap.LicenceNotRead}
	var err error
	if l.URL, err = acap.LicenceURL(address, p.url); err != nil {
		l.URL, l.Err = "", err.Error()
	}
	return l
}

// PlainLicences returns the associations of the page with licences that look like those of RSL but
// do not have its media type, so that they are not read.
func (p *Page) PlainLicences() (list []acap.Tag) {
	left := maxHeader
	for i, value := range p.Last().Header.Values("Link") {
		value = value[:min(len(value), left)]
		left -= len(value)
		for _, l := range parseLinkHeader(value) {
			if hasRel(l.rel, "license") && looksLikeRSL(l.ref, l.mime) {
				list = append(list, acap.Tag{Source: acap.Header, Name: "Link", Content: value, Line: i + 1, Column: 1})
				break
			}
		}
	}
	at := cursor{src: p.Source(), spot: spot{line: 1, column: 1}}
	for _, n := range p.tree().plain {
		if href := attr(n.Attr, "href"); looksLikeRSL(href, attr(n.Attr, "type")) {
			s := at.find(href)
			list = append(list, acap.Tag{Source: acap.Meta, Name: "link", Content: href, Line: s.line,
				Column: s.column})
		}
	}
	return list
}

// looksLikeRSL reports whether a licence at an address with a media type other than that of RSL may
// be meant as one of RSL.
func looksLikeRSL(address, mime string) bool {
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	address, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(address)), "?")
	switch mime = strings.TrimSpace(mime); {
	case isRSL(mime):
		return false
	case mime == "application/xml", mime == "text/xml", strings.Contains(mime, "rsl"):
		return true
	}
	return mime == "" && (strings.HasSuffix(address, ".xml") || strings.HasSuffix(address, ".rsl"))
}

// find returns the position of the next occurrence of text, and moves to its end. If there is none,
// find returns the current position.
func (c *cursor) find(text string) spot {
	i := strings.Index(c.src[c.offset:], text)
	if i < 0 {
		return c.spot
	}
	c.to(c.offset + i)
	found := c.spot
	c.to(c.offset + len(text))
	return found
}

// tagWith moves to the beginning of the next tag that contains text, if there is one.
func (c *cursor) tagWith(text string) {
	if i := strings.Index(c.src[c.offset:], text); i >= 0 {
		c.to(c.offset + max(0, strings.LastIndexByte(c.src[c.offset:c.offset+i], '<')))
	}
}

// innerText returns the text directly in n.
func innerText(n *html.Node) string {
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// SetLicences replaces the associations with licence documents in Own by those in list, in which the documents are
// read. For a rendered page, those of Own.Scripted follow those of Own. Call it before others use the page.
func (p *Page) SetLicences(list []acap.Licence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.licences = list
}

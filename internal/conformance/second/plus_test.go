package second

import (
	"encoding/xml"
	"strings"
)

// image reports whether the response is an image.
func (p *page) image() bool {
	kind := ""
	if list := p.header["Content-Type"]; len(list) > 0 {
		kind = strings.ToLower(list[0])
	}
	return strings.HasPrefix(strings.TrimSpace(kind), "image/")
}

// noai adds what the rules noai and noimageai say.
func (e *engine) noai(v views, p *page) {
	if p == nil {
		return
	}
	r := e.restrictions(p)
	found := r.noai
	if p.image() {
		found = append(found, r.noimageai...)
	}
	if len(found) > 0 {
		v.add(opinion{stance: prohibit, because: found}, "train-ai")
	}
}

// plus adds what the metadata of an image say. They are a packet of XMP, in plain text.
func (e *engine) plus(v views, p *page) {
	if p == nil || !p.image() {
		return
	}
	from := strings.Index(p.body, "<x:xmpmeta")
	to := strings.LastIndex(p.body, "</x:xmpmeta>")
	if from < 0 || to < from {
		return
	}
	at := []because{{Source: "image", URL: p.url.String()}}
	add := func(s stance, usages ...string) {
		o := opinion{stance: s, because: at}
		if s == agreement {
			o.terms = []string{""}
		}
		v.add(o, usages...)
	}
	for _, value := range dataMining(p.body[from:to] + "</x:xmpmeta>") {
		value = strings.TrimPrefix(strings.TrimSpace(value), "http://ns.useplus.org/ldf/vocab/")
		switch value {
		case "DMI-ALLOWED":
			add(permit, newer()...)
		case "DMI-PROHIBITED":
			add(prohibit, newer()...)
		case "DMI-PROHIBITED-AIMLTRAINING", "DMI-PROHIBITED-GENAIMLTRAINING":
			add(prohibit, "train-ai")
		case "DMI-PROHIBITED-EXCEPTSEARCHENGINEINDEXING":
			add(prohibit, newer()...)
			add(permit, "index")
		case "DMI-PROHIBITED-SEECONSTRAINT", "DMI-PROHIBITED-SEEEMBEDDEDRIGHTSEXPR",
			"DMI-PROHIBITED-SEELINKEDRIGHTSEXPR":
			add(agreement, newer()...)
		}
	}
}

// dataMining returns the values of plus:DataMining, which may be an attribute, a text or the
// resource of an element.
func dataMining(packet string) []string {
	const space = "http://ns.useplus.org/ldf/xmp/1.0/"
	var out []string
	inside := false
	for d := xml.NewDecoder(strings.NewReader(packet)); ; {
		t, err := d.Token()
		if err != nil {
			return out
		}
		switch t := t.(type) {
		case xml.StartElement:
			inside = t.Name == xml.Name{Space: space, Local: "DataMining"}
			for _, a := range t.Attr {
				if a.Name.Space == space && a.Name.Local == "DataMining" || inside && a.Name.Local == "resource" {
					out = append(out, a.Value)
				}
			}
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				out = append(out, string(t))
			}
		}
	}
}

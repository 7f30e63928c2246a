package rewrite

import (
	"errors"
	"io"
	"strings"
)

// Address is an address in a page.
type Address struct {
	Element   string // name of the element in lower case; "![cdata[" for a CDATA section
	Attribute string // name of the attribute; "" if the element has text that browsers may read as tags
	Value     string // the first 500 bytes of the address as written; "" for text
	Line      int    // line of the page, from 1
}

// maxForeign is the maximum number of addresses that Foreign returns.
const maxForeign = 100

// errEnough ends a search that has found enough.
var errEnough = errors.New("enough")

// Foreign returns the addresses of other hosts that a browser contacts when it shows a page
// without change, although scripts are disabled and the Content-Security-Policy of copies forbids
// all other hosts: LINK with rel preconnect, dns-prefetch, prefetch or prerender; frames, for
// which a browser may connect before it blocks them; and attributionsrc. Images, styles and other
// subresources are not included, because the policy stops them. META refresh is not included,
// because the sandbox stops it. A relative address counts if the page has a BASE element with a
// host.
//
// Text that browsers may read as tags, such as STYLE in SVG with an angle bracket, counts too,
// because it is not certain which addresses it contains. If the list is not empty, or if there is
// an error, the page must not be shown in a browser unchanged. The list ends after 100 addresses.
func Foreign(src io.Reader) ([]Address, error) {
	d := detector{line: 1}
	err := scan(src, d.piece)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return d.found[:min(len(d.found), maxForeign)], err
}

// detector is the state of Foreign.
type detector struct {
	found  []Address
	line   int
	based  bool // a BASE element names a host
	nested int  // depth of srcdoc
}

// piece notes the addresses in a part of a page.
func (d *detector) piece(p piece) error {
	switch {
	case p.tag != nil:
		d.tag(p.tag)
		if p.closed { // in HTML, the element would not end
			d.add(p.tag.name, "", "")
		}
	case p.cdata:
		if !sameEnd(p) {
			d.add("![cdata[", "", "")
		}
	case p.element != "" && p.ambiguous && tagged(strings.TrimPrefix(strings.TrimSpace(p.raw), "<![CDATA[")):
		d.add(p.element, "", "")
	}
	d.line += strings.Count(p.raw, "\n")
	if len(d.found) >= maxForeign {
		return errEnough
	}
	return nil
}

// add records an address.
func (d *detector) add(element, attribute, value string) {
	d.found = append(d.found, Address{element, attribute, value[:min(len(value), 500)], d.line})
}

// sameEnd reports whether a CDATA section contains no tags, both if a browser reads it as a
// section and if a browser reads it as a comment.
func sameEnd(p piece) bool {
	if !p.foreign {
		return strings.HasSuffix(p.raw, "]]>")
	}
	_, after, _ := strings.Cut(p.raw, ">")
	return !tagged(after)
}

// tagged reports whether a text contains the beginning of a tag or comment.
func tagged(text string) bool {
	for {
		i := strings.IndexByte(text, '<')
		if i < 0 || i+1 == len(text) {
			return false
		}
		text = text[i+1:]
		if c := text[0]; 'a' <= c|0x20 && c|0x20 <= 'z' || c == '/' || c == '!' || c == '?' {
			return true
		}
	}
}

// tag notes the addresses in a tag.
func (d *detector) tag(t *tag) {
	for _, a := range t.attrs {
		switch {
		case t.name == "base" && a.key == "href":
			d.based = d.based || namesHost(a.value)
		case a.key == "srcdoc":
			d.srcdoc(t, a.value)
		case a.key == "attributionsrc":
			for _, ref := range strings.Fields(a.value) {
				d.note(t, a.key, ref)
			}
		case t.name == "link" && a.key == "href" && connects(t.get("rel")), addresses[t.name+" "+a.key].kind == Frame:
			d.note(t, a.key, a.value)
		}
	}
}

// connects reports whether browsers connect to the host of a LINK with that rel, even if
// the policy forbids it.
func connects(rel string) bool {
	for _, word := range strings.Fields(lower(rel)) {
		switch word {
		case "preconnect", "dns-prefetch", "prefetch", "prerender":
			return true
		}
	}
	return false
}

// note records an address if it leads to another host.
func (d *detector) note(t *tag, key, value string) {
	ref := strings.ReplaceAll(trimmed(value), `\`, "/")
	switch scheme, rest := cutScheme(ref); scheme {
	case "http", "https", "ws", "wss", "ftp", "file":
	case "":
		if !strings.HasPrefix(ref, "//") && (!d.based || ref == "" || ref[0] == '#') {
			return
		}
	default:
		if t.name != "link" || !strings.HasPrefix(rest, "//") {
			return
		}
	}
	d.add(t.name, key, value)
}

// srcdoc notes the addresses of a document in an attribute. A document that is nested too deep
// counts as an address.
func (d *detector) srcdoc(t *tag, value string) {
	inner := detector{line: 1, based: d.based, nested: d.nested + 1}
	if inner.nested > maxNested {
		d.add(t.name, "srcdoc", "")
		return
	}
	if err := scan(strings.NewReader(value), inner.piece); err != nil && !errors.Is(err, errEnough) {
		d.add(t.name, "srcdoc", "")
	}
	for _, a := range inner.found {
		a.Line = d.line
		d.found = append(d.found, a)
	}
}

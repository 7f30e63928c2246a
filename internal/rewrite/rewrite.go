package rewrite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// Kind says what an address is used for.
type Kind string

// The kinds of addresses.
const (
	Page  Kind = "page"  // a link, form or citation: a browser goes there if the reader wants it
	Image Kind = "image" // an image
	Style Kind = "style" // a style sheet
	Font  Kind = "font"  // a font
	Frame Kind = "frame" // a document within the page: frames, OBJECT, EMBED
	Other Kind = "other" // anything else: scripts, sound, video, hints to connect
)

// Func returns the replacement of an address. The address is an absolute http or https address
// without fragment; the fragment is added to the replacement. A replacement without a scheme must
// begin with a slash.
type Func func(address string, kind Kind) string

// nothing replaces addresses that a browser cannot read, and those with schemes that make browsers
// contact other hosts without http.
const nothing = "about:blank"

// maxNested is the depth to which documents in srcdoc attributes are rewritten. A deeper one is
// emptied.
const maxNested = 4

// rewriter rewrites one document.
type rewriter struct {
	base   base
	based  bool // a BASE element was obeyed
	to     Func
	nested int // depth of srcdoc
	*meter
}

// HTML copies a page from src to w with new addresses. address is the original address of the
// page. HTML returns an error if ctx ends, if src or w fails, if address is not absolute, if a tag
// or text is too long, or ErrTooMuch. Then a part of the page may have been written.
func HTML(ctx context.Context, w io.Writer, src io.Reader, address *url.URL, to Func) error {
	b, err := newBase(address)
	if err != nil {
		return err
	}
	r := rewriter{base: b, to: to, meter: &meter{ctx: ctx}}
	return r.document(w, src)
}

// CSS returns a style sheet, or the value of a style attribute, with new addresses. address is the
// original address of the style sheet. CSS returns an error if ctx ends, if address is not
// absolute, or ErrTooMuch.
func CSS(ctx context.Context, sheet string, address *url.URL, to Func) (string, error) {
	b, err := newBase(address)
	if err != nil {
		return "", err
	}
	r := rewriter{base: b, to: to, meter: &meter{ctx: ctx}}
	out := r.css(sheet)
	return out, r.wrote(len(out))
}

// newBase returns the base for references in a document.
func newBase(address *url.URL) (base, error) {
	if address == nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return base{}, fmt.Errorf("%v is not an absolute http or https address; give that of the page", address)
	}
	return base{address}, nil
}

// document copies a document.
func (r *rewriter) document(w io.Writer, src io.Reader) error {
	out := bufio.NewWriter(w)
	err := scan(src, func(p piece) error {
		text := r.piece(p)
		if err := r.wrote(len(text)); err != nil {
			return err
		}
		_, err := out.WriteString(text)
		return err
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// piece returns a part of a document with new addresses.
func (r *rewriter) piece(p piece) string {
	switch {
	case p.tag != nil:
		r.tag(p.tag)
		if p.closed { // a slash ends this element only in SVG and MathML
			return p.tag.open() + "</" + p.tag.name + ">"
		}
		return p.tag.String()
	case p.cdata:
		return plainCDATA(p)
	case p.element == "style":
		return r.styleText(p)
	case p.element == "script":
		text := p.raw
		if p.json {
			text = r.jsonStrings(text)
		}
		return neutralScript(text, p.ambiguous)
	case p.element != "" && p.ambiguous:
		return strings.ReplaceAll(p.raw, "<", "&lt;")
	}
	return p.raw
}

// single returns the replacement of an address. It returns false if the address stays. If there are too many
// addresses, the document is not used.
func (r *rewriter) single(value string, kind Kind) (string, bool) {
	if r.err != nil {
		return nothing, true
	}
	address, fragment, what := r.base.resolve(value)
	switch {
	case what == web:
		address = clean(r.to(address, kind) + fragment)
		r.replaced(len(address))
		return address, true
	case what == broken, what == special && kind != Page:
		return nothing, true
	case what == opaque && (kind == Frame || kind == Style):
		// A document or style sheet in a data address may name other hosts in turn.
		scheme, _ := cutScheme(trimmed(value))
		return nothing, scheme == "data"
	}
	return "", false
}

// clean percent-encodes what must not be in an address (RFC 3986 2), so that the address can stand
// in attributes, lists and strings of CSS.
func clean(address string) string {
	const hex = "0123456789ABCDEF"
	if strings.IndexFunc(address, func(c rune) bool { return c <= ' ' || c >= 0x7f || dirty(byte(c)) }) < 0 {
		return address
	}
	var b strings.Builder
	for _, c := range []byte(address) {
		if c <= ' ' || c >= 0x7f || dirty(c) {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func dirty(c byte) bool { return c == '"' || c == '<' || c == '>' || c == '\\' }

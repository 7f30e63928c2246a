package rewrite

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/net/html"
)

// maxToken is the maximum number of bytes of a tag or a text.
const maxToken = 16 << 20

// piece is a part of a page.
type piece struct {
	raw       string
	tag       *tag   // set for a start tag
	closed    bool   // the tag is also the end of the element
	element   string // element whose text is read as text only, such as STYLE; "" for any other text
	json      bool   // the element is a SCRIPT with addresses in JSON
	cdata     bool   // a CDATA section, or what looks like one
	ambiguous bool   // a browser may read the text as tags
	foreign   bool   // the text is probably in SVG or MathML
}

// scan calls each with all parts of a page, in order.
func scan(src io.Reader, each func(piece) error) error {
	z := html.NewTokenizer(src)
	z.SetMaxBuf(maxToken)
	s := scanner{z: z}
	for {
		z.AllowCDATA(s.foreign())
		kind := z.Next()
		if kind == html.ErrorToken {
			return s.last(each)
		}
		if err := each(s.piece(kind)); err != nil {
			return err
		}
	}
}

// last ends the page. A tag without end, which browsers ignore, is its last part.
func (s *scanner) last(each func(piece) error) error {
	switch err := s.z.Err(); {
	case errors.Is(err, html.ErrBufferExceeded):
		return fmt.Errorf("a tag or text of the page is longer than %d MiB; show the page unchanged", maxToken>>20)
	case !errors.Is(err, io.EOF):
		return err
	}
	return each(piece{raw: string(s.z.Raw())})
}

// scanner is the state of scan.
type scanner struct {
	surroundings
	z    *html.Tokenizer
	next piece // the text of an element whose start tag was read
}

// piece returns the token of a kind that was read.
func (s *scanner) piece(kind html.TokenType) piece {
	p := s.next
	s.next = piece{}
	p.raw = string(s.z.Raw())
	switch kind {
	case html.TextToken, html.CommentToken:
		if p.element == "" && s.seen && strings.HasPrefix(p.raw, "<![CDATA[") {
			p.cdata, p.foreign = true, kind == html.TextToken
		}
		return p
	case html.StartTagToken, html.SelfClosingTagToken:
		return s.tag(p.raw, kind == html.SelfClosingTagToken)
	case html.EndTagToken:
		name, _ := s.z.TagName()
		s.end(string(name))
	}
	return piece{raw: p.raw}
}

// tag returns a start tag. If the element contains text only, tag prepares the piece for this text.
func (s *scanner) tag(raw string, slash bool) piece {
	t := readTag(s.z, raw, slash)
	foreign, ambiguous := s.foreign(), s.ambiguous()
	s.start(t.name, slash)
	p := piece{raw: raw, tag: t}
	switch {
	case t.name == "noscript": // scripts are disabled
		s.z.NextIsNotRawText()
	case !textOnly(t.name):
	case slash && foreign:
		s.z.NextIsNotRawText()
		p.closed = true
	default:
		json := t.name == "script" && hasAddresses(t)
		s.next = piece{element: t.name, json: json, ambiguous: ambiguous, foreign: foreign}
	}
	return p
}

// textOnly reports whether the tokenizer reads the content of an element as text.
func textOnly(name string) bool {
	switch name {
	case "iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp":
		return true
	}
	return false
}

// hasAddresses reports whether a SCRIPT is JSON with addresses.
func hasAddresses(t *tag) bool {
	kind := strings.TrimSpace(t.get("type"))
	return strings.EqualFold(kind, "importmap") || strings.EqualFold(kind, "speculationrules")
}

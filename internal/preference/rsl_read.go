package preference

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// rslSpace is the namespace of licence documents.
const rslSpace = "https://rslstandard.org/rsl"

// maxDepth is how deep the elements of a licence document may be nested.
const maxDepth = 32

// document is a licence document of RSL 1.0.
type document struct {
	contents []content
	maxAge   time.Duration // how long the document is fresh
}

// content is a set of resources with the licences that are offered for them.
type content struct {
	url      string // path pattern, absolute URL, or "" for the resource that names the document
	server   string // URL of the licence server; "": none is needed
	field    *acap.Field
	licences []*licence
}

// licence is one offer, or one prohibition.
type licence struct {
	permits, prohibits map[string]*terms // by type: usage, user or geo
	free               bool              // what it permits needs neither payment nor reports
	standard           string            // URL of the terms of payment; may be empty
	field              *acap.Field
}

// terms are the tokens of one element permits or prohibits.
type terms struct {
	tokens []string
	field  *acap.Field
}

func (t *terms) has(token string) bool { return t != nil && slices.Contains(t.tokens, token) }

// inside lists for each element the elements that it may contain (RSL 3). payment and what is below
// legal, reporting and copyright are not evaluated beyond that.
var inside = map[string][]string{
	"rsl":     {"content"},
	"content": {"license", "schema", "alternate", "copyright", "terms"},
	"license": {"permits", "prohibits", "payment", "legal", "reporting"},
	"payment": {"standard", "custom", "amount", "accepts"},
}

// rslReader reads a licence document.
type rslReader struct {
	*xml.Decoder
	places
	url string
	doc *document
}

// readDocument reads the licence document that begins on a line of the page or file at url. A document
// that does not conform is an error.
func readDocument(url string, line int, text []byte) (*document, error) {
	if len(text) > acap.MaxSize {
		return nil, fmt.Errorf("it has more than %d bytes", acap.MaxSize)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	r := &rslReader{Decoder: xml.NewDecoder(bytes.NewReader(text)), url: url,
		places: places{text: text, line: line, column: 1},
		doc:    &document{maxAge: 30 * 24 * time.Hour}}
	root, err := r.start()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("it contains no element")
	case err != nil:
		return nil, err
	case root.Name != xml.Name{Space: rslSpace, Local: "rsl"}:
		return nil, fmt.Errorf("its first element is not rsl of the namespace %s", rslSpace)
	}
	if days, err := strconv.ParseUint(attribute(root, "max-age"), 10, 16); err == nil {
		r.doc.maxAge = time.Duration(days) * 24 * time.Hour
	}
	err = r.children(root, 1, func(e xml.StartElement, f *acap.Field) error { return r.content(e, f) })
	if err == nil && len(r.doc.contents) == 0 {
		err = errors.New("it contains no element content")
	}
	if err == nil {
		if _, err = r.start(); errors.Is(err, io.EOF) {
			return r.doc, nil
		}
		err = errors.New("something follows its first element")
	}
	return nil, err
}

// start returns the first element from here on. Text before it is an error, and so is a document type,
// because it may define entities.
func (r *rslReader) start() (xml.StartElement, error) {
	for {
		t, err := r.Token()
		if err != nil {
			return xml.StartElement{}, err
		}
		switch t := t.(type) {
		case xml.Directive:
			return xml.StartElement{}, errors.New("it declares a document type")
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return xml.StartElement{}, errors.New("it contains text outside its first element")
			}
		case xml.StartElement:
			return t, nil
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// children calls read for each element inside the element of. read must read to the end of its
// element. Elements of other namespaces are skipped; an unknown element of RSL is an error.
func (r *rslReader) children(of xml.StartElement, depth int, read func(xml.StartElement, *acap.Field) error) error {
	if depth > maxDepth {
		return fmt.Errorf("its elements are nested more than %d deep", maxDepth)
	}
	for {
		t, err := r.Token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.Directive:
			return errors.New("it declares a document type")
		case xml.EndElement:
			return nil
		case xml.StartElement:
			switch {
			case t.Name.Space != rslSpace:
				err = r.Skip()
			case !slices.Contains(inside[of.Name.Local], t.Name.Local):
				line, _ := r.InputPos()
				err = fmt.Errorf("line %d: %s may not contain the element %s", line, of.Name.Local, t.Name.Local)
			default:
				err = read(t, r.element())
			}
			if err != nil {
				return err
			}
		}
	}
}

// element returns the field for an element whose start tag was just read.
func (r *rslReader) element() *acap.Field {
	end := int(r.InputOffset())
	start := r.offset + max(0, bytes.LastIndexByte(r.text[r.offset:end], '<'))
	return r.field(acap.Licensing, r.url, start, string(r.text[start:end]))
}

func (r *rslReader) content(e xml.StartElement, f *acap.Field) error {
	if !slices.ContainsFunc(e.Attr, func(a xml.Attr) bool { return a.Name.Local == "url" && a.Name.Space == "" }) {
		return fmt.Errorf("line %d: the element content has no url", f.Line)
	}
	c := content{url: attribute(e, "url"), server: attribute(e, "server"), field: f}
	err := r.children(e, 2, func(e xml.StartElement, f *acap.Field) error {
		if e.Name.Local != "license" {
			return r.Skip()
		}
		l, err := r.licence(e, f)
		c.licences = append(c.licences, l)
		return err
	})
	if err == nil && len(c.licences) == 0 {
		err = fmt.Errorf("line %d: the element content contains no license", f.Line)
	}
	r.doc.contents = append(r.doc.contents, c)
	return err
}

func (r *rslReader) licence(e xml.StartElement, f *acap.Field) (*licence, error) {
	l := &licence{permits: map[string]*terms{}, prohibits: map[string]*terms{}, free: true, field: f}
	err := r.children(e, 3, func(e xml.StartElement, f *acap.Field) error {
		switch e.Name.Local {
		case "permits":
			return r.terms(e, f, l.permits)
		case "prohibits":
			return r.terms(e, f, l.prohibits)
		case "payment":
			if kind := attribute(e, "type"); kind != "free" && kind != "attribution" {
				l.free = false
			}
			return r.payment(e, l)
		case "reporting":
			l.free = false
		}
		return r.Skip()
	})
	return l, err
}

// terms reads an element permits or prohibits. Its tokens are separated by blanks, or by commas as
// in the drafts 0.9.
func (r *rslReader) terms(e xml.StartElement, f *acap.Field, to map[string]*terms) error {
	kind := attribute(e, "type")
	if kind != "usage" && kind != "user" && kind != "geo" {
		return fmt.Errorf("line %d: the type of %s is none of usage, user and geo", f.Line, e.Name.Local)
	}
	if to[kind] != nil {
		return fmt.Errorf("line %d: a second element %s of the type %s", f.Line, e.Name.Local, kind)
	}
	text, err := r.words()
	separates := func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }
	to[kind] = &terms{strings.FieldsFunc(text, separates), f}
	f.Text = shortened(f.Text + text + "</" + e.Name.Local + ">")
	return err
}

func (r *rslReader) payment(e xml.StartElement, l *licence) error {
	return r.children(e, 4, func(e xml.StartElement, _ *acap.Field) error {
		if e.Name.Local != "standard" {
			return r.Skip()
		}
		text, err := r.words()
		if l.standard == "" {
			l.standard = strings.TrimSpace(text)
		}
		return err
	})
}

// words returns the text of the current element, and reads to its end. Elements inside are an error
// if they belong to RSL.
func (r *rslReader) words() (string, error) {
	var b strings.Builder
	for {
		t, err := r.Token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			if t.Name.Space == rslSpace {
				line, _ := r.InputPos()
				return "", fmt.Errorf("line %d: an element %s among words", line, t.Name.Local)
			}
			if err := r.Skip(); err != nil {
				return "", err
			}
		case xml.Directive:
			return "", errors.New("it declares a document type")
		case xml.EndElement:
			return b.String(), nil
		}
	}
}

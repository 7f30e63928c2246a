package page

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// Limits on what is read of an XML document.
const (
	maxXMLToken = 1 << 20 // bytes of one tag or text
	maxXMLText  = 8 << 10 // bytes of text of one element; of longer texts the beginning is kept
	maxXMLDepth = 64      // nesting depth; deeper elements are ignored
	maxXMLAttrs = 32      // attributes of one element; further ones are ignored
	maxXMLNames = 1000    // element names that are cached
)

// XML reads the elements of feeds and sitemaps. It also accepts malformed XML, such as a lone
// ampersand or a missing end tag. Names are in lower case without prefix. It keeps only the open
// elements and the current token in memory. It does not expand entities that the document defines.
type XML struct {
	z       *html.Tokenizer
	open    []Element // open elements, outermost first; the memory of closed elements is used again
	closing int       // number of open elements that have ended but were not returned yet
	names   map[string]string
}

// Element is one element of an XML document.
type Element struct {
	Name  string
	attrs []html.Attribute
	text  []byte
}

// NewXML returns a reader of the XML document r in UTF-8.
func NewXML(r io.Reader) *XML {
	x := &XML{z: html.NewTokenizer(r), names: map[string]string{}}
	x.z.AllowCDATA(true)
	x.z.SetMaxBuf(maxXMLToken)
	return x
}

// Next reads to the end of the next element, and returns the elements that are open there; the last
// of them is the element that ends. They are valid until the next call. The error is io.EOF at the
// end of the document; another error says why nothing more can be read.
func (x *XML) Next() (open []Element, err error) {
	if x.closing > 0 {
		x.open = x.open[:len(x.open)-1]
		x.closing--
	}
	for x.closing == 0 {
		switch x.z.Next() {
		case html.ErrorToken:
			return nil, x.ended()
		case html.TextToken:
			if n := len(x.open); n > 0 {
				x.open[n-1].add(x.z.Raw())
			}
		case html.StartTagToken:
			x.start()
		case html.SelfClosingTagToken:
			if x.start() {
				x.closing = 1
			}
		case html.EndTagToken:
			name, _ := x.z.TagName()
			x.end(local(name))
		}
	}
	return x.open, nil
}

func (x *XML) ended() error {
	err := x.z.Err()
	if n := len(x.open); errors.Is(err, io.EOF) && n > 0 {
		return fmt.Errorf("it ends within the element %.40q", x.open[n-1].Name)
	}
	return err
}

// start opens an element, unless it is nested too deeply.
func (x *XML) start() bool {
	x.z.NextIsNotRawText() // otherwise the HTML tokenizer would read the content of TITLE, STYLE and others as text
	n := len(x.open)
	if n == maxXMLDepth {
		return false
	}
	if n < cap(x.open) {
		x.open = x.open[:n+1]
	} else {
		x.open = append(x.open, Element{})
	}
	e := &x.open[n]
	name, more := x.z.TagName()
	e.Name, e.attrs, e.text = x.intern(local(name)), e.attrs[:0], e.text[:0]
	for more && len(e.attrs) < maxXMLAttrs {
		var key, value []byte
		key, value, more = x.z.TagAttr()
		e.attrs = append(e.attrs, html.Attribute{Key: string(key), Val: string(value)})
	}
	return true
}

func (x *XML) intern(name []byte) string {
	known, ok := x.names[string(name)]
	if !ok {
		known = string(name)
		if len(x.names) < maxXMLNames {
			x.names[known] = known
		}
	}
	return known
}

// end closes the innermost element with that name, and all elements open inside it. An end tag
// without an open element is ignored.
func (x *XML) end(name []byte) {
	for i := len(x.open) - 1; i >= 0; i-- {
		if x.open[i].Name == string(name) {
			x.closing = len(x.open) - i
			return
		}
	}
}

func local(name []byte) []byte { return name[bytes.LastIndexByte(name, ':')+1:] }

// Attr returns the value of an attribute, "" if there is none. name is in lower case with its
// prefix.
func (e *Element) Attr(name string) string { return attr(e.attrs, name) }

// Text returns the direct text of the element, without that of its children and without white space
// around it.
func (e *Element) Text() string { return string(bytes.TrimSpace(e.text)) }

func (e *Element) add(raw []byte) {
	raw = raw[:min(len(raw), maxXMLText)]
	if len(e.text)+len(raw) > maxXMLText {
		return
	}
	e.text = appendText(e.text, raw)
}

// appendText appends the characters that a text token represents.
func appendText(text, raw []byte) []byte {
	if cdata, ok := bytes.CutPrefix(raw, []byte("<![CDATA[")); ok {
		return append(text, bytes.TrimSuffix(cdata, []byte("]]>"))...)
	}
	for {
		i := bytes.IndexByte(raw, '&')
		if i < 0 {
			return append(text, raw...)
		}
		text = append(text, raw[:i]...)
		raw = raw[i:]
		if end := bytes.IndexByte(raw[:min(len(raw), 12)], ';'); end > 0 {
			if r := reference(string(raw[1:end])); r > 0 {
				text = utf8.AppendRune(text, r)
				raw = raw[end+1:]
				continue
			}
		}
		text = append(text, '&')
		raw = raw[1:]
	}
}

// reference returns the character of an entity or character reference of XML, 0 for any other name.
func reference(name string) rune {
	switch name {
	case "amp":
		return '&'
	case "lt":
		return '<'
	case "gt":
		return '>'
	case "quot":
		return '"'
	case "apos":
		return '\''
	}
	digits, ok := strings.CutPrefix(name, "#")
	if !ok {
		return 0
	}
	base := 10
	if strings.HasPrefix(digits, "x") || strings.HasPrefix(digits, "X") {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 21)
	if err != nil {
		return 0
	}
	return rune(n)
}

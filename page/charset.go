package page

import (
	"bytes"
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/saintfish/chardet"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// decoded is a body converted to UTF-8, with the information for converting text back to its
// encoding.
type decoded struct {
	text string
	name string            // of the encoding (Encoding Standard 4.2); "" for UTF-8
	enc  encoding.Encoding // the encoding of the body; nil: UTF-8
	bom  string            // byte order mark at the beginning of the body
}

// Charset returns the name of the encoding in which Source read the body, as in a Content-Type header;
// "" if the body is not text.
func (p *Page) Charset() string {
	if !p.textual() {
		return ""
	}
	return cmp.Or(p.source().name, "utf-8")
}

// Numbers of bytes at the beginning of a body that are examined to find or to guess its encoding.
const (
	declarationPrefix = 4 << 10
	guessPrefix       = 16 << 10
)

// decode converts a body to UTF-8. It takes the encoding from the byte order mark, otherwise from
// the Content-Type, otherwise from the page's declaration, otherwise it guesses. Bytes that are
// invalid in the encoding become U+FFFD.
func decode(body []byte, label string, markup bool) decoded {
	for _, b := range []struct{ bom, label string }{{"\xef\xbb\xbf", "utf-8"}, {"\xfe\xff", "utf-16be"},
		{"\xff\xfe", "utf-16le"}} {
		if bytes.HasPrefix(body, []byte(b.bom)) {
			d := decodeAs(body[len(b.bom):], b.label)
			d.bom = b.bom
			return d
		}
	}
	if known(label) {
		return decodeAs(body, label)
	}
	if markup {
		if label = declared(body[:min(len(body), declarationPrefix)]); known(label) {
			return decodeAs(body, label)
		}
	}
	if utf8.Valid(body) {
		return decoded{text: view(body)}
	}
	return decodeAs(body, guess(body[:min(len(body), guessPrefix)], markup))
}

func decodeAs(body []byte, label string) decoded {
	enc, name := charset.Lookup(label)
	if enc == nil || name == "utf-8" {
		return decoded{text: strings.ToValidUTF8(view(body), "\uFFFD")}
	}
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return decoded{text: strings.ToValidUTF8(view(body), "\uFFFD")}
	}
	return decoded{text: view(text), name: name, enc: enc}
}

// encode converts s to the encoding of d, with the byte order mark. Characters that the encoding
// lacks become character references.
func (d decoded) encode(s string) ([]byte, error) {
	if d.enc != nil {
		var err error
		if s, err = d.enc.NewEncoder().String(s); err != nil {
			return nil, err
		}
	}
	return []byte(d.bom + s), nil
}

func known(label string) bool {
	enc, _ := charset.Lookup(label)
	return enc != nil
}

// charsetOf returns the charset parameter of a Content-Type, even if the rest of the header is
// malformed.
func charsetOf(contentType string) string {
	_, params, _ := strings.Cut(contentType, ";")
	for param := range strings.SplitSeq(params, ";") {
		key, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(key), "charset") {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// declared returns the encoding that a page declares in an XML declaration, META charset or META
// Content-Type.
func declared(prefix []byte) string {
	if rest, ok := bytes.CutPrefix(prefix, []byte("<?xml")); ok {
		decl, _, _ := bytes.Cut(rest, []byte("?>"))
		if _, after, ok := bytes.Cut(decl, []byte("encoding")); ok {
			value := bytes.TrimLeft(after, "= \t\r\n")
			if len(value) > 0 {
				label, _, _ := bytes.Cut(value[1:], value[:1])
				return string(label)
			}
		}
	}
	z := html.NewTokenizer(bytes.NewReader(prefix))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			if label := metaCharset(z.Token()); label != "" {
				// If the META tag can be read as single bytes, the page is not UTF-16.
				if strings.HasPrefix(strings.ToLower(label), "utf-16") {
					return "utf-8"
				}
				return label
			}
		}
	}
}

func metaCharset(t html.Token) string {
	if t.Data != "meta" {
		return ""
	}
	if v := attr(t.Attr, "charset"); v != "" {
		return v
	}
	if strings.EqualFold(attr(t.Attr, "http-equiv"), "content-type") {
		return charsetOf(attr(t.Attr, "content"))
	}
	return ""
}

// guess returns the probable encoding of bytes that declare none and are not UTF-8. If two
// encodings are equally probable, guess returns the one whose name is first in the alphabet, so
// that the result is always the same.
func guess(prefix []byte, markup bool) string {
	detector := chardet.NewTextDetector()
	if markup {
		detector = chardet.NewHtmlDetector()
	}
	results, _ := detector.DetectAll(prefix)
	best, confidence := "windows-1252", 0
	for _, r := range results {
		_, name := charset.Lookup(r.Charset)
		if name == "" || name == "replacement" || name == "utf-8" {
			continue
		}
		if r.Confidence > confidence || r.Confidence == confidence && name < best {
			best, confidence = name, r.Confidence
		}
	}
	return best
}

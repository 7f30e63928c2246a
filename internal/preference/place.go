package preference

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
)

// places finds the lines and columns of offsets in a text. It reads the text once, so the offsets
// must not decrease.
type places struct {
	text         []byte
	offset       int
	line, column int // of offset; counted from 1, the column in characters
}

// to returns the line and column of an offset. A line ends with LF, CRLF or CR.
func (p *places) to(offset int) (line, column int) {
	part := p.text[p.offset:offset]
	for i, c := range part {
		if c == '\n' || c == '\r' && !bytes.HasPrefix(p.text[p.offset+i+1:], []byte("\n")) {
			p.line, p.column = p.line+1, 1
			part = p.text[p.offset+i+1 : offset]
		}
	}
	p.offset, p.column = offset, p.column+utf8.RuneCount(part)
	return p.line, p.column
}

// characterAt returns the offset at which the character that contains the byte at offset begins.
func (p *places) characterAt(offset int) int {
	for at := max(0, offset-utf8.UTFMax+1); at < offset; at++ {
		if _, n := utf8.DecodeRune(p.text[at:]); utf8.RuneStart(p.text[at]) && at+n > offset {
			return at
		}
	}
	return offset
}

// maxShown is how many bytes of a statement its field shows.
const maxShown = 300

// shortened returns a text for a field: with single blanks, and not too long.
func shortened(text string) string {
	text = strings.Join(strings.Fields(text[:min(len(text), 4*maxShown)]), " ")
	return strings.ToValidUTF8(text[:min(len(text), maxShown)], "")
}

// field returns the field for a statement at an offset of the file at url.
func (p *places) field(source acap.Source, url string, offset int, text string) *acap.Field {
	line, column := p.to(offset)
	return &acap.Field{Source: source, URL: url, Line: line, Column: column, Text: shortened(text)}
}

// mark returns the field for a finding about a part of the text: the first line of the part.
func (p *places) mark(source acap.Source, url string, from, to int) *acap.Field {
	line, column := p.to(from)
	part := p.text[from:min(to, from+maxShown)]
	if i := bytes.IndexAny(part, "\r\n"); i >= 0 {
		part = part[:i]
	}
	return &acap.Field{Source: source, URL: url, Line: line, Column: column,
		Text: strings.ToValidUTF8(string(part), "")}
}

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

// to returns the line and column of an offset.
func (p *places) to(offset int) (line, column int) {
	part := p.text[p.offset:offset]
	if n := bytes.Count(part, []byte("\n")); n > 0 {
		p.line, p.column = p.line+n, 1
		part = part[bytes.LastIndexByte(part, '\n')+1:]
	}
	p.offset, p.column = offset, p.column+utf8.RuneCount(part)
	return p.line, p.column
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

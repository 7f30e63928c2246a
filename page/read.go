package page

import (
	"path"
	"strings"
	"unicode/utf8"
)

// reading is the text of a page that is not HTML. If the title is not declared but made from other
// data, the text does not contain it.
type reading struct {
	title  string
	text   string
	blocks []Block
	feed   bool
	cut    string // why only a part was read; "" if everything was read
}

// longestFirst is the maximum length, in characters, of a first line that is used as the title of a
// plain text.
const longestFirst = 100

// read reads a page that is not HTML. Files without sentences have no text: style sheets, scripts,
// tables and other data.
func (p *Page) read() reading {
	r := p.readAs()
	if r.cut != "" {
		p.cutBy("%s", r.cut)
	}
	return r
}

func (p *Page) readAs() reading {
	switch {
	case p.xml():
		return readXML(p.Source())
	case p.mime == "text/markdown" || p.mime == "text/x-markdown":
		return readMarkdown(p.Source())
	case p.mime == "application/pdf":
		return readPDF(p.Last().Body, longestRead)
	case p.mime == "text/plain":
		return p.readPlain()
	}
	return reading{}
}

// readPlain reads a plain text. Empty lines separate blocks; a short first line is the title.
func (p *Page) readPlain() reading {
	w := newWriter(len(p.Source()))
	w.parts = true
	title := ""
	// FF and CR also end lines, but need no special treatment: as white space they separate words
	for line := range strings.Lines(p.Source()) {
		size := w.Len()
		if w.full {
			break
		}
		w.text(line)
		w.gap() // keep the line break, because the line may belong to a list or a table
		switch first := w.String(); {
		case w.Len() == size:
			w.end()
		case size == 0 && utf8.RuneCountInString(first) <= longestFirst:
			title = first
		}
	}
	w.end()
	if title == "" && w.Len() > 0 {
		title = p.lastSegment()
	}
	return reading{title: title, text: w.String(), blocks: w.blocks, cut: w.missing()}
}

// lastSegment returns the last segment of the path of the page's address.
func (p *Page) lastSegment() string {
	_, last := path.Split(strings.TrimSuffix(p.url.Path, "/"))
	return strings.ToValidUTF8(last, "\uFFFD")
}

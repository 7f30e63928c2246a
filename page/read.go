package page

import (
	"path"
	"strings"
	"unicode/utf8"
)

// reading is what a reader has of a page that is not HTML. Its title, where it has none of its own,
// does not stand in the text.
type reading struct {
	title  string
	text   string
	blocks []Block
	feed   bool
	cut    string // why not all was read; "" where it was
}

// longestFirst is the longest first line, in characters, that is taken for the title of a plain
// text.
const longestFirst = 100

// read reads a page that is not HTML. What has no sentences is no text: style sheets, scripts,
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

// readPlain reads a plain text. Blocks are separated by empty lines; a short first line is the
// title.
func (p *Page) readPlain() reading {
	w := newWriter(len(p.Source()))
	w.parts = true
	title := ""
	for line := range strings.Lines(p.Source()) { // FF and CR end lines too, and part words in any case
		size := w.Len()
		if w.full {
			break
		}
		w.text(line)
		w.gap() // it may be the line of a list or a table
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

// lastSegment is the last segment of the path of the page.
func (p *Page) lastSegment() string {
	_, last := path.Split(strings.TrimSuffix(p.url.Path, "/"))
	return strings.ToValidUTF8(last, "\uFFFD")
}

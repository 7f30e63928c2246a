package page

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
)

// Limits on the text of a PDF.
const (
	mostPages   = 100
	longestText = 1 << 20
	longestRead = 5 * time.Second
)

var (
	errSlow = errors.New("it takes too long")
	errLong = errors.New("its text is too long")
)

// limited is a reader that panics after a time limit.
type limited struct {
	*bytes.Reader
	until time.Time
}

func (l limited) ReadAt(b []byte, at int64) (int, error) {
	if time.Now().After(l.until) {
		panic(errSlow)
	}
	return l.Reader.ReadAt(b, at)
}

// readPDF returns the title and text of a PDF that it can read within a time limit. Pages that
// cannot be read, and encrypted files, have no text.
//
// The alternative PDFium (go-pdfium 1.20 as WebAssembly on wazero 1.12) was tested with 18 files
// printed by Chromium in nine languages. It costs 3.5 s of processor time and 280 MB of memory in
// every process that reads a PDF, 13 MB of binary, and two to eight times the time for each file,
// and it would need further limits for hostile files. English, German, Russian and Vietnamese texts
// were equal. PDFium was better for files that declare their text as ActualText, which this package
// does not read, and slightly better for Arabic script, where both mostly return words in the order
// of their glyphs.
func readPDF(body []byte, within time.Duration) (r reading) {
	w := newWriter(0)
	w.parts = true
	defer func() {
		_ = recover() // text that was read before the panic is used
		w.end()
		r.text, r.blocks = w.String(), w.blocks
	}()
	plain := plainly(body)
	if plain == nil {
		return r
	}
	until := time.Now().Add(within)
	file, err := pdf.NewReader(limited{bytes.NewReader(plain), until}, int64(len(plain)))
	if err != nil {
		return r
	}
	r.title = titleOf(file)
	if file.NumPage() > mostPages {
		r.cut = fmt.Sprintf("only its first %d pages are read", mostPages)
	}
	for i := range min(file.NumPage(), mostPages) {
		if w.Len() > longestText || time.Now().After(until) {
			r.cut = fmt.Sprintf("only its first %d pages are read, since it is long or slow to read", i)
			break
		}
		writePage(w, file, i+1)
		w.gap()
		w.end()
	}
	return r
}

func titleOf(file *pdf.Reader) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(file.Trailer().Key("Info").Key("Title").Text(), "")), " ")
}

// writePage adds the text of the n-th page, if that page can be read.
func writePage(w *writer, file *pdf.Reader, n int) {
	b := pageText{w: w}
	defer func() {
		err := recover()
		if b.end(); err == errSlow || err == errLong {
			panic(err)
		}
	}()
	draw(file.Page(n), b.add)
}

// pageText combines the characters of a page to words, lines and paragraphs by their positions.
type pageText struct {
	w    *writer
	last glyph
	text []byte // text of the current paragraph
}

// Distances, relative to the size of the letters.
const (
	wordGap      = 0.15
	lineGap      = 0.5
	paragraphGap = 1.6
	otherSize    = 1.2
)

func (b *pageText) add(g glyph) {
	next, _ := utf8.DecodeRuneInString(g.text)
	if next == utf8.RuneError { // the font maps the code to no character
		return
	}
	if b.w.Len()+len(b.text) > longestText {
		panic(errLong)
	}
	down, last := math.Abs(b.last.y-g.y), b.last
	switch {
	case len(b.text) == 0:
	case down > paragraphGap*max(g.size, last.size), down > lineGap*g.size &&
		(g.size > otherSize*last.size || last.size > otherSize*g.size):
		b.end()
	case down > lineGap*g.size:
		b.line(next)
	case g.x > last.x+last.width+wordGap*g.size, g.x < last.x-g.size:
		b.text = append(b.text, ' ')
	}
	b.text = append(b.text, g.text...)
	b.last = g
}

// line ends a line. It joins a word that is divided by a hyphen.
func (b *pageText) line(next rune) {
	if head, found := bytes.CutSuffix(b.text, []byte("-")); found && unicode.IsLower(next) {
		if r, _ := utf8.DecodeLastRune(head); unicode.IsLetter(r) {
			b.text = head
			return
		}
	}
	b.text = append(b.text, '\n')
}

// end ends a paragraph.
func (b *pageText) end() {
	b.w.text(strings.ToValidUTF8(string(b.text), ""))
	b.w.gap()
	b.w.end()
	b.text = b.text[:0]
}

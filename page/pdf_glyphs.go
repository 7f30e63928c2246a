package page

import (
	"math"

	"github.com/ledongthuc/pdf"
)

// Bounds of one page of a PDF.
const (
	mostContents = 16   // streams
	mostSaved    = 1000 // states
	mostWidths   = 1 << 17
)

// glyph is a character of a page, in the units of the page.
type glyph struct {
	text              string
	x, y, width, size float64
}

// matrix is that of an affine map, as PDF writes it.
type matrix [6]float64

func (m matrix) times(n matrix) matrix {
	return matrix{m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3], m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5]}
}

// shown is the state in which a page is being drawn (ISO 32000-1, 8.4 and 9.3).
type shown struct {
	font                             *pdfFont
	size, char, word, scale, leading float64
	page                             matrix
}

// drawing reads the content of a page.
type drawing struct {
	of          pdf.Page
	fonts       map[string]*pdfFont
	state       shown
	saved       []shown
	text, start matrix // of the next character, and of the line
	glyph       func(glyph)
}

// draw gives the characters of a page in the order in which they are drawn.
func draw(p pdf.Page, each func(glyph)) {
	contents := p.V.Key("Contents")
	if contents.Kind() != pdf.Stream && contents.Kind() != pdf.Array || contents.Len() > mostContents {
		return
	}
	identity := matrix{1, 0, 0, 1, 0, 0}
	d := drawing{of: p, fonts: map[string]*pdfFont{}, state: shown{scale: 1, page: identity}, text: identity, start: identity, glyph: each}
	pdf.Interpret(contents, d.do)
}

func (d *drawing) do(stack *pdf.Stack, op string) {
	args := make([]pdf.Value, min(stack.Len(), 6)) // the last ones
	for i := len(args) - 1; i >= 0; i-- {
		args[i] = stack.Pop()
	}
	for stack.Len() > 0 {
		stack.Pop()
	}
	arg := func(i int) pdf.Value {
		if i < len(args) {
			return args[i]
		}
		return pdf.Value{}
	}
	number := func(i int) float64 { return arg(i).Float64() }
	six := func() (m matrix) {
		for i := range m {
			m[i] = number(i)
		}
		return m
	}
	s := &d.state
	switch op {
	case "q":
		if len(d.saved) < mostSaved {
			d.saved = append(d.saved, *s)
		}
	case "Q":
		if n := len(d.saved); n > 0 {
			*s, d.saved = d.saved[n-1], d.saved[:n-1]
		}
	case "cm":
		s.page = six().times(s.page)
	case "BT":
		d.text = matrix{1, 0, 0, 1, 0, 0}
		d.start = d.text
	case "Tf":
		s.font, s.size = d.font(arg(0).Name()), number(1)
	case "Tc":
		s.char = number(0)
	case "Tw":
		s.word = number(0)
	case "Tz":
		s.scale = number(0) / 100
	case "TL":
		s.leading = number(0)
	case "Tm":
		d.text = six()
		d.start = d.text
	case "Td":
		d.move(number(0), number(1))
	case "TD":
		s.leading = -number(1)
		d.move(number(0), number(1))
	case "T*":
		d.move(0, -s.leading)
	case "Tj":
		d.show(arg(0))
	case "'":
		d.move(0, -s.leading)
		d.show(arg(0))
	case "\"":
		s.word, s.char = number(0), number(1)
		d.move(0, -s.leading)
		d.show(arg(2))
	case "TJ":
		for i := range arg(0).Len() {
			if v := arg(0).Index(i); v.Kind() == pdf.String {
				d.show(v)
			} else {
				d.advance(-v.Float64() / 1000 * s.size * s.scale)
			}
		}
	}
}

// move begins a line.
func (d *drawing) move(x, y float64) {
	d.start = matrix{1, 0, 0, 1, x, y}.times(d.start)
	d.text = d.start
}

func (d *drawing) advance(x float64) { d.text = matrix{1, 0, 0, 1, x, 0}.times(d.text) }

func (d *drawing) show(v pdf.Value) {
	s := d.state
	if s.font == nil {
		return
	}
	codes := v.RawString()
	for len(codes) >= s.font.bytes {
		code := codes[:s.font.bytes]
		codes = codes[s.font.bytes:]
		wide := s.font.width(code) / 1000 * s.size
		at := d.text.times(s.page)
		d.glyph(glyph{text: s.font.text(code), x: at[4], y: at[5], width: wide * s.scale * math.Hypot(at[0], at[1]), size: math.Abs(s.size) * math.Hypot(at[2], at[3])})
		if code == " " {
			wide += s.word
		}
		d.advance((wide + s.char) * s.scale)
	}
}

// pdfFont knows the characters of a font.
type pdfFont struct {
	encoding pdf.TextEncoding
	bytes    int // of a code
	known    map[string]string
	widths   map[int]float64
	other    float64 // width of the rest
}

func (d *drawing) font(name string) *pdfFont {
	f, known := d.fonts[name]
	if !known {
		f = newFont(d.of.Font(name))
		d.fonts[name] = f
	}
	return f
}

// newFont is nil for a font whose characters cannot be told.
func newFont(font pdf.Font) *pdfFont {
	f := &pdfFont{bytes: 1, known: map[string]string{}, widths: map[int]float64{}}
	if font.V.Key("Subtype").Name() != "Type0" {
		f.encoding = font.Encoder()
		first := font.FirstChar()
		for i, w := range font.Widths() {
			f.widths[first+i] = w
		}
		return f
	}
	encoding := font.V.Key("Encoding").Name()
	if encoding != "UniGB-UCS2-H" && (encoding != "Identity-H" || font.V.Key("ToUnicode").Kind() != pdf.Stream) {
		return nil
	}
	f.encoding, f.bytes = font.Encoder(), 2
	f.composite(font.V.Key("DescendantFonts").Index(0))
	return f
}

// composite reads the widths of a font of many characters (ISO 32000-1, 9.7.4.3).
func (f *pdfFont) composite(font pdf.Value) {
	f.other = 1000
	if w := font.Key("DW"); !w.IsNull() {
		f.other = w.Float64()
	}
	list, left := font.Key("W"), mostWidths
	for i := 0; i+1 < list.Len() && left > 0; {
		first := int(list.Index(i).Int64())
		if widths := list.Index(i + 1); widths.Kind() == pdf.Array {
			for j := range widths.Len() {
				f.widths[first+j] = widths.Index(j).Float64()
			}
			i += 2
			continue
		}
		last, w := int(list.Index(i+1).Int64()), list.Index(i+2).Float64()
		for code := first; code <= last && left > 0; code++ {
			f.widths[code] = w
			left--
		}
		i += 3
	}
}

func (f *pdfFont) width(code string) float64 {
	n := 0
	for i := range len(code) {
		n = n<<8 | int(code[i])
	}
	if w, known := f.widths[n]; known {
		return w
	}
	return f.other
}

func (f *pdfFont) text(code string) string {
	text, known := f.known[code]
	if !known {
		text = f.encoding.Decode(code)
		f.known[code] = text
	}
	return text
}

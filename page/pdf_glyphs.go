package page

import (
	"math"
	"slices"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/encoding"
)

// Limits for one page of a PDF.
const (
	mostContents = 16   // content streams
	mostSaved    = 1000 // saved graphics states
	mostWidths   = 1 << 17
	mostForms    = 200 // drawn form XObjects
	deepestForm  = 8
)

// glyph is a character and its position on a page, in the units of the page.
type glyph struct {
	text              string
	x, y, width, size float64
}

// matrix is an affine transformation, in the form that PDF uses.
type matrix [6]float64

func (m matrix) times(n matrix) matrix {
	return matrix{m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3], m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5]}
}

// shown is the graphics and text state while a page is drawn (ISO 32000-1, 8.4 and 9.3).
type shown struct {
	font                             *pdfFont
	size, char, word, scale, leading float64
	page                             matrix
}

// drawing interprets the content streams of a page.
type drawing struct {
	resources   pdf.Value
	fonts       map[string]*pdfFont // fonts in the resources, by name
	state       shown
	saved       []shown
	text, start matrix // position of the next character, and of the start of the line
	glyph       func(glyph)
	forms       int      // number of forms drawn so far
	open        []string // forms being drawn, outermost first
}

// draw calls each for the characters of a page, in the order in which they are drawn.
func draw(p pdf.Page, each func(glyph)) {
	contents := p.V.Key("Contents")
	if contents.Kind() != pdf.Stream && contents.Kind() != pdf.Array || contents.Len() > mostContents {
		return
	}
	identity := matrix{1, 0, 0, 1, 0, 0}
	d := drawing{resources: p.Resources(), fonts: map[string]*pdfFont{}, state: shown{scale: 1, page: identity},
		text: identity, start: identity, glyph: each}
	pdf.Interpret(contents, d.do)
}

// form draws a form XObject, which may draw other forms (ISO 32000-1, 8.10).
func (d *drawing) form(name string) {
	form := d.resources.Key("XObject").Key(name)
	if form.Kind() != pdf.Stream || form.Key("Subtype").Name() != "Form" || len(d.open) == deepestForm ||
		d.forms == mostForms {
		return
	}
	d.forms++
	outside, where := *d, form.String() // outside is the state before the form; where identifies the form in the file
	if slices.Contains(d.open, where) {
		return
	}
	d.open, d.saved = append(slices.Clip(d.open), where), nil
	if r := form.Key("Resources"); r.Kind() == pdf.Dict {
		d.resources, d.fonts = r, map[string]*pdfFont{}
	}
	if m := form.Key("Matrix"); m.Len() == len(matrix{}) {
		var own matrix
		for i := range own {
			own[i] = m.Index(i).Float64()
		}
		d.state.page = own.times(d.state.page)
	}
	pdf.Interpret(form, d.do)
	outside.forms = d.forms
	*d = outside
}

// do executes an operator of a content stream: form XObjects, and the graphics state, text state
// and text operators that affect the position of text (ISO 32000-1, 8.4.4, 9.3, 9.4).
func (d *drawing) do(stack *pdf.Stack, op string) {
	args := make(operands, min(stack.Len(), 6)) // only the last operands are used
	for i := len(args) - 1; i >= 0; i-- {
		args[i] = stack.Pop()
	}
	for stack.Len() > 0 {
		stack.Pop()
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
		s.page = args.matrix().times(s.page)
	case "Do":
		d.form(args.value(0).Name())
	case "Tf":
		s.font, s.size = d.font(args.value(0).Name()), args.number(1)
	case "Tc":
		s.char = args.number(0)
	case "Tw":
		s.word = args.number(0)
	case "Tz":
		s.scale = args.number(0) / 100
	case "TL":
		s.leading = args.number(0)
	default:
		d.doText(args, op)
	}
}

// doText executes the operators that position and show text (ISO 32000-1, 9.4.2 and 9.4.3).
func (d *drawing) doText(args operands, op string) {
	s := &d.state
	switch op {
	case "BT":
		d.text = matrix{1, 0, 0, 1, 0, 0}
		d.start = d.text
	case "Tm":
		d.text = args.matrix()
		d.start = d.text
	case "Td":
		d.move(args.number(0), args.number(1))
	case "TD":
		s.leading = -args.number(1)
		d.move(args.number(0), args.number(1))
	case "T*":
		d.move(0, -s.leading)
	case "Tj":
		d.show(args.value(0))
	case "'":
		d.move(0, -s.leading)
		d.show(args.value(0))
	case "\"":
		s.word, s.char = args.number(0), args.number(1)
		d.move(0, -s.leading)
		d.show(args.value(2))
	case "TJ":
		for i := range args.value(0).Len() {
			if v := args.value(0).Index(i); v.Kind() == pdf.String {
				d.show(v)
			} else {
				d.advance(-v.Float64() / 1000 * s.size * s.scale)
			}
		}
	}
}

// operands are the operands of an operator. A missing one is read as null or 0.
type operands []pdf.Value

func (o operands) value(i int) pdf.Value {
	if i < len(o) {
		return o[i]
	}
	return pdf.Value{}
}

func (o operands) number(i int) float64 { return o.value(i).Float64() }

func (o operands) matrix() (m matrix) {
	for i := range m {
		m[i] = o.number(i)
	}
	return m
}

// move begins a new line at an offset from the current one.
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
	for codes := v.RawString(); ; {
		code := s.font.code(codes)
		if code == "" {
			return
		}
		codes = codes[len(code):]
		wide := s.font.width(code) / 1000 * s.size
		at := d.text.times(s.page)
		d.glyph(glyph{text: s.font.text(code), x: at[4], y: at[5], width: wide * s.scale * math.Hypot(at[0], at[1]),
			size: math.Abs(s.size) * math.Hypot(at[2], at[3])})
		if code == " " {
			wide += s.word
		}
		d.advance((wide + s.char) * s.scale)
	}
}

// pdfFont maps the codes of a font to characters and widths.
type pdfFont struct {
	encoding pdf.TextEncoding
	decoder  *encoding.Decoder // decodes the codes of a font with a predefined CMap; nil for other fonts
	bytes    int               // length of a code without a predefined CMap
	known    map[string]string
	widths   map[int]float64
	other    float64 // width of characters that have no width of their own
}

func (d *drawing) font(name string) *pdfFont {
	f, known := d.fonts[name]
	if !known {
		f = newFont(pdf.Font{V: d.resources.Key("Font").Key(name)})
		d.fonts[name] = f
	}
	return f
}

// newFont returns the characters and widths of a font, nil if its characters are unknown.
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
	cmap, descendant := font.V.Key("Encoding").Name(), font.V.Key("DescendantFonts").Index(0)
	if f.decoder = predefined(cmap); f.decoder != nil {
		f.width0(descendant)
		return f
	}
	if cmap != "Identity-H" || font.V.Key("ToUnicode").Kind() != pdf.Stream {
		return nil
	}
	f.encoding, f.bytes = font.Encoder(), 2
	f.composite(descendant)
	return f
}

// width0 reads the default width, for characters that have no width of their own.
func (f *pdfFont) width0(font pdf.Value) {
	f.other = 1000
	if w := font.Key("DW"); !w.IsNull() {
		f.other = w.Float64()
	}
}

// composite reads the widths of a composite font (ISO 32000-1, 9.7.4.3).
func (f *pdfFont) composite(font pdf.Value) {
	f.width0(font)
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

// code returns the first code in codes, "" if there is no complete one.
func (f *pdfFont) code(codes string) string {
	if f.decoder != nil {
		code, text := encodedCode(f.decoder, codes)
		f.known[code] = text
		return code
	}
	if len(codes) < f.bytes {
		return ""
	}
	return codes[:f.bytes]
}

// width returns the width of a code. In a font with a predefined CMap, widths are given for glyph
// numbers that this package does not know, so it returns an estimate.
func (f *pdfFont) width(code string) float64 {
	if f.decoder != nil {
		if halfWidth(f.known[code]) {
			return halfWide
		}
		return f.other
	}
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

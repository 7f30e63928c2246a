package page

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// Limits on what is read of a PDF.
const (
	longestPDF     = 8 << 20
	mostObjects    = 100_000
	highestObject  = 200_000
	longestStream  = 256 << 10 // decompressed bytes of one stream; a longer one is skipped
	longestObjects = 4 << 20   // decompressed bytes of one stream that contains objects; a longer one is skipped
	mostStreams    = 32 << 20  // decompressed bytes of all streams together
	mostMapped     = 8000      // characters in the mapping of one font
	longestMapped  = 32        // hexadecimal digits to which a font maps one character
)

// plainPDF rewrites a PDF for the PDF library, which trusts numbers, cycles and lengths in the
// file. The result contains only what is needed for the text, no compressed streams, everything
// within limits, and one table of objects. Encrypted files are refused, and so are files whose
// escaped names cannot be recognised.
type plainPDF struct {
	objects map[int]object
	root    string
	info    string
	streams int // total size of streams so far

	definition, stream, length, flate, filter, kind, skipped, rename, number, escaped, reference, nested, counts,
	long *regexp.Regexp
}

// object is an object of a PDF: its text, and its stream if it has one.
type object struct {
	generation int
	text       []byte
	stream     []byte
	streams    bool
}

// plainly returns body as a simplified PDF, nil if that is not possible.
func plainly(body []byte) []byte {
	if len(body) > longestPDF || !bytes.HasPrefix(body, []byte("%PDF-")) {
		return nil
	}
	p := &plainPDF{
		objects:    map[int]object{},
		definition: regexp.MustCompile(`(\d{1,7})[ \t\r\n]+(\d{1,5})[ \t\r\n]+obj\b`),
		stream:     regexp.MustCompile(`^[ \t\r\n]*stream\r?\n`),
		length:     regexp.MustCompile(`/Length[ \t\r\n]+(\d{1,9})[ \t\r\n]*[/>]`),
		filter:     regexp.MustCompile(`/Filter\b`),
		flate:      regexp.MustCompile(`/Filter[ \t\r\n]*(\[[ \t\r\n]*)?/FlateDecode[ \t\r\n]*[\]/>]`),
		kind:       regexp.MustCompile(`/Type[ \t\r\n]*/(ObjStm|XRef)\b`),
		skipped: regexp.MustCompile(`/Subtype[ \t\r\n]*/(Image|Type1C|CIDFontType0C|OpenType|XML)\b|` +
			`/Length1\b|/Predictor\b|/FunctionType\b`),
		rename:  regexp.MustCompile(`/(Filter|Length|DecodeParms)\b`),
		number:  regexp.MustCompile(`\d+`),
		escaped: regexp.MustCompile(`#(4[1-9A-Fa-f]|5[0-9Aa]|6[1-9A-Fa-f]|7[0-9Aa])`),
		counts:  regexp.MustCompile(`(\d{1,4})[ \t\r\n]+begin(bfchar|bfrange|codespacerange)\b`),
		long: regexp.MustCompile(fmt.Sprintf(`<[0-9A-Fa-f \t\r\n]{%d,}>|\([^)]{%d,}`, longestMapped+1,
			longestMapped+1)),
		nested:    regexp.MustCompile(`>>([\x00 \t\r\n\f]|%[^\r\n]*[\r\n])*stream`),
		reference: regexp.MustCompile(`/(Root|Info|Encrypt)[ \t\r\n]+(\d{1,7}[ \t\r\n]+\d{1,5}[ \t\r\n]+R|<<)`),
	}
	if !p.scan(body) || p.root == "" {
		return nil
	}
	return p.write()
}

// scan finds the objects of a file by searching for "obj". If two objects have the same number,
// scan uses the later one.
func (p *plainPDF) scan(body []byte) bool {
	for pos, close := 0, 0; ; { // close is the offset of the next endobj
		at := p.definition.FindSubmatchIndex(body[pos:])
		between := body[pos:]
		if at != nil {
			between = body[pos : pos+at[0]]
		}
		if i := bytes.Index(between, []byte("trailer")); i >= 0 && !p.trailer(between[i:]) {
			return false
		}
		if at == nil {
			return true
		}
		id, _ := strconv.Atoi(string(body[pos+at[2] : pos+at[3]]))
		generation, _ := strconv.Atoi(string(body[pos+at[4] : pos+at[5]]))
		pos += at[1]
		if id > highestObject || len(p.objects) > mostObjects {
			return false
		}
		if close < pos {
			i := bytes.Index(body[pos:], []byte("endobj"))
			if i < 0 {
				return true
			}
			close = pos + i
		}
		o := object{generation: generation, text: body[pos:close]}
		if i, j := p.streamIn(o.text); i > 0 {
			o.text, o.streams = o.text[:i], true
			start := pos + j
			end := p.streamEnd(o.text, body[start:])
			if end < 0 {
				return true
			}
			o.stream = body[start : start+end]
			pos = start + end
		} else {
			pos = close
		}
		if !p.readable(o.text) || !p.store(id, o) {
			return false
		}
	}
}

// streamIn returns the end of an object's text and the start of its stream.
func (p *plainPDF) streamIn(text []byte) (end, start int) {
	for i := 0; ; {
		close := bytes.Index(text[i:], []byte(">>"))
		if close < 0 {
			return 0, 0
		}
		i += close + 1
		if m := p.stream.FindIndex(text[i+1:]); m != nil {
			return i + 1, i + 1 + m[1]
		}
	}
}

// streamEnd returns the length of a stream.
func (p *plainPDF) streamEnd(text, rest []byte) int {
	if m := p.length.FindSubmatch(text); m != nil {
		n, _ := strconv.Atoi(string(m[1]))
		if n <= len(rest) && bytes.HasPrefix(bytes.TrimLeft(rest[n:min(len(rest), n+16)], "\r\n "),
			[]byte("endstream")) {
			return n
		}
	}
	return bytes.Index(rest, []byte("endstream"))
}

// readable reports whether the text of an object contains no escaped names and no hidden stream.
func (p *plainPDF) readable(text []byte) bool { return !p.escaped.Match(text) && !p.nested.Match(text) }

// trailer reads a trailer. It returns false if the file is encrypted.
func (p *plainPDF) trailer(text []byte) bool {
	if end := bytes.Index(text, []byte("startxref")); end >= 0 {
		text = text[:end]
	}
	if p.escaped.Match(text) {
		return false
	}
	for _, m := range p.reference.FindAllSubmatch(text, -1) {
		switch string(m[1]) {
		case "Encrypt":
			return false
		case "Root":
			p.root = string(m[2])
		case "Info":
			p.info = string(m[2])
		}
	}
	return true
}

// store stores the parts of an object that are needed for the text.
func (p *plainPDF) store(id int, o object) bool {
	if !o.streams {
		p.objects[id] = o
		return true
	}
	var kind string
	if m := p.kind.FindSubmatch(o.text); m != nil {
		kind = string(m[1])
	}
	if kind == "XRef" {
		return p.trailer(o.text)
	}
	most := longestStream
	if kind == "ObjStm" {
		most = longestObjects
	}
	o.stream = p.undone(o, most)
	if kind == "ObjStm" {
		return p.unpack(o)
	}
	p.objects[id] = o
	return true
}

// undone returns a decompressed stream, nil if it is too long or not needed for text.
func (p *plainPDF) undone(o object, most int) []byte {
	if p.streams > mostStreams || p.skipped.Match(o.text) {
		return nil
	}
	data := o.stream
	if p.filter.Match(o.text) {
		if !p.flate.Match(o.text) {
			return nil
		}
		z, err := zlib.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil
		}
		if data, err = io.ReadAll(io.LimitReader(z, int64(most)+1)); err != nil && len(data) == 0 {
			return nil
		}
	}
	p.streams += len(data)
	if len(data) > most || p.streams > mostStreams || !p.mapped(data) {
		return nil
	}
	return data
}

// unpack stores the objects that a stream contains.
func (p *plainPDF) unpack(o object) bool {
	first := bytes.Index(o.text, []byte("/First"))
	if first < 0 {
		return true
	}
	n, _ := strconv.Atoi(string(p.number.Find(o.text[first:])))
	if n > len(o.stream) {
		return true
	}
	last := 0
	numbers := p.number.FindAll(o.stream[:n], 2*mostObjects)
	for i := 0; i+1 < len(numbers); i += 2 {
		id, _ := strconv.Atoi(string(numbers[i]))
		start, _ := strconv.Atoi(string(numbers[i+1]))
		end := len(o.stream) - n
		if i+3 < len(numbers) {
			end, _ = strconv.Atoi(string(numbers[i+3]))
		}
		if id > highestObject || start < last || start > end || end > len(o.stream)-n {
			return false
		}
		text := o.stream[n+start : n+end]
		if !p.readable(text) || len(p.objects) > mostObjects {
			return false
		}
		p.objects[id] = object{text: text}
		last = end
	}
	return true
}

// mapped reports whether the PDF library can safely read data as a character mapping. The library
// would trust any number in a mapping. So data must not be a mapping, or must map only few
// characters to short texts.
func (p *plainPDF) mapped(data []byte) bool {
	if !bytes.Contains(data, []byte("begin")) {
		return true
	}
	counts := p.counts.FindAllSubmatch(data, -1)
	if len(counts) != bytes.Count(data, []byte("beginbf"))+bytes.Count(data, []byte("begincodespace")) {
		return false
	}
	sum := 0
	for _, c := range counts {
		n, _ := strconv.Atoi(string(c[1]))
		sum += n
	}
	return sum <= mostMapped && (len(counts) == 0 || !p.long.Match(data))
}

// streamEnd is added to every stream. It is a PDF comment, unless a hexadecimal string is open. The
// PDF library would read an unclosed hexadecimal string forever; the percent sign makes it fail.
const streamEnd = "\n%>"

// write returns the simplified PDF.
func (p *plainPDF) write() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	ids := slices.Sorted(maps.Keys(p.objects))
	offsets := make([]int, ids[len(ids)-1]+1)
	for _, id := range ids {
		o := p.objects[id]
		offsets[id] = b.Len()
		fmt.Fprintf(&b, "%d %d obj\n", id, o.generation)
		if o.streams {
			text := p.rename.ReplaceAll(o.text, []byte("/Was$1"))
			open := bytes.Index(text, []byte("<<")) + len("<<")
			length := len(o.stream) + len(streamEnd)
			fmt.Fprintf(&b, "%s /Length %d %s\nstream\n", text[:open], length, text[open:])
			b.Write(o.stream)
			b.WriteString(streamEnd)
			b.WriteString("\nendstream\nendobj\n")
			continue
		}
		b.Write(o.text)
		b.WriteString("\nendobj\n")
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n", len(offsets))
	for id, at := range offsets {
		if at == 0 {
			b.WriteString("0000000000 65535 f \n")
			continue
		}
		fmt.Fprintf(&b, "%010d %05d n \n", at, p.objects[id].generation)
	}
	info := ""
	if p.info != "" {
		info = "/Info " + p.info
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root %s %s >>\nstartxref\n%d\n%%%%EOF\n", len(offsets), p.root, info, table)
	return b.Bytes()
}

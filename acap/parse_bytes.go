package acap

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// compression returns the compression format of a file that was sent without a Content-Encoding. It
// returns "" if the file is not compressed.
func compression(src []byte) string {
	for _, c := range [][2]string{{"gzip", "\x1f\x8b"}, {"zstd", "\x28\xb5\x2f\xfd"}, {"zip", "PK\x03\x04"},
		{"xz", "\xfd7zXZ\x00"}} {
		if bytes.HasPrefix(src, []byte(c[1])) {
			return c[0]
		}
	}
	return ""
}

// form is the kind of bytes that a file holds.
type form int

const (
	textForm       form = iota
	compressedForm      // the bytes are compressed in a format that the function compression recognises
	wideForm            // the bytes are UTF-16 with a byte-order mark, which decode converts
	bareForm            // the bytes look like UTF-16 without a byte-order mark
	binaryForm          // many bytes are zero, so the file is not text
	zeroForm            // the file is a text that contains a zero byte
)

// formOf returns the kind of bytes in a file. It decides by the first bytes whether the file is
// text.
func formOf(src []byte) form {
	start := src[:min(len(src), 4096)]
	zeros := bytes.Count(start, []byte{0})
	switch {
	case compression(src) != "":
		return compressedForm
	case wideMark(src):
		return wideForm
	case zeros > 0 && alternate(start):
		return bareForm
	case zeros > len(start)/10:
		return binaryForm
	case bytes.IndexByte(src, 0) >= 0:
		return zeroForm
	}
	return textForm
}

// lookAtBytes reports a file that is not UTF-8 text, as RFC 9309 (2.3) requires, and describes how
// crawlers read the file.
func (p *parser) lookAtBytes(src []byte) {
	top := &Field{Source: p.f.source, URL: p.f.URL, Line: 1, Column: 1}
	seen := "crawlers read its bytes as lines all the same"
	if len(p.f.groups) == 0 && len(p.f.records) == 0 && len(p.f.entries) == 0 {
		seen = "crawlers find no rule in it, as if it were empty, and may crawl everything"
	}
	switch p.form {
	case compressedForm:
		p.addFinding(top, "not-text", Error, "send the text itself, or send it with Content-Encoding",
			"the file is compressed (%s): %s", compression(src), seen)
	case wideForm:
		p.addFinding(top, "wrong-encoding", Warning, "save the file as UTF-8",
			"the file is in UTF-16, which is converted here; other crawlers expect UTF-8 (RFC 9309 2.3), "+
				"find no rule in it, and may crawl everything")
	case bareForm:
		p.addFinding(top, "wrong-encoding", Error, "save the file as UTF-8",
			"the file looks like UTF-16 without a byte-order mark, and is not converted: %s", seen)
	case binaryForm:
		p.addFinding(top, "not-text", Error, "send a text in UTF-8",
			"the file is not a text, since many of its bytes are zero: %s", seen)
	case zeroForm:
		p.lookAtZero()
	}
}

// wideMark reports whether a file starts with the byte-order mark of UTF-16.
func wideMark(src []byte) bool {
	return bytes.HasPrefix(src, []byte("\xff\xfe")) || bytes.HasPrefix(src, []byte("\xfe\xff"))
}

// alternate reports whether nearly every second byte is zero, as in UTF-16 text with Latin letters.
func alternate(head []byte) bool {
	var zeros [2]int
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	most, least := max(zeros[0], zeros[1]), min(zeros[0], zeros[1])
	return len(head) >= 4 && most*10 >= len(head)/2*8 && least*10 <= len(head)/2
}

// lookAtZero reports the first NUL byte of a text, with the number of lines that contain NUL bytes.
func (p *parser) lookAtZero() {
	var first *Field
	lines, n := 0, 0
	all := linesOf(p.f.text)
	for line, ok := all.next(); ok; line, ok = all.next() {
		n++
		at := strings.IndexByte(line, 0)
		if at < 0 {
			continue
		}
		if lines++; first == nil {
			first = &Field{Source: p.f.source, URL: p.f.URL, Line: n, Column: column(line, at), Text: "\x00"}
		}
	}
	if first == nil {
		return
	}
	more := ""
	if lines > 1 {
		more = fmt.Sprintf(" (%d lines have one)", lines)
	}
	p.addFinding(first, "nul-byte", Warning, "delete it",
		"a NUL byte: many crawlers end the line here, others read it as a part of the value%s", more)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// rawLine is a line as it is in the file, with the offset of the field's value.
type rawLine struct {
	n     int
	line  string
	cut   int // the offset at which the comment begins, or the length of the line
	value string
	at    int    // the offset of value in the line
	plain string // the conventional field that the name means; "" for an ACAP field
}

func (p *parser) place(w rawLine, offset, length int) *Field {
	return &Field{
		Source: p.f.source,
		URL:    p.f.URL,
		Line:   w.n,
		Column: column(w.line, offset),
		Text:   w.line[offset : offset+length],
	}
}

// lookAtValue reports characters that change a value in a way that authors do not notice: a hash
// that cuts the value, and invisible characters.
func (p *parser) lookAtValue(w rawLine) {
	if w.cutByHash() {
		p.report(p.place(w, w.cut, 1), "hash-in-value", Warning, "put a blank before a comment, or write %23",
			"a hash starts a comment even inside a value")
	}
	if p.ascii {
		return
	}
	at, size := firstInvisible(w.line[:w.cut])
	if at < 0 {
		return
	}
	r, _ := utf8.DecodeRuneInString(w.line[at:])
	within := at >= w.at && at < w.at+len(w.value)
	if !Blank(r) || within && w.plain != "" {
		part := "name"
		if within {
			part = "value"
		}
		p.report(p.place(w, at, size), "invisible-character", Warning, "delete it",
			"an invisible character (%s) is a part of the %s", fmt.Sprintf("%U", r), part)
		return
	}
	p.report(p.place(w, at, size), "invisible-character", Warning, "delete it, or write a plain blank",
		"an invisible character (%s) is left out here; other crawlers, Google's among them, "+
			"read it as a part of the line",
		fmt.Sprintf("%U", r))
}

// lookAtName reports a line whose name would be a known field without its invisible characters. It
// returns true if it reports one.
func (p *parser) lookAtName(w rawLine) bool {
	name, _, colon := strings.Cut(w.line[:w.cut], ":")
	at, size := firstInvisible(name)
	if at < 0 || !colon {
		return false
	}
	visible := strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, trimLeft(trimRight(name)))
	lower, plain := lowerName(visible)
	if plain == "" && !known(lower) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(name[at:])
	p.report(p.place(w, at, size), "invisible-character", Warning, "delete it",
		"because of an invisible character (%s) this line is not read as %s", fmt.Sprintf("%U", r), visible)
	return true
}

// cutByHash reports whether a hash seems to belong to the value although the hash begins a comment.
// A hash is meant as a comment if there is a blank before the hash, if the value cannot contain a
// hash, or if several words follow the hash.
func (w rawLine) cutByHash() bool {
	if w.cut == len(w.line) || w.at+len(w.value) != w.cut {
		return false
	}
	behind := w.line[w.cut+1:]
	switch w.plain {
	case "user-agent", "crawl-delay":
		return false
	case "":
		return behind != "" && trimLeft(behind) == behind
	}
	return !strings.ContainsFunc(trimRight(behind), Blank)
}

// firstInvisible returns the offset and the size of the first invisible character that the author
// may not expect. It returns -1 if there is none.
func firstInvisible(s string) (at, size int) {
	before := ' '
	for i, r := range s {
		joiner := r == '\u200c' || r == '\u200d' // scripts such as Persian need these joiners between letters
		if invisible(r) && !(joiner && before >= utf8.RuneSelf) {
			return i, utf8.RuneLen(r)
		}
		before = r
	}
	return -1, 0
}

// invisible reports whether a character is a blank outside ASCII, or a character without width.
func invisible(r rune) bool {
	return r >= utf8.RuneSelf && r != utf8.RuneError && (unicode.IsSpace(r) || unicode.Is(unicode.Cf, r))
}

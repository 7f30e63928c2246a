// Package display makes text from the network safe to print. It replaces characters that would
// control a terminal or change the direction of the surrounding text; in JSON it escapes them.
package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Acts reports whether the character r controls the terminal or the text instead of being shown.
// Such characters are control characters (C0 and C1) except line feed and tab, line and paragraph
// separators, bidirectional controls, and noncharacters.
func Acts(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x80:
		return r < 0x20 || r == 0x7f
	}
	return unicode.IsControl(r) || r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x2028 && r <= 0x202e ||
		r >= 0x2066 && r <= 0x2069 ||
		r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe
}

// Text returns s with U+FFFD in place of every character for which Acts is true and of every byte
// that is not UTF-8.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if Acts(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// Line returns Text(s) on one line: line feeds are replaced, too.
func Line(s string) string {
	return strings.ReplaceAll(Text(s), "\n", "\ufffd")
}

// The escape sequences that this program writes to terminals.
const (
	Plain    = "\x1b[0m"  // ends bold and every colour
	Strong   = "\x1b[1m"  // begins bold
	NoStrong = "\x1b[22m" // ends bold
	Error    = "\x1b[1;31m"
	Warning  = "\x1b[1;33m"
	Note     = "\x1b[1;36m"
)

// styles holds the escape sequences that a styled Writer does not replace.
var styles = [][]byte{[]byte(Plain), []byte(Strong), []byte(NoStrong), []byte(Error), []byte(Warning), []byte(Note)}

// Writer makes text safe and writes it to another writer. A character may be split between two
// calls of Write. A Writer is not safe for concurrent use.
type Writer struct {
	w       io.Writer
	acting  func(r rune, size int) string // returns the replacement of a character for which Acts is true
	styles  bool                          // escape sequences in the variable styles are not replaced
	partial []byte                        // an incomplete character or escape sequence
}

// NewText returns a Writer that replaces each character for which Acts is true by U+FFFD. If styled
// is true, it keeps the escape sequences of styles.
func NewText(w io.Writer, styled bool) *Writer {
	return &Writer{w: w, styles: styled, acting: func(rune, int) string { return "\ufffd" }}
}

// NewJSON returns a Writer for JSON. It escapes each character for which Acts is true; in JSON such
// a character can only be within a string.
func NewJSON(w io.Writer) *Writer {
	return &Writer{w: w, acting: func(r rune, size int) string {
		if r == utf8.RuneError && size == 1 {
			return "\ufffd"
		}
		if r > 0xffff {
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			return fmt.Sprintf(`\u%04x\u%04x`, high, low)
		}
		return fmt.Sprintf(`\u%04x`, r)
	}}
}

// Encoder returns a JSON encoder that escapes each character for which Acts is true and does not
// escape HTML.
func Encoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(NewJSON(w))
	e.SetEscapeHTML(false)
	return e
}

// Write writes p. It returns len(p), even if it does not write the last bytes yet because their
// character or escape sequence is incomplete.
func (w *Writer) Write(p []byte) (int, error) {
	text := p
	if len(w.partial) > 0 {
		text = append(w.partial, p...)
		w.partial = nil
	}
	out, rest := w.safe(text)
	w.partial = bytes.Clone(rest)
	if _, err := w.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes U+FFFD if Write has kept back incomplete bytes.
func (w *Writer) Flush() error {
	if len(w.partial) == 0 {
		return nil
	}
	w.partial = nil
	_, err := io.WriteString(w.w, "\ufffd")
	return err
}

// safe returns the safe form of text. rest is the end of text, if the end may be an incomplete
// character or escape sequence.
func (w *Writer) safe(text []byte) (out, rest []byte) {
	from := 0 // the text before the index from is already in out
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		invalid := r == utf8.RuneError && size == 1
		if !invalid && !Acts(r) {
			i += size
			continue
		}
		if invalid && !utf8.FullRune(text[i:]) {
			return append(out, text[from:i]...), text[i:]
		}
		if r == '\x1b' && w.styles {
			switch n, whole := style(text[i:]); {
			case whole:
				i += n
				continue
			case n > 0:
				return append(out, text[from:i]...), text[i:]
			}
		}
		out = append(append(out, text[from:i]...), w.acting(r, size)...)
		i += size
		from = i
	}
	if from == 0 {
		return text, nil
	}
	return append(out, text[from:]...), nil
}

// style returns the length of the escape sequence at the beginning of text, or 0 if there is none.
// whole reports whether that sequence is complete.
func style(text []byte) (n int, whole bool) {
	for _, s := range styles {
		switch {
		case bytes.HasPrefix(text, s):
			return len(s), true
		case bytes.HasPrefix(s, text):
			n = len(text)
		}
	}
	return n, false
}

// Sentence returns a clause as a sentence: with a capital letter and a full stop, unless it ends with one.
func Sentence(clause string) string {
	first, size := utf8.DecodeRuneInString(clause)
	if size == 0 {
		return ""
	}
	text := string(unicode.ToUpper(first)) + clause[size:]
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

package acap

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Severity ranks findings.
type Severity string

// The severities. An error changes the meaning of a text, or makes a part of it ignored. A warning
// is about a text that is read differently from how it is written. A notice is about an oddity.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Notice  Severity = "notice"
)

// Finding is a problem in a text that its publisher should know. Every field that is ignored or
// replaced has a finding. The page docs/findings.md explains each code. Positions count from 1, in
// characters of the decoded text. In a header, Line is the number of the header line and Column
// counts in "Name: value". If a page writes a tag with character references, the position is that
// of the tag, and Length is 1.
type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Source   Source   `json:"source"`
	URL      string   `json:"url,omitempty"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Length   int      `json:"length"` // in characters, at least 1
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"` // what the publisher may write instead; may be empty
}

// String returns "url:line:column: message [code]".
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s [%s]", f.URL, f.Line, f.Column, f.Message, f.Code)
}

// Excerpt returns an excerpt of line that marks the place of f. line is the source line of f.
func (f Finding) Excerpt(line string) string { return Excerpt(line, f.Column, f.Length) }

// How many characters Excerpt shows before and after the marked part, and at most of the marked
// part.
const (
	shownBefore = 60
	shownMarked = 80
	shownBehind = 40
)

// Excerpt returns a source line and, on a second line, carets under length characters from column
// on. Tabs stay tabs in both lines, a wide character has two carets and a combining character has
// none, so that the carets are exactly below the characters. A long line is cut on both sides of
// the marked part. If column is beyond the end of the line, the caret is at its end. If column is
// below 1, Excerpt returns only the line.
func Excerpt(line string, column, length int) string {
	text := []rune(strings.ToValidUTF8(line, "\ufffd"))
	if column < 1 {
		return string(text[:min(len(text), shownBefore+shownMarked+shownBehind)])
	}
	start := min(column-1, len(text))
	end := min(start+max(length, 1), start+shownMarked, len(text))
	from, to := max(0, start-shownBefore), min(len(text), end+shownBehind)
	var source, carets strings.Builder
	if from > 0 {
		source.WriteRune('…')
		carets.WriteByte(' ')
	}
	for i := from; i < to; i++ {
		r, marked := text[i], i >= start && i < end
		switch {
		case r == '\t' && i < end-1:
			carets.WriteByte('\t')
		case r == '\t':
		case unicode.IsControl(r):
			r = ' '
		}
		source.WriteRune(r)
		switch {
		case marked && (r != '\t' || i == end-1):
			carets.WriteString(strings.Repeat("^", width(r)))
		case i < start && r != '\t':
			carets.WriteString(strings.Repeat(" ", width(r)))
		}
	}
	if to < len(text) {
		source.WriteRune('…')
	}
	// the place is at the end of the line, or the marked characters are invisible
	if !strings.HasSuffix(carets.String(), "^") {
		carets.WriteByte('^')
	}
	return source.String() + "\n" + carets.String()
}

// wide holds the ranges of characters that take two columns of a terminal (Unicode, East Asian
// Width W and F).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0x33ff, 1}, {0x3400, 0x4dbf, 1},
		{0x4e00, 0x9fff, 1},
		{0xa000, 0xa4cf, 1}, {0xa960, 0xa97f, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1},
		{0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1f9ff, 1}, {0x20000, 0x3fffd, 1}},
}

// width returns how many columns of a terminal a character takes.
func width(r rune) int {
	switch {
	case r < utf8.RuneSelf:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

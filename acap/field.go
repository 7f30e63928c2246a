package acap

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Source says in which kind of text a field stands.
type Source string

// The places a publisher can speak from.
const (
	Robots   Source = "robots.txt"
	Referred Source = "reference" // a file named by ACAP-permissions-reference (P1 2.3.2)
	Meta     Source = "meta"
	Class    Source = "class"
	Header   Source = "header"
)

// Field is one statement of a publisher as it was written, with its place.
// Fields are shared and must not be changed.
type Field struct {
	Source Source
	URL    string // the document it stands in
	Line   int    // from 1, in the decoded text of the document; for a header, the number of the field line
	Column int    // from 1, in characters
	Text   string // as written, without comment and outer blanks
}

// String gives the place and the text: "http://h/robots.txt:4: ACAP-disallow-index: /".
func (f *Field) String() string {
	if f == nil {
		return ""
	}
	if f.Source == Header {
		return fmt.Sprintf("%s: header %s", f.URL, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s", f.URL, f.Line, f.Text)
}

// at gives the place of one token of a field of a file; the field's own where the token does not stand there as it was read.
func (f *Field) at(token string) *Field {
	if f.Source != Robots && f.Source != Referred || token == "" {
		return f
	}
	for from := 0; ; {
		i := strings.Index(f.Text[from:], token)
		if i < 0 {
			break
		}
		i += from
		from = i + len(token)
		if (i == 0 || strings.IndexByte(": \t", f.Text[i-1]) >= 0) && (from == len(f.Text) || strings.IndexByte("= \t", f.Text[from]) >= 0) {
			place := *f
			place.Column += utf8.RuneCountInString(f.Text[:i])
			return &place
		}
	}
	if name, _, ok := strings.Cut(token, "="); ok { // "a = b" was read as "a=b" (A06)
		return f.at(name)
	}
	return f
}

// Severity ranks findings.
type Severity string

// An error changes meaning or is ignored; a warning is read otherwise than it is written; a notice is a curiosity.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Notice  Severity = "notice"
)

// Finding is something a publisher should know about a text: nothing is dropped in silence.
type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Source   Source   `json:"source"`
	URL      string   `json:"url,omitempty"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`
}

// String gives "url:line:column: message [code]".
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s [%s]", f.URL, f.Line, f.Column, f.Message, f.Code)
}

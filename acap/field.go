package acap

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Source is the kind of text that contains a field.
type Source string

// The kinds of texts that contain fields.
const (
	Robots    Source = "robots.txt"
	Referred  Source = "reference" // a file named by ACAP-permissions-reference (P1 2.3.2)
	Meta      Source = "meta"
	Class     Source = "class"
	Header    Source = "header"
	TDMRep    Source = "tdmrep.json" // the file of the TDM Reservation Protocol
	Licensing Source = "license"     // a licence document of RSL
	Image     Source = "image"       // the metadata in an image
	// an action request of the operator (P1 2.6): URL is the origin, Line is the number of the
	// request
	Request Source = "request"
)

// Field is one statement of a publisher as it was written, with its place. Fields are shared and
// must not be changed.
type Field struct {
	Source Source
	URL    string // the address of the document that contains the field
	Line   int    // counted from 1 in the decoded text of the document; in a header, the number of the header line
	Column int    // counted from 1, in characters
	Text   string // the field as written, without comment and outer blanks
	// Scripted reports that the field is in the document that the scripts of the page made, not in
	// the page as sent: Line and Column count in that document.
	Scripted bool

	in *Field // in a finding about one token: the field that contains the token; otherwise nil
}

// String returns the place and the text of the field, for example "http://h/robots.txt:4:
// ACAP-disallow-index: /".
func (f *Field) String() string {
	if f == nil {
		return ""
	}
	switch f.Source {
	case Header:
		return fmt.Sprintf("%s: header %s", f.URL, f.Text)
	case Request:
		return fmt.Sprintf("request %d of %s: %s", f.Line, f.URL, f.Text)
	}
	if f.Scripted {
		return fmt.Sprintf("%s (after its scripts):%d: %s", f.URL, f.Line, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s", f.URL, f.Line, f.Text)
}

// At returns one token of the field f as a Field for a finding: if f contains the token, the
// finding is about the token, otherwise about the whole field.
func (f *Field) At(token string) *Field { return f.at(token) }

// at returns one token of the field f as a Field for a finding. The column of the token is computed
// only if the finding is reported.
func (f *Field) at(token string) *Field {
	if token == "" {
		return f
	}
	return &Field{Source: f.Source, URL: f.URL, Line: f.Line, Column: f.Column, Text: token, Scripted: f.Scripted,
		in: f}
}

// maxLocated is how many bytes of a field are searched for a token.
const maxLocated = 16 << 10

// find returns where a token begins and ends in s. ok is false if s does not contain the token in
// the form in which it was read.
func find(s, token string) (from, to int, ok bool) {
	s = s[:min(len(s), maxLocated)]
	if from, to, ok = within(s, token); ok {
		return from, to, true
	}
	name, value, cut := strings.Cut(token, "=")
	if !cut {
		return 0, 0, false
	}
	if from, to, ok = within(s, name); !ok { // P1 3 (A06): a qualifier may be written "a = b", but is stored as "a=b"
		return 0, 0, false
	}
	if rest, ok := strings.CutPrefix(trimLeft(s[to:]), "="); ok {
		if rest = trimLeft(rest); strings.HasPrefix(rest, value) {
			to = len(s) - len(rest) + len(value)
		}
	}
	return from, to, true
}

// within returns where token begins and ends as a whole word of text. It prefers a word in the same
// letter case.
func within(text, token string) (from, to int, ok bool) {
	if token == "" {
		return 0, 0, false
	}
	if i := alone(text, token); i >= 0 {
		return i, i + len(token), true
	}
	if i := alone(asciiLower(text), asciiLower(token)); i >= 0 {
		return i, i + len(token), true
	}
	return 0, 0, false
}

// alone returns the offset of token as a whole word of text, or -1 if there is none.
func alone(text, token string) int {
	// P1 3 (A17): byte-order marks, leading blanks, tabs, and blanks before the colon do not change
	// a field
	ends := func(r rune) bool { return Blank(r) || strings.ContainsRune(",;:=\"", r) }
	for from := 0; ; {
		i := strings.Index(text[from:], token)
		if i < 0 {
			return -1
		}
		i += from
		end := i + len(token)
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		behind, _ := utf8.DecodeRuneInString(text[end:])
		if (i == 0 || ends(before)) && (end == len(text) || ends(behind)) {
			return i
		}
		next := strings.IndexFunc(text[i:], ends) // continue the search after the word that contains token
		if next < 0 {
			return -1
		}
		from = i + next + 1
	}
}

// asciiLower returns s with ASCII letters in lower case. It does not change the offset of any
// character.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// name returns the name of a field in robots.txt or a referred file, as written. It returns "" for
// fields from other sources.
func (f *Field) name() string {
	if f.Source != Robots && f.Source != Referred {
		return ""
	}
	name, _, _ := splitField(f.Text)
	return name
}

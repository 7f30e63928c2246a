package acap

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Source is the kind of text that a field comes from.
type Source string

// The sources of fields.
const (
	Robots   Source = "robots.txt"
	Referred Source = "reference" // a file named by ACAP-permissions-reference (P1 2.3.2)
	Meta     Source = "meta"
	Class    Source = "class"
	Header   Source = "header"
	Request  Source = "request" // from the operator (P1 2.6): URL is the origin, Line the number of the request
)

// Field is one statement of a publisher as it was written, with its place.
// Fields are shared and must not be changed.
type Field struct {
	Source Source
	URL    string // the document that holds it
	Line   int    // from 1, in the decoded text of the document; for a header, the number of the field line
	Column int    // from 1, in characters
	Text   string // as written, without comment and outer blanks

	in *Field // in a finding: the field that holds this token
}

// String returns place and text: "http://h/robots.txt:4: ACAP-disallow-index: /".
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
	return fmt.Sprintf("%s:%d: %s", f.URL, f.Line, f.Text)
}

// at returns one token of a field as a field of its own, for a finding. Its column is computed only
// if the finding is reported.
func (f *Field) at(token string) *Field {
	if token == "" {
		return f
	}
	return &Field{Source: f.Source, URL: f.URL, Line: f.Line, Column: f.Column, Text: token, in: f}
}

// maxLocated bounds how far into a field a token is looked for, in bytes.
const maxLocated = 16 << 10

// find returns the offsets of a token in s. ok is false if s does not hold it as it was read.
func find(s, token string) (from, to int, ok bool) {
	s = s[:min(len(s), maxLocated)]
	if from, to, ok = within(s, token); ok {
		return from, to, true
	}
	name, value, cut := strings.Cut(token, "=")
	if !cut {
		return 0, 0, false
	}
	if from, to, ok = within(s, name); !ok { // "a = b" was read as "a=b" (P1 3, A06)
		return 0, 0, false
	}
	if rest, ok := strings.CutPrefix(trimLeft(s[to:]), "="); ok {
		if rest = trimLeft(rest); strings.HasPrefix(rest, value) {
			to = len(s) - len(rest) + len(value)
		}
	}
	return from, to, true
}

// within returns the offsets of token as a whole word of text, in its own letter case if possible.
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

// alone returns the offset of token as a whole word of text, -1 if there is none.
func alone(text, token string) int {
	// P1 3 (A17): a byte-order mark, leading blanks, tabs and a blank before the colon do no harm
	ends := func(r rune) bool { return blank(r) || strings.ContainsRune(",;:=\"", r) }
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
		next := strings.IndexFunc(text[i:], ends) // the next word begins after it
		if next < 0 {
			return -1
		}
		from = i + next + 1
	}
}

// asciiLower returns s with ASCII letters in lower case. All offsets stay the same.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// name returns the name of a field of a file, as written; "" for other sources.
func (f *Field) name() string {
	if f.Source != Robots && f.Source != Referred {
		return ""
	}
	name, _, _ := splitField(f.Text)
	return name
}

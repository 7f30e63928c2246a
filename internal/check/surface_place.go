package check

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
)

// place returns the name of the text and the position of a token of the field f. If the token is
// not found, it returns the position of f.
func (r *Report) place(f *acap.Field, token string) (in string, line, column, length int) {
	in, line = f.URL, f.Line
	if f.Source == acap.Header {
		in = headerOf(f.URL)
		for _, t := range r.Texts {
			if i := slices.IndexFunc(t.Lines, func(l string) bool {
				return strings.Join(strings.Fields(l),
					" ") == f.Text
			}); t.Name == in && i >= 0 {
				line = i + 1
			}
		}
	}
	src := []rune(r.Line(acap.Finding{URL: in, Line: line}))
	text := string(src[min(max(f.Column-1, 0), len(src)):])
	at := -1
	if token != "" {
		at = strings.Index(asciiLower(text), asciiLower(token))
	}
	if at < 0 {
		return in, line, f.Column, max(1, min(utf8.RuneCountInString(f.Text), utf8.RuneCountInString(text)))
	}
	return in, line, f.Column + utf8.RuneCountInString(text[:at]), utf8.RuneCountInString(token)
}

// asciiLower returns s with ASCII letters in lower case. It does not change the offset of any
// character.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

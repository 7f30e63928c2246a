package display

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile contains a character of every kind for which Acts is true: C0, C1, bidirectional
// controls, separators, a noncharacter, and bytes that are not UTF-8.
const hostile = "a\x1b[2Jb\u009bc\u0085d\u202ee\u2066f\u2028g\u2029h\u061ci\u200ej\ufffek\x9bl\rm\U0001fffen\x7fo"

func TestText(t *testing.T) {
	want := "a\ufffd[2Jb\ufffdc\ufffdd\ufffde\ufffdf\ufffdg\ufffdh\ufffdi\ufffdj\ufffdk\ufffdl\ufffdm\ufffdn\ufffdo"
	if got := Text(hostile); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if s := "Ferry\t£5 – مرحبا עברית 日本\n"; Text(s) != s {
		t.Errorf("%q became %q", s, Text(s))
	}
}

// TestParts tests that a Writer writes the same text, whether the text comes in one call of Write
// or in many.
func TestParts(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		make       func(*bytes.Buffer) *Writer
	}{
		"text": {hostile, Text(hostile), func(b *bytes.Buffer) *Writer { return NewText(b, false) }},
		"styled": {"\x1b[1mbold\x1b[22m \x1b[8mhidden\x1b[0m\x1b[1", "\x1b[1mbold\x1b[22m \ufffd[8mhidden\x1b[0m\ufffd",
			func(b *bytes.Buffer) *Writer { return NewText(b, true) }},
		"json": {`{"a":"` + "\u009b\u202e\U0001fffe" + `"}`, `{"a":"\u009b\u202e\ud83f\udffe"}`,
			func(b *bytes.Buffer) *Writer { return NewJSON(b) }},
	} {
		for size := 1; size <= len(c.text); size++ {
			var b bytes.Buffer
			w := c.make(&b)
			for text := c.text; text != ""; {
				part := text[:min(size, len(text))]
				text = text[len(part):]
				if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			if err := w.Flush(); err != nil || b.String() != c.want {
				t.Fatalf("%s in parts of %d: %q, want %q, %v", name, size, b.String(), c.want, err)
			}
		}
	}
}

func FuzzWriter(f *testing.F) {
	f.Add([]byte(hostile), 3)
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		var b, j bytes.Buffer
		w := NewText(&b, false)
		at = min(max(at, 0), len(text))
		w.Write(text[:at])
		w.Write(text[at:])
		w.Flush()
		if !utf8.Valid(b.Bytes()) || strings.ContainsFunc(b.String(), Acts) {
			t.Fatalf("%q became %q", text, b.String())
		}
		data, err := json.Marshal(string(text))
		if err != nil {
			t.Fatal(err)
		}
		NewJSON(&j).Write(data)
		var back, was string
		if json.Unmarshal(j.Bytes(), &back) != nil || json.Unmarshal(data, &was) != nil || back != was ||
			strings.ContainsFunc(j.String(), Acts) {
			t.Fatalf("%q became %q", data, j.Bytes())
		}
	})
}

func TestSentence(t *testing.T) {
	for clause, want := range map[string]string{
		"": "", "a": "A.", "the page is gone": "The page is gone.",
		"It ended.": "It ended.", "été": "Été.", "/x is": "/x is.",
	} {
		if got := Sentence(clause); got != want {
			t.Errorf("%q: %q, want %q", clause, got, want)
		}
	}
}

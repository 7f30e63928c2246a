package acap

import (
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("a", 100)
	for _, c := range []struct {
		name, line     string
		column, length int
		want           string
	}{
		{"a word", "ACAP-crawlr: *", 1, 11, "ACAP-crawlr: *\n^^^^^^^^^^^"},
		{"within the line", "Disallow: a", 11, 1, "Disallow: a\n          ^"},
		{"no length", "Disallow: a", 11, 0, "Disallow: a\n          ^"},
		{"beyond the end", "abc", 3, 9, "abc\n  ^"},
		{"at the end", "abc", 9, 2, "abc\n   ^"},
		{"an empty line", "", 1, 1, "\n^"},
		{"no column", "abc", 0, 3, "abc"},
		{"a tab before", "\tx\ty", 4, 1, "\tx\ty\n\t \t^"},
		{"a tab within", "a\tb c", 1, 3, "a\tb c\n^\t^"},
		{"a tab alone", "a\tb", 2, 1, "a\tb\n ^"},
		{"a tab behind", "a\tb", 1, 1, "a\tb\n^"},
		{"letters beyond ASCII", "/été/ x", 7, 1, "/été/ x\n      ^"},
		{"wide characters", "/日本 x", 2, 2, "/日本 x\n ^^^^"},
		{"behind wide characters", "/日本 x", 5, 1, "/日本 x\n      ^"},
		{"a combining accent", "e\u0301 x", 4, 1, "e\u0301 x\n  ^"},
		{"control characters", "a\x1b[2Jb", 6, 1, "a [2Jb\n     ^"},
		{"bytes that are no text", "a\xff b", 4, 1, "a\ufffd b\n   ^"},
		{"cut before", long + " x", 102, 1, "…" + long[:59] + " x\n" + strings.Repeat(" ", 61) + "^"},
		{"cut behind", "x " + long, 1, 1, "x " + long[:39] + "…\n^"},
		{"a long mark", long, 11, 90, long + "\n" + strings.Repeat(" ", 10) + strings.Repeat("^", 80)},
	} {
		got := Excerpt(c.line, c.column, c.length)
		if got != c.want {
			t.Errorf("%s:\n%q\n%q", c.name, got, c.want)
		}
	}
	f := Finding{Column: 3, Length: 2}
	if got := f.Excerpt("a bc"); got != "a bc\n  ^^" {
		t.Errorf("%q", got)
	}
}
